// Saves and loads a sequence, or all:
// - magic, version, number of sequences;
// - per sequence: number of tokens in total and in the caches, ids, positions, modes, embeddings;
// - CRC-64 of the preceding bytes;
// - the caches (run/snapshot.cpp).
// Little-endian.
// SPDX-License-Identifier: MIT
#include "base/bytes.hpp"
#include "base/crc64.hpp"
#include "base/snapshot_file.hpp"
#include "run/mode.hpp"
#include "run/session.hpp"

#include <math.h>
#include <string.h>

namespace ggufx::model {

namespace {

constexpr char kSessionMagic[9] = "GGUFXSN\n";
// Version 2 has one sequence, without an index, at positions 0, 1, ..., without embeddings.
constexpr uint32_t kSessionVersion = 3, kOldest = 2;
// Version 4 has the model's identity and no caches: a rank has only some heads of them and might be
// gone. Loading recomputes the tokens.
constexpr uint32_t kTokensOnly = 4;

Status read_failed(const SnapshotInput &in, Failure *failure) {
    return set_failure(failure, in.status(), {}, "the read callback of a snapshot failed");
}

Status bad_token(const char *what, uint64_t index, int64_t value, Failure *failure) {
    return set_failure(failure, Status::malformed, {.index = index},
                       "snapshot of a session: %s of token %llu is %lld", what, ull(index),
                       static_cast<long long>(value));
}

} // namespace

// A loaded sequence, before its caches are loaded.
struct Session::Loaded {
    explicit Loaded(const Host *host)
        : ids(HostAllocator<int32_t>(host)), positions(HostAllocator<int32_t>(host)),
          modes(HostAllocator<uint8_t>(host)), embedded(HostAllocator<float>(host)) {}

    uint64_t length = 0, held = 0;
    Vector<int32_t> ids, positions;
    Vector<uint8_t> modes;
    Vector<float> embedded;
};

struct Session::Arrived {
    explicit Arrived(const Host *host) : sequences(HostAllocator<Loaded>(host)) {}

