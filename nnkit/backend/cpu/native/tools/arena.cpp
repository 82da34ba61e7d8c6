#include "arena.h"

#include <pthread.h>
#include <structmember.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include "memory.h"
#include "owned.h"
#include "parallel.h"

namespace nnkit {
namespace {

constexpr int most_tapes = 4;  // of one function, whose runs may differ now and then
constexpr std::size_t most_blocks = 1 << 12;  // of a tape: places are found in quadratic time

// A block of memory that holds what one run asks for, and what outlives it against all plans.
struct Arena {
    Arena(char* base_, std::size_t bytes_) : base(base_), bytes(bytes_) {}

    char* const base;
    const std::size_t bytes;
    std::atomic<Index> blocks{0};  // that were not given back
    bool is_left = false;          // by its run

    bool holds(const void* block) const {
        return std::less_equal<const void*>()(base, block) &&
               std::less<const void*>()(block, base + bytes);
    }
};

// The arenas that there are, for whoever gives back a block.
class Arenas {
public:
    Arena* make(std::size_t bytes) {
        auto* arena = new Arena(static_cast<char*>(allocate(bytes)), bytes);
        std::lock_guard<std::mutex> lock(mutex_);
        all_.push_back(arena);
        count_ = all_.size();
        return arena;
    }

    void leave(Arena* arena) {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            arena->is_left = true;
            if (arena->blocks != 0) return;
            forget(arena);
        }
        free(arena);
    }

    bool give_back(const void* block) {
        if (count_ == 0) return false;
        Arena* found = nullptr;
        {
            std::lock_guard<std::mutex> lock(mutex_);
            for (Arena* arena : all_) {
                if (arena->holds(block)) found = arena;
            }
            if (found == nullptr) return false;
            if (--found->blocks != 0 || !found->is_left) return true;
            forget(found);
        }
        free(found);
        return true;
    }

    std::mutex& mutex() { return mutex_; }

private:
    void forget(Arena* arena) {
        all_.erase(std::find(all_.begin(), all_.end(), arena));
        count_ = all_.size();
    }

    // Without the lock: the cache has one too.
    static void free(Arena* arena) {
        deallocate(arena->base, arena->bytes);
        delete arena;
    }

    std::mutex mutex_;
    std::vector<Arena*> all_;
    std::atomic<std::size_t> count_{0};
};

Arenas& arenas = *new Arenas;  // never destroyed, as the cache

[[maybe_unused]] const int fork_handlers =
    pthread_atfork([] { arenas.mutex().lock(); }, [] { arenas.mutex().unlock(); },
                   [] { arenas.mutex().unlock(); });

struct Block {
    std::size_t bytes;
    std::size_t begin, end;  // the events that take it and give it back; `kept` if none does
    std::size_t offset;
};
constexpr std::size_t kept = ~std::size_t{0};

// What a run asks for and gives back, in this order: numbers of blocks, each twice at most.
struct Tape {
    std::vector<Block> blocks;
    std::vector<std::size_t> events;
    std::size_t bytes = 0;  // of the arena

    void take(std::size_t size) {
        blocks.push_back({size, events.size(), kept, 0});
        events.push_back(blocks.size() - 1);
    }

    void give_back(std::size_t number) {
        blocks[number].end = events.size();
        events.push_back(number);
    }

    void place_blocks();
};

// The largest first, each as low as those allow that are there at the same time.
void Tape::place_blocks() {
    bytes = 0;
    std::vector<Block*> order, placed;
    for (Block& block : blocks) {
        if (block.end != kept) order.push_back(&block);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](Block* a, Block* b) { return a->bytes > b->bytes; });
    for (Block* block : order) {
        for (const Block* other : placed) {  // by offset
            if (other->end < block->begin || block->end < other->begin) continue;
            if (block->offset + block->bytes <= other->offset) break;
            const std::size_t after = other->offset + other->bytes;
            block->offset = std::max(block->offset, (after + alignment - 1) / alignment * alignment);
        }
        bytes = std::max(bytes, block->offset + block->bytes);
        auto lower = [](const Block* a, const Block* b) { return a->offset < b->offset; };
        placed.insert(std::upper_bound(placed.begin(), placed.end(), block, lower), block);
    }
}

enum class State { writing, following, ordinary };

struct Planned {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject* run;
    State state;
    int tapes;      // so many were written
    bool is_inside;  // a run
    Tape tape;
};

// One run of a function, in its thread.
class Run {
public:
    explicit Run(Planned& planned) : planned_(planned), outer_(current) {
        Tape& tape = planned_.tape;
        if (planned_.state == State::following) {
            arena_ = arenas.make(tape.bytes);
        } else {
            tape.blocks.clear();
            tape.events.clear();
            tape.events.reserve(2 * most_blocks);  // what gives back memory must not need any
        }
        planned_.is_inside = true;
        current = this;
    }

    ~Run() {
        current = outer_;
        planned_.is_inside = false;
        if (arena_ == nullptr) return;
        // A block that outlives the run would have another run need another arena.
        if (arena_->blocks != 0) strays_ = true;
        arenas.leave(arena_);
        if (strays_) planned_.state = State::writing;
    }
    Run(const Run&) = delete;

