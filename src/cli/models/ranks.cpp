// SPDX-License-Identifier: MIT
#include "models/ranks.hpp"

#include "common/signals.hpp"
#include "common/text.hpp"
#include "models/peers.hpp"
#include "models/rank_names.hpp"
#include "models/rank_speeds.hpp"

#include <cerrno>
#include <csignal>
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
constexpr uint32_t kTellAfter = 10000; // ms before a wait is reported: more than usual delays
constexpr unsigned kMeet = 60;         // s until all ranks have started, or have ended

// Exits after kMeet: MPI's init and finalize have no timeout, and hang if a rank has ended before.
class Deadline {
public:
    explicit Deadline(const char *text) {
        text_ = text;
        std::signal(SIGALRM, [](int) {
            (void)!write(STDERR_FILENO, text_, std::strlen(text_));
            _exit(kRuntimeError);
        });
        alarm(kMeet);
    }
    ~Deadline() { alarm(0); }
    Deadline(const Deadline &) = delete;
    Deadline &operator=(const Deadline &) = delete;

private:
    static inline const char *text_ = "";
};

// Reports the rank that this one waits for. Only rank 0 reports, or all ranks that wait for rank 0.
void tell_waiting(void *user, uint32_t rank, const char *host, uint32_t waited_ms) {
    const auto *choice = static_cast<const GroupChoice *>(user);
    if (waited_ms < kTellAfter || !(choice->is_first() || rank == 0)) return;
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

// Loads the MPI plugin and keeps it loaded, because MPI's threads keep running.
ggufx_group join_mpi(const Globals &globals, GroupChoice &choice) {
    const Deadline deadline("ggufx: --group mpi: not all ranks have started within 60 s\n");
    void *const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const std::string why = dlerror();
        const bool is_absent = why.starts_with(std::string(kLibrary) + ": cannot open");
        throw Failure(kUnsupported, is_absent
                                        ? fmt::format("--group mpi: {} is not installed", kLibrary)
                                        : "--group mpi: cannot load " + why);
    }
    ggufx_mpi_options options;
    find<decltype(ggufx_mpi_options_init)>(library, "ggufx_mpi_options_init")(&options);
    if (!globals.quiet) options.waiting = tell_waiting;
    options.user = &choice;
    ggufx_group group = {};
    const auto make = find<decltype(ggufx_mpi_group)>(library, "ggufx_mpi_group");
    call([&](ggufx_error *error) { return make(&group, &options, error); });
    return group;
}

// Discards the output of ranks other than the first, which writes the results.
Globals silent(const Globals &globals) {
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
        throw Failure(kRuntimeError, "cannot open /dev/null");
    Globals own = globals;
    own.output = "/dev/null";
    own.quiet = true;
    own.progress = "never";
    return own;
}

constexpr char kFirst[] = "rank 0: "; // prefix of messages that rank 0 has printed

// Returns whether rank 0, which reports failures, is lost.
bool lost_first(const Failure &failure) {
    return failure.detail && failure.detail->status == GGUFX_E_IO && failure.detail->index == 0 &&
           std::strncmp(failure.what(), kFirst, std::strlen(kFirst)) != 0;
}

bool is_teller(uint32_t rank, const Failure &failure) {
    return rank == 0 || (rank == 1 && lost_first(failure));
}

// Aborts the group, as other ranks may wait for this one. Exits without MPI_Finalize, which would
// wait for all ranks.
[[noreturn]] void end(const Globals &globals, const ggufx_group &group, const Peers &peers,
                      const Failure &failure) {
    ggufx_error why = {};
    why.status = GGUFX_E_IO;
    why.offset = GGUFX_NONE;
    why.index = group.rank;
    const std::string text = fmt::format("rank {}: {}", group.rank, failure.what());
    std::snprintf(why.message, sizeof why.message, "%s", text.c_str());
    group.abort(group.user, &why);
    if (is_teller(group.rank, failure))
        tell(globals, pending_signal() ? Failure(kInterrupted, "interrupted") : failure);
    peers.end_stopped();
    std::fflush(nullptr);
    _exit(failure.exit_code);
}

