// Running totals, products, maxima and minima along an axis, and recurrences.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "axis.h"
#include "computed.h"
#include "memory.h"
#include "owned.h"
#include "parallel.h"
#include "rows.h"

namespace nnkit {
namespace {

constexpr Index work_of_task = 16384;
constexpr Index widest_tile = 512;  // columns that are scanned together

// Totals are kept in double precision, as in torch.
template <class T> using Total = std::conditional_t<std::is_floating_point_v<T>, double, T>;

// `start` is the total of one element: sums start from 0, which -0 does not change.
struct Sum {
    template <class T> static T start(T x) { return x + 0; }
    template <class T> static T combine(T a, T b) { return a + b; }
};

struct Product {
    template <class T> static T start(T x) { return x; }
    template <class T> static T combine(T a, T b) { return a * b; }
};

// Whether totals of totals are as good as one total after the other: products may overflow on the
// way, and sums of doubles would be rounded elsewhere.
template <class T, class Operation>
constexpr bool is_associative =
    std::is_integral_v<T> || (std::is_same_v<T, float> && std::is_same_v<Operation, Sum>);

// Four elements at a time, where that is allowed: only one step of the four waits for the total
// before them.
template <class T, class Operation> void scan_row(const T* x, Index count, T* out) {
    auto combine = [](Total<T> a, Total<T> b) { return Operation::combine(a, b); };
    if (count == 0) return;
    Total<T> total = Operation::start(static_cast<Total<T>>(x[0]));
    out[0] = static_cast<T>(total);
    Index i = 1;
    while (i < count) {
        const Index end = std::min(count, i + work_of_task);
        for (; is_associative<T, Operation> && i + 4 <= end; i += 4) {
            Total<T> a = x[i], c = x[i + 2];
            Total<T> ab = combine(a, x[i + 1]), cd = combine(c, x[i + 3]);
            Total<T> abc = combine(ab, c), abcd = combine(ab, cd);
            out[i] = static_cast<T>(combine(total, a));
            out[i + 1] = static_cast<T>(combine(total, ab));
            out[i + 2] = static_cast<T>(combine(total, abc));
            total = combine(total, abcd);
            out[i + 3] = static_cast<T>(total);
        }
        for (; i < end; ++i) {
            total = combine(total, x[i]);
            out[i] = static_cast<T>(total);
        }
        if (i < count) poll();
    }
}

template <class T, class Operation>
void scan_columns(const T* x, const AlongAxis& along, Index width, T* out) {
    Total<T> totals[widest_tile];
    for (Index j = 0; j < width; ++j) {
        totals[j] = Operation::start(static_cast<Total<T>>(x[j]));
        out[j] = static_cast<T>(totals[j]);
    }
    for (Index r = 1; r < along.count; ++r) {
        if (r % work_of_task == 0) poll();
        x += along.inner;
        out += along.inner;
        for (Index j = 0; j < width; ++j) {
            totals[j] = Operation::combine(totals[j], static_cast<Total<T>>(x[j]));
            out[j] = static_cast<T>(totals[j]);
        }
    }
}

// Calls `row(offset)` for every row of a scan along the last axis, and `columns(offset, width)` for
// every tile of neighbouring columns of one along another.
template <class Row, class Columns>
void for_scans(const AlongAxis& along, Row row, Columns columns) {
    if (along.size() == 0) return;
    if (along.inner == 1) {
        parallel_for(along.outer, std::max<Index>(1, work_of_task / along.count),
                     [&](Index begin, Index end) {
                         for (Index r = begin; r < end; ++r) row(r * along.count);
                     });
        return;
    }
    Index width = std::min(widest_tile, std::max<Index>(16, work_of_task / along.count));
    Index tiles = (along.inner + width - 1) / width;
    Index work = std::min(width, along.inner) * along.count;
    parallel_for(along.outer * tiles, std::max<Index>(1, work_of_task / work),
                 [&](Index begin, Index end) {
                     for (Index task = begin; task < end; ++task) {
                         Index column = task % tiles * width;
                         columns(task / tiles * along.count * along.inner + column,
                                 std::min(width, along.inner - column));
                     }
                 });
}

template <class T, class Operation> void scan(const T* x, const AlongAxis& along, T* out) {
    for_scans(
        along, [&](Index at) { scan_row<T, Operation>(x + at, along.count, out + at); },
        [&](Index at, Index width) {
            scan_columns<T, Operation>(x + at, along, width, out + at);
        });
}

// The arguments of `op(x; axis)`: an array, by rows where it lies otherwise, and its axis.
struct Scanned {
    Owned plain;
    AlongAxis along;

