// SPDX-License-Identifier: MIT
#include "models/ranks.hpp"

#include "floor/signals.hpp"
#include "floor/text.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ggufx/mpi.h>
#include <unistd.h>

namespace ggufx::cli {

namespace {

constexpr char kLibrary[] = "libggufx-mpi.so.0";
constexpr uint32_t kTellAfter = 5000; // ms that nobody is told of

// Whom a rank waits for, told by one.
void tell_waiting(void *, uint32_t rank, const char *host, uint32_t waited_ms) {
    if (waited_ms < kTellAfter) return;
    std::fprintf(stderr, "ggufx: waiting for rank %u (%s), %u s\n", rank, escape(host).c_str(),
                 waited_ms / 1000);
}

template <class Function> Function *find(void *library, const char *name) {
    void *const found = dlsym(library, name);
    if (!found) throw Failure(kUnsupported, fmt::format("{} has no {}", kLibrary, name));
    Function *out = nullptr;
    std::memcpy(&out, &found, sizeof out);
    return out;
}

// Stays loaded: MPI's threads do.
ggufx_group join_mpi(const Globals &globals) {
    void *const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        throw Failure(kUnsupported, fmt::format("--group mpi: cannot load {}", dlerror()));
    ggufx_mpi_options options;
    find<decltype(ggufx_mpi_options_init)>(library, "ggufx_mpi_options_init")(&options);
    if (!globals.quiet) options.waiting = tell_waiting;
    ggufx_group group = {};
    const auto make = find<decltype(ggufx_mpi_group)>(library, "ggufx_mpi_group");
    call([&](ggufx_error *error) { return make(&group, &options, error); });
    return group;
}

// What ranks but the first one write to standard output is written by the first.
void drop_stdout() {
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
        throw Failure(kRuntimeError, "cannot open /dev/null");
}

constexpr char kFirst[] = "rank 0: "; // begins what the first rank has told itself

// The rank that tells is lost.
bool lost_first(const Failure &failure) {
    return failure.detail && failure.detail->status == GGUFX_E_IO && failure.detail->index == 0 &&
           std::strncmp(failure.what(), kFirst, std::strlen(kFirst)) != 0;
}

// The others may wait for this rank. It ends without MPI's end, for which they would have to come.
[[noreturn]] void end(const Globals &globals, const ggufx_group &group, const Failure &failure) {
    ggufx_error why = {};
    why.status = GGUFX_E_IO;
    why.offset = GGUFX_NONE;
    why.index = group.rank;
    const std::string text = fmt::format("rank {}: {}", group.rank, failure.what());
    std::snprintf(why.message, sizeof why.message, "%s", text.c_str());
    group.abort(group.user, &why);
    const bool tells = group.rank == 0 || (group.rank == 1 && lost_first(failure));
    if (tells) tell(globals, pending_signal() ? Failure(kInterrupted, "interrupted") : failure);
    std::fflush(nullptr);
    _exit(failure.exit_code);
}

} // namespace

void add_group_option(Command &sub, GroupChoice &choice) {
    sub.option("--group", choice.name,
               "run the model with other processes that are started alike: mpi (under mpirun)")
        .value("KIND");
}

int run_as_rank(const Globals &globals, GroupChoice &choice, const std::function<int()> &verb) {
    if (!choice.is_set()) return verb();
    if (choice.name != "mpi")
        throw Failure(kUsage, "--group: \"" + escape(choice.name) + "\" is not mpi");
    choice.group = join_mpi(globals);
    const ggufx_group group = choice.group;
    try {
        if (group.rank != 0) drop_stdout();
        choice.group.destroy = nullptr; // not the model's to do: it goes where the verb fails, too
        const int code = verb();
        if (std::fflush(stdout) != 0)
            throw Failure(kRuntimeError,
                          std::string("cannot write to standard output: ") + std::strerror(errno));
        group.destroy(group.user);
        return code;
    } catch (const Failure &failure) {
        end(globals, group, failure);
    } catch (const std::bad_alloc &) {
        end(globals, group, Failure(kNoMemory, "out of memory"));
    } catch (const std::exception &error) {
        end(globals, group, Failure(kRuntimeError, error.what()));
    }
}

} // namespace ggufx::cli
