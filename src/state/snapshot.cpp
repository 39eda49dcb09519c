// Saving and loading. Format, little-endian: magic, version, number of sequences; model, number of
// layers and their shapes; CRC-64 of all so far; per sequence the number of its tokens and, unless
// that is 0, the floats of every layer, tail before state; CRC-64 of everything.
// SPDX-License-Identifier: MIT
#include "base/bytes.hpp"
#include "state/state.hpp"

#include <string.h>

namespace ggufx::state {

namespace {

constexpr char kMagic[9] = "GGUFXST\n";
constexpr uint32_t kVersion = 1;
constexpr size_t kPiece = 1024; // floats converted at a time

bool is_finite(const float *x, size_t n) {
    bool finite = true;
    for (size_t i = 0; i < n; i++) finite &= (f32_bits(x[i]) & 0x7fffffffu) < 0x7f800000u;
    return finite;
}

// Returns false at a value that is not finite, without writing more.
bool write_floats(SnapshotOutput &out, const float *x, size_t n) {
    uint8_t bytes[kPiece * sizeof(float)];
    for (size_t i = 0; i < n; i += kPiece) {
        const size_t some = n - i < kPiece ? n - i : kPiece;
        if (!is_finite(x + i, some)) return false;
        for (size_t j = 0; j < some; j++) store_f32le(bytes + j * sizeof(float), x[i + j]);
        out.bytes(bytes, some * sizeof(float));
    }
    return true;
}

// Returns false if a value is not finite or the reader failed.
bool read_floats(SnapshotInput &in, float *x, size_t n) {
    uint8_t bytes[kPiece * sizeof(float)];
    for (size_t i = 0; i < n; i += kPiece) {
        const size_t some = n - i < kPiece ? n - i : kPiece;
        if (!in.bytes(bytes, some * sizeof(float))) return false;
        for (size_t j = 0; j < some; j++) x[i + j] = load_f32le(bytes + j * sizeof(float));
        if (!is_finite(x + i, some)) return false;
    }
    return true;
}

// Named numbers that must be equal in snapshot and cache.
struct Identity {
    const StateCache::State &state;
    uint32_t count() const { return 2 + 3 * state.config.n_layers; }
    uint64_t value(uint32_t index) const {
        if (index == 0) return state.config.model;
        if (index == 1) return state.config.n_layers;
        const LayerShape &shape = state.layers[(index - 2) / 3].shape;
        const uint64_t values[] = {shape.tail_rows, shape.tail_values, shape.state_values};
        return values[(index - 2) % 3];
    }
    const char *name(uint32_t index) const {
        static constexpr const char *kNames[] = {"tail_rows", "tail_values", "state_values"};
        return index == 0 ? "model" : index == 1 ? "n_layers" : kNames[(index - 2) % 3];
    }
};

Status save_sequence(SnapshotOutput &out, const StateCache::State &s, uint32_t index,
                     Failure *failure) {
    const Sequence &sequence = s.sequences[index];
    out.u64(sequence.n_tokens);
    for (uint32_t l = 0; sequence.n_tokens && l < s.config.n_layers; l++) {
        const Layer &layer = s.layers[l];
        const float *from = s.slot(sequence.committed);
        if (write_floats(out, from + layer.tail, layer.n_tail) &&
            write_floats(out, from + layer.state, layer.n_state))
            continue;
        return set_failure(failure, Status::value, {.index = l},
                           "sequence %u: the state of layer %u holds NaN or an infinity", index, l);
    }
    return Status::ok;
}

// Reads into free slots of the cache, and releases them unless the whole snapshot is valid.
class Load {
public:
    Load(StateCache::State &state, SequenceRange range, const Reader &reader,
         const ExpectedTokens *expected, Failure *failure)
        : s_(state), range_(range), in_(reader), expected_(expected), failure_(failure) {}
    ~Load() {
        for (uint32_t i = range_.first; i < range_.end; i++) drop_slot(s_, s_.sequences[i].working);
    }
    Status run();

private:
    Status fail_read();
    Status bad(const char *what);
    Status check_checksum(const char *what);
    Status header();
    Status sequence(uint32_t index);
    void commit();

