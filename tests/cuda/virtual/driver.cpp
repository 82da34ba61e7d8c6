// A GPU that is not there: what CuPy calls of libcudart and libcuda, played on the CPU.
//
// Memory is memory of this process, each allocation between pages that nobody may touch, so that a
// kernel that leaves it is caught. Work on a stream lags behind as long as it may: it is done when
// somebody waits. A launch is checked, and runs the kernel's twin for the CPU, which Python finds.
#include "memory.h"
#include "played.h"

#include <cuda_runtime_api.h>
#include <setjmp.h>
#include <signal.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>
#include <string>
#include <vector>

#define API extern "C" __attribute__((visibility("default")))

namespace {

constexpr size_t all_shared = 227 << 10, usual_shared = 48 << 10;

// ---- streams, events, graphs

using Work = std::function<int()>;
struct Stream {
    bool is_capturing = false, is_broken = false, is_blocking = true;
    std::vector<Work> tape;
};
struct Event {
    unsigned flags = 0;
    bool is_recorded = false, is_captured = false;
    double time = 0;
};
struct Graph {
    std::vector<Work> tape;
};

Stream legacy;
int capturing = 0;
std::deque<Work> waiting;  // of all streams, in the order in which it was given
bool lags = true;
int pending_error = 0;
long launches = 0;

Stream& stream_of(void* handle) {
    return uintptr_t(handle) <= 2 ? legacy : *static_cast<Stream*>(handle);
}

double now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}

void drain() {
    const Lock lock(mutex);
    while (!waiting.empty()) {
        Work work = std::move(waiting.front());
        waiting.pop_front();
        if (const int error = work()) pending_error = error;
    }
}

// Waiting for anything is waiting for all that was given before.
cudaError_t wait_for_all() {
    const Lock lock(mutex);
    drain();
    const int error = pending_error;
    pending_error = 0;
    return cudaError_t(error);
}

cudaError_t break_capture(Stream& stream, cudaError_t error) {
    stream.is_broken = true;
    return error;
}

// ---- kernels

jmp_buf escape;
volatile sig_atomic_t is_inside = 0;
const char* inside = "";

void caught(int number) {
    if (!is_inside) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    siglongjmp(escape, number);
}

void watch() {
    static bool is_watching = false;
    if (is_watching) return;
    is_watching = true;
    stack_t stack = {};
    stack.ss_size = 64 << 10;
    stack.ss_sp = malloc(stack.ss_size);
    sigaltstack(&stack, nullptr);
    struct sigaction action = {};
    action.sa_handler = caught;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT}) sigaction(number, &action, nullptr);
}

int run_watched(const char* name, const Work& work) {
    watch();
    inside = name;
    is_inside = 1;
    const int number = sigsetjmp(escape, 1);
    int error = 0;
    if (number) {
        fprintf(stderr, "ILLEGAL ADDRESS: %s (signal %d)\n", inside, number);
        error = cudaErrorIllegalAddress;
    } else {
        error = work();
    }
    is_inside = 0;
    return error;
}

}  // namespace

// A kernel's twin for the CPU; Python fills it in (twin.py).
struct Function {
    void (*run)(const unsigned* shape, void** values);
    int count;
    int most_threads;
    int fixed_shared;
    int dynamic_shared;
    char name[1024];
    size_t sizes[64];
    size_t pointed[64];  // the alignment that a pointer's elements need; 0: not a pointer
};

using Load = int (*)(const void* image, const char* path);
using Resolve = int (*)(int module, const char* name, Function* out);

