// Runs a printed loop over arrays: at once where they lie alike, else in blocks brought into cache.
#include "formula.h"

#include <algorithm>
#include <map>
#include <string>

#include "layout.h"
#include "memory.h"
#include "parallel.h"

namespace nnkit {
namespace {

static_assert(most_operands + 1 <= most_operands_of_walk);

constexpr Index block = 1024;            // elements of an operand that is brought into cache
constexpr Index shortest_row = 512;      // of those that blocks do not go beyond
constexpr Index work_of_piece = 65536;  // additions' worth; less does not repay waking a thread

std::map<std::string, FormulaEntry>& formulas() {
    static auto* table = new std::map<std::string, FormulaEntry>;
    return *table;
}

// A call, taken apart: arrays with their places among the operands, and plain numbers.
struct Call {
    const FormulaEntry& entry;
    int array_count = 0;
    Array arrays[most_operands];
    int place[most_operands];          // the operand that each array is
    bool is_number[most_operands] = {};
    double numbers[most_operands];
    double scalars[most_operands];
    Type type = Type::other;           // of the floating arrays, and so of the result
};

bool read_number(PyObject* object, double* value) {
    if (PyFloat_CheckExact(object)) {
        *value = PyFloat_AS_DOUBLE(object);
        return true;
    }
    if (!PyLong_Check(object)) return false;
    *value = PyLong_AsDouble(object);
    if (*value == -1 && PyErr_Occurred()) {
        PyErr_Clear();  // a huge int: NumPy says what is wrong with it
        return false;
    }
    return true;
}

bool read_call(Arguments arguments, Call* call) {
    const FormulaEntry& entry = call->entry;
    if (arguments.count() != entry.arrays + entry.scalars) return false;
    for (int i = 0; i < entry.arrays; ++i) {
        Array array = arguments.array(i);
        if (!array) {
            call->is_number[i] = true;
            if (!read_number(arguments[i], &call->numbers[i])) return false;
            continue;
        }
        Type type = array.type();
        if (type >= Type::float16 && type != Type::other) {
            if (call->type != Type::other && call->type != type) return false;
            call->type = type;
        } else if (type != Type::boolean) {
            return false;
        }
        if (!array.is_behaved()) return false;
        call->place[call->array_count] = i;
        call->arrays[call->array_count++] = array;
    }
    for (int i = 0; i < entry.scalars; ++i) {
        if (!read_number(arguments[entry.arrays + i], &call->scalars[i])) return false;
    }
    if (call->type == Type::float16 || call->type == Type::bfloat16) {
        // What is computed from a number alone is not rounded, which the loops do not know.
        const bool in_steps = entry.float16 != nullptr;
        if (entry.refuses_halves || (in_steps && call->array_count < entry.arrays)) return false;
    }
    return call->type != Type::other;
}

template <class T> Loop<T> loop_of(const Call& call);
template <> Loop<float> loop_of(const Call& call) {
    const FormulaEntry& entry = call.entry;
    if (entry.float16 == nullptr || call.type == Type::float32) return entry.single;
    return call.type == Type::float16 ? entry.float16 : entry.bfloat16;
}
template <> Loop<double> loop_of(const Call& call) { return call.entry.wide; }
template <class T> Loop<T, bool> truth_of(const FormulaEntry& entry);
template <> Loop<float, bool> truth_of(const FormulaEntry& entry) { return entry.single_truth; }
template <> Loop<double, bool> truth_of(const FormulaEntry& entry) { return entry.wide_truth; }

char* place_of(const Walk& walk, const Operand& operand, Index element) {
    char* place = operand.data;
    for (int i = walk.ndim - 1; i >= 0; --i) {
        place += element % walk.shape[i] * operand.strides[i];
        element /= walk.shape[i];
    }
    return place;
}

// The general case: `operands` are the arrays in order, then the result. Where the rows are long, no
// block goes beyond one: what lies in a row is read there, and what is repeated in it written once.
template <class T>
void run_blocks(const Call& call, const Walk& walk, const Operand* operands) {
    const FormulaEntry& entry = call.entry;
    const Operand& out = operands[call.array_count];
    const Loop<T> loop = loop_of<T>(call);
    Type type = type_of<T>();
    bool is_truth = entry.is_predicate() && out.type == Type::boolean && is_dense(walk, out);
    bool out_is_direct = out.type == type && is_dense(walk, out);
    const int last = walk.ndim - 1;
    const Index row = last < 0 ? 1 : walk.shape[last];
    const bool by_rows = row >= shortest_row;
    bool is_direct[most_operands], is_straight[most_operands], is_repeated[most_operands];
    for (int k = 0; k < call.array_count; ++k) {
        const Index step = by_rows ? operands[k].strides[last] : -1;
        is_direct[k] = operands[k].type == type && is_dense(walk, operands[k]);
        is_straight[k] = operands[k].type == type && step == static_cast<Index>(sizeof(T));
        is_repeated[k] = step == 0;
    }
    Index grain = std::max(block, work_of_piece / entry.cost / block * block);
    parallel_for(walk.size(), grain, [&](Index begin, Index end) {
        alignas(alignment) T buffers[most_operands + 1][block];
        const T* pointers[most_operands] = {};
        for (int i = 0; i < entry.arrays; ++i) {
            if (!call.is_number[i]) continue;
            std::fill_n(buffers[i], std::min(block, end - begin), static_cast<T>(call.numbers[i]));
            pointers[i] = buffers[i];
        }
        Index count;
        for (Index start = begin; start < end; start += count) {
            count = std::min(block, end - start);
            if (by_rows) count = std::min(count, row - start % row);
            for (int k = 0; k < call.array_count; ++k) {
                T*& buffer = const_cast<T*&>(pointers[call.place[k]]);
                if (is_direct[k]) {
                    buffer = reinterpret_cast<T*>(operands[k].data) + start;
                } else if (is_straight[k]) {
                    buffer = reinterpret_cast<T*>(place_of(walk, operands[k], start));
                } else {
                    buffer = buffers[call.place[k]];
                    if (!is_repeated[k]) {
                        gather(walk, operands[k], start, count, buffer);
                    } else if (start == begin || start % row == 0) {
                        gather(walk, operands[k], start, 1, buffer);
                        std::fill_n(buffer, std::min(block, row), buffer[0]);
                    }
                }
            }
            if (is_truth) {
                bool* truths = reinterpret_cast<bool*>(out.data) + start;
                truth_of<T>(entry)(pointers, call.scalars, truths, count);
                continue;
            }
            T* result = out_is_direct ? reinterpret_cast<T*>(out.data) + start
                                      : buffers[entry.arrays];
            loop(pointers, call.scalars, result, count);
            if (!out_is_direct) scatter(walk, out, start, count, result);
        }
    });
}

// All arrays have the result's shape and lie in C order with elements of T: no blocks are needed.
template <class T, class Result>
void run_straight(const Call& call, Loop<T, Result> loop, Array result) {
    const FormulaEntry& entry = call.entry;
    Result* out = result.data<Result>();
    Index size = result.size();
    Index grain = std::max(block, work_of_piece / entry.cost);
    parallel_for(size, grain, [&](Index begin, Index end) {
        const T* pointers[most_operands];
        for (int k = 0; k < call.array_count; ++k) {
            pointers[k] = call.arrays[k].data<T>() + begin;
        }
        loop(pointers, call.scalars, out + begin, end - begin);
    });
}

bool is_straight(const Call& call) {
    if (call.array_count != call.entry.arrays) return false;
    if (call.type != Type::float32 && call.type != Type::float64) return false;
    for (int k = 0; k < call.array_count; ++k) {
        Array array = call.arrays[k];
        if (array.type() != call.type || !array.is_plain()) return false;
        if (k > 0 && !array.same_shape(call.arrays[0])) return false;
    }
    return true;
}

// Whether two elements are one in memory: such an array is not written by several threads.
bool repeats(Array a) {
    for (int i = 0; i < a.ndim(); ++i) {
        if (a.strides()[i] == 0 && a.shape()[i] > 1) return true;
    }
    return false;
}

int result_number(const Call& call) {
    if (call.entry.is_predicate()) return NPY_BOOL;
    switch (call.type) {
        case Type::float16: return NPY_HALF;
        case Type::bfloat16: return bfloat16_number;
        case Type::float32: return NPY_FLOAT;
        default: return NPY_DOUBLE;
    }
}

PyObject* run_general(Call& call, Array target) {
    int ndim;
    npy_intp shape[most_axes];
    Array all[most_operands + 1];
    std::copy(call.arrays, call.arrays + call.array_count, all);
    int count = call.array_count;
    if (!broadcast_shapes(all, count, &ndim, shape)) return decline();
    Operand operands[most_operands + 1];
    Walk walk;
    if (target) {
        if (ndim != target.ndim() || !PyArray_CompareLists(shape, target.shape(), ndim)) {
            return decline();
        }
        all[count++] = target;
    }
    int deciding[most_operands], deciding_count = 0;
    for (const char* digit = call.entry.deciding; *digit != 0; ++digit) {
        const int* end = call.place + call.array_count;
        const int* found = std::find<const int*>(call.place, end, *digit - '0');
        if (found != end) deciding[deciding_count++] = static_cast<int>(found - call.place);
    }
    order_axes(all, operands, count, ndim, shape, &walk, target ? nullptr : deciding,
               deciding_count);
    PyObject* result =
        target ? Py_NewRef(target.object())
               : empty_in_order(ndim, shape, walk.order, PyArray_DescrFromType(result_number(call)));
    if (result == nullptr) return nullptr;
    if (!target) {
        all[count++] = Array(result);
        for (int i = 0; i < ndim; ++i) {
            operands[count - 1].strides[i] = all[count - 1].strides()[walk.order[i]];
        }
    }
    for (int k = 0; k < count; ++k) {
        operands[k].data = all[k].bytes();
        operands[k].type = all[k].type();
    }
    merge_axes(&walk, operands, count);
    if (walk.size() == 0) return result;
    if (call.type == Type::float64) run_blocks<double>(call, walk, operands);
    else run_blocks<float>(call, walk, operands);
    return result;
}

}  // namespace

bool may_interfere(Array out, Array in) {
    if (out.bytes() == in.bytes() && out.same_shape(in) &&
        PyArray_CompareLists(out.strides(), in.strides(), out.ndim())) {
        return false;
    }
    auto extent = [](Array a, char** low, char** high) {
        *low = *high = a.bytes();
        for (int i = 0; i < a.ndim(); ++i) {
            Index reach = a.strides()[i] * (a.shape()[i] - 1);
            (reach < 0 ? *low : *high) += reach;
        }
        *high += PyArray_ITEMSIZE(reinterpret_cast<PyArrayObject*>(a.object()));
    };
    char *low_out, *high_out, *low_in, *high_in;
    extent(out, &low_out, &high_out);
    extent(in, &low_in, &high_in);
    return low_out < high_in && low_in < high_out;
}

FormulaRegistration::FormulaRegistration(const FormulaEntry& entry) {
    formulas().emplace(entry.name, entry);
}

const FormulaEntry* find_formula(const char* name) {
    auto found = formulas().find(name);
    return found == formulas().end() ? nullptr : &found->second;
}

PyObject* run_formula(const FormulaEntry& entry, Arguments arguments, bool in_place) {
    Call call{entry};
    if (!read_call(arguments, &call)) return decline();
    Array target;
    if (in_place) {
        target = arguments.array(0);
        if (!target || target.type() != call.type || !target.is_writeable()) return decline();
        if (repeats(target)) return decline();
        for (int k = 1; k < call.array_count; ++k) {
            if (may_interfere(target, call.arrays[k])) return decline();
        }
    }
    const bool is_truth = entry.is_predicate();
    if (!is_straight(call) || (in_place && is_truth)) return run_general(call, target);
    Array first = call.arrays[0];
    PyObject* result = target     ? Py_NewRef(target.object())
                       : is_truth ? empty<bool>(first.ndim(), first.shape())
                                  : empty_like(first);
    if (result == nullptr) return nullptr;
    Array out(result);
    if (call.type == Type::float32) {
        if (is_truth) run_straight(call, entry.single_truth, out);
        else run_straight(call, entry.single, out);
    } else {
        if (is_truth) run_straight(call, entry.wide_truth, out);
        else run_straight(call, entry.wide, out);
    }
    return result;
}

}  // namespace nnkit
