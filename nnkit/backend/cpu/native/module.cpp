// The extension module: the type `Kernel`, what Python may ask, and what it may set.
#define NNKIT_NATIVE_MODULE
#include "array.h"

#include <structmember.h>

#include <map>
#include <new>
#include <string>
#include <string_view>

#include "arena.h"
#include "entry.h"
#include "formula.h"
#include "fused.h"
#include "gpu_array.h"
#include "gpu_memory.h"
#include "held.h"
#include "index.h"
#include "living.h"
#include "loop.h"
#include "memory.h"
#include "node.h"
#include "op.h"
#include "owned.h"
#include "parallel.h"
#include "planned.h"
#include "prepared.h"
#include "program.h"
#include "recording.h"
#include "states.h"
#include "tensor.h"
#include "tracing.h"
#include "update.h"
#include "checks.h"

namespace nnkit {
namespace {

// Of what this file offers to native/__init__.py, where the same number stands.
constexpr long interface_number = 9;

// Filled by static objects in the other files while the module is loaded.
std::map<std::string, KernelFunction>& kernels() {
    static auto* table = new std::map<std::string, KernelFunction>;
    return *table;
}

// A primitive: a compiled function, and its twin in NumPy for the arguments it declines.
struct Kernel {
    PyObject_HEAD
    vectorcallfunc call;
    Py_ssize_t parameters;  // the count that the primitive's signature has
    // One of the three is there: a kernel by hand, a printed formula, a printed update.
    KernelFunction function;
    const FormulaEntry* formula;
    const UpdateEntry* update;
    bool in_place;  // it writes into an argument, as names that end in `_` say
    PyObject* twin;
    PyObject* name;
};

PyObject* run_kernel(const Kernel& kernel, Arguments arguments) {
    if (kernel.function != nullptr) return kernel.function(arguments);
    if (kernel.update != nullptr) return run_update(*kernel.update, arguments);
    return run_formula(*kernel.formula, arguments, kernel.in_place);
}

PyObject* run(Kernel* kernel, Arguments arguments) {
    try {
        if (!kernel->in_place) return run_kernel(*kernel, arguments);
        Interruptible half_written(false);  // what it writes into must not stay so
        return run_kernel(*kernel, arguments);
    } catch (const Interrupted&) {
        return nullptr;
    } catch (const Declined&) {
        return decline();
    } catch (const std::bad_alloc&) {
        return memory_is_out("what a kernel needs besides its result");
    } catch (const std::exception& error) {
        return fail(PyExc_RuntimeError, "%U: %s", kernel->name, error.what());
    }
}

PyObject* call_kernel(PyObject* self, PyObject* const* values, std::size_t flagged,
                      PyObject* names) {
    auto* kernel = reinterpret_cast<Kernel*>(self);
    // Kernels may look at each of their arguments without counting them.
    if (names == nullptr && PyVectorcall_NARGS(flagged) == kernel->parameters) {
        PyObject* result = run(kernel, Arguments(values, kernel->parameters));
        if (result != nullptr || PyErr_Occurred()) return result;
    }
    return PyObject_Vectorcall(kernel->twin, values, flagged, names);
}

void free_kernel(PyObject* self) {
    auto* kernel = reinterpret_cast<Kernel*>(self);
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(kernel->twin);
    Py_CLEAR(kernel->name);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

int traverse_kernel(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(reinterpret_cast<Kernel*>(self)->twin);
    return 0;
}

int clear_kernel(PyObject* self) {
    // Never null: a kernel that is being collected may still be called.
    Py_SETREF(reinterpret_cast<Kernel*>(self)->twin, Py_NewRef(Py_None));
    return 0;
}

PyObject* represent_kernel(PyObject* self) {
    return PyUnicode_FromFormat("<native kernel %U>", reinterpret_cast<Kernel*>(self)->name);
}

PyMemberDef kernel_members[] = {
    {"twin", T_OBJECT_EX, offsetof(Kernel, twin), READONLY,
     "The same primitive in NumPy; it serves the arguments that the native kernel declines."},
    {"__name__", T_OBJECT_EX, offsetof(Kernel, name), READONLY, "The primitive's name."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Kernel, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kernel_slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_kernel)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_kernel)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_kernel)},
    {Py_tp_repr, reinterpret_cast<void*>(represent_kernel)},
    {Py_tp_members, kernel_members},
    {Py_tp_doc, const_cast<char*>("A primitive of the CPU backend, compiled.")},
    {0, nullptr},
};

PyType_Spec kernel_spec = {
    "nnkit.backend.cpu.native.Kernel", sizeof(Kernel), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
        Py_TPFLAGS_DISALLOW_INSTANTIATION,
    kernel_slots,
};

PyObject* kernel_type = nullptr;

PyObject* make_kernel(PyObject* name, PyObject* twin, Py_ssize_t parameters,
                      KernelFunction function, const FormulaEntry* formula,
                      const UpdateEntry* update, bool in_place) {
    auto* kernel = PyObject_GC_New(Kernel, reinterpret_cast<PyTypeObject*>(kernel_type));
    if (kernel == nullptr) return nullptr;
    kernel->call = call_kernel;
    kernel->parameters = parameters;
    kernel->function = function;
    kernel->formula = formula;
    kernel->update = update;
    kernel->in_place = in_place;
    kernel->twin = Py_NewRef(twin);
    kernel->name = Py_NewRef(name);
    PyObject_GC_Track(kernel);
    return reinterpret_cast<PyObject*>(kernel);
}

