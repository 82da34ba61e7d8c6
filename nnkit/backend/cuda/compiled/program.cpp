#include "program.h"

#include <cstring>

#include "gpu_memory.h"

namespace nnkit {
namespace {

constexpr std::size_t small_bytes = 1024;  // of arguments, which need no memory of their own
constexpr int most_parameters = 64;

// NVIDIA's functions, by address.
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

}  // namespace

int Product::run(void* handle, char* values) const {
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
                          s + 2, s + 3, s + 4, &factors, &size, sources, offsets, &x->kind,
                          &x->step, &x->stride, sources + 1, offsets + 1, &y->kind, &y->step, &y->stride,
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
        PyObject *step = PyTuple_GET_ITEM(steps, i), *content;
        if (!PyArg_ParseTuple(step, "pO!", &is_product, &PyTuple_Type, &content)) return nullptr;
        bool done = is_product ? program->read_product(content) : program->read_launch(content);
        if (!done) return nullptr;
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
            for (std::size_t j = 0; j < one.starts.size(); ++j) {
                parameters[j] = room + one.starts[j];
            }
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

PyObject* forget_handle(PyObject*, PyObject*) {
    ++generation;
    return none();
}

}  // namespace nnkit
