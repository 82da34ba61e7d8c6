// Printed formulas: the table of their loops, and what runs them over arrays of any layout.
#pragma once

#include "array.h"

namespace nnkit {

constexpr int most_operands = 8;

// A printed loop over `count` elements: operands one after the other, then the formula's scalars.
template <class T, class Result = T>
using Loop = void (*)(const T* const* operands, const double* scalars, Result* out, Index count);

struct FormulaEntry {
    const char* name;
    unsigned int fingerprint;  // of the trace it was printed from: see `printer.fingerprint`
    int arrays, scalars;
    const char* deciding;  // the places, as digits, of the arrays that decide the result's order
    bool refuses_halves;   // half precision is no rounded float: not done here
    int cost;        // of one element, in additions: decides from which size on threads pay
    Loop<float> single;
    Loop<double> wide;
    // Of a predicate, whose values are bool, loops that write these; else null.
    Loop<float, bool> single_truth = nullptr;
    Loop<double, bool> wide_truth = nullptr;
    // Of what torch computes in half precision with each operation rounded, loops of floats that do.
    Loop<float> float16 = nullptr;
    Loop<float> bfloat16 = nullptr;

    bool is_predicate() const { return single_truth != nullptr; }
};

struct FormulaRegistration {
    explicit FormulaRegistration(const FormulaEntry& entry);
};

const FormulaEntry* find_formula(const char* name);

// Whether writing `out` could change an element of `in` that is read later.
bool may_interfere(Array out, Array in);

// The formula of the arguments: arrays of one floating type (or bool), numbers, then the scalars.
PyObject* run_formula(const FormulaEntry& entry, Arguments arguments, bool in_place);

}  // namespace nnkit