    Vector<Loaded> sequences;
    bool has_caches = false;
};

// Reads the head of a snapshot; allocates memory as tokens arrive.
class Session::TokenReader {
public:
    TokenReader(const Session &session, SnapshotInput &in, Failure *failure)
        : session_(session), in_(in), failure_(failure) {}
    Status head(uint32_t n_sequences, uint64_t identity);
    Status sequence(Loaded &out);
    Status checksum();
    bool has_caches() const { return version_ != kTokensOnly; }

private:
    Status check_model(uint64_t identity);
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

// Reads the header. identity: that of the model and of the sequences' adapters.
Status Session::TokenReader::head(uint32_t n_sequences, uint64_t identity) {
    char magic[8] = {};
    in_.bytes(magic, sizeof magic);
    version_ = in_.u32();
    if (in_.status() != Status::ok) return read_failed(in_, failure_);
    if (memcmp(magic, kSessionMagic, sizeof magic) != 0)
        return set_failure(failure_, Status::magic, {}, "this is not a snapshot of a session");
    if (version_ < kOldest || version_ > kTokensOnly)
        return set_failure(failure_, Status::version, {},
                           "snapshot of a session of version %u, not %u to %u", version_, kOldest,
                           kTokensOnly);
    if (has_caches() && session_.model_.peers())
        return set_failure(
            failure_, Status::mismatch, {},
            "the snapshot is of one process: ranks of a group load snapshots that ranks saved");
    const uint32_t n = version_ == kOldest ? 1 : in_.u32();
    if (in_.status() != Status::ok) return read_failed(in_, failure_);
    if (n != n_sequences)
        return set_failure(failure_, Status::mismatch, {},
                           "the snapshot holds %u sequences, but %u are requested", n, n_sequences);
    return has_caches() ? Status::ok : check_model(identity);
}

Status Session::TokenReader::check_model(uint64_t identity) {
    const uint64_t theirs = in_.u64();
    if (in_.status() != Status::ok) return read_failed(in_, failure_);
    if (theirs == identity) return Status::ok;
    return set_failure(failure_, Status::mismatch, {},
                       "the snapshot has model and adapters %llu, not %llu", ull(theirs),
                       ull(identity));
}

Status Session::TokenReader::counts(Loaded &out) {
    out.length = in_.u64();
    out.held = in_.u64();
    if (in_.status() != Status::ok) return read_failed(in_, failure_);
    if (out.length > session_.n_context_)
        return set_failure(failure_, Status::capacity,
                           {.value = out.length, .limit = session_.n_context_},
                           "the snapshot has %llu tokens, the session room for %u", ull(out.length),
                           session_.n_context_);
    if (out.held <= (has_caches() ? out.length : 0)) return Status::ok;
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

void Session::save_tokens(SnapshotOutput &out, const Sequence &sequence, uint64_t held) {
    out.u64(sequence.length);
    out.u64(held);
    for (uint64_t i = 0; i < sequence.length; i++) out.i32(sequence.ids[i]);
    for (uint64_t i = 0; i < sequence.length; i++) out.i32(sequence.positions[i]);
    out.bytes(sequence.modes, static_cast<size_t>(sequence.length));
    for (const float value : sequence.embedded) out.u32(f32_bits(value));
}

// Returns the sequence and its adapters' identity; for all sequences a digest in order, 0 without
// adapters.
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
    const Status idle = check_idle(failure);
    if (idle != Status::ok) return idle;
    const bool all = index == kAllSequences, has_caches = !model_.peers();
    const uint32_t first = all ? 0 : index, end = all ? n_sequences() : index + 1;
    for (uint32_t i = first; i < end; i++)
        if (!has_caches && sequences_[i].edited)
            return set_failure(failure, Status::unsupported, {.index = i},
                               "sequence %u has removed or shifted tokens: ranks save only "
                               "sequences that can be recomputed",
                               i);
    SnapshotOutput out(write, user);
    out.bytes(kSessionMagic, 8);
    out.u32(has_caches ? kSessionVersion : kTokensOnly);
    out.u32(end - first);
    if (!has_caches) out.u64(model_.identity());
    for (uint32_t i = first; i < end; i++)
        save_tokens(out, sequences_[i], has_caches ? sequences_[i].held : 0);
    out.checksum();
    if (out.status() != Status::ok)
        return set_failure(failure, out.status(), {}, "the write callback of a snapshot failed");
    return has_caches ? caches_.save(kept_caches(index), write, user, failure) : Status::ok;
}

void Session::take(uint32_t index, Loaded &loaded) {
    Sequence &sequence = sequences_[index];
    std::copy(loaded.ids.begin(), loaded.ids.end(), sequence.ids);
    std::copy(loaded.positions.begin(), loaded.positions.end(), sequence.positions);
    std::copy(loaded.modes.begin(), loaded.modes.end(), sequence.modes);
    sequence.embedded.swap(loaded.embedded);
    sequence.length = loaded.length;
    sequence.held = loaded.held;
    // only ranks use this flag, and they save no edited sequences
    sequence.edited = false;
    sequence.n_changes++;
}

// Reads tokens, and the caches if they follow: otherwise the snapshot ends with its tokens.
Status Session::read_snapshot(uint32_t index, const Reader &reader, Arrived &out,
                              Failure *failure) try {
    const Host *const host = model_.host().get();
    const Caches::Kept kept = kept_caches(index);
    const uint32_t n = index == kAllSequences ? n_sequences() : 1;
    SnapshotInput in({reader.read, reader.user, nullptr});
    TokenReader tokens(*this, in, failure);
    Status status = tokens.head(n, model_.identity() ^ kept.adapters);
    for (uint32_t i = 0; status == Status::ok && i < n; i++) {
        out.sequences.emplace_back(host);
        status = tokens.sequence(out.sequences[i]);
    }
    if (status == Status::ok) status = tokens.checksum();
    if (status != Status::ok) return status;
    out.has_caches = tokens.has_caches();
    if (!out.has_caches) return reader.ended ? reader.ended(reader.user) : status;
    Vector<ExpectedTokens> expected{HostAllocator<ExpectedTokens>(host)};
    for (const Loaded &one : out.sequences) expected.push_back({one.held, one.positions.data()});
    return caches_.load(kept, expected.data(), reader, failure);
} catch (const std::bad_alloc &) {
    return set_failure(failure, Status::memory, {}, "no memory to load a snapshot");
}

// Checks that all ranks have read the same snapshot; otherwise none takes it. own: this rank's
// result.
Status Session::agree_on(const Arrived &arrived, Status own, Failure *failure) const {
    uint64_t crc = 0;
    const auto add = [&](const auto &list) {
        crc = crc64(crc, list.data(), list.size() * sizeof list[0]);
    };
    for (const Loaded &one : arrived.sequences) {
        add(one.ids);
        add(one.positions);
        add(one.modes);
        add(one.embedded);
    }
    const Option sum = {"the checksum of the snapshot's tokens", crc};
    return model_.peers()->compare(&sum, 1, own, failure);
}

// Takes what was read, if all ranks agree. own: result of reading on this rank.
Status Session::take_all(uint32_t index, Arrived &arrived, Status own, Failure *failure) {
    const Status status = model_.peers() ? agree_on(arrived, own, failure) : own;
    const uint32_t first = index == kAllSequences ? 0 : index;
    for (uint32_t i = 0; status == Status::ok && i < arrived.sequences.size(); i++) {
        if (!arrived.has_caches) caches_.truncate(first + i, 0);
        take(first + i, arrived.sequences[i]);
    }
    return status;
}

Status Session::load(uint32_t index, const Reader &reader, Failure *failure) {
    Status status = check_idle(failure);
    if (status != Status::ok) return status;
    Arrived arrived(model_.host().get());
    status = read_snapshot(index, reader, arrived, failure);
    return take_all(index, arrived, status, failure);
}

Status Session::save_path(uint32_t sequence, const char *path, Failure *failure) const {
    const Status status = check_idle(failure);
    if (status != Status::ok) return status;
    return save_snapshot(model_.host(), path, [&](WriteFn write, void *user) {
        return save(sequence, write, user, failure);
    });
}

Status Session::load_path(uint32_t sequence, const char *path, Failure *failure) {
    Status status = check_idle(failure);
    if (status != Status::ok) return status;
    Arrived arrived(model_.host().get());
    const auto from = [&](const Reader &reader, Failure *why) {
        return read_snapshot(sequence, reader, arrived, why);
    };
    status = load_snapshot(*model_.host(), path, from, failure);
    return take_all(sequence, arrived, status, failure);
}

} // namespace ggufx::model
