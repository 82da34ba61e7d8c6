// Primitives on a GPU whose launches are known from the layouts of their arguments. Python's driver says
// once for each layout what it makes and launches (backend/cuda/planning.py); that is a program, which is
// run here from then on: results are made, addresses and numbers filled in, kernels launched. The twin
// serves arguments of other kinds, and those for which there is no program.
#include "planned.h"

#include <structmember.h>

#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "gpu_memory.h"
#include "owned.h"

namespace nnkit {
namespace {

constexpr std::size_t most_programs = 4096;  // of a primitive
constexpr std::size_t small_bytes = 1024;    // of arguments, which need no memory of their own
constexpr int most_parameters = 64;

// ---- NVIDIA's functions, by address

using LaunchKernel = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                             unsigned, void*, void**, void**);
using Multiply = int (*)(void*, int, int, int, int, int, const void*, const void*, int, int,
                         const void*, int, int, const void*, void*, int, int, int, int);
using MultiplyMany = int (*)(void*, int, int, int, int, int, const void*, const void*, int, int,
                             long long, const void*, int, int, long long, const void*, void*, int,
                             int, long long, int, int, int);

LaunchKernel launch_kernel = nullptr;
// Python's functions: raises what a status means, prepares a thread, gives the handle of cuBLAS.
PyObject *failed = nullptr, *prepare = nullptr, *handle = nullptr;
constexpr int invalid_context = 201;  // also of a thread that has not called the runtime yet

// cuBLAS' handle as this thread has set it last.
struct Handle {
    long generation = -1;
    int device;
    std::intptr_t stream;
    void* pointer;
};

thread_local Handle last_handle;
long generation = 0;

bool find_handle(int device, std::intptr_t stream, void** found) {
    Handle& last = last_handle;
    if (last.generation != generation || last.device != device || last.stream != stream) {
        Owned pointer(PyObject_CallNoArgs(handle));
        if (!pointer) return false;
        void* address = PyLong_AsVoidPtr(pointer.object());
        if (PyErr_Occurred()) return false;
        last = {generation, device, stream, address};
    }
    *found = last.pointer;
    return true;
}

// ---- the arguments of a call

// All that a program depends on, as words.
using Key = std::vector<std::int64_t>;

struct HashKey {
    std::size_t operator()(const Key& key) const {
        std::uint64_t hash = key.size();
        for (std::int64_t word : key) {
            hash = (hash ^ std::uint64_t(word)) * 0x9E3779B97F4A7C15u;
            hash ^= hash >> 29;
        }
        return hash;
    }
};

enum Tag { absent = 1, yes, no, integer, real, any_number, sequence, array, thing };

constexpr int vector_bytes = 16;  // as in launch.py

class Signature {
public:
    Signature(Key& key, std::vector<PyObject*>& arrays) : key_(key), arrays_(arrays) {
        key_.clear();
        arrays_.clear();
    }

    // Appends an argument; false for what no program is made for. Of a varying one only its class
    // counts.
    bool add(PyObject* value, bool varying) {
        if (GpuArray::is(value)) return add_array(value);
        PyTypeObject* type = Py_TYPE(value);
        if (value == Py_None) return add_word(absent);
        if (varying && (type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type)) {
            return add_word(any_number) && add_word(std::int64_t(type));
        }
        if (type == &PyBool_Type) return add_word(value == Py_True ? yes : no);
        if (type == &PyLong_Type) {
            int overflow;
            long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
            return !overflow && add_word(integer) && add_word(number);
        }
        if (type == &PyFloat_Type) {
            double number = PyFloat_AS_DOUBLE(value);
            std::int64_t bits;
            std::memcpy(&bits, &number, sizeof bits);
            return add_word(real) && add_word(bits);
        }
        if (type == &PyTuple_Type || type == &PyList_Type) {
            Py_ssize_t count = PySequence_Fast_GET_SIZE(value);
            add_word(sequence);
            add_word(count);
            for (Py_ssize_t i = 0; i < count; ++i) {
                if (!add(PySequence_Fast_GET_ITEM(value, i), varying)) return false;
            }
            return true;
        }
        // The program keeps it, so that nothing else gets its address.
        bool known = type == &PyUnicode_Type || PyArray_DescrCheck(value) || PyType_Check(value);
        return known && add_word(thing) && add_word(std::int64_t(value));
    }

