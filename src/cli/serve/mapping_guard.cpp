// The kernel raises SIGBUS in the thread that reads a lost page. The handler replaces the mapping by
// zeros, so that a library call of any thread ends normally; its results are then discarded.
// SPDX-License-Identifier: MIT
#include "serve/mapping_guard.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sys/mman.h>

namespace ggufx::cli {

namespace {

using Range = MappingGuard::Range;

// Process-wide, as signal handlers are. The handler reads them without a lock.
std::atomic<const Range *> g_ranges = nullptr;
std::atomic<size_t> g_n_ranges = 0;
std::atomic<bool> g_has_lost_data = false;
struct sigaction g_before = {};

static_assert(std::atomic<const Range *>::is_always_lock_free);

// Replaces the whole mapping: a page at a time could exceed the number of mappings of a process.
bool replace_by_zeros(uintptr_t address) {
    const Range *const ranges = g_ranges;
    for (size_t i = 0; i < g_n_ranges; i++) {
        if (address < ranges[i].begin || address >= ranges[i].end) continue;
        g_has_lost_data = true;
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
        // NOLINTNEXTLINE(performance-no-int-to-ptr): the address of a mapping
        return mmap(reinterpret_cast<void *>(ranges[i].begin), ranges[i].end - ranges[i].begin,
                    PROT_READ, flags, -1, 0) != MAP_FAILED;
    }
    return false;
}

// A fault elsewhere goes to the handler that was there before. Without one it repeats, and ends the
// process.
void pass_on(int number, siginfo_t *info, void *context) {
    if ((g_before.sa_flags & SA_SIGINFO) != 0) {
        g_before.sa_sigaction(number, info, context);
    } else if (g_before.sa_handler != SIG_DFL && g_before.sa_handler != SIG_IGN) {
        g_before.sa_handler(number);
    } else {
        std::signal(number, SIG_DFL);
        if (info->si_code <= 0) std::raise(number); // sent by a process: it does not repeat
    }
}

void on_bus_error(int number, siginfo_t *info, void *context) {
    const int error = errno;
    const bool is_fault = info->si_code > 0;
    if (!is_fault || !replace_by_zeros(reinterpret_cast<uintptr_t>(info->si_addr)))
        pass_on(number, info, context);
    errno = error;
}

// Returns the shared read-only mappings of files: "7f..-7f.. r--s offset device inode path".
std::vector<Range> file_mappings() {
    std::vector<Range> out;
    const std::unique_ptr<FILE, int (*)(FILE *)> maps(std::fopen("/proc/self/maps", "re"),
                                                      std::fclose);
    char *line = nullptr;
    size_t capacity = 0;
    while (maps && getline(&line, &capacity, maps.get()) > 0) {
        unsigned long begin = 0, end = 0, inode = 0;
        char access[5] = {};
        if (std::sscanf(line, "%lx-%lx %4s %*x %*x:%*x %lu", &begin, &end, access, &inode) == 4 &&
            inode != 0 && std::strcmp(access, "r--s") == 0)
            out.push_back({begin, end});
    }
    std::free(line); // NOLINT(cppcoreguidelines-no-malloc): memory of getline
    return out;
}

} // namespace

MappingGuard::MappingGuard() : ranges_(file_mappings()) {}

void MappingGuard::begin() {
    std::vector<Range> now = file_mappings();
    std::erase_if(now, [&](const Range &one) {
        return std::any_of(ranges_.begin(), ranges_.end(),
                           [&](const Range &old) { return old.begin == one.begin; });
    });
    ranges_ = std::move(now);
    if (ranges_.empty()) return;
    g_ranges = ranges_.data();
    g_n_ranges = ranges_.size();
    struct sigaction action = {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGBUS, &action, &g_before);
}

MappingGuard::~MappingGuard() {
    if (g_n_ranges == 0 || g_ranges != ranges_.data()) return;
    sigaction(SIGBUS, &g_before, nullptr);
    g_n_ranges = 0;
}

bool MappingGuard::has_lost_data() {
    return g_has_lost_data;
}

} // namespace ggufx::cli
