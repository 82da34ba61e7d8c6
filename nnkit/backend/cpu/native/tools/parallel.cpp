// The thread pool: each worker takes its share of the pieces; without work it soon goes to sleep.
#include "parallel.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <thread>

namespace nnkit {
namespace {

class Section;

thread_local int index_of_thread = 0;
thread_local bool inside_section = false;
thread_local bool is_deaf = false;  // to interruptions
thread_local Section* section_of_thread = nullptr;
thread_local PyThreadState* released = nullptr;  // while this thread has given up the GIL

constexpr std::int64_t between_looks = 100'000'000;  // ns from one look for signals to the next
thread_local std::int64_t next_look = 0;

// Some milliseconds of precision suffice, and take a few nanoseconds to read.
inline std::int64_t now() {
#if defined(CLOCK_MONOTONIC_COARSE)
    constexpr clockid_t clock = CLOCK_MONOTONIC_COARSE;
#else
    constexpr clockid_t clock = CLOCK_MONOTONIC;
#endif
    timespec time;
    clock_gettime(clock, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

inline void pause_processor() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Work in equal shares, one for each thread: in every section a thread takes the same part of the
// elements first, which its own cache may still hold, and helps out elsewhere when it is done.
class Section {
public:
    Section(Index count, Index grain, PieceFunction run, void* context, int threads)
        : pieces((count + grain - 1) / grain), run_(run), context_(context), count_(count),
          grain_(grain) {
        threads_ = static_cast<int>(std::min<Index>({threads, pieces, most_shares}));
        for (int i = 0; i < threads_; ++i) {
            shares_[i].next.store(pieces * i / threads_, std::memory_order_relaxed);
            shares_[i].end = pieces * (i + 1) / threads_;
        }
    }

    void work() {
        for (int i = 0; i < threads_; ++i) work_on(shares_[(index_of_thread + i) % threads_]);
    }

    int threads() const { return threads_; }

    bool failed() const { return failed_.load(std::memory_order_relaxed); }
    // Within a handler: the first exception is thrown again when all have left.
    void fail() {
        if (!failed_.exchange(true)) error = std::current_exception();
    }

    const Index pieces;
    std::exception_ptr error;

private:
    static constexpr Index most_shares = 64;
    struct alignas(64) Share {
        std::atomic<Index> next;
        Index end;
    };

    void work_on(Share& share) {
        for (;;) {
            Index piece = share.next.fetch_add(1, std::memory_order_relaxed);
            if (piece >= share.end || failed()) return;
            try {
                run_(context_, piece * grain_, std::min(count_, (piece + 1) * grain_));
                poll();
            } catch (...) {
                fail();
            }
        }
    }

    const PieceFunction run_;
    void* const context_;
    const Index count_, grain_;
    int threads_;
    std::atomic<bool> failed_{false};
    Share shares_[most_shares];
};

// Waits for `ready()` without sleeping, for some tens of microseconds: kernels follow each other
// closely in a training loop, and waking a sleeper takes as long as a small kernel.
template <class Ready> bool spin_until(Ready ready) {
    constexpr auto patience = std::chrono::microseconds(60);
    auto start = std::chrono::steady_clock::now();
    for (int turn = 1;; ++turn) {
        if (ready()) return true;
        pause_processor();
        if (turn % 64 != 0) continue;
        if (std::chrono::steady_clock::now() - start > patience) return false;
        sched_yield();  // another library's thread may want the core
    }
}

class Pool {
public:
    // Only one section runs at a time; a second Python thread works alone meanwhile.
    std::mutex busy;

    void run(Section& section) {
        grow(section.threads() - 1);
        section_ = &section;
        State opened = opened_after(state_.load(std::memory_order_relaxed), section.threads() - 1);
        state_.store(opened);  // nobody else changes it between two sections
        if (sleeping_.load() > 0) {
            std::lock_guard<std::mutex> lock(mutex_);
            wake_.notify_all();
        }
        inside_section = true;
        section.work();
        inside_section = false;
        // Nobody else may join, and those who did must be gone before the section is.
        state_.fetch_and(~wanted_mask);
        auto all_left = [this] { return (state_.load() & active_mask) == 0; };
        if (spin_until(all_left)) return;
        std::unique_lock<std::mutex> lock(mutex_);
        waits_.store(true);
        // In turns, since a signal may come (and not `wait_for`, which ThreadSanitizer mistakes).
        constexpr auto turn = std::chrono::nanoseconds(between_looks);
        while (!done_.wait_until(lock, std::chrono::system_clock::now() + turn, all_left)) {
            lock.unlock();
            try {
                poll();
            } catch (...) {
                section.fail();
            }
            lock.lock();
        }
        waits_.store(false);
    }

private:
    // The number of the section, of workers that may still join it and of those at work on it, in
    // one word: it is what threads send each other, and every further one would take as long.
    using State = std::uint64_t;
    static constexpr State active = 1, wanted = State{1} << 16, generation = State{1} << 32;
    static constexpr State active_mask = wanted - active, wanted_mask = generation - wanted;

    static State opened_after(State last, int workers) {
        return (last & ~(generation - 1)) + generation + static_cast<State>(workers) * wanted;
    }

    void grow(int workers) {
        while (workers_ < workers) {
            int index = workers_ + 1;
            try {
                // Detached: at exit the process ends without waiting for sleepers.
                std::thread([this, index] { serve(index); }).detach();
            } catch (const std::exception&) {
                return;  // the system has no thread or no memory left: fewer do the work
            }
            workers_ = index;
        }
    }

    void serve(int index) {
        index_of_thread = index;
        inside_section = is_deaf = true;  // only the thread that has called sees signals
        State seen = 0;
        auto is_new = [&] { return state_.load() / generation != seen; };
        for (;;) {
            if (!spin_until(is_new)) {
                std::unique_lock<std::mutex> lock(mutex_);
                sleeping_.fetch_add(1);
                wake_.wait(lock, is_new);
                sleeping_.fetch_sub(1);
            }
            if (join(&seen)) {
                section_of_thread = section_;
                section_->work();
                leave();
            }
        }
    }

    // Whether this worker is wanted in the section that is open now.
    bool join(State* seen) {
        State state = state_.load();
        do {
            *seen = state / generation;
            if ((state & wanted_mask) == 0) return false;
        } while (!state_.compare_exchange_weak(state, state - wanted + active));
        return true;
    }

    void leave() {
        State before = state_.fetch_sub(active);
        if ((before & active_mask) != active || !waits_.load()) return;
        std::lock_guard<std::mutex> lock(mutex_);
        done_.notify_one();
    }

    std::atomic<State> state_{0};
    std::atomic<int> sleeping_{0};
    std::atomic<bool> waits_{false};
    Section* section_ = nullptr;
    int workers_ = 0;
    std::mutex mutex_;
    std::condition_variable wake_, done_;
};

// Never destroyed: workers may still sleep in it when the process ends.
Pool* pool = new Pool;

std::atomic<int> threads{1};

// A forked child has one thread, and locks in whatever state they were: it gets a new pool.
void start_again_after_fork() {
    pool = new Pool;
    index_of_thread = 0;
    inside_section = is_deaf = false;
}

[[maybe_unused]] const int fork_handler = pthread_atfork(nullptr, nullptr, start_again_after_fork);

// Once the interpreter has ended, CPython ends a daemon thread in here by unwinding its stack. The
// destructors on it must not run, since they touch Python objects: the thread waits for the exit.
void take_gil_back(PyThreadState* state) {
    try {
        PyEval_RestoreThread(state);
    } catch (...) {
        for (;;) pause();
    }
}

}  // namespace

int thread_count() { return threads.load(std::memory_order_relaxed); }
void set_thread_count(int count) { threads.store(std::max(1, count)); }
bool is_in_section() { return inside_section; }
int thread_index() { return index_of_thread; }

void poll() {
    if (section_of_thread != nullptr && section_of_thread->failed()) throw Interrupted{};
    if (is_deaf) return;
    const std::int64_t time = now();
    if (time < next_look) return;
    next_look = time + between_looks;
    // Handlers are Python code, and may call kernels in turn.
    PyThreadState* state = std::exchange(released, nullptr);
    Section* section = std::exchange(section_of_thread, nullptr);
    if (state != nullptr) take_gil_back(state);
    const bool raised = PyErr_CheckSignals() < 0;
    if (state != nullptr) released = PyEval_SaveThread();
    section_of_thread = section;
    if (raised) throw Interrupted{};
}

Interruptible::Interruptible(bool may_be) : before_(std::exchange(is_deaf, !may_be)) {}
Interruptible::~Interruptible() { is_deaf = before_; }

void run_pieces(Index count, Index grain, PieceFunction run, void* context) {
    Section section(count, grain, run, context, inside_section ? 1 : thread_count());
    // The GIL goes only where this thread holds it: a worker that starts a section has none.
    const bool outermost = !inside_section;
    Section* const around = section_of_thread;
    if (outermost) {
        released = PyEval_SaveThread();
        section_of_thread = &section;
    }
    bool alone = section.threads() == 1 || !pool->busy.try_lock();
    if (alone) {
        bool outer = std::exchange(inside_section, true);
        section.work();
        inside_section = outer;
    } else {
        pool->run(section);
        pool->busy.unlock();
    }
    section_of_thread = around;
    if (outermost) take_gil_back(std::exchange(released, nullptr));
    if (section.error) std::rethrow_exception(section.error);
}

}  // namespace nnkit