namespace {
Load load_image = nullptr;
Resolve resolve = nullptr;

int bad_launch(const Function& f, const char* what, const unsigned* shape, unsigned shared) {
    fprintf(stderr, "BAD LAUNCH: %s: %s; grid %u %u %u, block %u %u %u, shared %u\n", f.name, what,
            shape[0], shape[1], shape[2], shape[3], shape[4], shape[5], shared);
    return cudaErrorInvalidValue;
}

int check_launch(const Function& f, const unsigned* shape, unsigned shared, void** values) {
    for (int i = 0; i < 6; ++i) {
        if (!shape[i]) return bad_launch(f, "an empty grid or block", shape, shared);
    }
    if (shape[0] > 2147483647u || shape[1] > 65535 || shape[2] > 65535) {
        return bad_launch(f, "the grid is too large", shape, shared);
    }
    const uint64_t threads = uint64_t(shape[3]) * shape[4] * shape[5];
    if (threads > uint64_t(f.most_threads) || shape[5] > 64) {
        return bad_launch(f, "too many threads", shape, shared);
    }
    if (int64_t(shared) > f.dynamic_shared) {
        return bad_launch(f, "too much shared memory", shape, shared);
    }
    for (int i = 0; i < f.count; ++i) {
        if (!f.pointed[i]) continue;
        uintptr_t pointer;
        memcpy(&pointer, values[i], sizeof pointer);
        if (!pointer) continue;
        char text[96];
        if (!find(pointer, 0)) {
            snprintf(text, sizeof text, "argument %d, %p, is not in live memory", i,
                     reinterpret_cast<void*>(pointer));
            return bad_launch(f, text, shape, shared);
        }
        if (pointer % f.pointed[i]) {
            snprintf(text, sizeof text, "argument %d, %p, is not aligned to %zu", i,
                     reinterpret_cast<void*>(pointer), f.pointed[i]);
            return bad_launch(f, text, shape, shared);
        }
    }
    return 0;
}
}  // namespace

namespace played {

int enqueue(void* handle, Work work) {
    const Lock lock(mutex);
    Stream& stream = stream_of(handle);
    if (&stream == &legacy && capturing) {
        // The legacy stream waits for blocking streams, of which one records.
        return cudaErrorStreamCaptureImplicit;
    }
    if (stream.is_capturing) {
        stream.tape.push_back(std::move(work));
        return 0;
    }
    waiting.push_back(std::move(work));
    if (!lags) drain();
    return 0;
}

bool is_live(const void* address, size_t size) { return find(uintptr_t(address), size); }

}  // namespace played

using played::enqueue;

// ---- for Python

API void played_connect(Load load, Resolve found) {
    load_image = load;
    resolve = found;
}
API void played_lag(int on) { lags = on; }
API long played_launches() { return launches; }
API int played_version() { return CUDART_VERSION; }
API size_t played_function_size() { return sizeof(Function); }

// ---- libcudart: devices

API cudaError_t cudaGetDeviceCount(int* n) { *n = 1; return cudaSuccess; }
API cudaError_t cudaGetDevice(int* device) { *device = 0; return cudaSuccess; }
API cudaError_t cudaSetDevice(int device) {
    has_context = true;
    return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}
API cudaError_t cudaDriverGetVersion(int* v) { *v = CUDART_VERSION; return cudaSuccess; }
API cudaError_t cudaRuntimeGetVersion(int* v) { *v = CUDART_VERSION; return cudaSuccess; }

API cudaError_t cudaDeviceGetAttribute(int* v, cudaDeviceAttr attribute, int) {
    static const std::map<int, int> known = {
        {cudaDevAttrMultiProcessorCount, 4}, {cudaDevAttrComputeCapabilityMajor, 9},
        {cudaDevAttrComputeCapabilityMinor, 0}, {cudaDevAttrWarpSize, 32},
        {cudaDevAttrMaxThreadsPerBlock, 1024}, {cudaDevAttrMemoryPoolsSupported, 1},
        {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
        {cudaDevAttrMaxSharedMemoryPerBlock, int(usual_shared)},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, int(all_shared)},
    };
    auto found = known.find(attribute);
    *v = found == known.end() ? 1 : found->second;
    return cudaSuccess;
}
API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
    memset(p, 0, sizeof *p);
    strcpy(p->name, "played GPU");
    p->totalGlobalMem = capacity;
    p->major = 9;
    p->multiProcessorCount = 4;
    p->warpSize = 32;
    p->sharedMemPerBlock = usual_shared;
    p->sharedMemPerBlockOptin = all_shared;
    p->maxThreadsPerBlock = 1024;
    p->maxThreadsPerMultiProcessor = 2048;
    p->l2CacheSize = 1 << 20;
    return cudaSuccess;
}
API cudaError_t cudaDeviceSynchronize() {
    return capturing ? cudaErrorStreamCaptureUnsupported : wait_for_all();
}
API cudaError_t cudaGetLastError() { return cudaSuccess; }
API const char* cudaGetErrorName(cudaError_t e) {
    switch (int(e)) {
        case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
        case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
        case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
        case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
        case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
        case cudaErrorStreamCaptureUnsupported: return "cudaErrorStreamCaptureUnsupported";
        case cudaErrorStreamCaptureInvalidated: return "cudaErrorStreamCaptureInvalidated";
        case cudaErrorStreamCaptureImplicit: return "cudaErrorStreamCaptureImplicit";
        case cudaErrorCapturedEvent: return "cudaErrorCapturedEvent";
        default: return "cudaErrorUnknown";
    }
}
API const char* cudaGetErrorString(cudaError_t e) {
    return e == cudaErrorMemoryAllocation ? "out of memory" : "as played";
}

