// SPDX-License-Identifier: MIT
#include "distributed/start.hpp"

#include "base/crc64.hpp"
#include "graph/partition.hpp"

#include <algorithm>
#include <inttypes.h>
#include <optional>
#include <string.h>

namespace ggufx::model {

namespace {

// First message of each rank. Its first bytes and its size are the same in all versions.
struct Start {
    char magic[8];
    uint32_t byte_order, abi;
    char version[24];
    uint32_t rank, size;
    int32_t status;
    uint32_t by_layers;
    uint64_t n_tensors, tensors, n_keys, identity, options;
};
static_assert(sizeof(Start) == 96, "another version must be able to read it");
constexpr char kStartMagic[9] = "GGUFXRK\1";
constexpr uint32_t kByteOrder = 0x01020304;
constexpr uint32_t kSession = 0x5e5510; // checksum for comparisons of options

// Checksums of tensors as in the whole model.
class Sums {
public:
    explicit Sums(const gguf::File &file) : file_(file), part_(file) {}

    const RankFile &part() const { return part_; }
    uint64_t of(size_t tensor) const {
        const gguf::Tensor t = part_.whole(tensor);
        const uint64_t numbers[] = {t.type,  t.ne[0], t.ne[1],
                                    t.ne[2], t.ne[3], part_.head_sum(tensor)};
        return crc64(crc64(0, numbers, sizeof numbers), t.name.data(), t.name.size());
    }
    uint64_t of_all() const {
        uint64_t crc = 0;
        for (size_t i = 0; i < file_.n_tensors(); i++) {
            const uint64_t sum = of(i);
            crc = crc64(crc, &sum, sizeof sum);
        }
        return crc;
    }

private:
    const gguf::File &file_;
    const RankFile part_;
};

// Returns a checksum of the options, including the speeds, unless all speeds are equal.
uint64_t sum_of_options(const StartFacts &facts, const RankFile &part, uint32_t n_ranks) {
    const uint32_t *speeds = facts.speeds;
    if (!speeds && part.is_part()) speeds = part.ranks().speeds;
    bool differ = false;
    for (uint32_t i = 0; speeds && i < n_ranks; i++) differ = differ || speeds[i] != speeds[0];
    return differ ? crc64(facts.options, speeds, n_ranks * sizeof *speeds) : facts.options;
}

class Comparison {
public:
    // sums: checksums of this rank's file, null after a failure.
    Comparison(RankGroup &ranks, const gguf::File &file, const Sums *sums, Failure *failure)
        : ranks_(ranks), file_(file), sums_(sums), failure_(failure),
          all_(ranks.size(), Start(), HostAllocator<Start>(file.host().get())) {}

