// The nodes of the graph: `record` makes one and saves what its rules will read, `unpack_array` gives
// them a saved array. Their twins (autograd/op/code.py prints one, autograd/engine/backward_pass.py has the
// other) serve where hooks pack what is saved, and say what is wrong.
#include "node.h"

#include <structmember.h>

#include <vector>

#include "owned.h"
#include "tensor.h"

namespace nnkit {
namespace {

// The places of the slots of nodes and of saved outputs, and values that all nodes share.
struct NodeLayout {
    Py_ssize_t edges, values, device, meta, outputs, hooks, order;
    PyTypeObject* saved = nullptr;
    Py_ssize_t saved_data, saved_writes, saved_index, saved_first;
    PyObject* hooked;  // a set: whether anybody packs what is saved
    PyObject* module;  // the dictionary whose `sequence` numbers the nodes
    PyObject* unpack;  // the twin of `unpack_array`
} nodes;

PyObject *sequence_name = nullptr, *shape_name = nullptr;

// The kinds of saved values: their numbers are those in autograd/op/code.py.
struct Value {
    enum Kind { input, output, index, constant, shape, columns, rows } kind;
    Py_ssize_t place;
    long users;       // the inputs whose rules read it, a bit for each
    bool is_for_all;  // then it is saved whoever wants a gradient
    bool has_first;   // it is kept with the array of the first output
};

struct Record {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject* twin;
    PyTypeObject* type;  // of its nodes
    std::vector<Value>* values;
};

// One call; null without an error set is "declined".
class NodeMaker {
public:
    NodeMaker(const Record* record, PyObject* const* arguments)
        : record_(record), inputs_(arguments[0]), statics_(arguments[1]), edges_(arguments[2]),
          outputs_(arguments[3]), device_(arguments[4]) {}

    PyObject* run() const {
        for (PyObject* sequence : {inputs_, statics_, edges_, outputs_}) {
            if (!PyTuple_CheckExact(sequence)) return decline();
        }
        auto count = static_cast<Py_ssize_t>(record_->values->size());
        Owned values(PyTuple_New(count));
        for (Py_ssize_t i = 0; values && i < count; ++i) {
            PyObject* made = value((*record_->values)[static_cast<std::size_t>(i)]);
            if (made == nullptr) return nullptr;
            PyTuple_SET_ITEM(values.object(), i, made);
        }
        PyObject* sequence = PyDict_GetItemWithError(nodes.module, sequence_name);
        if (!values || sequence == nullptr || Py_TYPE(sequence)->tp_iternext == nullptr) {
            return decline();
        }
        Owned order(Py_TYPE(sequence)->tp_iternext(sequence));
        if (!order) return nullptr;
        PyObject* self = record_->type->tp_alloc(record_->type, 0);
        if (self == nullptr) return nullptr;
        slot(self, nodes.edges) = Py_NewRef(edges_);
        slot(self, nodes.values) = values.release();
        slot(self, nodes.device) = Py_NewRef(device_);
        slot(self, nodes.order) = order.release();
        for (Py_ssize_t at : {nodes.meta, nodes.outputs, nodes.hooks}) slot(self, at) = none();
        return self;
    }

private:
    bool is_wanted(const Value& value) const {
        if (value.is_for_all) return true;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(edges_); ++i) {
            if ((value.users >> i & 1) && PyTuple_GET_ITEM(edges_, i) != Py_None) return true;
        }
        return false;
    }

    // Borrowed; null, which declines, where a caller gave fewer.
    static PyObject* at(PyObject* sequence, Py_ssize_t place) {
        return place < PyTuple_GET_SIZE(sequence) ? PyTuple_GET_ITEM(sequence, place) : nullptr;
    }

    PyObject* value(const Value& value) const {
        switch (value.kind) {
            case Value::input: return is_wanted(value) ? input(at(inputs_, value.place)) : none();
            case Value::output: return is_wanted(value) ? output(value) : none();
            case Value::constant: return Py_XNewRef(at(statics_, value.place));
            case Value::shape: return shape(at(inputs_, value.place));
            case Value::columns: return lies(at(inputs_, value.place), false);
            case Value::rows: return lies(at(inputs_, value.place), true);
            default: return decline();
        }
    }

