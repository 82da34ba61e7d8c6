#include "gpu_array.h"

#include <cstring>

#include "gpu_memory.h"
#include "owned.h"

namespace nnkit {

CuPy cupy;

namespace {

using Sizes = GpuArray::Sizes;

// The words of an object, among which fields are looked for.
class Words {
public:
    explicit Words(PyObject* object)
        : object_(object), end_(Py_TYPE(object)->tp_basicsize) {}

    // The first place, from one on, of a value; -1 where there is none.
    template <class T> Py_ssize_t find(T value, Py_ssize_t from) const {
        for (Py_ssize_t at = from; at + Py_ssize_t(sizeof(T)) <= end_; at += sizeof(void*)) {
            if (field<T>(object_, at) == value) return at;
        }
        return -1;
    }

    // The same of a vector with these elements.
    Py_ssize_t find_sizes(const Sizes& sizes, Py_ssize_t from) const {
        for (Py_ssize_t at = from; at + Py_ssize_t(sizeof(Sizes)) <= end_; at += sizeof(void*)) {
            auto begin = field<std::uintptr_t>(object_, at);
            auto end = field<std::uintptr_t>(object_, at + sizeof(void*));
            const std::size_t bytes = sizes.size() * sizeof(Py_ssize_t);
            // What does not look like one must not be read.
            if (begin < 4096 || begin % sizeof(void*) != 0 || end - begin != bytes) continue;
            if (std::memcmp(reinterpret_cast<void*>(begin), sizes.data(), bytes) == 0) return at;
        }
        return -1;
    }

private:
    PyObject* object_;
    Py_ssize_t end_;
};

Py_ssize_t integer_of(PyObject* object, const char* name) {
    Owned value(PyObject_GetAttrString(object, name));
    return value ? PyLong_AsSsize_t(value.object()) : -1;
}

bool find_fields(CuPy& found, PyObject* array, PyObject* memory) {
    Owned data(PyObject_GetAttrString(array, "data"));
    Owned dtype(PyObject_GetAttrString(array, "dtype"));
    if (!data || !dtype) return false;
    const Py_ssize_t address = integer_of(memory, "ptr"), size = integer_of(memory, "size");
    if (PyErr_Occurred()) return false;
    constexpr Py_ssize_t head = sizeof(PyObject);
    const Words of_array(array), of_pointer(data.object()), of_memory(memory);
    found.size = of_array.find<Py_ssize_t>(7 * 11 * 13, head);
    found.shape = of_array.find_sizes({7, 11, 13}, head);
    found.strides = of_array.find_sizes({11 * 13 * 4, 13 * 4, 4}, head);
    found.dtype = of_array.find(dtype.object(), head);
    found.data = of_array.find(data.object(), head);
    found.base = of_array.find(Py_None, head);
    // Two flags of order, one behind the other, and one for indices of 32 bits.
    found.flags = found.strides + Py_ssize_t(sizeof(Sizes));
    found.wide = found.flags + 2 * Py_ssize_t(sizeof(int));
    found.address = of_pointer.find(address, head);
    found.memory = of_pointer.find(memory, head);
    found.device = found.address + Py_ssize_t(sizeof(void*));
    found.memory_address = of_memory.find(address, head);
    found.memory_size = of_memory.find(size, head);
    found.memory_device = found.memory_size + Py_ssize_t(sizeof(void*));
    // Everything has its place, in the order of CuPy 14.
    const Py_ssize_t places[] = {found.size, found.shape, found.strides, found.flags,
                                 found.wide, found.dtype, found.data, found.base};
    Py_ssize_t before = head - 1;
    for (Py_ssize_t place : places) {
        if (place <= before) return false;
        before = place;
    }
    return found.dtype == found.wide + Py_ssize_t(sizeof(void*)) &&
           found.base + Py_ssize_t(sizeof(void*)) == Py_TYPE(array)->tp_basicsize &&
           found.address >= head && found.memory == found.device + Py_ssize_t(sizeof(void*)) &&
           found.memory_address >= head && found.memory_size > found.memory_address;
}

// Whether an attribute of two objects has one value; false with an error set, too.
bool is_alike(PyObject* one, PyObject* other, const char* name) {
    Owned first(PyObject_GetAttrString(one, name)), second(PyObject_GetAttrString(other, name));
    return first && second && PyObject_RichCompareBool(first.object(), second.object(), Py_EQ) == 1;
}

// Whether an array that is made like this one is like it, as CuPy sees it.
bool can_be_made(PyObject* example) {
    Owned made(array_like(example, field<PyObject*>(example, cupy.data)));
    if (!made) return false;
    for (const char* name : {"shape", "strides", "dtype", "size", "nbytes", "itemsize", "ndim"}) {
        if (!is_alike(example, made.object(), name)) return false;
    }
    Owned flags(PyObject_GetAttrString(example, "flags"));
    Owned made_flags(PyObject_GetAttrString(made.object(), "flags"));
    if (!flags || !made_flags) return false;
    for (const char* name : {"c_contiguous", "f_contiguous", "owndata"}) {
        if (!is_alike(flags.object(), made_flags.object(), name)) return false;
    }
    Owned data(PyObject_GetAttrString(made.object(), "data"));
    return data.object() == field<PyObject*>(example, cupy.data);
}

}  // namespace

PyObject* array_like(PyObject* prototype, PyObject* pointer) {
    static PyObject* const nothing = PyTuple_New(0);
    PyTypeObject* base = cupy.type->tp_base;  // whose fields they are
    PyObject* self = base->tp_new(cupy.type, nothing, nullptr);
    if (self == nullptr) return nullptr;
    field<Py_ssize_t>(self, cupy.size) = field<Py_ssize_t>(prototype, cupy.size);
    field<Sizes>(self, cupy.shape) = field<Sizes>(prototype, cupy.shape);
    field<Sizes>(self, cupy.strides) = field<Sizes>(prototype, cupy.strides);
    std::memcpy(&field<char>(self, cupy.flags), &field<char>(prototype, cupy.flags),
                cupy.dtype - cupy.flags);
    for (Py_ssize_t place : {cupy.dtype, cupy.base}) {
        Py_XSETREF(field<PyObject*>(self, place), Py_NewRef(field<PyObject*>(prototype, place)));
    }
    Py_XSETREF(field<PyObject*>(self, cupy.data), Py_NewRef(pointer));
    return self;
}

PyObject* connect_gpu(PyObject*, PyObject* args) {
    CuPy found;
    PyObject *type, *pointer_type, *array, *memory, *examples, *allocator, *stream, *device;
    if (!PyArg_ParseTuple(args, "O!O!OOO!OOO:connect_gpu", &PyType_Type, &type, &PyType_Type,
                          &pointer_type, &array, &memory, &PyList_Type, &examples, &allocator,
                          &stream, &device)) {
        return nullptr;
    }
    found.get_allocator = reinterpret_cast<decltype(found.get_allocator)>(
        PyCapsule_GetPointer(allocator, "PyObject *(int __pyx_skip_dispatch)"));
    found.current_stream = reinterpret_cast<decltype(found.current_stream)>(
        PyCapsule_GetPointer(stream, "intptr_t (void)"));
    found.current_device = reinterpret_cast<decltype(found.current_device)>(
        PyCapsule_GetPointer(device, "int (int __pyx_skip_dispatch)"));
    if (PyErr_Occurred()) {
        PyErr_Clear();  // other signatures
        return Py_NewRef(Py_False);
    }
    if (!find_fields(found, array, memory)) return PyErr_Occurred() ? nullptr : Py_NewRef(Py_False);
    found.type = reinterpret_cast<PyTypeObject*>(Py_NewRef(type));
    found.pointer_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(pointer_type));
    if (!make_block_type(reinterpret_cast<PyObject*>(Py_TYPE(memory)->tp_base))) return nullptr;
    cupy = found;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(examples); ++i) {
        if (can_be_made(PyList_GET_ITEM(examples, i))) continue;
        cupy.type = nullptr;  // nothing is one of its arrays
        return PyErr_Occurred() ? nullptr : Py_NewRef(Py_False);
    }
    return Py_NewRef(Py_True);
}

}  // namespace nnkit
