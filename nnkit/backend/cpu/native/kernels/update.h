// Printed optimizer updates: the table of their loops, and what runs one over a parameter group.
#pragma once

#include "array.h"

namespace nnkit {

constexpr int most_arrays_of_update = 10;
constexpr int most_scalars_of_update = 16;  // the counters among them

// A printed loop over `count` elements: arrays one after the other, counters and scalars.
template <class T> using UpdateLoop = void (*)(T* const* arrays, const double* scalars, Index count);

struct UpdateEntry {
    const char* name;
    unsigned int fingerprint;  // of the trace it was printed from: see `c_source.fingerprint`
    const char* counts;        // for each list: '1' where it holds counters of steps
    const char* needs;         // for each other list: '1' where this variant touches its arrays
    const char* writes;        // and '1' where it writes them
    int scalars;
    int cost;
    UpdateLoop<float> single;
    UpdateLoop<double> wide;
};

struct UpdateRegistration {
    explicit UpdateRegistration(const UpdateEntry& entry);
};

const UpdateEntry* find_update(const char* name, unsigned int fingerprint);

// The update of a group: a tuple of lists of arrays, and a tuple of scalars.
PyObject* run_update(const UpdateEntry& entry, Arguments arguments);

}  // namespace nnkit
