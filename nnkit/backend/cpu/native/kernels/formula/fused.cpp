// Runs several printed loops one after the other over each block, so that what one of them makes is
// still in the first-level cache when the next one reads it.
#include "fused.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "layout.h"
#include "memory.h"
#include "owned.h"
#include "parallel.h"

namespace nnkit {
namespace {

constexpr int most_arrays_of_fusion = 16, most_slots = 48;  // as in passes/fusion.py
constexpr Index bytes_of_block = 4096;                      // of each slot
constexpr Index work_of_piece = 65536;                      // as in formula.cpp

// One formula: the slots that it reads, and the one that it writes.
struct Step {
    const FormulaEntry* entry;
    int target;
    int operands[most_operands];
    double scalars[most_operands];
};

// Slots are the inputs, then the outputs, then the numbers, then temporaries.
struct Fused {
    std::vector<Step> steps;
    int inputs = 0, slots = 0;
    std::vector<int> types;  // NumPy's numbers of the outputs' types
    std::vector<double> numbers;
    Index cost = 0;
    Owned twin;

    int outputs() const { return static_cast<int>(types.size()); }
    int arrays() const { return inputs + outputs(); }
};

template <class T> Loop<T> loop_of(const FormulaEntry& entry);
template <> Loop<float> loop_of(const FormulaEntry& entry) { return entry.single; }
template <> Loop<double> loop_of(const FormulaEntry& entry) { return entry.wide; }

template <class T> void run_blocks(const Fused& fused, const Walk& walk, const Operand* operands) {
    constexpr Index block = bytes_of_block / static_cast<Index>(sizeof(T));
    const int arrays = fused.arrays(), numbers = static_cast<int>(fused.numbers.size());
    bool is_direct[most_arrays_of_fusion];
    for (int k = 0; k < arrays; ++k) {
        is_direct[k] = operands[k].type == type_of<T>() && is_dense(walk, operands[k]);
    }
    Index grain = std::max(block, work_of_piece / fused.cost / block * block);
    parallel_for(walk.size(), grain, [&](Index begin, Index end) {
        alignas(alignment) T buffers[most_slots][block];
        T* slots[most_slots];
        for (int k = 0; k < fused.slots; ++k) slots[k] = buffers[k];
        for (int k = 0; k < numbers; ++k) {
            std::fill_n(slots[arrays + k], std::min(block, end - begin),
                        static_cast<T>(fused.numbers[static_cast<std::size_t>(k)]));
        }
        for (Index start = begin; start < end; start += block) {
            Index count = std::min(block, end - start);
            for (int k = 0; k < arrays; ++k) {
                if (is_direct[k]) slots[k] = reinterpret_cast<T*>(operands[k].data) + start;
                else if (k < fused.inputs) gather(walk, operands[k], start, count, slots[k]);
            }
            for (const Step& step : fused.steps) {
                const T* read[most_operands];
                for (int i = 0; i < step.entry->arrays; ++i) read[i] = slots[step.operands[i]];
                loop_of<T>(*step.entry)(read, step.scalars, slots[step.target], count);
            }
            for (int k = fused.inputs; k < arrays; ++k) {
                if (!is_direct[k]) scatter(walk, operands[k], start, count, slots[k]);
            }
        }
    });
}

// The results of a call, each in C order; null without an error where its arguments are declined.
PyObject* run_arrays(const Fused& fused, Arguments arguments) {
    if (arguments.count() != fused.inputs) return decline();
    Array arrays[most_arrays_of_fusion];
    Type type = Type::other;
    for (int k = 0; k < fused.inputs; ++k) {
        arrays[k] = arguments.array(k);
        if (!arrays[k] || !arrays[k].is_behaved()) return decline();
        Type own = arrays[k].type();
        if (own == Type::boolean) continue;
        if (own != Type::float32 && own != Type::float64) return decline();
        if (type != Type::other && type != own) return decline();
        type = own;
    }
    int ndim;
    npy_intp shape[most_axes];
    if (type == Type::other || !broadcast_shapes(arrays, fused.inputs, &ndim, shape)) {
        return decline();
    }
    Owned results(PyTuple_New(fused.outputs()));
    if (!results) return nullptr;
    for (int k = 0; k < fused.outputs(); ++k) {
        int number = fused.types[static_cast<std::size_t>(k)];
        PyObject* made = empty(ndim, shape, PyArray_DescrFromType(number));
        if (made == nullptr) return nullptr;
        PyTuple_SET_ITEM(results.object(), k, made);
        arrays[fused.inputs + k] = Array(made);
    }
    Walk walk;
    Operand operands[most_arrays_of_fusion];
    walk.ndim = ndim;
    std::copy_n(shape, ndim, walk.shape);
    for (int k = 0; k < fused.arrays(); ++k) {
        int shift = ndim - arrays[k].ndim();
        operands[k].data = arrays[k].bytes();
        operands[k].type = arrays[k].type();
        for (int i = 0; i < ndim; ++i) {
            bool repeats = i < shift || arrays[k].shape()[i - shift] != shape[i];
            operands[k].strides[i] = repeats ? 0 : arrays[k].strides()[i - shift];
        }
    }
    merge_axes(&walk, operands, fused.arrays());
    if (walk.size() == 0) return results.release();
    if (type == Type::float64) run_blocks<double>(fused, walk, operands);
    else run_blocks<float>(fused, walk, operands);
    return results.release();
}

constexpr const char* capsule_name = "nnkit.fused";

PyObject* run(PyObject* self, PyObject* const* values, Py_ssize_t count) {
    auto* fused = static_cast<Fused*>(PyCapsule_GetPointer(self, capsule_name));
    if (fused == nullptr) return nullptr;
    try {
        PyObject* results = run_arrays(*fused, Arguments(values, count));
        if (results != nullptr || PyErr_Occurred()) return results;
    } catch (const Interrupted&) {
        return nullptr;
    } catch (const std::bad_alloc&) {
        return memory_is_out("what a kernel needs besides its result");
    }
    return PyObject_Vectorcall(fused->twin.object(), values, static_cast<std::size_t>(count),
                               nullptr);
}

PyMethodDef run_method = {
    "fused", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run)), METH_FASTCALL,
    "Formulas run together: from arrays to a tuple of arrays.",
};

