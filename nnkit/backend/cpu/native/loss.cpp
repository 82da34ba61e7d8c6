// Losses on class labels. Classes stand on axis 1, or 0 where there is no batch.
#include "math.h"
#include "parallel.h"
#include "rows.h"

namespace nnkit {
namespace {

constexpr Index elements_of_piece = 8192;
constexpr Index elements_of_group = 1024;  // short rows are worked on together: exp is vectorised

enum class Reduction { none, mean, sum, unknown };

Reduction read_reduction(PyObject* name) {
    if (!PyUnicode_Check(name)) return Reduction::unknown;
    if (PyUnicode_CompareWithASCIIString(name, "mean") == 0) return Reduction::mean;
    if (PyUnicode_CompareWithASCIIString(name, "sum") == 0) return Reduction::sum;
    if (PyUnicode_CompareWithASCIIString(name, "none") == 0) return Reduction::none;
    return Reduction::unknown;
}

// Labels, their classes' weights, and how labels are ignored and losses reduced.
template <class S> struct Labels {
    using T = Computed<S>;

    const std::int64_t* label = nullptr;
    Index count = 0, classes = 0, inner = 1;
    std::int64_t ignored = 0;
    Buffer<T, 64> weight{0};  // of each class
    bool weighted = false, any_ignored = false;
    Reduction reduction = Reduction::unknown;

    // 0 where the label is ignored
    T weight_of(Index i) {
        if (any_ignored && label[i] == ignored) return 0;
        return weighted ? weight[label[i]] : T(1);
    }
    T sum_of_weights() {
        if (!weighted && !any_ignored) return static_cast<T>(count);
        Buffer<T> each(count);
        for (Index i = 0; i < count; ++i) each[i] = weight_of(i);
        return sum_of(each.data(), count);
    }
};

}  // namespace
}  // namespace nnkit
