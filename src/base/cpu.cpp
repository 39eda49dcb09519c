// CPU feature detection: CPUID with XCR0, or hwcap, intersected with cpuinfo's answer if that
// library is built in and initializes. Decisions use feature bits, never model names. Debian 12's
// cpuinfo has no query for AVX-VNNI and i8mm, so own detection alone decides those.
// SPDX-License-Identifier: MIT
#include "base/cpu.hpp"

#include <atomic>

#if defined(__linux__)
#include <sched.h>
#include <sys/auxv.h>
#include <unistd.h>
#elif defined(_WIN32)
#include "base/win32.hpp"
#else
#include <unistd.h>
#endif
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#if defined(GGUFX_WITH_CPUINFO)
#include <cpuinfo.h>
#endif

namespace ggufx::cpu {

namespace {

constexpr uint64_t kDetected = uint64_t(1) << 63; // tells "none found" from "not detected yet"

#if defined(__x86_64__) || defined(__i386__)

struct Leaf {
    unsigned a = 0, b = 0, c = 0, d = 0;
};

Leaf cpuid(unsigned leaf, unsigned sub) {
    Leaf r;
    if (!__get_cpuid_count(leaf, sub, &r.a, &r.b, &r.c, &r.d)) return {};
    return r;
}

bool bit(unsigned word, int n) {
    return (word >> n) & 1;
}

// XCR0: register states saved by the operating system. Bits 1, 2: XMM, YMM; bits 5..7: opmask and
// ZMM.
uint64_t enabled_states(const Leaf &leaf1) {
    if (!bit(leaf1.c, 27)) return 0; // OSXSAVE
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t(high) << 32) | low;
}

uint64_t detect() {
    const Leaf l1 = cpuid(1, 0), l7 = cpuid(7, 0), l71 = l7.a >= 1 ? cpuid(7, 1) : Leaf{};
    const uint64_t states = enabled_states(l1);
    uint64_t found = 0;
    const bool ymm = (states & 0x06) == 0x06, zmm = (states & 0xe6) == 0xe6;
    const bool fma = bit(l1.c, 12), f16c = bit(l1.c, 29);
    if (ymm && fma && f16c && bit(l7.b, 5)) found |= avx2;
    if ((found & avx2) && bit(l71.a, 4)) found |= avxvnni;
    const bool f_dq_bw_vl = bit(l7.b, 16) && bit(l7.b, 17) && bit(l7.b, 30) && bit(l7.b, 31);
    if (zmm && (found & avx2) && f_dq_bw_vl && bit(l7.c, 11)) {
        found |= avx512;
        if (bit(l7.c, 1)) found |= avx512vbmi;
        if (bit(l7.c, 12)) found |= avx512bitalg;
    }
    return found;
}

#if defined(GGUFX_WITH_CPUINFO)
uint64_t known_to_cpuinfo() {
    uint64_t known = avxvnni; // cpuinfo has no query for it
    if (cpuinfo_has_x86_avx2() && cpuinfo_has_x86_fma3() && cpuinfo_has_x86_f16c()) known |= avx2;
    if (cpuinfo_has_x86_avx512f() && cpuinfo_has_x86_avx512bw() && cpuinfo_has_x86_avx512vl() &&
        cpuinfo_has_x86_avx512dq() && cpuinfo_has_x86_avx512vnni())
        known |= avx512;
    if (cpuinfo_has_x86_avx512vbmi()) known |= avx512vbmi;
    if (cpuinfo_has_x86_avx512bitalg()) known |= avx512bitalg;
    return known;
}
#endif

#elif defined(__aarch64__)

#if defined(__linux__)
uint64_t detect() {
    constexpr unsigned long kAsimdDp = 1ul << 20, kI8mm = 1ul << 13; // HWCAP, HWCAP2
    uint64_t found = neon;
    if (getauxval(AT_HWCAP) & kAsimdDp) found |= neon_dot;
    if (getauxval(AT_HWCAP2) & kI8mm) found |= neon_i8mm;
    return found;
}
#else
uint64_t detect() {
    return neon;
}
#endif

#if defined(GGUFX_WITH_CPUINFO)
uint64_t known_to_cpuinfo() {
    return neon | neon_i8mm | (cpuinfo_has_arm_neon_dot() ? uint64_t(neon_dot) : 0);
}
#endif

#else

uint64_t detect() {
    return 0;
}
#if defined(GGUFX_WITH_CPUINFO)
uint64_t known_to_cpuinfo() {
    return 0;
}
#endif

#endif

// cpuinfo prints to stderr if a sandbox hides /proc and /sys, so it is used only if they are
// readable.
uint64_t narrowed_by_cpuinfo(uint64_t found) {
#if defined(GGUFX_WITH_CPUINFO)
#if defined(__linux__)
    if (access("/proc/cpuinfo", R_OK) != 0 ||
        access("/sys/devices/system/cpu/possible", R_OK) != 0 ||
        access("/sys/devices/system/cpu/present", R_OK) != 0)
        return found;
#endif
    if (cpuinfo_initialize()) found &= known_to_cpuinfo();
#endif
    return found;
}

} // namespace

uint64_t features_builtin() {
    return detect();
}

uint64_t features() {
    static std::atomic<uint64_t> word{0};
    uint64_t found = word.load(std::memory_order_relaxed);
    if (found == 0) {
        found = narrowed_by_cpuinfo(detect()) | kDetected;
        word.store(found, std::memory_order_relaxed);
    }
    return found & ~kDetected;
}

uint32_t usable_processors() {
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        const int n = CPU_COUNT(&set);
        if (n > 0) return static_cast<uint32_t>(n);
    }
#endif
#if defined(_WIN32)
    DWORD_PTR ours = 0, all = 0;
    if (!GetProcessAffinityMask(GetCurrentProcess(), &ours, &all)) return 1;
    const int n = __builtin_popcountll(ours);
#else
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
#endif
    return n > 0 ? static_cast<uint32_t>(n) : 1;
}

} // namespace ggufx::cpu