// ---- libcudart: memory

API cudaError_t cudaMalloc(void** p, size_t n) { return allocate(p, n, false); }
API cudaError_t cudaFree(void* p) {
    has_context = true;
    if (!capturing) drain();
    return release(p);
}
API cudaError_t cudaMallocAsync(void** p, size_t n, cudaStream_t) { return allocate(p, n, false); }
API cudaError_t cudaFreeAsync(void* p, cudaStream_t) { return cudaFree(p); }
API cudaError_t cudaHostAlloc(void** p, size_t n, unsigned) { return allocate(p, n, true); }
API cudaError_t cudaFreeHost(void* p) { return cudaFree(p); }
API cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    has_context = true;
    *free = capacity - used;
    *total = capacity;
    return cudaSuccess;
}
API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* a, const void* p) {
    memset(a, 0, sizeof *a);
    const Allocation* found = find(uintptr_t(p), 0);
    a->type = !found ? cudaMemoryTypeUnregistered
        : found->is_pinned ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    a->devicePointer = found ? const_cast<void*>(p) : nullptr;
    a->hostPointer = found && !found->is_pinned ? nullptr : const_cast<void*>(p);
    return cudaSuccess;
}

namespace {
bool is_ours(const void* p, size_t n, bool may_be_pinned) {
    const Allocation* found = find(uintptr_t(p), n);
    return found && (may_be_pinned || !found->is_pinned);
}
// Whether the sides of a copy lie where its kind says.
bool is_sound(void* to, const void* from, size_t n, cudaMemcpyKind kind) {
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    const bool sound = (!to_device || is_ours(to, n, true))
        && (!from_device || is_ours(from, n, true));
    if (!sound) fprintf(stderr, "BAD COPY: %zu bytes, kind %d, %p <- %p\n", n, kind, to, from);
    return sound;
}
}  // namespace

API cudaError_t cudaMemcpy(void* to, const void* from, size_t n, cudaMemcpyKind kind) {
    if (capturing) return cudaErrorStreamCaptureImplicit;
    if (!is_sound(to, from, n, kind)) return cudaErrorInvalidValue;
    const cudaError_t error = wait_for_all();
    memcpy(to, from, n);
    return error;
}
API cudaError_t cudaMemcpyAsync(
    void* to, const void* from, size_t n, cudaMemcpyKind kind, cudaStream_t s) {
    if (!is_sound(to, from, n, kind)) return cudaErrorInvalidValue;
    const bool is_recorded = stream_of(s).is_capturing;
    if (kind == cudaMemcpyHostToDevice && !is_recorded && !find(uintptr_t(from), n)) {
        // Memory that is not page-locked is read before the call returns.
        std::string bytes(static_cast<const char*>(from), n);
        return cudaError_t(enqueue(s, [=] { memcpy(to, bytes.data(), n); return 0; }));
    }
    const int error = enqueue(s, [=] { memcpy(to, from, n); return 0; });
    const bool waits = kind == cudaMemcpyDeviceToHost && !find(uintptr_t(to), n);
    return error || !waits || is_recorded ? cudaError_t(error) : wait_for_all();
}
API cudaError_t cudaMemset(void* p, int value, size_t n) {
    if (!is_ours(p, n, true)) return cudaErrorInvalidValue;
    return cudaError_t(enqueue(nullptr, [=] { memset(p, value, n); return 0; }));
}
API cudaError_t cudaMemsetAsync(void* p, int value, size_t n, cudaStream_t s) {
    if (!is_ours(p, n, true)) return cudaErrorInvalidValue;
    return cudaError_t(enqueue(s, [=] { memset(p, value, n); return 0; }));
}

// ---- libcudart: streams and events