bool read_slots(const Fused& fused, PyObject* tuple, int count, int* slots) {
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != count) return false;
    Index read[most_operands];
    if (read_integers(tuple, read, most_operands) != count) return false;
    for (int i = 0; i < count; ++i) {
        if (read[i] < 0 || read[i] >= fused.slots) return false;
        slots[i] = static_cast<int>(read[i]);
    }
    return true;
}

bool read_numbers(PyObject* tuple, int count, double* numbers) {
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != count) return false;
    for (int i = 0; i < count; ++i) numbers[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(tuple, i));
    return !PyErr_Occurred();
}

// (kernel, target, operands, scalars)
bool read_step(Fused& fused, PyObject* item) {
    Step step;
    PyObject *kernel, *operands, *scalars;
    if (!PyTuple_Check(item) ||
        !PyArg_ParseTuple(item, "OiOO:fuse", &kernel, &step.target, &operands, &scalars)) {
        return false;
    }
    step.entry = formula_of(kernel);
    if (step.entry == nullptr || step.target < fused.inputs || step.target >= fused.slots ||
        !read_slots(fused, operands, step.entry->arrays, step.operands) ||
        !read_numbers(scalars, step.entry->scalars, step.scalars)) {
        return false;
    }
    fused.cost += step.entry->cost;
    fused.steps.push_back(step);
    return true;
}

bool read(Fused& fused, PyObject* steps, PyObject* outputs, PyObject* numbers) {
    Index types[most_arrays_of_fusion];
    int count = read_integers(outputs, types, most_arrays_of_fusion);
    if (count < 1 || fused.inputs < 1 || fused.inputs + count > most_arrays_of_fusion ||
        fused.slots > most_slots) {
        return false;
    }
    fused.types.assign(types, types + count);
    fused.numbers.resize(static_cast<std::size_t>(PyTuple_GET_SIZE(numbers)));
    if (fused.arrays() + PyTuple_GET_SIZE(numbers) > fused.slots) return false;
    if (!read_numbers(numbers, static_cast<int>(PyTuple_GET_SIZE(numbers)),
                      fused.numbers.data())) {
        return false;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(steps); ++i) {
        if (!read_step(fused, PyTuple_GET_ITEM(steps, i))) return false;
    }
    return !fused.steps.empty();
}

}  // namespace

PyObject* fuse(PyObject*, PyObject* args) {
    PyObject *steps, *outputs, *numbers, *twin;
    auto fused = std::make_unique<Fused>();
    if (!PyArg_ParseTuple(args, "O!iO!O!iO:fuse", &PyTuple_Type, &steps, &fused->inputs,
                          &PyTuple_Type, &outputs, &PyTuple_Type, &numbers, &fused->slots, &twin)) {
        return nullptr;
    }
    if (!read(*fused, steps, outputs, numbers)) {
        if (PyErr_Occurred()) return nullptr;
        return fail(PyExc_ValueError, "fuse: these formulas cannot run together");
    }
    fused->twin.reset(Py_NewRef(twin));
    auto release = [](PyObject* self) {
        delete static_cast<Fused*>(PyCapsule_GetPointer(self, capsule_name));
    };
    Owned capsule(PyCapsule_New(fused.get(), capsule_name, release));
    if (!capsule) return nullptr;
    fused.release();
    return PyCFunction_New(&run_method, capsule.object());
}

}  // namespace nnkit