PyObject* bind(PyObject*, PyObject* args) {
    PyObject *name, *twin;
    Py_ssize_t parameters;
    if (!PyArg_ParseTuple(args, "UOn:bind", &name, &twin, &parameters)) return nullptr;
    const char* text = PyUnicode_AsUTF8(name);
    if (text == nullptr) return nullptr;
    auto found = kernels().find(text);
    if (found == kernels().end()) return Py_NewRef(twin);
    const std::string_view own = text;
    const bool in_place = !own.empty() && own.back() == '_';
    return make_kernel(name, twin, parameters, found->second, nullptr, nullptr, in_place);
}

PyObject* bind_formula(PyObject*, PyObject* args) {
    PyObject *name, *twin;
    const char* formula;
    unsigned int fingerprint;
    int in_place;
    if (!PyArg_ParseTuple(args, "UOsIp:bind_formula", &name, &twin, &formula, &fingerprint,
                          &in_place)) {
        return nullptr;
    }
    const FormulaEntry* entry = find_formula(formula);
    if (entry == nullptr || entry->fingerprint != fingerprint) return Py_NewRef(twin);
    return make_kernel(name, twin, entry->arrays + entry->scalars, nullptr, entry, nullptr,
                       in_place != 0);
}

PyObject* bind_update(PyObject*, PyObject* args) {
    PyObject *name, *twin;
    unsigned int fingerprint;
    if (!PyArg_ParseTuple(args, "UOI:bind_update", &name, &twin, &fingerprint)) return nullptr;
    const char* text = PyUnicode_AsUTF8(name);
    if (text == nullptr) return nullptr;
    const UpdateEntry* entry = find_update(text, fingerprint);
    if (entry == nullptr) return Py_NewRef(twin);
    return make_kernel(name, twin, 2, nullptr, nullptr, entry, true);
}

PyObject* names(PyObject*, PyObject*) {
    PyObject* list = PyList_New(0);
    if (list == nullptr) return nullptr;
    for (const auto& entry : kernels()) {
        PyObject* name = PyUnicode_FromString(entry.first.c_str());
        if (name == nullptr || PyList_Append(list, name) < 0) {
            Py_XDECREF(name);
            Py_DECREF(list);
            return nullptr;
        }
        Py_DECREF(name);
    }
    return list;
}

PyObject* python_set_threads(PyObject*, PyObject* count) {
    long value = PyLong_AsLong(count);
    if (value == -1 && PyErr_Occurred()) return nullptr;
    set_thread_count(static_cast<int>(value));
    return none();
}

PyObject* python_threads(PyObject*, PyObject*) { return PyLong_FromLong(thread_count()); }

PyObject* python_empty_cache(PyObject*, PyObject*) {
    empty_cache();
    return none();
}

PyObject* python_cached_bytes(PyObject*, PyObject*) { return PyLong_FromSize_t(cached_bytes()); }

PyObject* python_set_cache_limit(PyObject*, PyObject* bytes) {
    std::size_t value = PyLong_AsSize_t(bytes);
    if (PyErr_Occurred()) return nullptr;
    set_cache_limit(value);
    return none();
}