API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* s, unsigned flags, int) {
    Stream* made = new Stream;
    made->is_blocking = !(flags & cudaStreamNonBlocking);
    *s = reinterpret_cast<cudaStream_t>(made);
    return cudaSuccess;
}
API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned flags) {
    return cudaStreamCreateWithPriority(s, flags, 0);
}
API cudaError_t cudaStreamCreate(cudaStream_t* s) { return cudaStreamCreateWithFlags(s, 0); }
API cudaError_t cudaStreamDestroy(cudaStream_t s) {
    drain();
    delete reinterpret_cast<Stream*>(s);
    return cudaSuccess;
}
API cudaError_t cudaStreamSynchronize(cudaStream_t s) {
    Stream& stream = stream_of(s);
    if (stream.is_capturing) return break_capture(stream, cudaErrorStreamCaptureUnsupported);
    return wait_for_all();
}
API cudaError_t cudaStreamQuery(cudaStream_t s) { return cudaStreamSynchronize(s); }
API cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
API cudaError_t cudaStreamGetFlags(cudaStream_t s, unsigned* flags) {
    *flags = stream_of(s).is_blocking ? 0 : cudaStreamNonBlocking;
    return cudaSuccess;
}
API cudaError_t cudaStreamGetPriority(cudaStream_t, int* priority) {
    *priority = 0;
    return cudaSuccess;
}
API cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode) {
    Stream& stream = stream_of(s);
    if (&stream == &legacy) return cudaErrorStreamCaptureUnsupported;
    if (stream.is_capturing) return cudaErrorIllegalState;
    stream.is_capturing = true;
    stream.is_broken = false;
    stream.tape.clear();
    capturing += stream.is_blocking;
    return cudaSuccess;
}
API cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* graph) {
    Stream& stream = stream_of(s);
    *graph = nullptr;
    if (!stream.is_capturing) return cudaErrorIllegalState;
    stream.is_capturing = false;
    capturing -= stream.is_blocking;
    if (stream.is_broken) return cudaErrorStreamCaptureInvalidated;
    *graph = reinterpret_cast<cudaGraph_t>(new Graph{std::move(stream.tape)});
    return cudaSuccess;
}
API cudaError_t cudaStreamIsCapturing(cudaStream_t s, cudaStreamCaptureStatus* status) {
    const Stream& stream = stream_of(s);
    *status = !stream.is_capturing ? cudaStreamCaptureStatusNone
        : stream.is_broken ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}
#undef cudaGraphInstantiate
API cudaError_t cudaGraphInstantiate(cudaGraphExec_t* e, cudaGraph_t graph, unsigned long long) {
    *e = reinterpret_cast<cudaGraphExec_t>(new Graph(*reinterpret_cast<Graph*>(graph)));
    return cudaSuccess;
}
API cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t s) {
    for (const Work& work : reinterpret_cast<Graph*>(e)->tape) {
        if (const int error = enqueue(s, work)) return cudaError_t(error);
    }
    return cudaSuccess;
}
API cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete reinterpret_cast<Graph*>(graph);
    return cudaSuccess;
}
API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e) {
    delete reinterpret_cast<Graph*>(e);
    return cudaSuccess;
}
API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned flags) {
    *e = reinterpret_cast<cudaEvent_t>(new Event{flags});
    return cudaSuccess;
}
API cudaError_t cudaEventCreate(cudaEvent_t* e) { return cudaEventCreateWithFlags(e, 0); }
API cudaError_t cudaEventDestroy(cudaEvent_t e) {
    drain();
    delete reinterpret_cast<Event*>(e);
    return cudaSuccess;
}
API cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
    Event* event = reinterpret_cast<Event*>(e);
    event->is_recorded = true;
    event->is_captured = stream_of(s).is_capturing;
    if (event->is_captured) return cudaSuccess;
    return cudaError_t(enqueue(s, [=] { event->time = now(); return 0; }));
}
API cudaError_t cudaEventSynchronize(cudaEvent_t e) {
    return reinterpret_cast<Event*>(e)->is_captured ? cudaErrorCapturedEvent : wait_for_all();
}
API cudaError_t cudaEventQuery(cudaEvent_t e) { return cudaEventSynchronize(e); }
API cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t a, cudaEvent_t b) {
    const Event &start = *reinterpret_cast<Event*>(a), &stop = *reinterpret_cast<Event*>(b);
    const bool timed = !((start.flags | stop.flags) & cudaEventDisableTiming);
    if (!timed || !start.is_recorded || !stop.is_recorded) return cudaErrorInvalidResourceHandle;
    drain();
    *ms = float(stop.time - start.time);
    return cudaSuccess;
}