    StateCache::State &s_;
    SequenceRange range_;
    SnapshotInput in_;
    const ExpectedTokens *expected_; // [sequences of the range], or null
    Failure *failure_;
};

Status Load::fail_read() {
    return set_failure(failure_, in_.status(), {}, "the read callback of a snapshot failed");
}

Status Load::bad(const char *what) {
    if (in_.status() != Status::ok) return fail_read();
    return set_failure(failure_, Status::malformed, {}, "snapshot of states: %s", what);
}

Status Load::check_checksum(const char *what) {
    if (in_.checksum()) return Status::ok;
    if (in_.status() != Status::ok) return fail_read();
    return set_failure(failure_, Status::checksum, {}, "%s is damaged", what);
}

Status Load::header() {
    char magic[8] = {};
    in_.bytes(magic, sizeof magic);
    const uint32_t version = in_.u32(), n_sequences = in_.u32();
    if (in_.status() != Status::ok) return fail_read();
    if (memcmp(magic, kMagic, sizeof magic) != 0)
        return set_failure(failure_, Status::magic, {}, "this is not a snapshot of states");
    if (version != kVersion)
        return set_failure(failure_, Status::version, {},
                           "snapshot of states of version %u, not %u", version, kVersion);
    if (n_sequences != range_.end - range_.first)
        return set_failure(failure_, Status::mismatch, {},
                           "the snapshot holds %u sequences, but %u are requested", n_sequences,
                           range_.end - range_.first);
    const Identity identity = {s_};
    for (uint32_t i = 0; i < identity.count(); i++) {
        const uint64_t value = in_.u64();
        if (in_.status() != Status::ok) return fail_read();
        if (value != identity.value(i))
            return set_failure(failure_, Status::mismatch, {.index = i},
                               "the snapshot has %s %llu, the cache %llu", identity.name(i),
                               ull(value), ull(identity.value(i)));
    }
    return check_checksum("the header of the snapshot");
}

Status Load::sequence(uint32_t index) {
    Sequence &sequence = s_.sequences[index];
    sequence.loaded = in_.u64();
    if (in_.status() != Status::ok) return fail_read();
    if (sequence.loaded > kMostTokens)
        return set_failure(failure_, Status::malformed, {.index = index},
                           "snapshot of states: %llu tokens in a sequence, at most %llu",
                           ull(sequence.loaded), ull(kMostTokens));
    const uint64_t wanted = expected_ ? expected_[index - range_.first].n_tokens : sequence.loaded;
    if (sequence.loaded != wanted)
        return set_failure(failure_, Status::malformed, {.index = index},
                           "snapshot of states: %llu tokens in a sequence that has %llu",
                           ull(sequence.loaded), ull(wanted));
    if (sequence.loaded == 0) return Status::ok;
    sequence.working = take_slot(s_);
    float *to = s_.slot(sequence.working);
    for (uint32_t l = 0; l < s_.config.n_layers; l++) {
        const Layer &layer = s_.layers[l];
        if (!read_floats(in_, to + layer.tail, layer.n_tail) ||
            !read_floats(in_, to + layer.state, layer.n_state))
            return bad("a state holds NaN or an infinity");
    }
    return Status::ok;
}

void Load::commit() {
    for (uint32_t i = range_.first; i < range_.end; i++) {
        Sequence &sequence = s_.sequences[i];
        const uint32_t slot = sequence.working;
        sequence.working = kNoSlot;
        clear_sequence(s_, sequence);
        if (slot == kNoSlot) continue;
        set_committed(s_, sequence, slot, sequence.loaded);
        remember(s_, sequence, true);
    }
}

Status Load::run() {
    Status status = header();
    for (uint32_t i = range_.first; status == Status::ok && i < range_.end; i++)
        status = sequence(i);
    if (status == Status::ok) status = check_checksum("the snapshot");
    if (status == Status::ok) status = in_.ended();
    if (status == Status::ok) commit();
    return status;
}

} // namespace

Status StateCache::save(uint32_t sequence, WriteFn write, void *user, Failure *failure) const {
    const State &s = *state_;
    SequenceRange range;
    Status status = check_range(s, sequence, &range, failure);
    if (status != Status::ok) return status;
    SnapshotOutput out(write, user);
    out.bytes(kMagic, 8);
    out.u32(kVersion);
    out.u32(range.end - range.first);
    const Identity identity = {s};
    for (uint32_t i = 0; i < identity.count(); i++) out.u64(identity.value(i));
    out.checksum();
    for (uint32_t i = range.first; status == Status::ok && i < range.end; i++)
        status = save_sequence(out, s, i, failure);
    if (status != Status::ok) return status;
    out.checksum();
    if (out.status() == Status::ok) return status;
    return set_failure(failure, out.status(), {}, "the write callback of a snapshot failed");
}

Status StateCache::load(uint32_t sequence, const Reader &reader, Failure *failure,
                        const ExpectedTokens *expected) {
    State &s = *state_;
    SequenceRange range;
    Status status = check_range(s, sequence, &range, failure);
    for (uint32_t i = range.first; status == Status::ok && i < range.end; i++)
        status = check_closed(s, i, failure);
    return status == Status::ok ? Load(s, range, reader, expected, failure).run() : status;
}

} // namespace ggufx::state