    // The pair of what is saved, of which this takes the reference, and the count of its writes.
    static PyObject* counted(PyObject* saved, PyObject* writes) {
        Owned owned(saved);
        PyObject* count = count_of(writes);
        return owned && count ? PyTuple_Pack(2, saved, count) : nullptr;
    }

    static PyObject* input(PyObject* operand) {
        if (operand == nullptr) return decline();
        if (is_tensor(operand)) return counted(Py_NewRef(operand), slot(operand, tensors.writes));
        if (PyObject_TypeCheck(operand, tensors.type)) return decline();
        return PyTuple_Pack(2, operand, Py_None);
    }

    PyObject* output(const Value& value) const {
        PyObject* tensor = at(outputs_, value.place);
        if (tensor == nullptr || !is_tensor(tensor)) return decline();
        Owned index(PyLong_FromSsize_t(value.place));
        PyObject* saved = index ? nodes.saved->tp_alloc(nodes.saved, 0) : nullptr;
        if (saved == nullptr) return nullptr;
        PyObject* first = PyTuple_GET_ITEM(outputs_, 0);
        PyObject* writes = slot(tensor, tensors.writes);
        slot(saved, nodes.saved_data) = Py_NewRef(slot(tensor, tensors.data));
        slot(saved, nodes.saved_writes) = Py_NewRef(writes);
        slot(saved, nodes.saved_index) = index.release();
        slot(saved, nodes.saved_first) =
            Py_NewRef(value.has_first ? slot(first, tensors.data) : Py_None);
        return counted(saved, writes);
    }

    static PyObject* shape(PyObject* tensor) {
        if (tensor == nullptr || !is_tensor(tensor)) return decline();
        return PyObject_GetAttr(slot(tensor, tensors.data), shape_name);
    }

    // Whether it lies by rows, or by columns and not by rows as well.
    static PyObject* lies(PyObject* tensor, bool by_rows) {
        if (tensor == nullptr || !is_tensor(tensor)) return decline();
        PyObject* data = slot(tensor, tensors.data);
        if (!PyArray_Check(data)) return decline();
        auto* array = reinterpret_cast<PyArrayObject*>(data);
        if (by_rows) return PyBool_FromLong(PyArray_IS_C_CONTIGUOUS(array));
        return PyBool_FromLong(PyArray_IS_F_CONTIGUOUS(array) && !PyArray_IS_C_CONTIGUOUS(array));
    }

    const Record* record_;
    PyObject *inputs_, *statics_, *edges_, *outputs_, *device_;
};

PyObject* call_record(PyObject* self, PyObject* const* arguments, std::size_t flagged,
                      PyObject* keywords) {
    auto* record = reinterpret_cast<Record*>(self);
    if (keywords == nullptr && PyVectorcall_NARGS(flagged) == 5 &&
        PySet_GET_SIZE(nodes.hooked) == 0) {
        PyObject* node = NodeMaker(record, arguments).run();
        if (node != nullptr || PyErr_Occurred()) return node;
    }
    return PyObject_Vectorcall(record->twin, arguments, flagged, keywords);
}

int traverse_record(PyObject* self, visitproc visit, void* arg) {
    auto* record = reinterpret_cast<Record*>(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(record->twin);
    Py_VISIT(record->type);
    return 0;
}

void free_record(PyObject* self) {
    auto* record = reinterpret_cast<Record*>(self);
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF(record->twin);
    Py_XDECREF(record->type);
    delete record->values;
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

PyMemberDef record_members[] = {
    {"twin", T_OBJECT_EX, offsetof(Record, twin), READONLY, "The same in Python."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Record, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot record_slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_record)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_record)},
    {Py_tp_members, record_members},
    {Py_tp_doc, const_cast<char*>("Makes the nodes of an op.")},
    {0, nullptr},
};

PyType_Spec record_spec = {
    "nnkit.backend.cpu.native.Record", sizeof(Record), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
        Py_TPFLAGS_DISALLOW_INSTANTIATION,
    record_slots,
};

PyTypeObject* record_type = nullptr;

}  // namespace

