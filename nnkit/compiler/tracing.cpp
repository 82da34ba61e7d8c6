#include "tracing.h"

#include <unordered_map>

#include "owned.h"

namespace nnkit {
namespace {

using Codes = std::unordered_map<PyObject*, Owned>;  // kept, so that no address is used twice

// The code objects whose calls, or whose calls of functions in C, need no look.
Codes& settled(int what) {
    static auto* called = new Codes;
    static auto* calling = new Codes;
    return what == PyTrace_CALL ? *called : *calling;
}

int see(PyObject* look, PyFrameObject* frame, int what, PyObject* argument) {
    if (what != PyTrace_CALL && what != PyTrace_C_CALL) return 0;
    Owned code(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    Codes& known = settled(what);
    if (known.count(code.object())) return 0;
    static PyObject* const call = PyUnicode_InternFromString("call");
    static PyObject* const c_call = PyUnicode_InternFromString("c_call");
    PyObject* values[] = {reinterpret_cast<PyObject*>(frame), what == PyTrace_CALL ? call : c_call,
                          argument == nullptr ? Py_None : argument};
    Owned answer(PyObject_Vectorcall(look, values, 3, nullptr));
    if (!answer) return -1;
    if (answer.object() == Py_True) {
        PyObject* key = code.object();
        known.emplace(key, std::move(code));
    }
    return 0;
}

}  // namespace

PyObject* trace(PyObject*, PyObject* look) {
    PyEval_SetProfile(see, look);
    return none();
}

PyObject* untraced(PyObject*, PyObject* const* values, Py_ssize_t count) {
    if (count < 1) return fail(PyExc_TypeError, "untraced: expected a function");
#if PY_VERSION_HEX >= 0x030B0000
    PyThreadState* thread = PyThreadState_Get();
    PyThreadState_EnterTracing(thread);
    PyObject* result = PyObject_Vectorcall(values[0], values + 1, count - 1, nullptr);
    PyThreadState_LeaveTracing(thread);
    return result;
#else
    return PyObject_Vectorcall(values[0], values + 1, count - 1, nullptr);
#endif
}

}  // namespace nnkit
