// Whether all or any of the elements of a bool array are true.
#include <algorithm>
#include <cstring>

#include "array.h"

namespace nnkit {
namespace {

constexpr Index block = 4096;  // after each it is asked whether the answer is known

bool are_all(const char* x, Index count) {
    return std::memchr(x, 0, static_cast<std::size_t>(count)) == nullptr;
}

bool is_any(const char* x, Index count) {
    for (Index start = 0; start < count; start += block) {
        Index end = std::min(count, start + block);
        char found = 0;
        for (Index i = start; i < end; ++i) found |= x[i];
        if (found != 0) return true;
    }
    return false;
}

// op(x; axis, keepdims) over all axes or over the last ones, in which each answer is about a run.
PyObject* logical(Arguments arguments, bool (*answer)(const char*, Index)) {
    Array x = arguments.plain<bool>(0);
    Index axes[NPY_MAXDIMS];
    if (!x) return decline();
    int ndim = x.ndim(), kept = 0;
    if (!arguments.is_none(1)) {
        int count = read_integers(arguments[1], axes, NPY_MAXDIMS);
        if (count < 1 || count > ndim) return decline();
        kept = ndim - count;
        for (int i = 0; i < count; ++i) {
            if ((axes[i] < 0 ? axes[i] + ndim : axes[i]) != kept + i) return decline();
        }
    }
    npy_intp shape[NPY_MAXDIMS];
    Index answers = 1;
    for (int i = 0; i < ndim; ++i) {
        shape[i] = i < kept ? x.shape()[i] : 1;
        answers *= shape[i];
    }
    int result_ndim = arguments.truth(2) ? ndim : kept;
    PyObject* result = PyArray_SimpleNew(result_ndim, shape, NPY_BOOL);
    if (result == nullptr || answers == 0) return result;
    Index count = x.size() / answers;
    char* out = Array(result).bytes();
    for (Index i = 0; i < answers; ++i) out[i] = answer(x.bytes() + i * count, count);
    return result;
}

PyObject* all(Arguments arguments) { return logical(arguments, are_all); }
PyObject* any(Arguments arguments) { return logical(arguments, is_any); }

Registration all_("all", all), any_("any", any);

}  // namespace
}  // namespace nnkit
