// Saving and loading a sequence, or all: magic, version, number of sequences; of each the tokens in
// all and in the caches, ids, positions, modes, rows of the caller's; CRC-64 of all so far; then the
// caches (run/snapshot.cpp). Little-endian.
// SPDX-License-Identifier: MIT
#include "base/bytes.hpp"
#include "base/crc64.hpp"
#include "base/snapshot_file.hpp"
#include "model/mode.hpp"
#include "model/session.hpp"

#include <math.h>
#include <string.h>

namespace ggufx::model {

namespace {

using ull = unsigned long long;

constexpr char kMagic[9] = "GGUFXSN\n";
// Version 2 has one sequence, whose number is not told, at positions 0, 1, ..., without rows.
constexpr uint32_t kVersion = 3, kOldest = 2;

Status read_failed(const SnapshotInput &in, Failure *failure) {
    return set_failure(failure, in.status(), {}, "the reader of a snapshot failed");
}

Status bad_token(const char *what, uint64_t index, int64_t value, Failure *failure) {
    return set_failure(failure, Status::malformed, {.index = index},
                       "snapshot of a session: %s of token %llu is %lld", what, ull(index),
                       static_cast<long long>(value));
}

} // namespace

// A sequence until the caches are loaded.
struct Session::Loaded {
    explicit Loaded(const Host *host)
        : ids(HostAllocator<int32_t>(host)), positions(HostAllocator<int32_t>(host)),
          modes(HostAllocator<uint8_t>(host)), embedded(HostAllocator<float>(host)) {}

    uint64_t length = 0, held = 0;
    Vector<int32_t> ids, positions;
    Vector<uint8_t> modes;
    Vector<float> embedded;
};

// What a snapshot begins with; memory is taken as tokens come.
class Session::TokenReader {
public:
    TokenReader(const Session &session, SnapshotInput &in, Failure *failure)
        : session_(session), in_(in), failure_(failure) {}
    Status head(uint32_t n_sequences);
    Status sequence(Loaded &out);
    Status checksum();

private:
    Status counts(Loaded &out);
    Status ids(Loaded &out);
    Status positions(Loaded &out);
    Status modes(Loaded &out);
    Status rows(Loaded &out);