    // The present values of switches, which are True or False.
    void add_switches(PyObject* switches) {
        PyObject *name, *value;
        Py_ssize_t at = 0;
        while (PyDict_Next(switches, &at, &name, &value)) add_word(PyObject_IsTrue(value));
    }

private:
    bool add_word(std::int64_t word) {
        key_.push_back(word);
        return true;
    }

    bool add_array(PyObject* value) {
        GpuArray given(value);
        const auto &shape = given.shape(), &strides = given.strides();
        auto aligned = std::uintptr_t(given.address()) % vector_bytes;
        key_.push_back(array | shape.size() << 8 | aligned << 16);
        key_.push_back(std::int64_t(given.dtype()));
        key_.insert(key_.end(), shape.begin(), shape.end());
        key_.insert(key_.end(), strides.begin(), strides.end());
        arrays_.push_back(value);
        return true;
    }

    Key& key_;
    std::vector<PyObject*>& arrays_;
};

// ---- programs

// A place in the arguments of launches that gets an address.
struct Address {
    std::size_t at;
    int source;  // an array of the arguments; from -1 down, one that the program makes
    std::int64_t offset;
};

// One that gets a number among the arguments of the call.
struct Number {
    std::size_t at;
    Py_ssize_t position;
    bool is_whole;
};

struct Launch {
    void* function;
    unsigned shape[6], shared;
    std::vector<std::size_t> starts;  // of its parameters
};

struct Matrix {
    std::size_t at;  // where its address stands
    int kind, step;
    long long stride;
};

struct Product {
    void* function;
    bool many;
    int shape[5];  // whether transposed; m, n, k
    char factors[32];
    std::size_t second;  // where the second factor begins
    Matrix left, right, out;
    int batch, compute, algorithm;

    int run(void* handle, char* values) const {
        auto of = [values](const Matrix& matrix) {
            void* address;
            std::memcpy(&address, values + matrix.at, sizeof address);
            return address;
        };
        if (many) {
            return reinterpret_cast<MultiplyMany>(function)(
                handle, shape[0], shape[1], shape[2], shape[3], shape[4], factors, of(left),
                left.kind, left.step, left.stride, of(right), right.kind, right.step, right.stride,
                factors + second, of(out), out.kind, out.step, out.stride, batch, compute,
                algorithm);
        }
        return reinterpret_cast<Multiply>(function)(
            handle, shape[0], shape[1], shape[2], shape[3], shape[4], factors, of(left), left.kind,
            left.step, of(right), right.kind, right.step, factors + second, of(out), out.kind,
            out.step, compute, algorithm);
    }
};

// The step that failed, if its status is not 0.
struct Failure {
    std::size_t step = 0;
    int status = 0;
    bool is_product = false;
};

struct Made {
    std::size_t bytes;
    Owned prototype;  // None for memory that is no result
};

class Program {
public:
    // Reads what planning.py writes; null with an error set.
    static std::shared_ptr<Program> read(PyObject* description, PyObject* arguments);

    PyObject* run(int device, PyObject* const* values, const std::vector<PyObject*>& arrays) const;

private:
    bool read_launch(PyObject* step);
    bool read_product(PyObject* step);
    bool read_made(PyObject* items);
    bool read_results(PyObject* items);
    bool fill(char* room, PyObject* const* values, const std::vector<PyObject*>& arrays,
              const std::vector<Owned>& made) const;
    void launch(char* room, std::intptr_t stream, void* handle, Failure& failure) const;

