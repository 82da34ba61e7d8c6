// Runs a printed update over the lists of arrays of a parameter group.
#include "update.h"

#include <algorithm>
#include <string>
#include <vector>

#include "parallel.h"

namespace nnkit {
namespace {

constexpr Index work_of_piece = 65536;  // as in formula.cpp
constexpr int most_scalars = 16;

std::vector<UpdateEntry>& updates() {
    static auto* table = new std::vector<UpdateEntry>;
    return *table;
}

// The arrays of one parameter, and the numbers of its loop: counters, then scalars.
struct Parameter {
    char* arrays[most_arrays_of_update] = {};
    double scalars[most_scalars];
    Index size = 0;
    Type type = Type::other;
};

// Looks at everything before anything is written: a group is declined as a whole.
class Group {
public:
    Group(const UpdateEntry& entry, PyObject* lists, PyObject* scalars)
        : entry_(entry), lists_(lists), scalars_(scalars) {}

    bool read() {
        if (!PyTuple_Check(lists_) || !PyTuple_Check(scalars_)) return false;
        if (PyTuple_GET_SIZE(scalars_) != entry_.scalars) return false;
        Py_ssize_t count = -1;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(lists_); ++i) {
            PyObject* list = PyTuple_GET_ITEM(lists_, i);
            if (!PyList_Check(list)) return false;
            // A list that this variant does not touch may be empty.
            if (!is_used(i)) continue;
            if (count >= 0 && PyList_GET_SIZE(list) != count) return false;
            count = PyList_GET_SIZE(list);
        }
        parameters.resize(static_cast<std::size_t>(std::max<Py_ssize_t>(count, 0)));
        for (std::size_t k = 0; k < parameters.size(); ++k) {
            if (!read_parameter(static_cast<Py_ssize_t>(k))) return false;
        }
        return true;
    }

    std::vector<Parameter> parameters;
    std::vector<float*> counters;

private:
    bool is_counter(Py_ssize_t list) const { return entry_.counts[list] == '1'; }
    bool is_used(Py_ssize_t list) const { return is_counter(list) || flag(entry_.needs, list); }

    // `needs` and `writes` leave the counters out.
    bool flag(const char* flags, Py_ssize_t list) const {
        return flags[list - std::count(entry_.counts, entry_.counts + list, '1')] == '1';
    }

    bool read_parameter(Py_ssize_t k) {
        Parameter& parameter = parameters[static_cast<std::size_t>(k)];
        int arrays = 0, scalars = 0;
        Array first;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(lists_); ++i) {
            int place = is_counter(i) ? -1 : arrays++;
            if (!is_used(i)) continue;
            PyObject* item = PyList_GET_ITEM(PyTuple_GET_ITEM(lists_, i), k);
            if (!PyArray_CheckExact(item)) return false;
            Array array(item);
            if (!array.is_plain()) return false;
            if (is_counter(i)) {
                if (array.type() != Type::float32 || array.size() != 1) return false;
                float* counter = array.data<float>();
                counters.push_back(counter);
                parameter.scalars[scalars++] = *counter + 1.0f;
                continue;
            }
            if (flag(entry_.writes, i) && !array.is_writeable()) return false;
            if (!first) first = array;
            else if (!array.same_shape(first) || array.type() != first.type()) return false;
            parameter.arrays[place] = array.bytes();
        }
        parameter.size = first.size();
        parameter.type = first.type();
        for (int i = 0; i < entry_.scalars; ++i) {
            double value = PyFloat_AsDouble(PyTuple_GET_ITEM(scalars_, i));
            if (value == -1 && PyErr_Occurred()) {
                PyErr_Clear();
                return false;
            }
            parameter.scalars[scalars++] = value;
        }
        return parameter.type == Type::float32 || parameter.type == Type::float64;
    }

    const UpdateEntry& entry_;
    PyObject* lists_;
    PyObject* scalars_;
};

template <class T>
void run_piece(UpdateLoop<T> loop, const Parameter& parameter, Index start, Index count) {
    T* arrays[most_arrays_of_update];
    for (int i = 0; i < most_arrays_of_update; ++i) {
        arrays[i] = reinterpret_cast<T*>(parameter.arrays[i]) + start;
    }
    loop(arrays, parameter.scalars, count);
}

}  // namespace

UpdateRegistration::UpdateRegistration(const UpdateEntry& entry) { updates().push_back(entry); }

const UpdateEntry* find_update(const char* name, unsigned int fingerprint) {
    for (const UpdateEntry& entry : updates()) {
        if (entry.fingerprint == fingerprint && std::string(name) == entry.name) return &entry;
    }
    return nullptr;
}

PyObject* run_update(const UpdateEntry& entry, Arguments arguments) {
    if (arguments.count() != 2) return decline();
    Group group(entry, arguments[0], arguments[1]);
    if (!group.read()) return decline();
    for (float* counter : group.counters) *counter += 1.0f;
    // One range over the elements of all parameters; a piece may reach over several of them.
    Index total = 0;
    for (const Parameter& parameter : group.parameters) total += parameter.size;
    Index grain = std::max<Index>(4096, work_of_piece / entry.cost);
    parallel_for(total, grain, [&](Index begin, Index end) {
        Index first = 0;
        for (const Parameter& parameter : group.parameters) {
            Index from = std::max(begin, first), to = std::min(end, first + parameter.size);
            if (from < to) {
                Index start = from - first, count = to - from;
                if (parameter.type == Type::float32) {
                    run_piece(entry.single, parameter, start, count);
                } else {
                    run_piece(entry.wide, parameter, start, count);
                }
            }
            first += parameter.size;
        }
    });
    return none();
}

}  // namespace nnkit
