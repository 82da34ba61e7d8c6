// Ops on Tensors: unwrap the arrays, call the primitive, wrap its results and record their node.
// An op takes the Tensors that need nothing else; its twin in Python (autograd/op/rule.py, pointwise.py)
// gets all others: views that were written to, several devices, promotion, broadcasting, errors. An
// op that writes into its first operand does so where that becomes no history.
#include "op.h"

#include <structmember.h>

#include <cfloat>
#include <cmath>

#include "formula.h"
#include "gpu_array.h"
#include "half.h"
#include "held.h"
#include "owned.h"
#include "tensor.h"

namespace nnkit {
namespace {

// Attribute names, and a number, made once.
struct Names {
    PyObject* backend = PyUnicode_InternFromString("backend");
    PyObject* record = PyUnicode_InternFromString("record");
    PyObject* shape = PyUnicode_InternFromString("shape");
    PyObject* dtype = PyUnicode_InternFromString("dtype");
    PyObject* meta = PyUnicode_InternFromString("meta");
    PyObject* full = PyUnicode_InternFromString("full");
    PyObject* one = PyLong_FromLong(1);
};

const Names& names() {
    static const Names* made = new Names;
    return *made;
}

// The result of `bind_op`: a `Call` serves it, and the twin if that declines.
struct Op {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *twin, *op;
    PyObject* connect;    // records the nodes that are not simple
    PyObject* name;       // of the primitive
    PyObject* dtypes;     // None, or the only ones (of NumPy) that operands may have
    PyObject* operation;  // None, or what the writes to the first operand are called
    PyObject* link;       // None, or what makes a result a view of the first operand in all cases
    unsigned optional;    // inputs that may be None, a bit for each
    unsigned flowing;     // inputs that a gradient flows to
    int inputs;
    unsigned numbers;     // operands that may be numbers, a bit for each
    unsigned masks;       // operands of a formula that are bool, whatever the others are
    bool exact;           // whether half precision does not round the second one
    bool several;         // outputs
    bool sequence;        // the only input is a tuple of Tensors
    bool simple;          // the first output's node needs no more than `record` gives it
};

constexpr Py_ssize_t most_arguments = 24;

bool is_number(PyObject* object) {
    return PyFloat_CheckExact(object) || (PyLong_CheckExact(object) && is_int64(object));
}

// Whether the storage of a view was written since the view got its history. What is no counter
// (the attribute can be set from Python) is the twin's affair.
bool is_stale(PyObject* tensor) {
    PyObject* base = slot(tensor, tensors.base);
    if (base == Py_None) return false;
    PyObject *count = count_of(slot(tensor, tensors.writes)), *viewed = slot(tensor, tensors.viewed);
    if (count == nullptr || !PyLong_CheckExact(count) || !PyLong_CheckExact(viewed)) return true;
    if (PyObject_RichCompareBool(count, viewed, Py_EQ) == 1) return false;
    const bool of_history = slot(base, tensors.requires_grad) != Py_False;
    // A view of what requires no grad is looked at each time, for its base may have begun to.
    if (PyTuple_Check(slot(tensor, tensors.view))) return of_history;
    // One whose history is not known, as of one of several or made without grad, as long as nobody
    // has written: either there is none, or that it is lost is known.
    if (~PyLong_AsLongLong(viewed) != PyLong_AsLongLong(count)) return true;
    const bool lost = slot(tensor, tensors.edge) != Py_None;
    return of_history ? !lost || modes.enabled : lost;
}

// What formulas ask of an array, NumPy's or a GPU's.
struct Look {
    PyObject* dtype = nullptr;
    const Py_ssize_t* shape;
    Py_ssize_t ndim;

