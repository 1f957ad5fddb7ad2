/* The way from Python into a generated function, without a copy and without overhead.

   Function(pointer, inputs, outputs, single, quaternions, general)
     pointer  address of limber_call(in, out)
     inputs   shape of each input
     outputs  shape of each output
     single   1: float32, 0: float64
     quaternions  where quaternions begin in the first input
     general  what to call when the arguments are not plain arrays of exactly these shapes, or quaternions
              are not unit to rounding

   Everything but the plain case, errors included, is left to `general`. */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <stddef.h>

#define MOST 24 /* arguments */
#define DEEPEST 3 /* dimensions */

typedef void (*generated)(const void *const *, void *const *);

typedef struct {
    int dimensions;
    npy_intp shape[DEEPEST];
} Shape;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *attributes;
    PyObject *general;
    generated function;
    int inputs, outputs, type;
    Shape input[MOST], output[MOST];
    Py_ssize_t turns, *turn; /* how many quaternions, and where */
} Function;

static int fits(PyObject *object, const Shape *shape, int type)
{
    if (!PyArray_CheckExact(object)) return 0;
    PyArrayObject *array = (PyArrayObject *)object;
    if (PyArray_TYPE(array) != type || PyArray_NDIM(array) != shape->dimensions || !PyArray_ISCARRAY_RO(array)) return 0;
    for (int i = 0; i < shape->dimensions; ++i)
        if (PyArray_DIM(array, i) != shape->shape[i]) return 0;
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

static PyObject *call(PyObject *object, PyObject *const *args, size_t flags, PyObject *names)
{
    Function *self = (Function *)object;
    const void *in[MOST];
    void *out[MOST];
    union { double d; float f; } numbers[MOST];
    PyObject *results[MOST];
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    PyObject *given = NULL;
    int made = 0;

    if (count != self->inputs) goto general;
    if (names != NULL) {
        if (PyTuple_GET_SIZE(names) != 1) goto general;
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "out") != 0) goto general;
        given = args[count];
        if (self->outputs != 1 || !fits(given, &self->output[0], self->type)) goto general;
        if (!PyArray_ISWRITEABLE((PyArrayObject *)given)) goto general;
    }
    for (int i = 0; i < self->inputs; ++i) {
        if (fits(args[i], &self->input[i], self->type)) {
            in[i] = PyArray_DATA((PyArrayObject *)args[i]);
            if (args[i] == given) goto general;
            if (given != NULL && ((PyArrayObject_fields *)args[i])->base != NULL) goto general; /* may overlap */
        }
        else if (self->input[i].dimensions == 0 && PyFloat_CheckExact(args[i])) {
            if (self->type == NPY_DOUBLE) numbers[i].d = PyFloat_AS_DOUBLE(args[i]);
            else numbers[i].f = (float)PyFloat_AS_DOUBLE(args[i]);
            in[i] = &numbers[i];
        }
        else goto general;
    }
    if (self->turns > 0 && !(self->type == NPY_DOUBLE ? unit_double(self, in[0]) : unit_float(self, in[0]))) goto general;
    if (given != NULL) {
        if (((PyArrayObject_fields *)given)->base != NULL) goto general;
        out[0] = PyArray_DATA((PyArrayObject *)given);
        self->function(in, out);
        Py_INCREF(given);
        return given;
    }
    for (int i = 0; i < self->outputs; ++i) {
        results[i] = PyArray_SimpleNew(self->output[i].dimensions, self->output[i].shape, self->type);
        if (results[i] == NULL) {
            for (int j = 0; j < made; ++j) Py_DECREF(results[j]);
            return NULL;
        }
        ++made;
        out[i] = PyArray_DATA((PyArrayObject *)results[i]);
    }
    self->function(in, out);
    if (self->outputs == 1) return PyArray_Return((PyArrayObject *)results[0]);
    PyObject *tuple = PyTuple_New(self->outputs);
    if (tuple == NULL) {
        for (int j = 0; j < made; ++j) Py_DECREF(results[j]);
        return NULL;
    }
    for (int i = 0; i < self->outputs; ++i)
        PyTuple_SET_ITEM(tuple, i, PyArray_Return((PyArrayObject *)results[i]));
    return tuple;

general:
    return PyObject_Vectorcall(self->general, args, (size_t)count, names);
}

static int read_shapes(PyObject *list, Shape *shapes)
{
    PyObject *fast = PySequence_Fast(list, "shapes must be a sequence");
    if (fast == NULL) return -1;
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(fast);
    if (count > MOST) {
        PyErr_SetString(PyExc_ValueError, "too many arguments");
        Py_DECREF(fast);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject *shape = PySequence_Fast_GET_ITEM(fast, i);
        if (!PyTuple_Check(shape) || PyTuple_GET_SIZE(shape) > DEEPEST) {
            PyErr_SetString(PyExc_ValueError, "a shape must be a tuple of at most three numbers");
            Py_DECREF(fast);
            return -1;
        }
        shapes[i].dimensions = (int)PyTuple_GET_SIZE(shape);
        for (int j = 0; j < shapes[i].dimensions; ++j)
            shapes[i].shape[j] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, j));
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

static PyObject *new_function(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    unsigned long long pointer;
    PyObject *inputs, *outputs, *quaternions, *general;
    int single;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "KOOpOO", &pointer, &inputs, &outputs, &single, &quaternions, &general)) return NULL;
    Function *self = (Function *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->vectorcall = call;
    self->function = (generated)(size_t)pointer;
    self->type = single ? NPY_FLOAT : NPY_DOUBLE;
    self->inputs = read_shapes(inputs, self->input);
    self->outputs = self->inputs < 0 ? -1 : read_shapes(outputs, self->output);
    if (self->outputs < 0 || read_turns(quaternions, self) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    Py_INCREF(general);
    self->general = general;
    return (PyObject *)self;
}

static int traverse(Function *self, visitproc visit, void *arg)
{
    Py_VISIT(self->attributes);
    Py_VISIT(self->general);
    return 0;
}

static int clear(Function *self)
{
    Py_CLEAR(self->attributes);
    Py_CLEAR(self->general);
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
    return PyObject_Repr(self->general);
}

/* as `general` says: a function that makes it again */
static PyObject *reduce(Function *self, PyObject *nothing)
{
    (void)nothing;
    return PyObject_CallMethod(self->general, "__reduce__", NULL);
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
    PyModuleDef_HEAD_INIT, "limber_dispatch", "Calls of generated functions.", -1, NULL, NULL, NULL, NULL, NULL,
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
