// Memory of a run that is repeated, planned: what each run asks for lies in one block of its own.
//
// Kernels are deterministic in what they ask for, and a program frees what it makes in its places.
// So the first run writes down a tape, which block is taken and given back when; with it each block
// gets a place in an arena, over those that are gone by then. Later runs follow the tape. Where one
// leaves it, it takes ordinary memory from there on, and the next one writes another tape.
#pragma once

#include "array.h"

namespace nnkit {

// What this thread's run gets for a block that it asks for; null where it is to be ordinary memory.
void* take_planned(std::size_t bytes);
// Tells of ordinary memory that was taken after all, since there was nothing planned for it.
void note_taken(void* block, std::size_t bytes);
// Gives a block back; false if it is ordinary memory.
bool return_planned(void* block);

// The type `Planned(run)`: a function whose calls are such runs.
PyObject* make_planned_type();

}  // namespace nnkit
