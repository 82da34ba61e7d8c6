#include "gpu_memory.h"

#include <map>
#include <unordered_map>
#include <vector>

#include "owned.h"

namespace nnkit {
namespace {

constexpr std::size_t rounding = 512;           // as CuPy's pool
constexpr std::size_t most_kept = 1 << 20;      // bytes of a block that is kept
constexpr std::size_t all_kept = 64 << 20;      // bytes of all that are

struct Counts {
    Py_ssize_t allocated = 0, most_allocated = 0, most_reserved = 0;
};

std::map<int, Counts>& counts() {
    static auto* made = new std::map<int, Counts>;  // blocks may outlive static objects
    return *made;
}

// Memory in use. Its fields begin with those of its base class; ours follow.
struct Block {
    PyObject* held;  // the pointer that the inner allocator gave
    std::intptr_t stream;
};

PyTypeObject* block_type = nullptr;
Py_ssize_t block_place = 0;

Block& block_of(PyObject* memory) { return field<Block>(memory, block_place); }

struct Kind {
    std::size_t bytes;
    std::intptr_t stream;
    int device;
    bool operator==(const Kind& other) const {
        return bytes == other.bytes && stream == other.stream && device == other.device;
    }
};

struct HashKind {
    std::size_t operator()(const Kind& kind) const {
        return (kind.bytes / rounding * 31 + kind.stream / 16) * 31 + kind.device;
    }
};

// The memory of blocks that ended, by what it may be used for: work that was given to a stream
// before it became free is done before what the stream gets next.
std::unordered_map<Kind, std::vector<PyObject*>, HashKind>& kept() {
    static auto* made = new std::unordered_map<Kind, std::vector<PyObject*>, HashKind>;
    return *made;
}

std::size_t kept_bytes = 0;

void release_kept() {
    std::vector<PyObject*> all;
    for (auto& [kind, pointers] : kept()) all.insert(all.end(), pointers.begin(), pointers.end());
    kept().clear();
    kept_bytes = 0;
    for (PyObject* pointer : all) Py_DECREF(pointer);  // which may allocate
}

void free_block(PyObject* self) {
    const Block block = block_of(self);
    const auto bytes = field<std::size_t>(self, cupy.memory_size);
    const int device = field<int>(self, cupy.memory_device);
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
    counts()[device].allocated -= bytes;
    if (bytes <= most_kept && kept_bytes + bytes <= all_kept && !is_ending()) {
        kept()[{bytes, block.stream, device}].push_back(block.held);
        kept_bytes += bytes;
        return;
    }
    Py_DECREF(block.held);
}

PyType_Slot block_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(free_block)},
    {Py_tp_doc, const_cast<char*>("Memory of a GPU, which is counted.")},
    {0, nullptr},
};

// A new MemoryPointer to the begin of memory, the reference to which it takes over.
PyObject* point_to(PyObject* memory) {
    static PyObject* const nothing = PyTuple_New(0);
    PyObject* self = cupy.pointer_type->tp_new(cupy.pointer_type, nothing, nullptr);
    if (self == nullptr) {
        Py_DECREF(memory);
        return nullptr;
    }
    field<char*>(self, cupy.address) = field<char*>(memory, cupy.memory_address);
    field<int>(self, cupy.device) = field<int>(memory, cupy.memory_device);
    Py_XSETREF(field<PyObject*>(self, cupy.memory), memory);
    return self;
}

// Our allocator, as CuPy has it; null until it is made.
PyObject *allocator = nullptr, *inner = nullptr, *reserved = nullptr;

// What the inner allocator gives; once again without what is kept, if there is none.
Owned take(std::size_t bytes, int device) {
    Owned size(PyLong_FromSize_t(bytes));
    Owned pointer(size ? PyObject_CallOneArg(inner, size.object()) : nullptr);
    if (!pointer && PyErr_ExceptionMatches(PyExc_MemoryError) && kept_bytes) {
        PyErr_Clear();
        release_kept();
        pointer.reset(PyObject_CallOneArg(inner, size.object()));
    }
    if (!pointer) return Owned();
    if (Py_TYPE(pointer.object()) != cupy.pointer_type) {
        fail(PyExc_TypeError, "allocator: expected a MemoryPointer, got %R", pointer.object());
        return Owned();
    }
    Owned total(PyObject_CallNoArgs(reserved));
    if (!total) return Owned();
    Py_ssize_t all = PyLong_AsSsize_t(total.object());
    Counts& count = counts()[device];
    if (all > count.most_reserved) count.most_reserved = all;
    return pointer;
}