// ---- libcuda

API int cuGetErrorName(int error, const char** text) {
    *text = cudaGetErrorName(cudaError_t(error));
    return 0;
}
API int cuGetErrorString(int error, const char** text) {
    *text = cudaGetErrorString(cudaError_t(error));
    return 0;
}
// NVRTC looks whether there is a driver that it knows more of.
API int cuGetExportTable(const void** table, const void*) { *table = nullptr; return 500; }
API int cuGetProcAddress_v2(const char*, void**, int, uint64_t, void*) { return 500; }
API int cuInit(unsigned) { return 0; }
API int cuDriverGetVersion(int* v) { return cudaDriverGetVersion(v); }
API int cuCtxGetCurrent(void** context) { *context = reinterpret_cast<void*>(1); return 0; }
API int cuCtxSetCurrent(void*) { return 0; }
API int cuCtxGetDevice(int* device) { *device = 0; return 0; }
API int cuCtxCreate_v2(void** context, unsigned, int) { return cuCtxGetCurrent(context); }
API int cuCtxDestroy_v2(void*) { return 0; }
API int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
API int cuStreamGetCtx(void*, void** context) { return cuCtxGetCurrent(context); }

API int cuModuleLoadData(void** module, const void* image) {
    const int number = load_image(image, nullptr);
    *module = reinterpret_cast<void*>(uintptr_t(number));
    return number > 0 ? 0 : 200;  // CUDA_ERROR_INVALID_IMAGE
}
API int cuModuleLoad(void** module, const char* path) {
    const int number = load_image(nullptr, path);
    *module = reinterpret_cast<void*>(uintptr_t(number));
    return number > 0 ? 0 : 301;  // CUDA_ERROR_FILE_NOT_FOUND
}
API int cuModuleUnload(void*) { return 0; }
API int cuModuleGetFunction(void** function, void* module, const char* name) {
    Function* made = static_cast<Function*>(calloc(1, sizeof(Function)));
    made->most_threads = 1024;
    *function = made;
    const int status = resolve(int(uintptr_t(module)), name, made);
    made->dynamic_shared = int(usual_shared) - made->fixed_shared;
    return status;
}
API int cuModuleGetGlobal_v2(void**, size_t*, void*, const char*) { return 500; }
API int cuFuncGetAttribute(int* v, int attribute, Function* f) {
    *v = attribute == 8 ? f->dynamic_shared : attribute == 1 ? f->fixed_shared : f->most_threads;
    return 0;
}
API int cuFuncSetAttribute(Function* f, int attribute, int v) {
    if (attribute == 8 && v > int(all_shared) - f->fixed_shared) return cudaErrorInvalidValue;
    if (attribute == 8) f->dynamic_shared = v;
    return 0;
}
API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* n, void*, int, size_t) {
    *n = 2;
    return 0;
}
API int cuOccupancyMaxPotentialBlockSize(int* grid, int* block, void*, void*, size_t, int) {
    *grid = 8;
    *block = 128;
    return 0;
}
API int cuLaunchKernel(
    Function* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
    unsigned shared, void* stream, void** values, void**) {
    const Lock lock(mutex);
    if (!has_context) return 201;  // CUDA_ERROR_INVALID_CONTEXT
    const std::vector<unsigned> shape = {gx, gy, gz, bx, by, bz};
    if (const int error = check_launch(*f, shape.data(), shared, values)) return error;
    ++launches;
    // The arguments as they are now: the caller's memory goes.
    std::vector<std::string> kept;
    for (int i = 0; i < f->count; ++i) {
        kept.emplace_back(static_cast<const char*>(values[i]), f->sizes[i]);
    }
    return enqueue(stream, [=] {
        std::vector<std::string> own = kept;
        std::vector<std::vector<std::max_align_t>> aligned;
        std::vector<void*> places;
        for (const std::string& bytes : own) {
            aligned.emplace_back(bytes.size() / sizeof(std::max_align_t) + 1);
            memcpy(aligned.back().data(), bytes.data(), bytes.size());
            places.push_back(aligned.back().data());
        }
        return run_watched(f->name, [&] { f->run(shape.data(), places.data()); return 0; });
    });
}
