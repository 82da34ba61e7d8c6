// Formulas that follow one another, run together: block by block, in the first-level cache.
#pragma once

#include "formula.h"

namespace nnkit {

// The printed formula that a kernel runs; null for any other object.
const FormulaEntry* formula_of(PyObject* kernel);

// fuse(steps, inputs, outputs, numbers, slots, twin): see native/__init__.py.
PyObject* fuse(PyObject*, PyObject* args);

}  // namespace nnkit
