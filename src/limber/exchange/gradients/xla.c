/* The entry through which XLA calls a generated function, without Python: arguments and results are as in limber_batch.
   What comes before it: the generated function, and the number, the ranks and the sizes of its arguments. */

XLA_FFI_Error *limber_xla(XLA_FFI_CallFrame *frame)
{
    if (asked_for_interface(frame)) return NULL;
    const number *in[INPUTS];
    number *out[OUTPUTS];
    ptrdiff_t stride[INPUTS], count = 1;
    for (int i = 0; i < INPUTS; ++i) {
        const XLA_FFI_Buffer *x = frame->args.args[i];
        in[i] = x->data;
        stride[i] = x->rank > input_ranks[i] ? input_sizes[i] : 0;
    }
    for (int i = 0; i < OUTPUTS; ++i) {
        const XLA_FFI_Buffer *y = frame->rets.rets[i];
        out[i] = y->data;
        for (int64_t k = 0; i == 0 && k < y->rank - FIRST_RANK; ++k) count *= y->dims[k];
    }
    limber_batch(0, count, in, stride, out);
    return NULL;
}
