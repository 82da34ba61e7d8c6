// The Mersenne Twister (Matsumoto and Nishimura, 1998) on the state of NumPy's bit generator.
#include "random.h"

#include <numpy/random/bitgen.h>

namespace nnkit {
namespace {

constexpr int period = 624, shift = 397;

PyObject* name_of(const char* text) { return PyUnicode_InternFromString(text); }

PyObject* default_generator() {
    static PyObject* generator = [] {
        PyObject* module = PyImport_ImportModule("nnkit.backend.random");
        PyObject* found = module ? PyObject_GetAttrString(module, "default_generator") : nullptr;
        Py_XDECREF(module);
        return found;
    }();
    return generator;
}

// Whether NumPy's struct is laid out as ours: its own account of the state must agree.
bool has_known_layout(PyObject* bits, const Twister* state) {
    PyObject* account = PyObject_GetAttrString(bits, "state");
    PyObject* inner = account ? PyDict_GetItemString(account, "state") : nullptr;
    PyObject* key = inner ? PyDict_GetItemString(inner, "key") : nullptr;
    PyObject* position = inner ? PyDict_GetItemString(inner, "pos") : nullptr;
    bool known = false;
    if (key != nullptr && position != nullptr && PyArray_CheckExact(key)) {
        Array words(key);
        known = words.size() == period && item_size(Type::int32) == sizeof(std::uint32_t) &&
                PyDataType_ELSIZE(words.descriptor()) == 4 &&
                std::memcmp(words.bytes(), state->words, sizeof state->words) == 0 &&
                PyLong_AsLong(position) == state->position;
    }
    Py_XDECREF(account);
    PyErr_Clear();
    return known;
}

Twister* state_of(PyObject* bits) {
    static PyObject* capsule_name = name_of("capsule");
    static int layout = -1;  // unknown yet
    PyObject* capsule = PyObject_GetAttr(bits, capsule_name);
    auto* interface = capsule == nullptr ? nullptr : static_cast<bitgen_t*>(
        PyCapsule_GetPointer(capsule, "BitGenerator"));
    Py_XDECREF(capsule);
    if (interface == nullptr) {
        PyErr_Clear();
        return nullptr;
    }
    auto* state = static_cast<Twister*>(interface->state);
    if (layout < 0) layout = has_known_layout(bits, state);
    return layout ? state : nullptr;
}

// The next 624 words in the place of the last.
void twist(std::uint32_t* words) {
    auto mix = [](std::uint32_t high, std::uint32_t low) {
        std::uint32_t joined = (high & 0x80000000u) | (low & 0x7fffffffu);
        return (joined >> 1) ^ (-(low & 1u) & 0x9908b0dfu);
    };
    constexpr int rest = period - shift;
    for (int i = 0; i < rest; ++i) words[i] = words[i + shift] ^ mix(words[i], words[i + 1]);
    for (int i = rest; i < period - 1; ++i) {
        words[i] = words[i - rest] ^ mix(words[i], words[i + 1]);
    }
    words[period - 1] = words[shift - 1] ^ mix(words[period - 1], words[0]);
}

}  // namespace

Stream::Stream(PyObject* generator) {
    static PyObject *philox_name = name_of("philox"), *bits_name = name_of("_bits");
    static PyObject* start_name = name_of("_start");
    if (generator == Py_None) generator = default_generator();
    if (generator == nullptr) return;
    PyObject* philox = PyObject_GetAttr(generator, philox_name);
    Py_XDECREF(philox);
    if (philox == Py_None) bits_ = PyObject_GetAttr(generator, bits_name);
    if (bits_ == Py_None) {
        Py_DECREF(bits_);
        bits_ = PyObject_CallMethodNoArgs(generator, start_name);
    }
    generator_ = generator;
    if (bits_ != nullptr) state_ = state_of(bits_);
    PyErr_Clear();
}

void Stream::draw(std::uint32_t* words, Index count) {
    static PyObject* fresh_name = name_of("_fresh");
    if (count > 0 && !std::exchange(is_drawn_, true)) {
        PyObject_SetAttr(generator_, fresh_name, Py_False);
    }
    while (count > 0) {
        if (state_->position >= period) {
            twist(state_->words);
            state_->position = 0;
        }
        Index length = std::min<Index>(count, period - state_->position);
        std::memcpy(words, state_->words + state_->position,
                    static_cast<std::size_t>(length) * sizeof *words);
        state_->position += static_cast<int>(length);
        words += length;
        count -= length;
    }
}

void Stream::skip(Index count) {
    std::uint32_t words[64];
    for (; count > 0; count -= 64) draw(words, std::min<Index>(count, 64));
}

bool Stream::take_waiting(double* normal) {
    static PyObject* name = name_of("next_double_normal_sample");
    PyObject* value = PyObject_GetAttr(generator_, name);
    bool found = value != nullptr && PyFloat_Check(value);
    if (found) {
        *normal = PyFloat_AS_DOUBLE(value);
        PyObject_SetAttr(generator_, name, Py_None);
    }
    Py_XDECREF(value);
    return found;
}

bool Stream::put_waiting(double normal) {
    PyObject* value = PyFloat_FromDouble(normal);
    bool stored = value != nullptr &&
                  PyObject_SetAttrString(generator_, "next_double_normal_sample", value) == 0;
    Py_XDECREF(value);
    return stored;
}

}  // namespace nnkit
