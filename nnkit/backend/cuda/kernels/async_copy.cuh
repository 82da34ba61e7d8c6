// Copies from global to shared memory that go on while a thread does other work (compute capability
// 8.0), and four small matrices that a warp loads from there at once.
#pragma once

#include "mma.cuh"

namespace nnkit {

// What is copied at once, and is aligned so.
struct alignas(16) Unit { uint32 words[4]; };
constexpr int unit_bytes = sizeof(Unit);

// Places in shared memory are told by their address there, which takes half of a pointer's words.
#ifdef NNKIT_EMULATED
// Each thread's copies in groups, the last of them open, made as late as a wait allows.
struct Copy { unsigned char* to; const Unit* from; };
inline std::vector<std::vector<Copy>>& groups_of_copies() {
    static std::vector<std::vector<Copy>> of_thread[1024];
    auto& groups = of_thread[threadIdx.x];
    if (groups.empty()) groups.emplace_back();
    return groups;
}
inline uint32 shared_address(const void* place) {
    return uint32(static_cast<const unsigned char*>(place) - emulation::dynamic_shared);
}
inline unsigned char* shared_place(uint32 address) { return emulation::dynamic_shared + address; }
#else
__device__ inline uint32 shared_address(const void* place) {
    uint32 address;
    asm("{ .reg .u64 wide; cvta.to.shared.u64 wide, %1; cvt.u32.u64 %0, wide; }"
        : "=r"(address) : "l"(place));
    return address;
}
#endif

// Begins to copy a unit, or zeros where it is not there; then ``from`` is not read.
__device__ inline void copy_unit(uint32 to, const Unit* from, bool is_there) {
#ifdef NNKIT_EMULATED
    groups_of_copies().back().push_back({shared_place(to), is_there ? from : nullptr});
#else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;"
                 :: "r"(to), "l"(from), "r"(is_there ? unit_bytes : 0) : "memory");
#endif
}

// Closes the group of the copies that were begun since the last call.
__device__ inline void close_group() {
#ifdef NNKIT_EMULATED
    groups_of_copies().emplace_back();
#else
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most the last ``count`` closed groups are under way.
template <int count>
__device__ void wait_for_groups() {
#ifdef NNKIT_EMULATED
    auto& groups = groups_of_copies();
    while (int(groups.size()) > count + 1) {
        for (const Copy& copy : groups.front()) {
            if (copy.from) memcpy(copy.to, copy.from, unit_bytes);
            else memset(copy.to, 0, unit_bytes);
        }
        groups.erase(groups.begin());
    }
#else
    asm volatile("cp.async.wait_group %0;" :: "n"(count) : "memory");
#endif
}

__device__ inline uint32 load_word(uint32 address) {
    uint32 word;
#ifdef NNKIT_EMULATED
    memcpy(&word, shared_place(address), sizeof word);
#else
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
#endif
    return word;
}

// Four matrices of 8 units, one below the other; lane l gives the address of the l-th unit of all.
// Of each matrix a lane gets the word lane % 4 of the unit lane / 4.
__device__ inline MatrixA load_matrices(uint32 unit) {
    MatrixA found;
#ifdef NNKIT_EMULATED
    const int lane = threadIdx.x % warp_size;
    for (int i = 0; i < 4; ++i) {
        const uint32 from = emulation::exchange(unit, 8 * i + lane / 4);
        found.words[i] = load_word(from + lane % 4 * 4);
    }
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(found.words[0]), "=r"(found.words[1]), "=r"(found.words[2]),
                   "=r"(found.words[3])
                 : "r"(unit) : "memory");
#endif
    return found;
}

// The same of half precision, each matrix transposed: a lane gets the elements lane / 4 of the
// units pair and pair + 1.
__device__ inline MatrixA load_transposed(uint32 unit) {
    MatrixA found;
#ifdef NNKIT_EMULATED
    const int lane = threadIdx.x % warp_size;
    for (int i = 0; i < 4; ++i) {
        uint16 pair[2];
        for (int k = 0; k < 2; ++k) {
            const uint32 from = emulation::exchange(unit, 8 * i + pair_of_lane() + k);
            memcpy(pair + k, shared_place(from + lane / 4 * 2), sizeof *pair);
        }
        found.words[i] = pair[0] | uint32(pair[1]) << 16;
    }
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(found.words[0]), "=r"(found.words[1]), "=r"(found.words[2]),
                   "=r"(found.words[3])
                 : "r"(unit) : "memory");
#endif
    return found;
}

}  // namespace nnkit
