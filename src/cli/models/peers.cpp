// SPDX-License-Identifier: MIT
#include "models/peers.hpp"

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <sstream>
#include <string>
#include <unistd.h>

namespace ggufx::cli {

namespace {

// Returns the contents of a file of /proc; empty if it does not exist.
std::string text_of(const std::string &path) {
    const std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path.c_str(), "re"), std::fclose);
    char text[1024];
    const size_t n = file ? std::fread(text, 1, sizeof text, file.get()) : 0;
    return {text, n};
}

// proc(5): "pid (name) state parent ..."; field 22 is the start time.
struct Process {
    explicit Process(int64_t pid) {
        const std::string stat = text_of(fmt::format("/proc/{}/stat", pid));
        const size_t name_end = stat.rfind(')');
        if (name_end == std::string::npos) return;
        std::istringstream fields(stat.substr(name_end + 1));
        fields >> state;
        std::string skipped;
        for (int field = 4; field < 22; field++) fields >> skipped;
        fields >> start;
    }
    char state = 0;
    uint64_t start = 0;
};

} // namespace

Peers::Place Peers::own_place() {
    Place place = {};
    std::string machine = text_of("/proc/sys/kernel/random/boot_id");
    char numbers[64];
    const ssize_t n = readlink("/proc/self/ns/pid", numbers, sizeof numbers);
    if (machine.empty() || n <= 0) return place; // invisible to other ranks
    machine.append(numbers, static_cast<size_t>(n));
    std::snprintf(place.machine, sizeof place.machine, "%s", machine.c_str());
    place.pid = getpid();
    place.start = Process(place.pid).start;
    return place;
}

void Peers::gather(const ggufx_group &group, uint32_t timeout_ms) {
    const Place own = own_place();
    rank_ = group.rank;
    places_.resize(group.size);
    call([&](ggufx_error *error) {
        return group.allgather(group.user, places_.data(), &own, sizeof own, timeout_ms, error);
    });
}

void Peers::end_stopped() const {
    for (size_t i = 0; i < places_.size(); i++) {
        const Place &own = places_[rank_], &theirs = places_[i];
        if (i == rank_ || !own.pid || theirs.pid <= 1 ||
            std::memcmp(own.machine, theirs.machine, sizeof own.machine) != 0)
            continue;
        const Process process(theirs.pid);
        if (process.start == theirs.start && (process.state == 'T' || process.state == 't'))
            (void)kill(static_cast<pid_t>(theirs.pid), SIGKILL);
    }
}

} // namespace ggufx::cli