PyMethodDef methods[] = {
    {"bind", bind, METH_VARARGS, "The kernel of a primitive, or its twin if there is none."},
    {"bind_formula", bind_formula, METH_VARARGS, "The kernel of a printed formula, or its twin."},
    {"bind_update", bind_update, METH_VARARGS, "The kernel of a printed update, or its twin."},
    {"fuse", fuse, METH_VARARGS, "A function that runs the formulas of several kernels together."},
    {"set_tensor", set_tensor, METH_VARARGS, "Tell the class of Tensors."},
    {"tell_overriding", tell_overriding, METH_VARARGS, "Tell what answers for functions."},
    {"tell_levels", tell_levels, METH_O, "Tell the set of the levels that are entered."},
    {"wrap", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(wrap_array)),
     METH_FASTCALL, "A new leaf on an array."},
    {"count_writes", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(count_writes)),
     METH_FASTCALL, "Count writes to the storage of a tensor."},
    {"divide_basic", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(divide_basic)),
     METH_FASTCALL, "The basic part of an index, and the class of its last item."},
    {"bind_op", bind_op, METH_VARARGS, "An op on Tensors, or its twin."},
    {"set_node", set_node, METH_VARARGS, "Tell the classes of nodes and of saved outputs."},
    {"bind_record", bind_record, METH_VARARGS, "What makes the nodes of an op."},
    {"unpack_array", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(unpack_array)),
     METH_FASTCALL, "The array of a saved value."},
    {"connect_gpu", connect_gpu, METH_VARARGS, "Whether CuPy's objects are as expected."},
    {"gpu_allocator", gpu_allocator, METH_VARARGS, "An allocator that counts, on another one."},
    {"gpu_memory", gpu_memory, METH_O, "Bytes allocated on a GPU, the most, the most reserved."},
    {"reset_gpu_peaks", reset_gpu_peaks, METH_VARARGS, "Count the most anew."},
    {"release_gpu_memory", release_gpu_memory, METH_NOARGS, "Give back what is kept for reuse."},
    {"connect_launches", connect_launches, METH_VARARGS, "Tell how kernels are launched."},
    {"bind_planned", bind_planned, METH_VARARGS, "A primitive whose launches are planned."},
    {"forget_handle", forget_handle, METH_NOARGS, "cuBLAS' handle was set to something else."},
    {"trace", trace, METH_O, "Set a profiler that looks at calls of this thread."},
    {"untraced", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(untraced)),
     METH_FASTCALL, "Call a function at whose calls no profiler looks."},
    {"slots", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(slots)), METH_FASTCALL,
     "What stands for the arrays in a value."},
    {"recorded", recorded, METH_O, "A primitive whose calls are written down."},
    {"same_values", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(same_values)),
     METH_FASTCALL, "Whether values of two calls are the same."},
    {"users_line", users_line, METH_NOARGS, "The nearest line that is not nnkit's own."},
    {"states", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(states)),
     METH_FASTCALL, "How tensors are."},
    {"changed", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(changed)),
     METH_FASTCALL, "The tensors that are not as they were."},
    {"names", names, METH_NOARGS, "The primitives that have a kernel."},
    {"set_threads", python_set_threads, METH_O, "Set the number of threads of a section."},
    {"threads", python_threads, METH_NOARGS, "The number of threads of a section."},
    {"empty_cache", python_empty_cache, METH_NOARGS, "Give unused memory back to the system."},
    {"cached_bytes", python_cached_bytes, METH_NOARGS, "The bytes the cache holds unused."},
    {"set_cache_limit", python_set_cache_limit, METH_O, "Set the most bytes the cache keeps."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "native", "Compiled kernels of the CPU backend.", -1, methods,
    nullptr, nullptr, nullptr, nullptr,
};

bool find_bfloat16() {
    PyObject* library = PyImport_ImportModule("ml_dtypes");
    PyObject* type = library ? PyObject_GetAttrString(library, "bfloat16") : nullptr;
    PyArray_Descr* descriptor = nullptr;
    bool found = type != nullptr && PyArray_DescrConverter(type, &descriptor);
    if (found) bfloat16_number = descriptor->type_num;
    Py_XDECREF(descriptor);
    Py_XDECREF(type);
    Py_XDECREF(library);
    return found;
}

}  // namespace

const FormulaEntry* formula_of(PyObject* kernel) {
    bool is_kernel = Py_IS_TYPE(kernel, reinterpret_cast<PyTypeObject*>(kernel_type));
    return is_kernel ? reinterpret_cast<Kernel*>(kernel)->formula : nullptr;
}

Registration::Registration(const char* name, KernelFunction function) {
    kernels()[name] = function;
}

}  // namespace nnkit

// NNKIT_INIT is PyInit_ with the name of the instruction set that this module is compiled for.
PyMODINIT_FUNC NNKIT_INIT() {
    import_array();
    if (!nnkit::find_bfloat16()) return nullptr;
    PyObject* module = PyModule_Create(&nnkit::definition);
    if (module == nullptr) return nullptr;
    nnkit::kernel_type = PyType_FromSpec(&nnkit::kernel_spec);
    nnkit::Owned entry(nnkit::make_entry_type()), held(nnkit::make_held_type(true));
    nnkit::Owned unbound(nnkit::make_held_type(false));
    nnkit::Owned modes(nnkit::make_modes_type()), living(nnkit::make_living_type());
    nnkit::Owned checks(nnkit::make_checks_type()), planned(nnkit::make_planned_type());
    nnkit::Owned frozen(nnkit::make_frozen_type()), loop(nnkit::make_loop_type());
    if (nnkit::kernel_type == nullptr || !entry || !held || !unbound || !modes || !living ||
        !checks || !planned || !frozen || !loop ||
        PyModule_AddObjectRef(module, "Kernel", nnkit::kernel_type) < 0 ||
        PyModule_AddObjectRef(module, "Entry", entry.object()) < 0 ||
        PyModule_AddObjectRef(module, "Living", living.object()) < 0 ||
        PyModule_AddObjectRef(module, "Checks", checks.object()) < 0 ||
        PyModule_AddObjectRef(module, "Planned", planned.object()) < 0 ||
        PyModule_AddObjectRef(module, "Frozen", frozen.object()) < 0 ||
        PyModule_AddObjectRef(module, "Loop", loop.object()) < 0 ||
        PyModule_AddObjectRef(module, "Held", held.object()) < 0 ||
        PyModule_AddObjectRef(module, "Unbound", unbound.object()) < 0 ||
        PyModule_AddObjectRef(module, "Modes", modes.object()) < 0 ||
        PyModule_AddIntConstant(module, "INTERFACE", nnkit::interface_number) < 0) {
        Py_DECREF(module);
        return nullptr;
    }
    return module;
}