    explicit Look(PyObject* operand) {
        if (PyArray_CheckExact(operand)) {
            Array array(operand);
            dtype = reinterpret_cast<PyObject*>(array.descriptor());
            shape = array.shape();
            ndim = array.ndim();
        } else if (GpuArray::is(operand)) {
            GpuArray array(operand);
            dtype = array.dtype();
            shape = array.shape().data();
            ndim = array.shape().size();
        }
    }
    bool same_shape(const Look& other) const {
        return ndim == other.ndim && PyArray_CompareLists(shape, other.shape, ndim);
    }
    int number() const { return reinterpret_cast<PyArray_Descr*>(dtype)->type_num; }
    bool is_half() const { return number() == NPY_HALF || number() == bfloat16_number; }
    bool is_integer() const { return PyTypeNum_ISINTEGER(number()); }
    bool takes(PyObject* beside) const {
        if (number() == NPY_FLOAT || number() == NPY_DOUBLE || is_half()) return true;
        return PyTypeNum_ISCOMPLEX(number()) || (is_integer() && PyLong_CheckExact(beside));
    }
};

// Arrays that need no promotion, and numbers and masks beside them; whether all have one shape.
bool are_alike(const Op* op, PyObject* const* operands, bool* of_one_shape) {
    int leading = 0;
    auto is_mask = [&](int i) { return (op->masks >> i & 1) != 0; };
    while (leading < op->inputs && (is_mask(leading) || is_number(operands[leading]))) ++leading;
    if (leading == op->inputs) return false;
    Look first(operands[leading]);
    if (first.dtype == nullptr) return false;
    Py_ssize_t known = 0, count = PyTuple_GET_SIZE(op->dtypes);
    while (known < count && PyTuple_GET_ITEM(op->dtypes, known) != first.dtype) ++known;
    if (known == count) return false;
    for (int i = 0; i < op->inputs; ++i) {
        Look other(operands[i]);
        if (other.dtype == nullptr) {
            if (!first.takes(operands[i])) return false;
            continue;  // a number
        }
        if (is_mask(i) ? other.number() != NPY_BOOL : other.dtype != first.dtype) return false;
        if (!first.same_shape(other)) *of_one_shape = false;
    }
    return true;
}

// A number as an array of half precision holds it, by way of float32; null where it is too large.
PyObject* rounded_to_half(PyObject* number, int type) {
    const float value = static_cast<float>(PyFloat_AsDouble(number));
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return nullptr;
    }
    return PyFloat_FromDouble(type == NPY_HALF ? widen(narrow_float16(value))
                                               : widen(narrow_bfloat16(value)));
}

// Whether an integer dtype holds a number.
bool holds(const Look& look, std::int64_t value) {
    const auto* descriptor = reinterpret_cast<PyArray_Descr*>(look.dtype);
    const bool is_signed = PyTypeNum_ISSIGNED(look.number());
    if (value < 0 && !is_signed) return false;
    const int bits = 8 * static_cast<int>(PyDataType_ELSIZE(descriptor)) - (is_signed ? 1 : 0);
    return bits > 62 || (value >= -(std::int64_t{1} << bits) && value < std::int64_t{1} << bits);
}

// Whether a write to a tensor could become history, or be part of one.
bool is_of_history(PyObject* tensor) {
    if (slot(tensor, tensors.requires_grad) != Py_False) return true;
    PyObject* base = slot(tensor, tensors.base);
    return base != Py_None && slot(base, tensors.requires_grad) != Py_False;
}

// Whether an operand goes into each element of what is written, and lies apart from it or is the
// very same.
bool fits_into(Array target, Array operand) {
    int shift = target.ndim() - operand.ndim();
    if (shift < 0 || may_interfere(target, operand)) return false;
    for (int i = 0; i < operand.ndim(); ++i) {
        if (operand.shape(i) != 1 && operand.shape(i) != target.shape(i + shift)) return false;
    }
    return true;
}

// Whether no level of a transform is entered: views made meanwhile, and what is written, may join one.
bool no_levels() {
    return overriding.levels != nullptr && PySet_GET_SIZE(overriding.levels) == 0;
}

// Whether an array, made of another one or that itself, lies in its memory.
bool looks_into(PyObject* result, PyObject* source) {
    if (result == source) return true;
    PyObject* parent = PyArray_BASE(reinterpret_cast<PyArrayObject*>(result));
    PyObject* above = PyArray_BASE(reinterpret_cast<PyArrayObject*>(source));
    return parent != nullptr && (parent == source || parent == above);
}

// One call. What it returns without an error set, if null, is "declined".
class Call {
public:
    Call(const Op* op, PyObject* const* arguments, Py_ssize_t count)
        : op_(op), arguments_(arguments), count_(count), operands_(arguments),
          operand_count_(op->inputs) {}
    ~Call() {
        for (int i = 0; i < kept_ && !is_ending(); ++i) Py_DECREF(values_[i]);
    }
    Call(const Call&) = delete;

