// Runs a printed update over the lists of arrays of a parameter group.
#include "update.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "parallel.h"

namespace nnkit {
namespace {

constexpr Index work_of_piece = 65536;  // as in formula.cpp

std::vector<UpdateEntry>& updates() {
    static auto* table = new std::vector<UpdateEntry>;
    return *table;
}

// The arrays of one parameter, and the numbers of its loop: counters, then scalars.
struct Parameter {
    char* arrays[most_arrays_of_update] = {};
    double scalars[most_scalars_of_update];
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
        if (PyTuple_GET_SIZE(lists_) != static_cast<Py_ssize_t>(std::strlen(entry_.counts))) {
            return false;
        }
        if (!read_scalars()) return false;
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

    bool read_scalars() {
        if (PyTuple_GET_SIZE(scalars_) != entry_.scalars) return false;
        for (int i = 0; i < entry_.scalars; ++i) {
            PyObject* scalar = PyTuple_GET_ITEM(scalars_, i);
            if (!PyFloat_Check(scalar) && !PyLong_Check(scalar)) return false;
            numbers_[i] = PyFloat_AsDouble(scalar);
            if (numbers_[i] == -1 && PyErr_Occurred()) {
                PyErr_Clear();
                return false;
            }
        }
        return true;
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
                if (!array.is_writeable()) return false;
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
        if (!first) return false;
        parameter.size = first.size();
        parameter.type = first.type();
        std::copy_n(numbers_, entry_.scalars, parameter.scalars + scalars);
        return parameter.type == Type::float32 || parameter.type == Type::float64;
    }

    const UpdateEntry& entry_;
    PyObject* lists_;
    PyObject* scalars_;
    double numbers_[most_scalars_of_update];
};

// Whether an array that is written shares memory with one of another parameter, as when a
// parameter stands twice in a group: these are updated one after the other, by the twin.
bool any_shared(const UpdateEntry& entry, const std::vector<Parameter>& parameters) {
    struct Extent {
        const char *begin, *end;
        std::size_t owner;
        bool is_written;
    };
    std::vector<Extent> extents;
    for (std::size_t k = 0; k < parameters.size(); ++k) {
        const Parameter& parameter = parameters[k];
        auto bytes = static_cast<std::size_t>(parameter.size) * item_size(parameter.type);
        for (int i = 0; i < most_arrays_of_update && bytes > 0; ++i) {
            const char* array = parameter.arrays[i];
            if (array == nullptr) continue;
            extents.push_back({array, array + bytes, k, entry.writes[i] == '1'});
        }
    }
    std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.owner < b.owner;
    });
    const char *end = nullptr, *end_of_written = nullptr;
    for (std::size_t i = 0; i < extents.size(); ++i) {
        Extent next = extents[i];
        // The arrays of one parameter may be one: then each element is read before it is written.
        for (; i + 1 < extents.size(); ++i) {
            const Extent& twin = extents[i + 1];
            if (twin.begin != next.begin || twin.owner != next.owner) break;
            next.is_written |= twin.is_written;
        }
        if (next.begin < end_of_written || (next.is_written && next.begin < end)) return true;
        end = std::max(end, next.end);
        if (next.is_written) end_of_written = std::max(end_of_written, next.end);
    }
    return false;
}

template <class T>
void run_piece(UpdateLoop<T> loop, const Parameter& parameter, Index start, Index count) {
    T* arrays[most_arrays_of_update];
    for (int i = 0; i < most_arrays_of_update; ++i) {
        T* array = reinterpret_cast<T*>(parameter.arrays[i]);
        arrays[i] = array == nullptr ? nullptr : array + start;
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
    if (!group.read() || any_shared(entry, group.parameters)) return decline();
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
