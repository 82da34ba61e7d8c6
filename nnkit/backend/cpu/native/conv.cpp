// Convolution and its two gradients: reads the arguments and picks the kernel.
#include <algorithm>
#include <utility>

#include "conv_kernels.h"
#include "memory.h"

namespace nnkit {
namespace {

// An argument in plain C order with elements of one type: itself, or a copy for the call's length.
class Plain {
public:
    Plain(Array array, int number) {
        if (!array) return;
        // It takes over the reference to the descriptor.
        PyArray_Descr* descriptor = PyArray_DescrFromType(number);
        object_ = PyArray_FromArray(reinterpret_cast<PyArrayObject*>(array.object()), descriptor,
                                    NPY_ARRAY_CARRAY_RO);
    }
    ~Plain() { Py_XDECREF(object_); }
    Plain(const Plain&) = delete;
    explicit operator bool() const { return object_ != nullptr; }
    template <class T> const T* data() const {
        return object_ == nullptr ? nullptr : Array(object_).data<T>();
    }

private:
    PyObject* object_ = nullptr;
};

// A new result, given up again if an exception comes before `release`.
class Result {
public:
    explicit Result(PyObject* object) : object_(object) {}
    ~Result() { Py_XDECREF(object_); }
    Result(const Result&) = delete;
    explicit operator bool() const { return object_ != nullptr; }
    template <class T> T* data() const { return Array(object_).data<T>(); }
    PyObject* release() { return std::exchange(object_, nullptr); }

private:
    PyObject* object_;
};

bool is_half(Type type) { return type == Type::float16 || type == Type::bfloat16; }

// The type that is computed in: float32 for half precision.
int working_number(Array a) {
    return a.type() == Type::float64 ? type_number<double>() : type_number<float>();
}

bool is_real(Array a) {
    return a && (a.type() == Type::float32 || a.type() == Type::float64 || is_half(a.type()));
}

// `result`, which it takes over, rounded to the type of `like`.
PyObject* rounded(PyObject* result, Array like) {
    if (result == nullptr || !is_half(like.type())) return result;
    PyArray_Descr* descriptor = like.descriptor();
    Py_INCREF(descriptor);
    PyObject* out = PyArray_CastToType(reinterpret_cast<PyArrayObject*>(result), descriptor, 0);
    Py_DECREF(result);
    return out;
}

// How few outputs a group must have for lines to be faster than tiles, whose panels they fill in
// part only.
constexpr Index few_outputs = 8;


// Whether the transformations of Winograd's filtering pay: there must be enough to multiply.
template <class T> bool is_for_winograd(const Geometry& g, const Product<T>& product) {
    for (int a : {0, 2}) {
        if (g.kernel[a] != 3 || g.stride[a] != 1 || g.dilation[a] != 1) return false;
    }
    const Index length = product.passes[0].axes[0].length * product.passes[0].axes[2].length;
    return g.input[1] == 1 && g.kernel[1] == 1 && g.output[1] == 1 && product.channels >= 16 &&
           product.outputs >= 16 && g.batch * length >= 256;
}

template <class T> void multiply(const Geometry& g, const Product<T>& product, bool lines) {
    if (lines) multiply_lines(product);
    else if (is_for_winograd(g, product)) multiply_winograd(product);
    else multiply_tiles(product);
}

template <class T>
PyObject* convolve(const Geometry& given, Array x, Array weight, Array bias,
                   const npy_intp* shape) {
    const bool lines = given.outputs <= few_outputs;
    const Geometry g = lines ? given.along_lines() : given;
    Plain input(x, type_number<T>()), kernel(weight, type_number<T>());
    Plain constant(bias, type_number<T>());
    if (!input || !kernel || (bias && !constant)) return nullptr;
    Result result(empty<T>(x.ndim(), shape));
    if (!result) return nullptr;
    Product<T> product{input.data<T>(), kernel.data<T>(), constant.data<T>(),
                       result.data<T>(), g.batch, g.groups, g.channels, g.outputs,
                       g.outputs * g.channels * g.places(), g.channels * g.places(), g.places(),
                       g.kernel, {g.forward()}};
    multiply(g, product, lines);
    return result.release();
}

template <class T>
PyObject* convolve_back(const Geometry& given, Array x, Array weight, Array bias,
                        const npy_intp* shape) {
    const bool lines = given.channels <= few_outputs;
    const Geometry g = lines ? given.along_lines() : given;
    Plain input(x, type_number<T>()), kernel(weight, type_number<T>());
    Plain constant(bias, type_number<T>());
    if (!input || !kernel || (bias && !constant)) return nullptr;
    Result result(empty<T>(x.ndim(), shape));
    if (!result) return nullptr;
    Product<T> product{input.data<T>(), kernel.data<T>(), constant.data<T>(),
                       result.data<T>(), g.batch, g.groups, g.outputs, g.channels,
                       g.outputs * g.channels * g.places(), g.places(), g.channels * g.places(),
                       g.kernel, g.backward()};
    multiply(g, product, lines);
    return result.release();
}

bool are_operands(Array x, Array weight) {
    return is_real(x) && is_real(weight) && x.type() == weight.type() && x.ndim() >= 3 &&
           x.ndim() <= 2 + axis_count && weight.ndim() == x.ndim();
}

bool is_bias(Arguments arguments, Index i, Array like, Index outputs) {
    if (arguments.is_none(i)) return true;
    Array bias = arguments.array(i);
    return bias && bias.type() == like.type() && bias.ndim() == 1 && bias.shape(0) == outputs;
}

Array optional(Arguments arguments, Index i) {
    return arguments.is_none(i) ? Array() : arguments.array(i);
}

PyObject* static_arguments(Arguments arguments, Index first, PyObject** statics) {
    for (int i = 0; i < 4; ++i) statics[i] = arguments[first + i];
    return statics[0];
}

PyObject* conv(Arguments arguments) {
    if (arguments.count() != 7) return decline();
    Array x = arguments.array(0), weight = arguments.array(1);
    if (!are_operands(x, weight) || !is_bias(arguments, 2, x, weight.shape(0))) return decline();
    PyObject* statics[4];
    static_arguments(arguments, 3, statics);
    Geometry g;
    if (!read_geometry(x.ndim(), x.shape(), weight.shape(), nullptr, statics, &g)) {
        return decline();
    }
    npy_intp shape[2 + axis_count] = {g.batch, g.outputs_of_all()};
    const int axes = x.ndim() - 2;
    if (axes == 3) std::copy_n(g.output, 3, shape + 2);
    else shape[2] = g.output[0], shape[3] = g.output[2];
    Array bias = optional(arguments, 2);
    PyObject* result = working_number(x) == NPY_FLOAT
                           ? convolve<float>(g, x, weight, bias, shape)
                           : convolve<double>(g, x, weight, bias, shape);
    return rounded(result, x);
}

// The gradient in the input, and the transposed convolution: `place` is where the shape stands.
PyObject* back(Arguments arguments, Index place) {
    if (arguments.count() != place + 5) return decline();
    Array x = arguments.array(0), weight = arguments.array(1);
    if (!are_operands(x, weight)) return decline();
    Index shape[2 + axis_count];
    if (read_integers(arguments[place], shape, 2 + axis_count) != x.ndim()) return decline();
    PyObject* statics[4];
    static_arguments(arguments, place + 1, statics);
    Geometry g;
    if (!read_geometry(x.ndim(), shape, weight.shape(), x.shape(), statics, &g)) return decline();
    Array bias;
    if (place == 3) {
        if (!is_bias(arguments, 2, x, shape[1])) return decline();
        bias = optional(arguments, 2);
    }
    PyObject* result = working_number(x) == NPY_FLOAT
                           ? convolve_back<float>(g, x, weight, bias, shape)
                           : convolve_back<double>(g, x, weight, bias, shape);
    return rounded(result, x);
}

PyObject* conv_grad_input(Arguments arguments) { return back(arguments, 2); }
PyObject* conv_transpose(Arguments arguments) { return back(arguments, 3); }

template <class T>
PyObject* weight_gradient_array(const Geometry& g, Array gradient, Array x, int ndim,
                                const npy_intp* shape) {
    Plain above(gradient, type_number<T>()), input(x, type_number<T>());
    if (!above || !input) return nullptr;
    Result result(empty<T>(ndim, shape));
    if (!result) return nullptr;
    if (g.outputs <= few_outputs) {
        weight_gradient_of_lines(g.along_lines(), above.data<T>(), input.data<T>(),
                                 result.data<T>());
    } else {
        weight_gradient(g, above.data<T>(), input.data<T>(), result.data<T>());
    }
    return result.release();
}

PyObject* conv_grad_weight(Arguments arguments) {
    if (arguments.count() != 7) return decline();
    Array gradient = arguments.array(0), x = arguments.array(1);
    if (!are_operands(gradient, x)) return decline();
    Index shape[2 + axis_count];
    if (read_integers(arguments[2], shape, 2 + axis_count) != x.ndim()) return decline();
    PyObject* statics[4];
    static_arguments(arguments, 3, statics);
    Geometry g;
    if (!read_geometry(x.ndim(), x.shape(), shape, gradient.shape(), statics, &g)) {
        return decline();
    }
    PyObject* result = working_number(x) == NPY_FLOAT
                           ? weight_gradient_array<float>(g, gradient, x, x.ndim(), shape)
                           : weight_gradient_array<double>(g, gradient, x, x.ndim(), shape);
    return rounded(result, x);
}

const Registration conv_("conv", conv);
const Registration conv_grad_input_("conv_grad_input", conv_grad_input);
const Registration conv_transpose_("conv_transpose", conv_transpose);
const Registration conv_grad_weight_("conv_grad_weight", conv_grad_weight);

}  // namespace
}  // namespace nnkit
