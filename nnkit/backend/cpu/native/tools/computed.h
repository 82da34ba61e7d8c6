// Floating arrays in the type that is computed in: float for half precision.
#pragma once

#include "rows.h"

namespace nnkit {

// A parameter or another array of a call, in the type that is computed in: halves are widened.
class Input {
public:
    // False if the array is not of this size or type, or lies oddly (an error may be set).
    bool read(Array a, Type type, Index size) {
        return a && a.is_behaved() && read_foreign(a, type, size);
    }
    // The same, but odd addresses and orders of bytes are copied.
    bool read_foreign(Array a, Type type, Index size) {
        if (!a || a.type() != type || a.size() != size) return false;
        array_ = in_order(a);
        if (!array_) return false;
        if (item_size(type) > 2) return true;
        Owned wide(empty<float>(a.ndim(), a.shape()));
        if (!wide) return false;
        float* to = wide.array().data<float>();
        if (type == Type::float16) convert_row(array_.array().data<Float16>(), to, size);
        else convert_row(array_.array().data<BFloat16>(), to, size);
        array_ = std::move(wide);
        return true;
    }
    // The same, but None is fine.
    bool read_optional(Arguments arguments, Index i, Type type, Index size) {
        return arguments.is_none(i) || read(arguments.array(i), type, size);
    }
    Array array() const { return array_.array(); }
    template <class T> const T* data() const { return array_ ? array().data<T>() : nullptr; }

private:
    Owned array_;
};

// A result that was computed in float32 as the half that it is to be; others stay as they are.
inline PyObject* narrowed(Owned result, Type type) {
    if (!result || item_size(type) > 2) return result.release();
    Array a = result.array();
    int number = type == Type::float16 ? static_cast<int>(NPY_HALF) : bfloat16_number;
    Owned half(empty(a.ndim(), a.shape(), PyArray_DescrFromType(number)));
    if (!half) return nullptr;
    if (type == Type::float16) convert_row(a.data<float>(), half.array().data<Float16>(), a.size());
    else convert_row(a.data<float>(), half.array().data<BFloat16>(), a.size());
    return half.release();
}

// `run(float())` or `run(double())`, whatever the floating type is computed in.
template <class Run> auto by_computed_type(Type type, Run run) {
    return type == Type::float64 ? run(double()) : run(float());
}

inline bool is_floating(Array a) {
    return a && a.type() >= Type::float16 && a.type() != Type::other;
}

}  // namespace nnkit
