// The memory of the played GPU, and what its threads share (driver.cpp).
#pragma once

#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

namespace {

// Whether this thread called the runtime, which makes the GPU's context current.
thread_local bool has_context = false;
// Threads call the driver without Python's lock.
std::recursive_mutex mutex;
using Lock = std::lock_guard<std::recursive_mutex>;

constexpr size_t page = 4096, rounding = 512, capacity = size_t(3) << 30;

struct Allocation {
    size_t size;
    void* map;
    size_t mapped;
    bool is_pinned;
};
std::map<uintptr_t, Allocation> live;
size_t used = 0;

const Allocation* find(uintptr_t address, size_t size) {
    const Lock lock(mutex);
    auto after = live.upper_bound(address);
    if (after == live.begin()) return nullptr;
    const auto& [start, found] = *--after;
    return address + size <= start + found.size ? &found : nullptr;
}

cudaError_t allocate(void** out, size_t size, bool is_pinned) {
    const Lock lock(mutex);
    *out = nullptr;
    has_context = true;
    if (!size) return cudaSuccess;
    if (size > capacity || used + size > capacity) return cudaErrorMemoryAllocation;
    const size_t room = (size + rounding - 1) / rounding * rounding;
    const size_t inner = (room + page - 1) / page * page;
    void* map = mmap(nullptr, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return cudaErrorMemoryAllocation;
    char* first = static_cast<char*>(map) + page;
    mprotect(first, inner, PROT_READ | PROT_WRITE);
    // At the end of its pages: what lies behind it cannot be read.
    char* start = first + inner - room;
    memset(start, 0xA5, room < (size_t(1) << 20) ? room : size_t(1) << 20);
    live[uintptr_t(start)] = {size, map, inner + 2 * page, is_pinned};
    if (!is_pinned) used += size;
    *out = start;
    return cudaSuccess;
}

cudaError_t release(void* pointer) {
    const Lock lock(mutex);
    if (!pointer) return cudaSuccess;
    auto found = live.find(uintptr_t(pointer));
    if (found == live.end()) return cudaErrorInvalidValue;
    if (!found->second.is_pinned) used -= found->second.size;
    munmap(found->second.map, found->second.mapped);
    live.erase(found);
    return cudaSuccess;
}

}  // namespace