    PyObject* run() {
        if (!unwrap()) return decline();
        Owned backend(PyObject_GetAttr(device_, names().backend));
        if (!backend) return nullptr;
        Owned primitive(PyObject_GetAttr(backend.object(), op_->name));
        if (!primitive) return nullptr;
        Owned result(PyObject_Vectorcall(primitive.object(), values_, count_, nullptr));
        if (!result) return is_refusal() ? decline() : nullptr;
        if (op_->operation != Py_None) return count_write();
        if (op_->several) result = Owned(PySequence_Tuple(result.object()));
        if (!result) return nullptr;
        Py_ssize_t count = op_->several ? PyTuple_GET_SIZE(result.object()) : 1;
        Owned outputs(PyTuple_New(count));
        if (!outputs) return nullptr;
        for (Py_ssize_t i = 0; i < count; ++i) {
            PyObject* one = op_->several ? PyTuple_GET_ITEM(result.object(), i) : result.object();
            PyObject* output = wrap(one, device_);
            if (output == nullptr) return nullptr;
            PyTuple_SET_ITEM(outputs.object(), i, output);
            if (op_->link != Py_None && !link(output)) return nullptr;
        }
        if (wanted_ && modes.enabled && !record(outputs.object())) return nullptr;
        if (op_->several) return outputs.release();
        return Py_NewRef(PyTuple_GET_ITEM(outputs.object(), 0));
    }

private:
    // Whether a kernel refused its arguments, or NumPy has no memory: the twin says so in torch's
    // words.
    static bool is_refusal() {
        bool refused = PyErr_ExceptionMatches(PyExc_ValueError) ||
                       PyErr_ExceptionMatches(PyExc_TypeError) ||
                       (PyErr_ExceptionMatches(PyExc_MemoryError) &&
                        !PyErr_ExceptionMatches(PyExc_RuntimeError));
        if (refused) PyErr_Clear();
        return refused;
    }

    // Looks at the operands; false for what the twin must see.
    bool unwrap() {
        if (overriding.intercepted) return false;
        if (op_->sequence && !unwrap_sequence()) return false;
        for (int i = kept_; i < op_->inputs; ++i) {
            PyObject* operand = arguments_[i];
            if (!is_tensor(operand)) {
                bool absent = operand == Py_None && (op_->optional >> i & 1);
                bool number = (op_->numbers >> i & 1) && is_number(operand);
                if (!absent && !number) return false;
                keep(operand);
                continue;
            }
            PyObject* data = look_at(operand, flows(i));
            if (data == nullptr) return false;
            keep(data);
        }
        if (device_ == nullptr) return false;
        bool formula = op_->dtypes != Py_None;
        if (formula && !are_alike(op_, values_, &of_one_shape_)) return false;
        bool reflected = (op_->numbers & 1) != 0 && is_number(values_[0]);
        if (reflected && wanted_ && modes.enabled) return false;  // another node
        if (reflected && !prepare_number(0, 1)) return false;
        bool beside = (op_->numbers & 2) != 0 && is_number(values_[1]);
        if (beside && !prepare_number(1, 0)) return false;
        for (Py_ssize_t i = op_->inputs; i < count_; ++i) {
            if (formula && !is_number(arguments_[i])) return false;
            values_[i] = arguments_[i];
        }
        return op_->operation == Py_None || may_write();
    }

    bool unwrap_sequence() {
        if (!PyTuple_CheckExact(arguments_[0])) return false;
        operands_ = PySequence_Fast_ITEMS(arguments_[0]);
        operand_count_ = PyTuple_GET_SIZE(arguments_[0]);
        Owned arrays(PyList_New(operand_count_));
        for (Py_ssize_t i = 0; arrays && i < operand_count_; ++i) {
            PyObject* data = is_tensor(operands_[i]) ? look_at(operands_[i], flows(i)) : nullptr;
            if (data == nullptr) return false;
            PyList_SET_ITEM(arrays.object(), i, Py_NewRef(data));
        }
        if (!arrays) return false;
        values_[kept_++] = arrays.release();
        return true;
    }

    // The array of a Tensor, borrowed; null where the twin must see it.
    PyObject* look_at(PyObject* operand, bool flows) {
        PyObject *data = slot(operand, tensors.data), *device = slot(operand, tensors.device);
        if (data == nullptr || device == nullptr) return nullptr;
        if (op_->operation == Py_None && is_stale(operand)) return nullptr;
        if (device_ != nullptr && device != device_) return nullptr;
        device_ = device;
        if (flows && slot(operand, tensors.requires_grad) == Py_True) {
            if (is_inference(operand)) return nullptr;
            wanted_ = true;
        }
        return data;
    }