    std::vector<Made> made_;
    std::string bytes_;  // of all parameters
    std::vector<Address> addresses_;
    std::vector<Number> numbers_;
    std::vector<std::variant<Launch, Product>> steps_;
    bool multiplies_ = false;
    bool several_ = false;
    std::vector<int> results_;  // as the sources of addresses; `nothing` for None
    Owned arguments_;           // of which some are known by their address

    static constexpr int nothing = 1 << 30;
};

bool Program::read_made(PyObject* items) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); ++i) {
        Py_ssize_t bytes;
        PyObject* prototype;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(items, i), "nO", &bytes, &prototype)) return false;
        made_.push_back({std::size_t(bytes), Owned(Py_NewRef(prototype))});
    }
    return true;
}

// (function, grid and block, shared, parameters, starts, addresses, numbers)
bool Program::read_launch(PyObject* step) {
    Launch launch;
    PyObject *function, *starts, *addresses, *numbers;
    const char* bytes;
    Py_ssize_t size;
    unsigned* s = launch.shape;
    if (!PyArg_ParseTuple(step, "O(IIIIII)Iy#O!O!O!", &function, s, s + 1, s + 2, s + 3, s + 4,
                          s + 5, &launch.shared, &bytes, &size, &PyTuple_Type, &starts,
                          &PyTuple_Type, &addresses, &PyTuple_Type, &numbers)) {
        return false;
    }
    launch.function = PyLong_AsVoidPtr(function);
    const std::size_t begin = bytes_.size();
    bytes_.append(bytes, size);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(starts); ++i) {
        launch.starts.push_back(begin + PyLong_AsSsize_t(PyTuple_GET_ITEM(starts, i)));
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(addresses); ++i) {
        Py_ssize_t at;
        int source;
        long long offset;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(addresses, i), "niL", &at, &source, &offset)) {
            return false;
        }
        addresses_.push_back({begin + at, source, offset});
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(numbers); ++i) {
        Py_ssize_t at, position;
        int is_whole;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(numbers, i), "nnp", &at, &position, &is_whole)) {
            return false;
        }
        numbers_.push_back({begin + at, position, is_whole != 0});
    }
    if (launch.starts.size() > most_parameters) {
        return fail(PyExc_ValueError, "a kernel has too many parameters") != nullptr;
    }
    steps_.push_back(std::move(launch));
    return !PyErr_Occurred();
}

// (function, many, shape, factors, left, right, out, (batch, compute, algorithm)); a matrix is
// (source, offset, kind, step, stride).
bool Program::read_product(PyObject* step) {
    Product product;
    PyObject* function;
    const char* factors;
    Py_ssize_t size;
    int many, *s = product.shape, sources[3];
    long long offsets[3];
    Matrix *x = &product.left, *y = &product.right, *out = &product.out;
    if (!PyArg_ParseTuple(step, "Op(iiiii)y#(iLiiL)(iLiiL)(iLiiL)(iii)", &function, &many, s, s + 1,
                          s + 2, s + 3, s + 4, &factors, &size, sources, offsets, &x->kind, &x->step,
                          &x->stride, sources + 1, offsets + 1, &y->kind, &y->step, &y->stride,
                          sources + 2, offsets + 2, &out->kind, &out->step, &out->stride,
                          &product.batch, &product.compute, &product.algorithm)) {
        return false;
    }
    product.function = PyLong_AsVoidPtr(function);
    if (size > Py_ssize_t(sizeof product.factors)) {
        return fail(PyExc_ValueError, "the factors of a product are too long") != nullptr;
    }
    std::memcpy(product.factors, factors, size);
    product.second = size / 2;
    product.many = many != 0;
    int i = 0;
    for (Matrix* matrix : {x, y, out}) {
        matrix->at = bytes_.size();
        addresses_.push_back({matrix->at, sources[i], offsets[i]});
        bytes_.append(sizeof(void*), '\0');
        ++i;
    }
    multiplies_ = true;
    steps_.push_back(product);
    return !PyErr_Occurred();
}

