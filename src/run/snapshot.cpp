// Saves and loads caches and states together: a header, the snapshot of each cache
// (kv/snapshot.hpp), then that of the states (state/snapshot.cpp). Header: magic, version, numbers
// that must match the reader's, CRC-64 of the preceding bytes. Little-endian.
// SPDX-License-Identifier: MIT
#include "run/caches.hpp"

#include <string.h>

namespace ggufx::model {

namespace {

constexpr char kMagic[9] = "GGUFXCS\n";
constexpr uint32_t kVersion = 1;

constexpr const char *kValues[] = {"model and adapters", "number of caches", "states",
                                   "number of tokens"};
constexpr uint32_t kValueCount = sizeof kValues / sizeof *kValues;

Status check_header(SnapshotInput &in, const uint64_t (&want)[kValueCount], Failure *failure) {
    char magic[8] = {};
    in.bytes(magic, sizeof magic);
    const uint32_t version = in.u32();
    if (in.status() == Status::ok && memcmp(magic, kMagic, sizeof magic) != 0)
        return set_failure(failure, Status::magic, {}, "this is not a snapshot of caches");
    if (in.status() == Status::ok && version != kVersion)
        return set_failure(failure, Status::version, {}, "snapshot of caches of version %u, not %u",
                           version, kVersion);
    uint64_t got[kValueCount];
    for (uint64_t &value : got) value = in.u64();
    const bool whole = in.checksum();
    if (in.status() != Status::ok)
        return set_failure(failure, in.status(), {}, "the read callback of a snapshot failed");
    if (!whole)
        return set_failure(failure, Status::checksum, {},
                           "the header of the snapshot of caches is damaged");
    for (uint32_t i = 0; i < kValueCount; i++)
        if (got[i] != want[i])
            return set_failure(failure, Status::mismatch, {.index = i},
                               "the snapshot has %s %llu, not %llu", kValues[i],
                               static_cast<unsigned long long>(got[i]),
                               static_cast<unsigned long long>(want[i]));
    return Status::ok;
}

} // namespace

uint64_t Caches::header_value(uint32_t index, uint64_t adapters, uint64_t n_tokens) const {
    const uint64_t values[kValueCount] = {options_.model ^ adapters, caches_.size(),
                                          states_ ? 1u : 0u, n_tokens};
    return values[index];
}

uint64_t Caches::n_tokens_of(uint32_t sequence) const {
    if (sequence != kv::kAllSequences) return length(sequence);
    uint64_t n = 0;
    for (uint32_t i = 0; i < options_.n_sequences; i++) n += length(i);
    return n;
}

Status Caches::save(const Kept &kept, WriteFn write, void *user, Failure *failure) const {
    const uint32_t sequence = kept.sequence;
    SnapshotOutput out(write, user);
    out.bytes(kMagic, 8);
    out.u32(kVersion);
    const uint64_t n_tokens = n_tokens_of(sequence);
    for (uint32_t i = 0; i < kValueCount; i++) out.u64(header_value(i, kept.adapters, n_tokens));
    out.checksum();
    if (out.status() != Status::ok)
        return set_failure(failure, out.status(), {}, "the write callback of a snapshot failed");
    Status status = Status::ok;
    for (size_t i = 0; status == Status::ok && i < caches_.size(); i++)
        status = caches_[i]->save(sequence, write, user, failure);
    if (status != Status::ok || !states_) return status;
    return states_->save(sequence, write, user, failure);
}

// Loads caches into temporary copies, and swaps them in once the states, which come last, are
// complete.
Status Caches::load(const Kept &kept, const ExpectedTokens *expected, const Reader &reader,
                    Failure *failure) {
    const uint32_t sequence = kept.sequence;
    const Reader part = {reader.read, reader.user, nullptr};
    SnapshotInput in(part);
    const uint32_t n = sequence == kv::kAllSequences ? options_.n_sequences : 1;
    uint64_t n_tokens = 0, want[kValueCount];
    for (uint32_t i = 0; i < n; i++) n_tokens += expected[i].n_tokens;
    for (uint32_t i = 0; i < kValueCount; i++) want[i] = header_value(i, kept.adapters, n_tokens);
    Status status = check_header(in, want, failure);
    const uint64_t n_reserved = options_.n_total ? 0 : options_.n_context;
    for (size_t i = 0; status == Status::ok && i < caches_.size(); i++)
        status = caches_[i]->load_aside(sequence, expected, n_reserved, part, failure);
    if (status == Status::ok && states_)
        status = states_->load(sequence, reader, failure, expected);
    else if (status == Status::ok && reader.ended)
        status = reader.ended(reader.user);
    for (kv::Cache *cache : caches_) cache->finish_load(status == Status::ok);
    return status;
}

} // namespace ggufx::model
