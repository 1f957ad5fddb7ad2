/* The entry through which XLA launches a generated kernel on its own stream: arrays stay where they are, and nothing waits.
   What comes before it: the number and the ranks of the arguments.  Arrays have the states last; an argument without that
   dimension is shared by all states. */

#include <stdio.h>

/* cuLaunchKernel and cuCtxGetDevice of the driver */
typedef int Launch(void *kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
typedef int Device(int *device);

enum { MOST_DEVICES = 64 };

static struct {
    Launch *launch;
    Device *device;
    int devices;
    void *kernels[MOST_DEVICES];        /* the handle on each GPU */
    unsigned threads, shared_bytes;     /* of a block */
} with;

/* Say with what kernels are launched; 0 if there are too many GPUs. */
int limber_prepare(Launch *launch, Device *device, int devices, void **kernels, unsigned threads, unsigned shared_bytes)
{
    if (devices > MOST_DEVICES) return 0;
    with.launch = launch;
    with.device = device;
    with.devices = devices;
    for (int i = 0; i < devices; ++i) with.kernels[i] = kernels[i];
    with.threads = threads;
    with.shared_bytes = shared_bytes;
    return 1;
}

static XLA_FFI_Error *failed(const XLA_FFI_CallFrame *frame, const char *what, int status)
{
    char message[120];
    snprintf(message, sizeof message, "limber: %s failed with the status %d of the CUDA driver.", what, status);
    XLA_FFI_Error_Create_Args error = {
        .struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE, .message = message, .errc = XLA_FFI_Error_Code_INTERNAL};
    return frame->api->XLA_FFI_Error_Create(&error);
}

XLA_FFI_Error *limber_launch(XLA_FFI_CallFrame *frame)
{
    if (asked_for_interface(frame)) return NULL;
    XLA_FFI_Stream_Get_Args asked = {.struct_size = XLA_FFI_Stream_Get_Args_STRUCT_SIZE, .ctx = frame->ctx};
    XLA_FFI_Error *error = frame->api->XLA_FFI_Stream_Get(&asked);
    if (error != NULL) return error;
    void *data[INPUTS + OUTPUTS], *parameters[INPUTS + OUTPUTS + 2];
    long long states = 0;
    unsigned long long shared = 0;
    for (int i = 0; i < INPUTS; ++i) {
        const XLA_FFI_Buffer *x = frame->args.args[i];
        data[i] = x->data;
        if (x->rank == input_ranks[i]) shared |= 1ull << i;
    }
    for (int i = 0; i < OUTPUTS; ++i) {
        const XLA_FFI_Buffer *y = frame->rets.rets[i];
        data[INPUTS + i] = y->data;
        states = y->dims[y->rank - 1];
    }
    if (states == 0) return NULL;
    for (int i = 0; i < INPUTS + OUTPUTS; ++i) parameters[i] = &data[i];
    parameters[INPUTS + OUTPUTS] = &states;
    parameters[INPUTS + OUTPUTS + 1] = &shared;
    int device = 0, status = with.device(&device);
    if (status != 0) return failed(frame, "the search for the GPU", status);
    if (device >= with.devices) return failed(frame, "the search for a kernel on this GPU", device);
    const unsigned blocks = (unsigned)((states + with.threads - 1) / with.threads);
    status = with.launch(with.kernels[device], blocks, 1, 1, with.threads, 1, 1, with.shared_bytes, asked.stream, parameters, NULL);
    return status == 0 ? NULL : failed(frame, "the launch of a kernel", status);
}