bool Program::read_results(PyObject* items) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); ++i) {
        PyObject* item = PyTuple_GET_ITEM(items, i);
        results_.push_back(item == Py_None ? nothing : PyLong_AsLong(item));
    }
    return !PyErr_Occurred();
}

// (what is made, steps, results, whether they are a tuple)
std::shared_ptr<Program> Program::read(PyObject* description, PyObject* arguments) {
    auto program = std::make_shared<Program>();
    PyObject *made, *steps, *results;
    int several;
    if (!PyArg_ParseTuple(description, "O!O!O!p", &PyTuple_Type, &made, &PyTuple_Type, &steps,
                          &PyTuple_Type, &results, &several)) {
        return nullptr;
    }
    program->several_ = several != 0;
    program->arguments_.reset(Py_NewRef(arguments));
    if (!program->read_made(made) || !program->read_results(results)) return nullptr;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(steps); ++i) {
        int is_product;
        PyObject* step;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(steps, i), "pO!", &is_product, &PyTuple_Type, &step)) {
            return nullptr;
        }
        if (!(is_product ? program->read_product(step) : program->read_launch(step))) return nullptr;
    }
    return program;
}

bool Program::fill(char* room, PyObject* const* values, const std::vector<PyObject*>& arrays,
                   const std::vector<Owned>& made) const {
    std::memcpy(room, bytes_.data(), bytes_.size());
    for (const Address& each : addresses_) {
        char* address = each.source >= 0
                            ? GpuArray(arrays[each.source]).address()
                            : field<char*>(made[-1 - each.source].object(), cupy.address);
        address += each.offset;
        std::memcpy(room + each.at, &address, sizeof address);
    }
    for (const Number& each : numbers_) {
        PyObject* value = values[each.position];
        if (each.is_whole) {
            std::int64_t number = PyLong_AsLongLong(value);
            std::memcpy(room + each.at, &number, sizeof number);
        } else {
            double number = PyFloat_AsDouble(value);
            std::memcpy(room + each.at, &number, sizeof number);
        }
    }
    return numbers_.empty() || !PyErr_Occurred();
}

// Launches the steps from the one on that failed before. It touches no object of Python's.
void Program::launch(char* room, std::intptr_t stream, void* handle, Failure& failure) const {
    void* parameters[most_parameters];
    for (std::size_t& i = failure.step; i < steps_.size(); ++i) {
        failure.is_product = std::holds_alternative<Product>(steps_[i]);
        if (failure.is_product) {
            failure.status = std::get<Product>(steps_[i]).run(handle, room);
        } else {
            const Launch& one = std::get<Launch>(steps_[i]);
            for (std::size_t j = 0; j < one.starts.size(); ++j) parameters[j] = room + one.starts[j];
            const unsigned* s = one.shape;
            failure.status = launch_kernel(one.function, s[0], s[1], s[2], s[3], s[4], s[5],
                                           one.shared, reinterpret_cast<void*>(stream), parameters,
                                           nullptr);
        }
        if (failure.status != 0) return;
    }
}

