// Groups of ranks: include/ggufx/group.h.
// SPDX-License-Identifier: MIT
#include "abi/group.hpp"

#include "abi/guard.hpp"
#include "abi/writer_handle.hpp"
#include "distributed/rank_writer.hpp"
#include "graph/partition.hpp"

#include <inttypes.h>
#include <stddef.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

const ggufx_group &group_of(void *user) {
    return *static_cast<const ggufx_group *>(user);
}
// Runs call(&why) and reports a failure, with a default message if the host sets none.
template <class Fn> Status told(Failure *failure, const char *what, const Fn &call) {
    Failure why = {};
    const ggufx_status status = call(reinterpret_cast<ggufx_error *>(&why));
    if (status == GGUFX_OK) return Status::ok;
    if (why.status != status || !why.message[0])
        (void)set_failure(&why, static_cast<Status>(status), {}, "the group's %s failed", what);
    if (failure) *failure = why;
    return static_cast<Status>(status);
}

Status allgather(void *user, void *out, const void *in, size_t n, uint32_t timeout_ms,
                 Failure *failure) {
    const ggufx_group &g = group_of(user);
    return told(failure, "allgather", [&](ggufx_error *error) {
        return g.allgather(g.user, out, in, n, timeout_ms, error);
    });
}
Status allgatherv(void *user, void *out, const void *in, const size_t *n_bytes,
                  const size_t *offsets, uint32_t timeout_ms, Failure *failure) {
    const ggufx_group &g = group_of(user);
    return told(failure, "allgatherv", [&](ggufx_error *error) {
        return g.allgatherv(g.user, out, in, n_bytes, offsets, timeout_ms, error);
    });
}
Status broadcast(void *user, void *data, size_t n, uint32_t root, uint32_t timeout_ms,
                 Failure *failure) {
    const ggufx_group &g = group_of(user);
    return told(failure, "broadcast", [&](ggufx_error *error) {
        return g.broadcast(g.user, data, n, root, timeout_ms, error);
    });
}
Status barrier(void *user, uint32_t timeout_ms, Failure *failure) {
    const ggufx_group &g = group_of(user);
    return told(failure, "barrier",
                [&](ggufx_error *error) { return g.barrier(g.user, timeout_ms, error); });
}
void give_up(void *user, const Failure &why) {
    const ggufx_group &g = group_of(user);
    g.abort(g.user, reinterpret_cast<const ggufx_error *>(&why));
}
void let_go(void *user) {
    const ggufx_group &g = group_of(user);
    if (g.destroy) g.destroy(g.user);
}

model::GroupOptions imported(const ggufx_group &g, const ggufx_group_options &options) {
    model::GroupOptions out;
    out.is_one_machine = (g.flags & GGUFX_GROUP_SHARED_MEMORY) != 0;
    out.hooks = {const_cast<ggufx_group *>(&g),
                 g.rank,
                 g.size,
                 allgather,
                 allgatherv,
                 broadcast,
                 barrier,
                 give_up,
                 let_go};
    if (options.timeout_ms) out.timeout_ms = options.timeout_ms;
    if (options.start_timeout_ms) out.start_timeout_ms = options.start_timeout_ms;
    return out;
}

} // namespace

HostGroup::HostGroup(const ggufx_group &hooks, const ggufx_group_options &options)
    : hooks_(hooks), ranks_(imported(hooks_, options)) {}

GroupImport::~GroupImport() {
    if (is_taken_ || !given_ || given_->struct_size > kMostStructBytes) return;
    if (given_->struct_size < offsetof(ggufx_group_options, group) + sizeof given_->group) return;
    const ggufx_group *const g = given_->group;
    if (!g || !holds_all(*g)) return;
    Failure why = {}; // the other ranks wait for the first message
    (void)set_failure(&why, Status::state, {.index = g->rank},
                      "rank %" PRIu32 " could not create its model: check its options and memory",
                      g->rank);
    if (g->abort) g->abort(g->user, reinterpret_cast<const ggufx_error *>(&why));
    if (g->destroy) g->destroy(g->user);
}

void abi::check_ranks(const model::RankOptions &ranks, const char *where) {
    if (ranks.size < 1 || ranks.size > model::kMostRanks || ranks.rank >= ranks.size)
        fail(Status::argument, {}, "%s: rank %" PRIu32 " of %" PRIu32 ", at most %" PRIu32, where,
             ranks.rank, ranks.size, model::kMostRanks);
    for (uint32_t i = 0; ranks.speeds && i < ranks.size; i++)
        if (ranks.speeds[i] < 1 || ranks.speeds[i] > model::kMostSpeed)
            fail(Status::argument, {.index = i},
                 "%s.weights[%" PRIu32 "] is %" PRIu32 ", not 1 .. %" PRIu32, where, i,
                 ranks.speeds[i], model::kMostSpeed);
}

HostGroup *GroupImport::make(const Host &host) {
    if (!given_) return nullptr;
    const auto options = import_options(given_, GGUFX_GROUP_PIPELINE, "ggufx_group_options");
    require(options.group, "ggufx_group_options.group must be set");
    const auto g = import_options(options.group, GGUFX_GROUP_SHARED_MEMORY, "ggufx_group");
    require(g.allgather && g.allgatherv && g.broadcast && g.barrier && g.abort,
            "ggufx_group: all functions but destroy must be set");
    rank_options_ = {g.rank, g.size, options.weights, (options.flags & GGUFX_GROUP_PIPELINE) != 0};
    check_ranks(rank_options_, "ggufx_group_options");
    HostGroup *const made = ggufx::make<HostGroup>(host, g, options);
    is_taken_ = true;
    return made;
}

extern "C" ggufx_status ggufx_writer_copy_shard(ggufx_writer *writer, const ggufx_file *file,
                                                uint32_t rank, uint32_t n_ranks,
                                                const uint32_t *weights, uint32_t flags,
                                                ggufx_error *error) {
    return guard(error, [&] {
        gguf::Writer &w = writer_of(writer);
        require(alive(file, Tag::file), "file must be set");
        const uint32_t unknown = flags & ~GGUFX_GROUP_PIPELINE;
        if (unknown) fail(Status::argument, {}, "unknown flags 0x%x", unknown);
        const model::RankOptions ranks = {rank, n_ranks, weights,
                                          (flags & GGUFX_GROUP_PIPELINE) != 0};
        require(n_ranks != 1, "n_ranks is 1: that is the whole model");
        check_ranks(ranks, "ggufx_writer_copy_shard");
        model::copy_rank(w, file->file, ranks);
    });
}
