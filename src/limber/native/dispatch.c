/* The way of single calls from Python into compiled code, without a copy and with next to no overhead.

   Function(address, inputs, outputs, engine, scratch, unlocked, single, quaternions, careful)
     address   of the compiled function
     inputs    one for each input of the compiled function: the shape of an array that the caller gives, or the
               address of one that is always the same
     outputs   the shape of each output
     engine    0: a generated function, limber_call(in, out); 1: `run_states` of limber.native.entries, whose
               inputs are a record, q, v, x and wrenches
     scratch   a list of scratch arrays for the engine, of which one is taken for a call; else None
     unlocked  1: other Python threads run during the call, which is worth it if that takes long
     single    1: float32, 0: float64
     quaternions  where quaternions begin in the first array given; checked for generated functions
     careful   what to call when the arguments are not plain arrays of exactly these shapes, quaternions are not
               unit to rounding, or the engine refuses the state.  None: the call then returns None.

   Everything but the plain case, errors included, is left to `careful`. */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <stddef.h>
#include <string.h>

#define MOST 24 /* arguments */
#define DEEPEST 3 /* dimensions */
#define JOINED 64 /* numbers that the engine gives in several outputs */

typedef void (*Generated)(const void *const *, void *const *);
typedef long long (*Engine)(const void *, const void *, const void *, const void *, const void *, void *, void *,
                            long long, long long);

typedef struct {
    const void *fixed; /* NULL: the caller gives it */
    int dimensions;
    npy_intp shape[DEEPEST];
    size_t bytes;
} Part;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *attributes, *careful, *scratch;
    size_t address;
    int inputs, outputs, given, type, engine, unlocked;
    Part input[MOST], output[MOST];
    Py_ssize_t turns, *turn; /* how many quaternions, and where */
} Function;

typedef union {
    double d;
    float f;
} Number;

static inline int fits(PyObject *object, const Part *part, int type)
{
    if (!PyArray_CheckExact(object)) return 0;
    PyArrayObject *array = (PyArrayObject *)object;
    if (PyArray_TYPE(array) != type || PyArray_NDIM(array) != part->dimensions || !PyArray_ISCARRAY_RO(array)) return 0;
    for (int i = 0; i < part->dimensions; ++i)
        if (PyArray_DIM(array, i) != part->shape[i]) return 0;
    return 1;
}

/* Whether the quaternions in q are unit to rounding; numbers that are not finite pass, as they do everywhere in
   generated code. */
#define UNIT(number, rounding) \
    static int unit_##number(const Function *self, const number *q) \
    { \
        for (Py_ssize_t i = 0; i < self->turns; ++i) { \
            const number *e = q + self->turn[i]; \
            const number error = (e[0] * e[0] + e[1] * e[1]) + (e[2] * e[2] + e[3] * e[3]) - 1; \
            if (error > rounding || error < -rounding) return 0; \
        } \
        return 1; \
    }
UNIT(double, 0x1p-50)
UNIT(float, 0x1p-21f)

/* Run the compiled function: 0 if all is well. */
static inline long long run(Function *self, const void *const *in, void *const *out)
{
    if (!self->engine) {
        if (self->turns > 0 && !(self->type == NPY_DOUBLE ? unit_double(self, in[0]) : unit_float(self, in[0])))
            return 1;
        ((Generated)self->address)(in, out);
        return 0;
    }
    const Engine engine = (Engine)self->address;
    const Py_ssize_t last = PyList_GET_SIZE(self->scratch) - 1;
    if (last < 0) return 1;
    PyObject *work = PyList_GET_ITEM(self->scratch, last);
    void *const data = PyArray_DATA((PyArrayObject *)work);
    if (!self->unlocked) /* no other thread runs until this returns, so the array may stay in the list */
        return engine(in[0], in[1], in[2], in[3], in[4], data, out[0], 0, 1);
    long long status;
    Py_INCREF(work);
    if (PyList_SetSlice(self->scratch, last, last + 1, NULL) < 0) {
        PyErr_Clear();
        Py_DECREF(work);
        return 1;
    }
    Py_BEGIN_ALLOW_THREADS
    status = engine(in[0], in[1], in[2], in[3], in[4], data, out[0], 0, 1);
    Py_END_ALLOW_THREADS
    if (PyList_Append(self->scratch, work) < 0) PyErr_Clear();
    Py_DECREF(work);
    return status;
}

/* A result of no dimensions, as NumPy's number. */
static PyObject *scalar(const Number *number, int type)
{
    PyObject *result;
    if (type == NPY_DOUBLE) {
        result = PyArrayScalar_New(Double);
        if (result != NULL) PyArrayScalar_ASSIGN(result, Double, number->d);
    }
    else {
        result = PyArrayScalar_New(Float);
        if (result != NULL) PyArrayScalar_ASSIGN(result, Float, number->f);
    }
    return result;
}