// Without an error set, null is "declined": nothing was launched.
PyObject* Program::run(int device, PyObject* const* values,
                       const std::vector<PyObject*>& arrays) const {
    std::vector<Owned> made, results;
    made.reserve(made_.size());
    for (const Made& each : made_) {
        made.emplace_back(gpu_allocate(each.bytes));
        if (!made.back()) {
            if (PyErr_ExceptionMatches(PyExc_MemoryError)) PyErr_Clear();
            return nullptr;
        }
    }
    for (int result : results_) {
        PyObject* one = result == nothing ? none()
                        : result >= 0     ? Py_NewRef(arrays[result])
                                          : array_like(made_[-1 - result].prototype.object(),
                                                       made[-1 - result].object());
        results.emplace_back(one);
        if (one == nullptr) return nullptr;
    }
    alignas(std::max_align_t) char small[small_bytes];
    std::unique_ptr<char[]> large;
    if (bytes_.size() > small_bytes) large.reset(new char[bytes_.size()]);
    char* room = large ? large.get() : small;
    if (!fill(room, values, arrays, made)) {
        PyErr_Clear();  // a number that does not fit
        return nullptr;
    }
    const std::intptr_t stream = cupy.current_stream();
    void* handle = nullptr;
    if (multiplies_ && !find_handle(device, stream, &handle)) return nullptr;
    Failure failure;
    for (int attempt = 0; attempt < 2; ++attempt) {
        Py_BEGIN_ALLOW_THREADS  // the driver may wait for room, or for what other threads launch
        launch(room, stream, handle, failure);
        Py_END_ALLOW_THREADS
        if (failure.status != invalid_context || failure.is_product) break;
        if (!Owned(PyObject_CallNoArgs(prepare))) return nullptr;
    }
    if (failure.status != 0) {
        PyObject* is_product = failure.is_product ? Py_True : Py_False;
        Owned(PyObject_CallFunction(failed, "Oi", is_product, failure.status));
        return nullptr;
    }
    if (!several_) return results[0].release();
    PyObject* tuple = PyTuple_New(results.size());
    for (std::size_t i = 0; tuple != nullptr && i < results.size(); ++i) {
        PyTuple_SET_ITEM(tuple, i, results[i].release());
    }
    return tuple;
}

// ---- primitives

using Programs = std::unordered_map<Key, std::shared_ptr<Program>, HashKey>;

struct Planned {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *twin, *planner, *name;
    PyObject* switches;        // a dictionary on whose values programs depend, or None
    int device;
    bool several;              // GPUs, of which another one may be current
    Py_ssize_t first, last;    // the arguments from and to that are numbers which vary
    Programs* programs;        // null stands for layouts without one
};

// The program for a call, made if need be; false with an error set.
bool find_program(Planned* planned, const Key& key, PyObject* const* values, Py_ssize_t count,
                  std::shared_ptr<Program>* found) {
    auto known = planned->programs->find(key);
    if (known != planned->programs->end()) {
        *found = known->second;
        return true;
    }
    const Key own = key;  // Python may come back here
    Owned arguments(PyTuple_New(count));
    if (!arguments) return false;
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyTuple_SET_ITEM(arguments.object(), i, Py_NewRef(values[i]));
    }
    Owned made(PyObject_CallFunction(planned->planner, "OO", planned->twin, arguments.object()));
    if (!made) return false;
    if (made.object() != Py_None) {
        PyObject* description = PyTuple_GET_ITEM(made.object(), 0);
        *found = Program::read(description, PyTuple_GET_ITEM(made.object(), 1));
        if (*found == nullptr) return false;
    }
    if (planned->programs->size() >= most_programs) planned->programs->clear();
    (*planned->programs)[own] = *found;
    return true;
}

PyObject* call_planned(PyObject* self, PyObject* const* values, std::size_t flagged,
                       PyObject* names) {
    auto* planned = reinterpret_cast<Planned*>(self);
    static Key key;  // of the call at hand, under the GIL
    const Py_ssize_t count = PyVectorcall_NARGS(flagged);
    bool is_here = !planned->several || cupy.current_device(0) == planned->device;
    std::vector<PyObject*> arrays;
    arrays.reserve(8);
    Signature signature(key, arrays);
    bool known = names == nullptr && is_here;
    for (Py_ssize_t i = 0; known && i < count; ++i) {
        known = signature.add(values[i], i >= planned->first && i < planned->last);
    }
    if (known && !arrays.empty()) {
        if (planned->switches != Py_None) signature.add_switches(planned->switches);
        std::shared_ptr<Program> program;
        if (!find_program(planned, key, values, count, &program)) return nullptr;
        if (program != nullptr) {
            PyObject* result = program->run(planned->device, values, arrays);
            if (result != nullptr || PyErr_Occurred()) return result;
        }
    }
    return PyObject_Vectorcall(planned->twin, values, flagged, names);
}