    // The run was made to its end.
    void finish() {
        if (planned_.state != State::writing) return;
        Tape& tape = planned_.tape;
        tape.place_blocks();
        tape.events.shrink_to_fit();
        const bool pays = tape.bytes > 0 && ++planned_.tapes <= most_tapes && !strays_;
        planned_.state = pays ? State::following : State::ordinary;
        if (pays) empty_cache();  // what was taken so far will hardly be needed again
    }

    void* take(std::size_t bytes) {
        if (arena_ == nullptr || strays_) return nullptr;
        const Tape& tape = planned_.tape;
        if (next_ < tape.events.size()) {
            const Block& block = tape.blocks[tape.events[next_]];
            if (block.begin == next_ && block.bytes == bytes) {
                ++next_;
                if (block.end == kept) return nullptr;
                ++arena_->blocks;
                return arena_->base + block.offset;
            }
        }
        strays_ = true;
        return nullptr;
    }

    void note(void* block, std::size_t bytes) {
        if (arena_ != nullptr || strays_) return;
        if (planned_.tape.blocks.size() == most_blocks) {
            strays_ = true;
            return;
        }
        numbers_[block] = planned_.tape.blocks.size();
        planned_.tape.take(bytes);
    }

    bool give_back(void* block) {
        if (arena_ == nullptr) {
            auto found = numbers_.find(block);
            if (found != numbers_.end()) {
                planned_.tape.give_back(found->second);
                numbers_.erase(found);
            }
            return false;
        }
        if (!arena_->holds(block)) return false;
        --arena_->blocks;
        const Tape& tape = planned_.tape;
        const std::size_t offset = static_cast<char*>(block) - arena_->base;
        const bool expected = next_ < tape.events.size() &&
                              tape.blocks[tape.events[next_]].end == next_ &&
                              tape.blocks[tape.events[next_]].offset == offset;
        if (expected) ++next_;
        else strays_ = true;
        return true;
    }

    static thread_local Run* current;

private:
    Planned& planned_;
    Run* const outer_;
    Arena* arena_ = nullptr;  // null while a tape is written
    std::size_t next_ = 0;    // event
    bool strays_ = false;     // from the tape; or there is too much for one
    std::unordered_map<void*, std::size_t> numbers_;  // of the blocks that a tape is written of
};

thread_local Run* Run::current = nullptr;

PyObject* call_planned(PyObject* self, PyObject* const* values, std::size_t flagged,
                       PyObject* names) {
    auto& planned = *reinterpret_cast<Planned*>(self);
    if (planned.is_inside || planned.state == State::ordinary) {
        return PyObject_Vectorcall(planned.run, values, flagged, names);
    }
    Owned living(Py_NewRef(self));
    try {
        Run run(planned);
        PyObject* result = PyObject_Vectorcall(planned.run, values, flagged, names);
        if (result != nullptr) run.finish();
        return result;
    } catch (const std::bad_alloc&) {  // of the arena or of the tape: nothing ran yet
        return PyObject_Vectorcall(planned.run, values, flagged, names);
    }
}

PyObject* new_planned(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject* run;
    if (!PyArg_ParseTuple(args, "O:Planned", &run)) return nullptr;
    PyObject* self = type->tp_alloc(type, 0);
    if (self == nullptr) return nullptr;
    auto* own = reinterpret_cast<Planned*>(self);
    new (&own->tape) Tape;
    own->call = call_planned;
    own->run = Py_NewRef(run);
    own->state = State::writing;
    return self;
}

int traverse_planned(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(reinterpret_cast<Planned*>(self)->run);
    return 0;
}

int clear_planned(PyObject* self) {
    // Never null: one that is being collected may still be called.
    Py_SETREF(reinterpret_cast<Planned*>(self)->run, Py_NewRef(Py_None));
    return 0;
}

void free_planned(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(reinterpret_cast<Planned*>(self)->run);
    reinterpret_cast<Planned*>(self)->tape.~Tape();
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject* planned_bytes(PyObject* self, void*) {
    const auto& own = *reinterpret_cast<Planned*>(self);
    return PyLong_FromSize_t(own.state == State::following ? own.tape.bytes : 0);
}

PyMemberDef members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(Planned, run), READONLY, "What is run."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Planned, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"bytes", planned_bytes, nullptr, "The size of the arena; 0 while there is none.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(new_planned)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(free_planned)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_planned)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_planned)},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {Py_tp_doc, const_cast<char*>("Planned(run)")},
    {0, nullptr},
};

PyType_Spec spec = {
    "nnkit.backend.cpu.native.Planned", sizeof(Planned), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots,
};

// Kernels that several threads work on take memory in no fixed order.
Run* run_here() { return is_in_section() ? nullptr : Run::current; }

}  // namespace

void* take_planned(std::size_t bytes) {
    Run* run = run_here();
    return run != nullptr ? run->take(bytes) : nullptr;
}

void note_taken(void* block, std::size_t bytes) {
    if (Run* run = run_here()) run->note(block, bytes);
}

bool return_planned(void* block) {
    Run* run = run_here();
    return (run != nullptr && run->give_back(block)) || arenas.give_back(block);
}

PyObject* make_planned_type() { return PyType_FromSpec(&spec); }

}  // namespace nnkit
