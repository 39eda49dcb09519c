// Sources: MemAvailable of /proc/meminfo; RLIMIT_AS and RLIMIT_DATA with VmSize and VmData of
// /proc/self/status; memory.max, memory.current and memory.stat of each control group of
// /proc/self/cgroup (version 2), or their names of version 1.
// SPDX-License-Identifier: MIT
#include "base/memory_room.hpp"

#if defined(__linux__)

#include "base/lines.hpp"

#include <algorithm>
#include <charconv>
#include <stdio.h>
#include <string.h>
#include <string_view>
#include <sys/resource.h>

namespace ggufx::io {

namespace {

constexpr uint64_t kNoLimit = UINT64_MAX;

uint64_t number_in(std::string_view text, uint64_t otherwise) {
    const size_t at = text.find_first_not_of(" \t");
    if (at == text.npos) return otherwise;
    uint64_t n = 0;
    const auto end = text.data() + text.size();
    return std::from_chars(text.data() + at, end, n).ec == std::errc() ? n : otherwise;
}

// Returns the number of the line that begins with `name`, or `otherwise`.
uint64_t field_of(const char *path, std::string_view name, uint64_t otherwise) {
    char text[128];
    for (Lines lines(path); lines.next(text, sizeof text);)
        if (const std::string_view line = text; line.starts_with(name))
            return number_in(line.substr(name.size()), otherwise);
    return otherwise;
}

uint64_t left_of(uint64_t limit, uint64_t used) {
    return limit > used ? limit - used : 0;
}

uint64_t room_of_limit(decltype(RLIMIT_AS) which, std::string_view used) {
    struct rlimit limit = {};
    if (getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNoLimit;
    return left_of(limit.rlim_cur, field_of("/proc/self/status", used, 0) << 10);
}

// Names of files and fields of a version of control groups.
struct GroupFiles {
    const char *root, *limit, *used, *cached;
};
constexpr GroupFiles kGroup2 = {"/sys/fs/cgroup", "memory.max", "memory.current", "file "};
constexpr GroupFiles kGroup1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                "memory.usage_in_bytes", "total_cache "};

uint64_t room_of_group(const GroupFiles &names, const char *group) {
    char path[1024];
    const auto file = [&](const char *name) {
        snprintf(path, sizeof path, "%s%s/%s", names.root, group, name);
        return static_cast<const char *>(path);
    };
    const uint64_t limit = field_of(file(names.limit), "", kNoLimit); // "max" is no number
    if (limit == kNoLimit) return kNoLimit;
    const uint64_t used = field_of(file(names.used), "", 0);
    return left_of(limit, left_of(used, field_of(file("memory.stat"), names.cached, 0)));
}

// Limits of a group hold for the groups within it. In a container the path may lack there; then
// the root of the mount has the limit.
uint64_t room_of_groups(const GroupFiles &names, char *group) {
    uint64_t room = kNoLimit;
    for (;;) {
        room = std::min(room, room_of_group(names, group));
        char *const slash = strrchr(group, '/');
        if (!slash) return room;
        *slash = 0;
    }
}

uint64_t room_of_all_groups() {
    uint64_t room = kNoLimit;
    char line[768]; // "4:memory:/path", or "0::/path" of version 2
    for (Lines lines("/proc/self/cgroup"); lines.next(line, sizeof line);) {
        char *const path = strchr(line, '/');
        if (!path) continue;
        const std::string_view kind(line, static_cast<size_t>(path - line));
        if (kind == "0::") room = std::min(room, room_of_groups(kGroup2, path));
        if (kind.find("memory") != kind.npos) room = std::min(room, room_of_groups(kGroup1, path));
    }
    return room;
}

} // namespace

uint64_t memory_room() {
    const uint64_t machine = field_of("/proc/meminfo", "MemAvailable:", 0) << 10;
    return std::min({machine, room_of_limit(RLIMIT_AS, "VmSize:"),
                     room_of_limit(RLIMIT_DATA, "VmData:"), room_of_all_groups()});
}

} // namespace ggufx::io

#else

namespace ggufx::io {

uint64_t memory_room() {
    return 0;
}

} // namespace ggufx::io

#endif