    // False where it is not for us, or an exception is set.
    bool read(Arguments arguments) {
        Array x = arguments.array(0);
        if (!x || !read_axis(x, arguments[1], &along)) return false;
        plain = in_order(x);
        return bool(plain);
    }
};

PyObject* failed_or_declined() { return PyErr_Occurred() ? nullptr : decline(); }

template <class Operation> PyObject* running(Arguments arguments) {
    Scanned given;
    if (!given.read(arguments)) return failed_or_declined();
    const AlongAxis& along = given.along;
    Array x = given.plain.array();
    auto of = [&](auto zero) -> PyObject* {
        using T = decltype(zero);
        Owned result(empty_like(x));
        if (!result) return nullptr;
        scan<T, Operation>(x.data<T>(), along, result.array().data<T>());
        return result.release();
    };
    switch (x.type()) {
        case Type::float32: return of(0.0f);
        case Type::float64: return of(0.0);
        case Type::int64: return of(std::int64_t{0});
        case Type::float16: case Type::bfloat16: break;
        default: return decline();
    }
    Input wide;  // rounded after the last step alone
    Owned result(empty<float>(x.ndim(), x.shape()));
    if (!result || !wide.read(x, x.type(), x.size())) return nullptr;
    scan<float, Operation>(wide.data<float>(), along, result.array().data<float>());
    return narrowed(std::move(result), x.type());
}

PyObject* cumsum(Arguments arguments) { return running<Sum>(arguments); }
PyObject* cumprod(Arguments arguments) { return running<Product>(arguments); }

// recurrence(a, b; axis): the products and sums are rounded one by one.
PyObject* recurrence(Arguments arguments) {
    Array a = arguments.array(0), b = arguments.array(1);
    AlongAxis along;
    if (!a || !b || !a.is_plain() || !b.is_plain() || !a.same_shape(b)) return decline();
    if (a.number() != b.number() || !read_axis(b, arguments[2], &along)) return decline();
    if (b.type() != Type::float32 && b.type() != Type::float64) return decline();
    Owned result(empty_like(b));
    if (!result) return nullptr;
    auto run = [&](auto* out) {
        using T = std::remove_pointer_t<decltype(out)>;
        const T *factors = a.data<T>(), *terms = b.data<T>();
        auto columns = [&](Index at, Index width) {
            std::copy_n(terms + at, width, out + at);
            for (Index r = 1; r < along.count; ++r) {
                if (r % work_of_task == 0) poll();
                const Index before = at;
                at += along.inner;
                for (Index j = 0; j < width; ++j) {
                    out[at + j] = terms[at + j] + factors[at + j] * out[before + j];
                }
            }
        };
        for_scans(along, [&](Index at) { columns(at, 1); }, columns);
    };
    if (b.type() == Type::float32) run(result.array().data<float>());
    else run(result.array().data<double>());
    return result.release();
}

// The larger of two logarithms of sums, with the smaller one added.
inline double add_logarithms(double a, double b) {
    double high = std::max(a, b), low = std::min(a, b);
    if (a != a || b != b) return a + b;
    return std::isinf(high) ? high : high + std::log1p(std::exp(low - high));
}

PyObject* logcumsumexp(Arguments arguments) {
    struct Logarithms {
        static double start(double x) { return x + 0; }
        static double combine(double a, double b) { return add_logarithms(a, b); }
    };
    Scanned given;
    if (!given.read(arguments)) return failed_or_declined();
    const AlongAxis& along = given.along;
    Array x = given.plain.array();
    if (x.type() != Type::float32 && x.type() != Type::float64) return decline();
    Owned result(empty_like(x));
    if (!result) return nullptr;
    auto run = [&](auto* out) {
        using T = std::remove_pointer_t<decltype(out)>;
        const T* from = x.data<T>();
        for_scans(
            along,
            [&](Index at) {
                double total = Logarithms::start(from[at]);
                out[at] = static_cast<T>(total);
                for (Index i = 1; i < along.count; ++i) {
                    if (i % work_of_task == 0) poll();
                    total = add_logarithms(total, from[at + i]);
                    out[at + i] = static_cast<T>(total);
                }
            },
            [&](Index at, Index width) {
                scan_columns<T, Logarithms>(from + at, along, width, out + at);
            });
    };
    if (x.type() == Type::float32) run(result.array().data<float>());
    else run(result.array().data<double>());
    return result.release();
}

struct Larger {
    template <class T> static bool holds(T x, T best) { return (x >= best) | (x != x); }
};

struct Smaller {
    template <class T> static bool holds(T x, T best) { return (x <= best) | (x != x); }
};

// The record at each element and where it was last reached; a NaN is a record that only another
// NaN reaches.
template <class T, class Order>
void follow_records(const T* x, const AlongAxis& along, Index width, T* values,
                    std::int64_t* places) {
    std::copy(x, x + width, values);
    std::fill(places, places + width, 0);
    for (Index r = 1; r < along.count; ++r) {
        const T* before = values;
        const std::int64_t* place_before = places;
        x += along.inner;
        values += along.inner;
        places += along.inner;
        for (Index j = 0; j < width; ++j) {
            bool record = Order::holds(x[j], before[j]);
            values[j] = record ? x[j] : before[j];
            places[j] = record ? r : place_before[j];
        }
    }
}

template <class Order> PyObject* records(Arguments arguments) {
    Scanned given;
    if (!given.read(arguments)) return failed_or_declined();
    const AlongAxis& along = given.along;
    Array x = given.plain.array();
    const Type type = x.type();
    Input wide;
    if (type == Type::float16 || type == Type::bfloat16) {
        if (!wide.read(x, type, x.size())) return nullptr;
        x = wide.array();
    }
    auto of = [&](auto zero) -> PyObject* {
        using T = decltype(zero);
        Owned values(empty_like(x)), indices(empty<std::int64_t>(x.ndim(), x.shape()));
        if (values && indices) {
            const T* from = x.data<T>();
            T* to = values.array().template data<T>();
            std::int64_t* places = indices.array().template data<std::int64_t>();
            auto columns = [&](Index at, Index width) {
                follow_records<T, Order>(from + at, along, width, to + at, places + at);
            };
            auto row = [&](Index at) {
                T best = from[at];
                Index place = 0;
                for (Index i = 0; i < along.count; ++i) {
                    if (i % work_of_task == 0) poll();
                    bool record = Order::holds(from[at + i], best);
                    best = record ? from[at + i] : best;
                    place = record ? i : place;
                    to[at + i] = best;
                    places[at + i] = place;
                }
            };
            for_scans(along, row, columns);
        }
        return tuple({narrowed(std::move(values), type), indices.release()});
    };
    switch (x.type()) {
        case Type::float32: return of(0.0f);
        case Type::float64: return of(0.0);
        case Type::int64: return of(std::int64_t{0});
        default: return decline();
    }
}

PyObject* cummax(Arguments arguments) { return records<Larger>(arguments); }
PyObject* cummin(Arguments arguments) { return records<Smaller>(arguments); }

Registration cumsum_("cumsum", cumsum), cumprod_("cumprod", cumprod),
    recurrence_("recurrence", recurrence), logcumsumexp_("logcumsumexp", logcumsumexp),
    cummax_("cummax", cummax), cummin_("cummin", cummin);

}  // namespace
}  // namespace nnkit
