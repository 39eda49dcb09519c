// SPDX-License-Identifier: MIT
#include "model/group/start.hpp"

#include "base/crc64.hpp"
#include "model/build/cut.hpp"

#include <algorithm>
#include <inttypes.h>
#include <string.h>

namespace ggufx::model {

namespace {

// What each rank sends first. Its begin and its size are those of every version.
struct Start {
    char magic[8];
    uint32_t byte_order, abi;
    char version[24];
    uint32_t rank, size;
    int32_t status;
    uint32_t reserved;
    uint64_t n_tensors, tensors, n_keys, identity, options;
};
static_assert(sizeof(Start) == 96, "another version must be able to read it");
constexpr char kMagic[9] = "GGUFXRK\1";
constexpr uint32_t kByteOrder = 0x01020304;
constexpr size_t kLook = 64;            // bytes of each tensor that are looked at
constexpr uint32_t kSession = 0x5e5510; // what a comparison of options is about

uint64_t sum_of(const gguf::Tensor &t) {
    const uint64_t numbers[] = {t.type, t.ne[0], t.ne[1], t.ne[2], t.ne[3]};
    const uint64_t crc = crc64(crc64(0, numbers, sizeof numbers), t.name.data(), t.name.size());
    return t.data ? crc64(crc, t.data, std::min<uint64_t>(t.n_bytes, kLook)) : crc;
}

uint64_t sum_of_tensors(const gguf::File &file) {
    uint64_t crc = 0;
    for (size_t i = 0; i < file.n_tensors(); i++) {
        const uint64_t sum = sum_of(file.tensor(i));
        crc = crc64(crc, &sum, sizeof sum);
    }
    return crc;
}

class Comparison {
public:
    Comparison(RankGroup &ranks, const gguf::File &file, Failure *failure)
        : ranks_(ranks), file_(file), failure_(failure),
          all_(ranks.size(), Start(), HostAllocator<Start>(file.host().get())) {}

    Status run(const Start &own) {
        Status status = ranks_.allgather(all_.data(), &own, sizeof own, failure_);
        for (uint32_t i = 0; i < ranks_.size() && status == Status::ok; i++) status = library(i);
        for (uint32_t i = 0; i < ranks_.size() && status == Status::ok; i++)
            if (all_[i].status != 0)
                return ranks_.share_failure(i, static_cast<Status>(own.status), failure_);
        // Before anything that is a message of so many tensors.
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
        if (b.tensors != a.tensors) return tensor(i);
        if (b.n_keys != a.n_keys || b.identity != a.identity)
            return differs(i, "the file differs in keys, norms or biases from that of rank 0");
        if (b.options != a.options)
            return differs(i, "other options (overrides, speeds) than rank 0");
        return Status::ok;
    }
    // All ranks have come here, about the same one: which tensor is it?
    Status tensor(uint32_t rank) {
        Vector<uint64_t> own(file_.n_tensors(), 0, HostAllocator<uint64_t>(file_.host().get()));
        Vector<uint64_t> all(own.size() * ranks_.size(), 0, own.get_allocator());
        for (size_t i = 0; i < own.size(); i++) own[i] = sum_of(file_.tensor(i));
        const Status status =
            ranks_.allgather(all.data(), own.data(), own.size() * sizeof own[0], failure_);
        if (status != Status::ok) return status;
        size_t at = 0;
        while (at < own.size() && all[at] == all[rank * own.size() + at]) at++;
        const std::string_view name = at < own.size() ? file_.tensor(at).name : "?";
        return differs(rank, "the file differs in tensor %s from that of rank 0",
                       Quoted(name.data(), name.size()).c_str());
    }

    RankGroup &ranks_;
    const gguf::File &file_;
    Failure *failure_;
    Vector<Start> all_; // of the ranks
};

} // namespace

Status compare_starts(RankGroup &ranks, const gguf::File &file, const StartFacts &facts, Status own,
                      Failure *failure) {
    Start start = {};
    memcpy(start.magic, kMagic, sizeof start.magic);
    start.byte_order = kByteOrder;
    start.abi = facts.abi;
    (void)print_text(start.version, sizeof start.version, "%s", facts.version);
    start.rank = ranks.rank();
    start.size = ranks.size();
    start.status = static_cast<int32_t>(own);
    start.n_tensors = file.n_tensors();
    start.tensors = sum_of_tensors(file);
    start.n_keys = file.n_meta();
    start.identity = facts.identity;
    start.options = facts.options;
    return Comparison(ranks, file, failure).run(start);
}

Status compare_options(RankGroup &ranks, const Option *options, size_t n, Status own,
                       Failure *failure) {
    Status status = ranks.begin(kSession, own, failure);
    for (size_t i = 0; i < n && status == Status::ok; i++) {
        uint64_t all[kMostRanks];
        status = ranks.allgather(all, &options[i].value, sizeof all[0], failure);
        for (uint32_t rank = 1; rank < ranks.size() && status == Status::ok; rank++)
            if (all[rank] != all[0])
                status = set_failure(failure, Status::mismatch, {.index = rank},
                                     "rank %" PRIu32 ": %s is %" PRIu64 ", that of rank 0 %" PRIu64,
                                     rank, options[i].name, all[rank], all[0]);
    }
    return status;
}

} // namespace ggufx::model