static PyObject *call(PyObject *object, PyObject *const *args, size_t flags, PyObject *names)
{
    Function *self = (Function *)object;
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    const void *in[MOST];
    void *out[MOST];
    Number numbers[MOST], values[MOST];
    double joined[JOINED];
    PyObject *results[MOST], *given = NULL, *answer;
    int n = 0, made = 0;

    if (count != self->given) goto careful;
    if (names != NULL) {
        if (PyTuple_GET_SIZE(names) != 1 || self->engine) goto careful;
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "out") != 0) goto careful;
        given = args[count];
        if (self->outputs != 1 || !fits(given, &self->output[0], self->type)) goto careful;
        if (!PyArray_ISWRITEABLE((PyArrayObject *)given) || ((PyArrayObject_fields *)given)->base != NULL) goto careful;
    }
    for (int i = 0; i < self->inputs; ++i) {
        const Part *part = &self->input[i];
        if (part->fixed != NULL) {
            in[i] = part->fixed;
            continue;
        }
        PyObject *argument = args[n];
        if (fits(argument, part, self->type)) {
            in[i] = PyArray_DATA((PyArrayObject *)argument);
            if (argument == given) goto careful;
            if (given != NULL && ((PyArrayObject_fields *)argument)->base != NULL) goto careful; /* may overlap */
        }
        else if (part->dimensions == 0 && (PyFloat_Check(argument) || PyLong_CheckExact(argument))) {
            const double number = PyFloat_Check(argument) ? PyFloat_AS_DOUBLE(argument) : PyLong_AsDouble(argument);
            if (number == -1.0 && PyErr_Occurred()) { /* too large a whole number */
                PyErr_Clear();
                goto careful;
            }
            if (self->type == NPY_DOUBLE) numbers[n].d = number;
            else numbers[n].f = (float)number;
            in[i] = &numbers[n];
        }
        else goto careful;
        ++n;
    }
    if (given != NULL) {
        out[0] = PyArray_DATA((PyArrayObject *)given);
        if (run(self, in, out) != 0) goto careful;
        Py_INCREF(given);
        return given;
    }
    for (; made < self->outputs; ++made) {
        Part *part = &self->output[made];
        if (part->dimensions == 0) {
            results[made] = NULL;
            out[made] = &values[made];
            continue;
        }
        results[made] = PyArray_SimpleNew(part->dimensions, part->shape, self->type);
        if (results[made] == NULL) goto failed;
        out[made] = PyArray_DATA((PyArrayObject *)results[made]);
    }
    if (self->engine && self->outputs > 1) {
        void *const one[] = {joined};
        const char *from = (const char *)joined;
        if (run(self, in, one) != 0) goto refused;
        for (int i = 0; i < self->outputs; ++i) {
            memcpy(out[i], from, self->output[i].bytes);
            from += self->output[i].bytes;
        }
    }
    else if (run(self, in, out) != 0) goto refused;
    for (int i = 0; i < self->outputs; ++i)
        if (results[i] == NULL && (results[i] = scalar(&values[i], self->type)) == NULL) goto failed;
    if (self->outputs == 1) return results[0];
    answer = PyTuple_New(self->outputs);
    if (answer == NULL) goto failed;
    for (int i = 0; i < self->outputs; ++i) PyTuple_SET_ITEM(answer, i, results[i]);
    return answer;

failed:
    for (int i = 0; i < made; ++i) Py_XDECREF(results[i]);
    return NULL;

refused:
    for (int i = 0; i < made; ++i) Py_XDECREF(results[i]);
careful:
    if (self->careful == NULL) Py_RETURN_NONE;
    return PyObject_Vectorcall(self->careful, args, (size_t)count, names);
}

/* The parts that a list of shapes and addresses describes: how many, or -1 with an error set. */
static int read_parts(PyObject *list, Part *parts, size_t item)
{
    PyObject *fast = PySequence_Fast(list, "inputs and outputs must be sequences");
    if (fast == NULL) return -1;
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(fast);
    if (count > MOST) PyErr_SetString(PyExc_ValueError, "too many arguments");
    for (Py_ssize_t i = 0; i < count && !PyErr_Occurred(); ++i) {
        PyObject *shape = PySequence_Fast_GET_ITEM(fast, i);
        Part *part = &parts[i];
        if (PyLong_Check(shape)) {
            part->fixed = PyLong_AsVoidPtr(shape);
            continue;
        }
        if (!PyTuple_Check(shape) || PyTuple_GET_SIZE(shape) > DEEPEST) {
            PyErr_SetString(PyExc_ValueError, "a shape must be a tuple of at most three numbers");
            break;
        }
        part->dimensions = (int)PyTuple_GET_SIZE(shape);
        part->bytes = item;
        for (int j = 0; j < part->dimensions; ++j) {
            part->shape[j] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, j));
            part->bytes *= (size_t)part->shape[j];
        }
    }
    Py_DECREF(fast);
    return PyErr_Occurred() ? -1 : (int)count;
}