    // Whether a gradient flows to an operand.
    bool flows(Py_ssize_t i) const { return (op_->flowing >> (op_->sequence ? 0 : i) & 1) != 0; }

    // Brings the number among two operands to the dtype of the array where a kernel does not.
    bool prepare_number(int number, int array) {
        Look beside(values_[array]);
        PyObject* made;
        if (beside.is_integer()) {
            if (!holds(beside, PyLong_AsLongLong(values_[number]))) return false;
            made = make_array(values_[number], beside.dtype);
        } else if (beside.is_half() && !(op_->exact && number == 1)) {
            made = rounded_to_half(values_[number], beside.number());
        } else {
            // Beside complex64 it may be too large.
            return beside.number() != NPY_CFLOAT ||
                   !(std::fabs(PyFloat_AsDouble(values_[number])) > FLT_MAX);
        }
        if (made == nullptr) return false;
        Py_SETREF(values_[number], made);
        return true;
    }

    // A number as an array: made by a primitive, as all arrays are.
    PyObject* make_array(PyObject* number, PyObject* dtype) const {
        Owned backend(PyObject_GetAttr(device_, names().backend));
        if (!backend) return nullptr;
        Owned full(PyObject_GetAttr(backend.object(), names().full)), shape(PyTuple_New(0));
        if (!full || !shape) return nullptr;
        PyObject* values[] = {shape.object(), number, dtype};
        return PyObject_Vectorcall(full.object(), values, 3, nullptr);
    }

    // Whether nothing but the array of the first operand and its counter changes.
    bool may_write() const {
        if (!no_levels() || modes.origin != nullptr || !is_tensor(arguments_[0])) return false;
        PyObject* count = count_of(slot(arguments_[0], tensors.writes));
        if (count == nullptr || !PyLong_CheckExact(count)) return false;
        if (!PyArray_CheckExact(values_[0])) return false;
        Array target(values_[0]);
        if (!target.is_plain() || !target.is_writeable()) return false;
        for (int i = 0; i < op_->inputs; ++i) {
            if (!is_tensor(arguments_[i])) continue;
            if (modes.enabled && is_of_history(arguments_[i])) return false;
            if (!fits_into(target, Array(values_[i]))) return false;
        }
        return true;
    }

    PyObject* count_write() const {
        PyObject* writes = slot(arguments_[0], tensors.writes);
        PyObject* count = PyNumber_Add(count_of(writes), names().one);
        if (count == nullptr || PyList_SetItem(writes, 0, count) < 0) return nullptr;
        if (PyList_SetItem(writes, 1, Py_NewRef(op_->operation)) < 0) return nullptr;
        return Py_NewRef(arguments_[0]);
    }

    void keep(PyObject* value) { values_[kept_++] = Py_NewRef(value); }

    static PyObject* tuple_of(PyObject* const* values, Py_ssize_t count) {
        PyObject* made = PyTuple_New(count);
        for (Py_ssize_t i = 0; made != nullptr && i < count; ++i) {
            PyTuple_SET_ITEM(made, i, Py_NewRef(values[i]));
        }
        return made;
    }
    PyObject* statics() const { return tuple_of(arguments_ + op_->inputs, count_ - op_->inputs); }

    // The edges that the gradients of the inputs take.
    PyObject* edges() const {
        PyObject* made = PyTuple_New(operand_count_);
        for (Py_ssize_t i = 0; made != nullptr && i < operand_count_; ++i) {
            PyObject *operand = operands_[i], *to = Py_None;
            if (flows(i) && is_tensor(operand) &&
                slot(operand, tensors.requires_grad) == Py_True) {
                PyObject* edge = slot(operand, tensors.edge);
                to = edge == Py_None ? operand : edge;
            }
            PyTuple_SET_ITEM(made, i, Py_NewRef(to));
        }
        return made;
    }