    Status run(const Start &own) {
        Status status = ranks_.allgather(all_.data(), &own, sizeof own, failure_);
        for (uint32_t i = 0; i < ranks_.size() && status == Status::ok; i++) status = library(i);
        for (uint32_t i = 0; i < ranks_.size() && status == Status::ok; i++)
            if (all_[i].status != 0)
                return ranks_.share_failure(i, static_cast<Status>(own.status), failure_);
        // Lengths come first: later messages depend on the number of tensors.
        for (uint32_t i = 1; i < ranks_.size() && status == Status::ok; i++) status = length(i);
        for (uint32_t i = 1; i < ranks_.size() && status == Status::ok; i++) status = file(i);
        return status;
    }

private:
    Status differs(uint32_t rank, const char *format, ...) GGUFX_PRINTF(3, 4) {
        char text[300];
        va_list arguments;
        va_start(arguments, format);
        (void)print_text_v(text, sizeof text, format, arguments);
        va_end(arguments);
        return set_failure(failure_, Status::mismatch, {.index = rank}, "rank %" PRIu32 ": %s",
                           rank, text);
    }
    Status library(uint32_t i) {
        const Start &a = all_[0], &b = all_[i];
        if (memcmp(b.magic, a.magic, sizeof a.magic) != 0 || b.byte_order != a.byte_order)
            return differs(i, "runs another kind of library or machine than rank 0");
        if (b.abi != a.abi || memcmp(b.version, a.version, sizeof a.version) != 0)
            return differs(i, "runs version %.*s of the library, rank 0 %.*s",
                           static_cast<int>(sizeof b.version), b.version,
                           static_cast<int>(sizeof a.version), a.version);
        if (b.rank == i && b.size == a.size) return Status::ok;
        return differs(i, "takes itself for rank %" PRIu32 " of %" PRIu32, b.rank, b.size);
    }
    Status length(uint32_t i) {
        const uint64_t own = all_[i].n_tensors, first = all_[0].n_tensors;
        if (own == first) return Status::ok;
        return differs(i, "the file has %" PRIu64 " tensors, that of rank 0 %" PRIu64, own, first);
    }
    Status file(uint32_t i) {
        const Start &a = all_[0], &b = all_[i];
        if (b.by_layers != a.by_layers)
            return differs(i, "takes %s, rank 0 %s", assigned_text(b.by_layers),
                           assigned_text(a.by_layers));
        if (b.tensors != a.tensors) return tensor(i);
        if (b.n_keys != a.n_keys || b.identity != a.identity)
            return differs(i, "the file differs in keys, norms or biases from that of rank 0");
        if (b.options != a.options)
            return differs(i, "other options (overrides, weights, flags) than rank 0");
        return Status::ok;
    }
    // Finds the tensor that differs; all ranks call this about the same rank.
    Status tensor(uint32_t rank) {
        Vector<uint64_t> own(file_.n_tensors(), 0, HostAllocator<uint64_t>(file_.host().get()));
        Vector<uint64_t> all(own.size() * ranks_.size(), 0, own.get_allocator());
        for (size_t i = 0; i < own.size(); i++) own[i] = sums_->of(i);
        const Status status =
            ranks_.allgather(all.data(), own.data(), own.size() * sizeof own[0], failure_);
        if (status != Status::ok) return status;
        size_t at = 0;
        while (at < own.size() && all[at] == all[rank * own.size() + at]) at++;
        const std::string_view name = at < own.size() ? file_.tensor(at).name : "?";
        return differs(rank, "the file differs in tensor %s from that of rank 0",
                       Quoted(name).c_str());
    }

    RankGroup &ranks_;
    const gguf::File &file_;
    const Sums *const sums_;
    Failure *failure_;
    Vector<Start> all_; // one per rank
};

} // namespace

Status compare_starts(RankGroup &ranks, const gguf::File &file, const StartFacts &facts, Status own,
                      Failure *failure) {
    Start start = {};
    memcpy(start.magic, kStartMagic, sizeof start.magic);
    start.byte_order = kByteOrder;
    start.abi = facts.abi;
    (void)print_text(start.version, sizeof start.version, "%s", facts.version);
    start.rank = ranks.rank();
    start.size = ranks.size();
    start.identity = facts.identity;
    std::optional<Sums> sums; // without a model, only the failure is exchanged
    try {
        if (own == Status::ok) sums.emplace(file);
    } catch (const Error &e) { // another process changed the file
        own = static_cast<Status>(e.failure.status);
        if (failure) *failure = e.failure;
    }
    start.status = static_cast<int32_t>(own);
    if (sums) {
        start.n_tensors = file.n_tensors();
        start.tensors = sums->of_all();
        start.n_keys = sums->part().n_model_keys();
        start.by_layers = facts.by_layers;
        start.options = sum_of_options(facts, sums->part(), ranks.size());
    }
    return Comparison(ranks, file, sums ? &*sums : nullptr, failure).run(start);
}

Status RankGroup::compare(const Option *options, size_t n, Status own, Failure *failure) {
    Status status = begin(kSession, own, failure);
    for (size_t i = 0; i < n && status == Status::ok; i++) {
        uint64_t all[kMostRanks];
        status = allgather(all, &options[i].value, sizeof all[0], failure);
        for (uint32_t rank = 1; rank < size() && status == Status::ok; rank++)
            if (all[rank] != all[0])
                status = set_failure(failure, Status::mismatch, {.index = rank},
                                     "rank %" PRIu32 ": %s is %" PRIu64 ", that of rank 0 %" PRIu64,
                                     rank, options[i].name, all[rank], all[0]);
    }
    return status;
}

} // namespace ggufx::model