// Flushes stdout, so that a failed write is a failure of the command.
void finish_stdout() {
    if (std::fflush(stdout) != 0)
        throw Failure(kRuntimeError,
                      std::string("cannot write to standard output: ") + std::strerror(errno));
}

} // namespace

void add_group_options(Command &sub, GroupChoice &choice) {
    sub.option(
           "--group", choice.name,
           "run the model together with other processes that are started alike: mpi (under mpirun)")
        .value("KIND");
    sub.flag("--pipeline", choice.by_layers,
             "pipeline parallelism: whole layers per rank of --group, for slow links");
}

void GroupChoice::take_loading() {
    constexpr std::pair<const char *, Loading> words[] = {{"map", Loading::map},
                                                          {"copy", Loading::copy},
                                                          {"huge", Loading::huge},
                                                          {"reread", Loading::reread},
                                                          {"auto", Loading::automatic}};
    for (const auto &[word, meaning] : words) {
        if (weights != word || (is_set() && meaning == Loading::automatic)) continue;
        loading = meaning;
        weights.clear();
    }
    if (!is_set() && !weights.empty())
        throw Failure(kUsage, "--weights: \"" + escape(weights) +
                                  "\" is not auto, map, huge, copy or reread; a list of shares "
                                  "needs --group");
}

bool tells_of(const GroupChoice &choice, const Failure &failure) {
    return is_teller(choice.group.rank, failure);
}

void refuse_stdin(const GroupChoice &choice, const std::string &path) {
    if (choice.is_set() && path == "-")
        throw Failure(kUsage, "--group: only one rank has standard input; use a file");
}

namespace {

std::vector<uint32_t> speeds_of(const Globals &globals, const GroupChoice &choice) {
    if (choice.weights.empty()) return {};
    if (choice.weights == "auto") return measure_speeds(globals, choice.group, kMeet * 1000);
    std::vector<uint32_t> speeds = parse_speeds(choice.weights);
    if (speeds.size() == choice.group.size) return speeds;
    throw Failure(kUsage, fmt::format("--weights has {} numbers, the group {} ranks", speeds.size(),
                                      choice.group.size));
}

} // namespace

int run_as_rank(const Globals &globals, GroupChoice &choice, std::string &model,
                const RankVerb &verb) {
    choice.take_loading();
    refuse_stdin(choice, model);
    if (!choice.is_set() && choice.by_layers) throw Failure(kUsage, "--pipeline needs --group");
    if (!choice.is_set()) return verb(globals);
    if (!choice.weights.empty() && choice.weights != "auto") (void)parse_speeds(choice.weights);
    if (choice.name != "mpi")
        throw Failure(kUsage, "--group: \"" + escape(choice.name) + "\" is not mpi");
    choice.group = join_mpi(globals, choice);
    const ggufx_group group = choice.group;
    Peers peers;
    try {
        peers.gather(group, kMeet * 1000);
        choice.speeds = speeds_of(globals, choice);
        model = own_name(model, group.rank, group.size);
        choice.group.destroy = nullptr; // destroyed below, not by the model; needed on failure
        const int code = verb(choice.is_first() ? globals : silent(globals));
        finish_stdout();
        const Deadline deadline("ggufx: --group mpi: not all ranks have ended within 60 s\n");
        group.destroy(group.user);
        return code;
    } catch (const Failure &failure) {
        end(globals, group, peers, failure);
    } catch (const std::bad_alloc &) {
        end(globals, group, peers, Failure(kNoMemory, "out of memory"));
    } catch (const std::exception &error) {
        end(globals, group, peers, Failure(kRuntimeError, error.what()));
    }
}

} // namespace ggufx::cli