    // Makes an output a view of the first operand; its twin is `link_view` (views/history.py).
    bool link(PyObject* output) const {
        PyObject *source = arguments_[0], *writes = slot(source, tensors.writes);
        PyObject *base = slot(source, tensors.base), *view = slot(source, tensors.view);
        PyObject *count = count_of(writes), *made = slot(output, tensors.data);
        bool usual = modes.enabled && !op_->several && count != nullptr &&
                     PyLong_CheckExact(count) && no_levels();
        if (!usual || PyUnicode_Check(view) || !PyArray_CheckExact(made) ||
            !PyArray_CheckExact(values_[0])) {
            return link_otherwise(output);
        }
        if (!looks_into(made, values_[0])) return true;
        Owned statics(this->statics());
        if (!statics) return false;
        PyObject* above = base == Py_None ? values_[0] : view;
        Owned way(PyTuple_Pack(3, op_->name, statics.object(), above));
        PyObject* root = base == Py_None ? source : base;
        bool wanted = slot(root, tensors.requires_grad) == Py_True;
        Owned viewed(wanted ? Py_NewRef(count) : PyNumber_Invert(count));
        if (!way || !viewed) return false;
        set_slot(output, tensors.writes, writes);
        set_slot(output, tensors.base, root);
        set_slot(output, tensors.view, way.object());
        set_slot(output, tensors.viewed, viewed.object());
        return true;
    }

    bool link_otherwise(PyObject* output) const {
        Owned statics(this->statics());
        if (!statics) return false;
        PyObject* several = op_->several ? Py_True : Py_False;
        PyObject* values[] = {output, arguments_[0], op_->name, statics.object(), several};
        return bool(Owned(PyObject_Vectorcall(op_->link, values, 5, nullptr)));
    }

    bool record(PyObject* outputs) const {
        Owned inputs(tuple_of(operands_, operand_count_)), statics(this->statics()), to(edges());
        if (!inputs || !statics || !to) return false;
        PyObject* values[] = {op_->op,     inputs.object(), statics.object(),
                              to.object(), outputs,         device_};
        if (!op_->simple) {
            return bool(Owned(PyObject_Vectorcall(op_->connect, values, 6, nullptr)));
        }
        Owned function(PyObject_GetAttr(op_->op, names().record));
        if (!function) return false;
        Owned node(PyObject_Vectorcall(function.object(), values + 1, 5, nullptr));
        if (!node || (!of_one_shape_ && !tell_shapes(node.object()))) return false;
        PyObject* output = PyTuple_GET_ITEM(outputs, 0);
        set_slot(output, tensors.edge, node.object());
        set_slot(output, tensors.requires_grad, Py_True);
        return true;
    }

    // Tells a node the shapes and the dtype to which the engine brings the gradients.
    bool tell_shapes(PyObject* node) const {
        Owned looks(PyTuple_New(op_->inputs));
        for (int i = 0; looks && i < op_->inputs; ++i) {
            if (!is_tensor(arguments_[i])) {
                PyTuple_SET_ITEM(looks.object(), i, Py_NewRef(Py_None));
                continue;
            }
            Owned shape(PyObject_GetAttr(values_[i], names().shape));
            Owned dtype(PyObject_GetAttr(values_[i], names().dtype));
            PyObject* look = shape && dtype ? PyTuple_Pack(2, shape.object(), dtype.object())
                                            : nullptr;
            if (look == nullptr) return false;
            PyTuple_SET_ITEM(looks.object(), i, look);
        }
        return looks && PyObject_SetAttr(node, names().meta, looks.object()) == 0;
    }