static int read_turns(PyObject *list, Function *self)
{
    PyObject *fast = PySequence_Fast(list, "quaternions must be a sequence");
    if (fast == NULL) return -1;
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(fast);
    self->turn = PyMem_Malloc((size_t)count * sizeof *self->turn);
    for (Py_ssize_t i = 0; self->turn != NULL && i < count; ++i)
        self->turn[i] = PyLong_AsSsize_t(PySequence_Fast_GET_ITEM(fast, i));
    self->turns = count;
    Py_DECREF(fast);
    return self->turn == NULL || PyErr_Occurred() ? -1 : 0;
}

/* What the engine needs: five inputs, scratch, and outputs that fit into `joined`. */
static int check_engine(const Function *self)
{
    size_t bytes = 0;
    for (int i = 0; i < self->outputs; ++i) bytes += self->output[i].bytes;
    if (self->inputs == 5 && self->scratch != NULL && (self->outputs == 1 || bytes <= JOINED * sizeof(double))) return 0;
    PyErr_SetString(PyExc_ValueError, "the engine takes five inputs and a list of scratch");
    return -1;
}

static PyObject *new_function(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    unsigned long long address;
    PyObject *inputs, *outputs, *scratch, *quaternions, *careful;
    int engine, unlocked, single;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "KOOpOppOO", &address, &inputs, &outputs, &engine, &scratch, &unlocked, &single,
                          &quaternions, &careful)) return NULL;
    Function *self = (Function *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    const size_t item = single ? sizeof(float) : sizeof(double);
    self->vectorcall = call;
    self->address = (size_t)address;
    self->engine = engine;
    self->unlocked = unlocked;
    self->type = single ? NPY_FLOAT : NPY_DOUBLE;
    self->careful = careful == Py_None ? NULL : Py_NewRef(careful);
    self->scratch = PyList_CheckExact(scratch) ? Py_NewRef(scratch) : NULL;
    self->inputs = read_parts(inputs, self->input, item);
    self->outputs = self->inputs < 0 ? -1 : read_parts(outputs, self->output, item);
    if (self->outputs < 0 || read_turns(quaternions, self) < 0 || (engine && check_engine(self) < 0)) {
        Py_DECREF(self);
        return NULL;
    }
    for (int i = 0; i < self->inputs; ++i) self->given += self->input[i].fixed == NULL;
    return (PyObject *)self;
}

static int traverse(Function *self, visitproc visit, void *arg)
{
    Py_VISIT(self->attributes);
    Py_VISIT(self->careful);
    Py_VISIT(self->scratch);
    return 0;
}

static int clear(Function *self)
{
    Py_CLEAR(self->attributes);
    Py_CLEAR(self->careful);
    Py_CLEAR(self->scratch);
    return 0;
}

static void release(Function *self)
{
    PyObject_GC_UnTrack(self);
    clear(self);
    PyMem_Free(self->turn);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *represent(Function *self)
{
    return self->careful == NULL ? PyUnicode_FromString("<compiled function>") : PyObject_Repr(self->careful);
}

/* as `careful` says: a function that makes it again */
static PyObject *reduce(Function *self, PyObject *nothing)
{
    (void)nothing;
    if (self->careful != NULL) return PyObject_CallMethod(self->careful, "__reduce__", NULL);
    PyErr_SetString(PyExc_TypeError, "a compiled function of this process cannot be pickled");
    return NULL;
}

static PyMethodDef methods[] = {
    {"__reduce__", (PyCFunction)reduce, METH_NOARGS, "For pickle."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject FunctionType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "limber_dispatch.Function",
    .tp_basicsize = sizeof(Function),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC,
    .tp_new = new_function,
    .tp_dealloc = (destructor)release,
    .tp_traverse = (traverseproc)traverse,
    .tp_clear = (inquiry)clear,
    .tp_call = PyVectorcall_Call,
    .tp_repr = (reprfunc)represent,
    .tp_methods = methods,
    .tp_vectorcall_offset = offsetof(Function, vectorcall),
    .tp_dictoffset = offsetof(Function, attributes),
    .tp_getattro = PyObject_GenericGetAttr,
    .tp_setattro = PyObject_GenericSetAttr,
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "limber_dispatch", "Calls of compiled functions.", -1, NULL, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_limber_dispatch(void)
{
    import_array();
    if (PyType_Ready(&FunctionType) < 0) return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) return NULL;
    Py_INCREF(&FunctionType);
    if (PyModule_AddObject(module, "Function", (PyObject *)&FunctionType) < 0) {
        Py_DECREF(&FunctionType);
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