    const Session &session_;
    SnapshotInput &in_;
    Failure *failure_;
    uint32_t version_ = 0;
};

Status Session::TokenReader::head(uint32_t n_sequences) {
    char magic[8] = {};
    in_.bytes(magic, sizeof magic);
    version_ = in_.u32();
    if (in_.status() != Status::ok) return read_failed(in_, failure_);
    if (memcmp(magic, kMagic, sizeof magic) != 0)
        return set_failure(failure_, Status::magic, {}, "this is no snapshot of a session");
    if (version_ < kOldest || version_ > kVersion)
        return set_failure(failure_, Status::version, {},
                           "snapshot of a session of version %u, not %u to %u", version_, kOldest,
                           kVersion);
    const uint32_t n = version_ == kOldest ? 1 : in_.u32();
    if (in_.status() != Status::ok) return read_failed(in_, failure_);
    if (n == n_sequences) return Status::ok;
    return set_failure(failure_, Status::mismatch, {},
                       "the snapshot holds %u sequences, asked for are %u", n, n_sequences);
}

Status Session::TokenReader::counts(Loaded &out) {
    out.length = in_.u64();
    out.held = in_.u64();
    if (in_.status() != Status::ok) return read_failed(in_, failure_);
    if (out.length > session_.n_context_)
        return set_failure(failure_, Status::capacity, {},
                           "the snapshot has %llu tokens, the session room for %u", ull(out.length),
                           session_.n_context_);
    if (out.held <= out.length) return Status::ok;
    return set_failure(failure_, Status::malformed, {},
                       "snapshot of a session: %llu tokens in the caches of %llu", ull(out.held),
                       ull(out.length));
}

Status Session::TokenReader::ids(Loaded &out) {
    const uint64_t n_vocab = session_.model_.shape().n_vocab;
    for (uint64_t i = 0; i < out.length; i++) {
        const int32_t id = in_.i32();
        if (in_.status() != Status::ok) return read_failed(in_, failure_);
        if (id < 0 || static_cast<uint64_t>(id) >= n_vocab) return bad_token("id", i, id, failure_);
        out.ids.push_back(id);
    }
    return Status::ok;
}

Status Session::TokenReader::positions(Loaded &out) {
    int32_t least = 0;
    for (uint64_t i = 0; i < out.length; i++) {
        const int32_t position = version_ == kOldest ? static_cast<int32_t>(i) : in_.i32();
        if (in_.status() != Status::ok) return read_failed(in_, failure_);
        if (position < least || position >= session_.end_of_positions())
            return bad_token("position", i, position, failure_);
        out.positions.push_back(position);
        least = position + 1;
    }
    return Status::ok;
}

Status Session::TokenReader::modes(Loaded &out) {
    for (uint64_t i = 0; i < out.length; i++) {
        uint8_t mode = 0;
        if (!in_.bytes(&mode, 1)) return read_failed(in_, failure_);
        const bool known = is_mode(mode) && (version_ > kOldest || !(mode & kModeEmbedded));
        if (!known) return bad_token("mode", i, mode, failure_);
        out.modes.push_back(mode);
    }
    return Status::ok;
}

Status Session::TokenReader::rows(Loaded &out) {
    const uint64_t width = session_.model_.shape().n_embd;
    for (uint64_t i = 0; i < out.length; i++) {
        for (uint64_t j = 0; j < width && (out.modes[i] & kModeEmbedded); j++) {
            const float value = f32_from_bits(in_.u32());
            if (in_.status() != Status::ok) return read_failed(in_, failure_);
            if (!isfinite(value))
                return set_failure(failure_, Status::malformed, {.index = i},
                                   "snapshot of a session: the embedding of token %llu is not "
                                   "finite",
                                   ull(i));
            out.embedded.push_back(value);
        }
    }
    return Status::ok;
}

Status Session::TokenReader::sequence(Loaded &out) {
    Status status = counts(out);
    if (status == Status::ok) status = ids(out);
    if (status == Status::ok) status = positions(out);
    if (status == Status::ok) status = modes(out);
    if (status == Status::ok) status = rows(out);
    return status;
}

Status Session::TokenReader::checksum() {
    if (in_.checksum()) return Status::ok;
    if (in_.status() != Status::ok) return read_failed(in_, failure_);
    return set_failure(failure_, Status::checksum, {}, "the tokens of the snapshot are damaged");
}

void Session::save_tokens(SnapshotOutput &out, const Sequence &sequence) {
    out.u64(sequence.length);
    out.u64(sequence.held);
    for (uint64_t i = 0; i < sequence.length; i++) out.i32(sequence.ids[i]);
    for (uint64_t i = 0; i < sequence.length; i++) out.i32(sequence.positions[i]);
    out.bytes(sequence.modes, static_cast<size_t>(sequence.length));
    for (const float value : sequence.embedded) out.u32(f32_bits(value));
}

// Of all sequences a digest of what each has, in order; 0 where none has any.
Caches::Kept Session::kept_caches(uint32_t index) const {
    if (index != kAllSequences)
        return {index, AdapterSet::identity(sequences_[index].adapters.get())};
    uint64_t crc = 0;
    bool adapted = false;
    for (const Sequence &sequence : sequences_) {
        const uint64_t identity = AdapterSet::identity(sequence.adapters.get());
        adapted = adapted || identity != 0;
        uint8_t b[8];
        store_u64le(b, identity);
        crc = crc64(crc, b, sizeof b);
    }
    return {kv::kAllSequences, adapted ? crc : 0};
}

Status Session::save(uint32_t index, WriteFn write, void *user, Failure *failure) const {
    const bool all = index == kAllSequences;
    const uint32_t first = all ? 0 : index, end = all ? n_sequences() : index + 1;
    SnapshotOutput out(write, user);
    out.bytes(kMagic, 8);
    out.u32(kVersion);
    out.u32(end - first);
    for (uint32_t i = first; i < end; i++) save_tokens(out, sequences_[i]);
    out.checksum();
    if (out.status() != Status::ok)
        return set_failure(failure, out.status(), {}, "the writer of a snapshot failed");
    return caches_.save(kept_caches(index), write, user, failure);
}

void Session::take(uint32_t index, Loaded &loaded) {
    Sequence &sequence = sequences_[index];
    std::copy(loaded.ids.begin(), loaded.ids.end(), sequence.ids);
    std::copy(loaded.positions.begin(), loaded.positions.end(), sequence.positions);
    std::copy(loaded.modes.begin(), loaded.modes.end(), sequence.modes);
    sequence.embedded.swap(loaded.embedded);
    sequence.length = loaded.length;
    sequence.held = loaded.held;
    n_changes_ += index == 0;
    if (index == 0) has_logits_ = false;
}

Status Session::load(uint32_t index, const Reader &reader, Failure *failure) try {
    const bool all = index == kAllSequences;
    const uint32_t first = all ? 0 : index, n = all ? n_sequences() : 1;
    const Host *const host = model_.host().get();
    SnapshotInput in({reader.read, reader.user, nullptr});
    TokenReader tokens(*this, in, failure);
    Vector<Loaded> loaded{HostAllocator<Loaded>(host)};
    Vector<ExpectedTokens> expected{HostAllocator<ExpectedTokens>(host)};
    Status status = tokens.head(n);
    for (uint32_t i = 0; status == Status::ok && i < n; i++) {
        loaded.emplace_back(host);
        status = tokens.sequence(loaded[i]);
    }
    if (status == Status::ok) status = tokens.checksum();
    for (const Loaded &one : loaded) expected.push_back({one.held, one.positions.data()});
    if (status == Status::ok)
        status = caches_.load(kept_caches(index), expected.data(), reader, failure);
    for (uint32_t i = 0; status == Status::ok && i < n; i++) take(first + i, loaded[i]);
    return status;
} catch (const std::bad_alloc &) {
    return set_failure(failure, Status::memory, {}, "no memory to load a snapshot");
}

Status Session::save_path(uint32_t sequence, const char *path, Failure *failure) const {
    return save_snapshot(model_.host(), path, [&](WriteFn write, void *user) {
        return save(sequence, write, user, failure);
    });
}

Status Session::load_path(uint32_t sequence, const char *path, Failure *failure) {
    const auto from = [&](const Reader &reader, Failure *why) {
        return load(sequence, reader, why);
    };
    return load_snapshot(*model_.host(), path, from, failure);
}

} // namespace ggufx::model