PyObject* set_node(PyObject*, PyObject* args) {
    PyObject *node, *saved, *hooked, *module, *unpack;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O:set_node", &PyType_Type, &node, &PyType_Type, &saved,
                          &PySet_Type, &hooked, &PyDict_Type, &module, &unpack)) {
        return nullptr;
    }
    NodeLayout found;
    struct {
        PyObject* type;
        const char* name;
        Py_ssize_t* offset;
    } const slots[] = {
        {node, "edges", &found.edges}, {node, "values", &found.values},
        {node, "device", &found.device}, {node, "meta", &found.meta},
        {node, "outputs", &found.outputs}, {node, "hooks", &found.hooks},
        {node, "order", &found.order}, {saved, "_array", &found.saved_data},
        {saved, "_writes", &found.saved_writes}, {saved, "index", &found.saved_index},
        {saved, "first", &found.saved_first},
    };
    for (auto [type, name, offset] : slots) {
        *offset = offset_of(type, name);
        if (*offset < 0) return nullptr;
    }
    if (record_type == nullptr) {
        sequence_name = PyUnicode_InternFromString("sequence");
        shape_name = PyUnicode_InternFromString("shape");
        record_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&record_spec));
    }
    if (record_type == nullptr) return nullptr;
    found.saved = reinterpret_cast<PyTypeObject*>(Py_NewRef(saved));
    found.hooked = Py_NewRef(hooked);
    found.module = Py_NewRef(module);
    found.unpack = Py_NewRef(unpack);
    nodes = found;  // whole, or not at all
    return none();
}

PyObject* bind_record(PyObject*, PyObject* args) {
    PyObject *twin, *type, *list;
    if (!PyArg_ParseTuple(args, "OO!O!:bind_record", &twin, &PyType_Type, &type, &PyList_Type,
                          &list)) {
        return nullptr;
    }
    if (nodes.saved == nullptr) return Py_NewRef(twin);
    std::vector<Value> values;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
        Value value;
        int kind, is_for_all, has_first;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(list, i), "inlpp", &kind, &value.place, &value.users,
                              &is_for_all, &has_first)) {
            return nullptr;
        }
        value.kind = static_cast<Value::Kind>(kind);
        value.is_for_all = is_for_all != 0;
        value.has_first = has_first != 0;
        values.push_back(value);
    }
    auto* record = PyObject_GC_New(Record, record_type);
    if (record == nullptr) return nullptr;
    record->call = call_record;
    record->twin = Py_NewRef(twin);
    record->type = reinterpret_cast<PyTypeObject*>(Py_NewRef(type));
    record->values = new std::vector<Value>(std::move(values));
    PyObject_GC_Track(record);
    return reinterpret_cast<PyObject*>(record);
}

PyObject* unpack_array(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
    PyObject* value = count == 2 ? arguments[1] : nullptr;
    if (value != nullptr && PyTuple_CheckExact(value) && PyTuple_GET_SIZE(value) == 2) {
        PyObject *saved = PyTuple_GET_ITEM(value, 0), *version = PyTuple_GET_ITEM(value, 1);
        PyObject *writes = nullptr, *data = nullptr;
        if (Py_TYPE(saved) == nodes.saved) {
            writes = slot(saved, nodes.saved_writes);
            data = slot(saved, nodes.saved_data);
        } else if (is_tensor(saved) && slot(saved, tensors.hooks) == Py_None) {
            writes = slot(saved, tensors.writes);
            data = slot(saved, tensors.data);
        }
        PyObject* now = writes == nullptr ? nullptr : count_of(writes);
        if (now != nullptr && data != nullptr && PyObject_RichCompareBool(now, version, Py_EQ) == 1) {
            return Py_NewRef(data);
        }
        if (PyErr_Occurred()) return nullptr;
    }
    return PyObject_Vectorcall(nodes.unpack, arguments, static_cast<std::size_t>(count), nullptr);
}

}  // namespace nnkit