    const Op* op_;
    PyObject* const* arguments_;
    Py_ssize_t count_;
    PyObject* const* operands_;  // the Tensors among the arguments, or what is in a sequence
    Py_ssize_t operand_count_;
    PyObject* values_[most_arguments];
    int kept_ = 0;
    PyObject* device_ = nullptr;  // borrowed from an operand
    bool wanted_ = false;
    bool of_one_shape_ = true;
};

PyObject* call_op(PyObject* self, PyObject* const* values, std::size_t flagged,
                  PyObject* keywords) {
    auto* op = reinterpret_cast<Op*>(self);
    Py_ssize_t count = PyVectorcall_NARGS(flagged);
    if (keywords == nullptr && count >= op->inputs && count <= most_arguments) {
        PyObject* result = Call(op, values, count).run();
        if (result != nullptr || PyErr_Occurred()) return result;
    }
    return PyObject_Vectorcall(op->twin, values, flagged, keywords);
}

void free_op(PyObject* self) {
    auto* op = reinterpret_cast<Op*>(self);
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    for (PyObject* part : {op->twin, op->op, op->connect, op->name, op->dtypes, op->operation,
                           op->link}) {
        Py_XDECREF(part);
    }
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

int traverse_op(PyObject* self, visitproc visit, void* arg) {
    auto* op = reinterpret_cast<Op*>(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(op->twin);
    Py_VISIT(op->op);
    Py_VISIT(op->connect);
    return 0;
}

PyObject* represent_op(PyObject* self) {
    return PyUnicode_FromFormat("<native op %U>", reinterpret_cast<Op*>(self)->name);
}

// As functions, it is a method of the class that has it.
PyObject* get_op(PyObject* self, PyObject* instance, PyObject*) {
    if (instance == nullptr || instance == Py_None) return Py_NewRef(self);
    return PyMethod_New(self, instance);
}

// The twin's, by which a pickle and a copy find it, as they find functions.
PyObject* get_of_twin(PyObject* self, void* name) {
    return PyObject_GetAttrString(reinterpret_cast<Op*>(self)->twin, static_cast<char*>(name));
}

PyObject* reduce_op(PyObject* self, PyObject*) {
    return PyObject_GetAttrString(self, "__qualname__");
}

PyMethodDef op_methods[] = {
    {"__reduce__", reduce_op, METH_NOARGS, "Its qualified name."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef op_getset[] = {
    {"__doc__", get_of_twin, nullptr, nullptr, const_cast<char*>("__doc__")},
    {"__module__", get_of_twin, nullptr, nullptr, const_cast<char*>("__module__")},
    {"__qualname__", get_of_twin, nullptr, nullptr, const_cast<char*>("__qualname__")},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMemberDef op_members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(Op, twin), READONLY, "The twin, for its signature."},
    {"twin", T_OBJECT_EX, offsetof(Op, twin), READONLY,
     "The same in Python; it serves the operands that the native op declines."},
    {"op", T_OBJECT_EX, offsetof(Op, op), READONLY, "The primitive with its rules."},
    {"__name__", T_OBJECT_EX, offsetof(Op, name), READONLY, "The primitive's name."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Op, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot op_slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_op)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_op)},
    {Py_tp_descr_get, reinterpret_cast<void*>(get_op)},
    {Py_tp_repr, reinterpret_cast<void*>(represent_op)},
    {Py_tp_methods, op_methods},
    {Py_tp_members, op_members},
    {Py_tp_getset, op_getset},
    {0, nullptr},
};

PyType_Spec op_spec = {
    "nnkit.backend.cpu.native.Op", sizeof(Op), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
        Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    op_slots,
};

PyTypeObject* op_type = nullptr;

}  // namespace

PyObject* bind_op(PyObject*, PyObject* args) {
    PyObject *twin, *rules, *connect, *name, *dtypes, *operation, *link;
    unsigned optional, flowing, numbers, masks;
    int inputs, exact, several, simple, sequence;
    if (!PyArg_ParseTuple(args, "OOOUOIIiIIppppOO:bind_op", &twin, &rules, &connect, &name, &dtypes,
                          &optional, &flowing, &inputs, &numbers, &masks, &exact, &several, &simple,
                          &sequence, &operation, &link)) {
        return nullptr;
    }
    if (tensors.type == nullptr || inputs > most_arguments) return Py_NewRef(twin);
    if (op_type == nullptr) op_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&op_spec));
    if (op_type == nullptr) return nullptr;
    auto* op = PyObject_GC_New(Op, op_type);
    if (op == nullptr) return nullptr;
    op->call = call_op;
    op->twin = Py_NewRef(twin);
    op->op = Py_NewRef(rules);
    op->connect = Py_NewRef(connect);
    op->name = Py_NewRef(name);
    PyUnicode_InternInPlace(&op->name);
    op->dtypes = Py_NewRef(dtypes);
    op->operation = Py_NewRef(operation);
    op->link = Py_NewRef(link);
    op->optional = optional;
    op->flowing = flowing;
    op->inputs = inputs;
    op->numbers = inputs > 1 ? numbers : 0;
    op->masks = masks;
    op->exact = exact != 0;
    op->several = several != 0;
    op->sequence = sequence != 0;
    op->simple = simple != 0;
    PyObject_GC_Track(op);
    return reinterpret_cast<PyObject*>(op);
}

}  // namespace nnkit