void free_planned(PyObject* self) {
    auto* planned = reinterpret_cast<Planned*>(self);
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    delete planned->programs;
    for (PyObject* part : {planned->twin, planned->planner, planned->name, planned->switches}) {
        Py_XDECREF(part);
    }
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

int traverse_planned(PyObject* self, visitproc visit, void* arg) {
    auto* planned = reinterpret_cast<Planned*>(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(planned->twin);
    Py_VISIT(planned->planner);
    return 0;
}

PyObject* represent_planned(PyObject* self) {
    return PyUnicode_FromFormat("<planned %U>", reinterpret_cast<Planned*>(self)->name);
}

// What it has no attribute of, the twin has (a formula).
PyObject* get_attribute(PyObject* self, PyObject* name) {
    PyObject* found = PyObject_GenericGetAttr(self, name);
    if (found != nullptr || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
    PyErr_Clear();
    return PyObject_GetAttr(reinterpret_cast<Planned*>(self)->twin, name);
}

PyObject* count_programs(PyObject* self, void*) {
    std::size_t count = 0;
    for (const auto& [key, program] : *reinterpret_cast<Planned*>(self)->programs) {
        count += program != nullptr;
    }
    return PyLong_FromSize_t(count);
}

PyMemberDef planned_members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(Planned, twin), READONLY, "The twin."},
    {"twin", T_OBJECT_EX, offsetof(Planned, twin), READONLY,
     "The same in Python; it serves the arguments for which there is no program."},
    {"__name__", T_OBJECT_EX, offsetof(Planned, name), READONLY, "The primitive's name."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Planned, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef planned_computed[] = {
    {"programs", count_programs, nullptr, "For how many layouts there is a program.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot planned_slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_planned)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_planned)},
    {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
    {Py_tp_repr, reinterpret_cast<void*>(represent_planned)},
    {Py_tp_members, planned_members},
    {Py_tp_getset, planned_computed},
    {0, nullptr},
};

PyType_Spec planned_spec = {
    "nnkit.backend.cpu.native.Planned", sizeof(Planned), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
        Py_TPFLAGS_DISALLOW_INSTANTIATION,
    planned_slots,
};

PyTypeObject* planned_type = nullptr;

}  // namespace

PyObject* connect_launches(PyObject*, PyObject* args) {
    PyObject *address, *fails, *prepares, *handles;
    if (!PyArg_ParseTuple(args, "OOOO:connect_launches", &address, &fails, &prepares, &handles)) {
        return nullptr;
    }
    auto* function = PyLong_AsVoidPtr(address);
    if (PyErr_Occurred()) return nullptr;
    launch_kernel = reinterpret_cast<LaunchKernel>(function);
    Py_XSETREF(failed, Py_NewRef(fails));
    Py_XSETREF(prepare, Py_NewRef(prepares));
    Py_XSETREF(handle, Py_NewRef(handles));
    return none();
}

PyObject* bind_planned(PyObject*, PyObject* args) {
    PyObject *name, *twin, *planner, *switches;
    int device, several;
    Py_ssize_t first, last;
    if (!PyArg_ParseTuple(args, "UOOipnnO:bind_planned", &name, &twin, &planner, &device, &several,
                          &first, &last, &switches)) {
        return nullptr;
    }
    if (planned_type == nullptr) {
        planned_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&planned_spec));
    }
    if (planned_type == nullptr) return nullptr;
    auto* planned = PyObject_GC_New(Planned, planned_type);
    if (planned == nullptr) return nullptr;
    planned->call = call_planned;
    planned->twin = Py_NewRef(twin);
    planned->planner = Py_NewRef(planner);
    planned->name = Py_NewRef(name);
    planned->switches = Py_NewRef(switches);
    planned->device = device;
    planned->several = several != 0;
    planned->first = first;
    planned->last = last;
    planned->programs = new Programs;
    PyObject_GC_Track(planned);
    return reinterpret_cast<PyObject*>(planned);
}

PyObject* forget_handle(PyObject*, PyObject*) {
    ++generation;
    return none();
}

}  // namespace nnkit