PyObject* allocate_block(std::size_t bytes) {
    const int device = cupy.current_device(0);
    if (device < 0) return nullptr;
    const std::intptr_t stream = cupy.current_stream();
    bytes = (bytes + rounding - 1) / rounding * rounding;
    Owned pointer;
    if (bytes <= most_kept) {
        auto found = kept().find({bytes, stream, device});
        if (found != kept().end() && !found->second.empty()) {
            pointer.reset(found->second.back());
            found->second.pop_back();
            kept_bytes -= bytes;
        }
    }
    if (!pointer) pointer = take(bytes, device);
    if (!pointer) return nullptr;
    PyObject* self = block_type->tp_alloc(block_type, 0);
    if (self == nullptr) return nullptr;
    field<char*>(self, cupy.memory_address) = field<char*>(pointer.object(), cupy.address);
    field<std::size_t>(self, cupy.memory_size) = bytes;
    field<int>(self, cupy.memory_device) = device;
    block_of(self) = {pointer.release(), stream};
    Counts& count = counts()[device];
    count.allocated += bytes;
    if (count.allocated > count.most_allocated) count.most_allocated = count.allocated;
    return point_to(self);
}

PyObject* call_allocator(PyObject*, PyObject* size) {
    std::size_t bytes = PyLong_AsSize_t(size);
    if (PyErr_Occurred()) return nullptr;
    return allocate_block(bytes);
}

PyMethodDef allocator_method = {"allocate", call_allocator, METH_O, "Memory of the current GPU."};

}  // namespace

bool make_block_type(PyObject* base) {
    block_place = reinterpret_cast<PyTypeObject*>(base)->tp_basicsize;
    PyType_Spec spec = {"nnkit.backend.cpu.native.Block", int(block_place + sizeof(Block)), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, block_slots};
    PyObject* made = PyType_FromSpecWithBases(&spec, base);
    block_type = reinterpret_cast<PyTypeObject*>(made);
    return made != nullptr;
}

PyObject* gpu_allocate(std::size_t bytes) {
    Owned current(cupy.get_allocator(0));
    if (!current) return nullptr;
    if (current.object() == allocator) return allocate_block(bytes);
    Owned size(PyLong_FromSize_t(bytes));
    return size ? PyObject_CallOneArg(current.object(), size.object()) : nullptr;
}

PyObject* gpu_allocator(PyObject*, PyObject* args) {
    PyObject *taken, *asked;
    if (!PyArg_ParseTuple(args, "OO:gpu_allocator", &taken, &asked)) return nullptr;
    if (allocator == nullptr) allocator = PyCFunction_New(&allocator_method, nullptr);
    if (allocator == nullptr) return nullptr;
    Py_XSETREF(inner, Py_NewRef(taken));
    Py_XSETREF(reserved, Py_NewRef(asked));
    return Py_NewRef(allocator);
}

PyObject* gpu_memory(PyObject*, PyObject* device) {
    const int index = PyLong_AsLong(device);
    if (PyErr_Occurred()) return nullptr;
    const Counts& count = counts()[index];
    return Py_BuildValue("nnn", count.allocated, count.most_allocated, count.most_reserved);
}

PyObject* reset_gpu_peaks(PyObject*, PyObject* args) {
    int index;
    Py_ssize_t now;
    if (!PyArg_ParseTuple(args, "in:reset_gpu_peaks", &index, &now)) return nullptr;
    Counts& count = counts()[index];
    count.most_allocated = count.allocated;
    count.most_reserved = now;
    return none();
}

PyObject* release_gpu_memory(PyObject*, PyObject*) {
    release_kept();
    return none();
}

}  // namespace nnkit
