// Loading of snapshots: everything is read, checked and built apart; the cache changes last.
// Numbers of a snapshot are trusted only after their checksum; until then memory is taken page by
// page.
// SPDX-License-Identifier: MIT
#include "base/bytes.hpp"
#include "kv/snapshot.hpp"

#include <string.h>

namespace ggufx::kv {

namespace {

constexpr uint32_t kOldestSnapshot = 1;

// Header of a page, before its bytes.
struct PageHead {
    uint32_t form, first, n;
    int32_t delta, origin;
};

// Returns whether no 16-bit float has an exponent of all ones (`exponent`).
bool halves_finite(const uint8_t *data, size_t bytes, uint32_t exponent) {
    bool finite = true;
    for (size_t i = 0; i < bytes; i += 2) finite &= (load_u16le(data + i) & exponent) != exponent;
    return finite;
}

bool floats_finite(const uint8_t *data, size_t bytes) {
    bool finite = true;
    for (size_t i = 0; i < bytes; i += 4)
        finite &= (load_u32le(data + i) & 0x7f800000u) != 0x7f800000u;
    return finite;
}

// Checks one head of a page: floats, or the scales and minimums after its codes. Every code is
// valid.
bool head_finite(const TypeOps &type, const uint8_t *page, size_t bytes, uint32_t head_dim) {
    if (type.kind == KvKind::f32) return floats_finite(page, bytes);
    if (type.is_float())
        return halves_finite(page, bytes, type.kind == KvKind::f16 ? 0x7c00 : 0x7f80);
    const kernels::KvLayout layout =
        kernels::kv_layout_codes(type.format(), padded_values(type, head_dim));
    return halves_finite(page + layout.scales, layout.bytes - layout.scales, 0x7c00);
}

bool usable(const float *x, size_t n, float least) {
    bool fits = true;
    for (size_t i = 0; x && i < n; i++)
        fits &= x[i] >= least && (f32_bits(x[i]) & 0x7fffffffu) < 0x7f800000u;
    return fits;
}

// Whether floats, scales and minimums of a page are finite. Kernels convert them to integers
// without a check.
bool values_finite(const Cache::State &state, const Layer &layer, const Block &block) {
    const BlockShape &shape = layer.shape[block.form];
    const Config &c = state.config;
    bool finite = true;
    for (uint32_t head = 0; head < c.n_kv_heads; head++) {
        const uint8_t *k = block.data() + head * shape.k_head;
        const uint8_t *v = block.data() + shape.v_offset + head * shape.v_head;
        finite &= head_finite(*shape.k, k, shape.k_head, c.head_dim_k);
        if (shape.v_head) finite &= head_finite(*shape.v, v, shape.v_head, c.head_dim_v);
    }
    return finite;
}

// Whether means of centered streams are finite, and ggufx_kv_calibrate accepts the equalizers.
bool calibration_usable(const Cache::State &state, const Layer &layer, const float *calibration) {
    const size_t n_k = size_t(state.config.n_kv_heads) * state.config.head_dim_k;
    const size_t n_v = size_t(state.config.n_kv_heads) * state.config.head_dim_v;
    constexpr float kAny = -0x1.fffffep127f;
    if (layer.centre_k &&
        !(usable(calibration, n_k, kAny) && usable(calibration + n_k, n_k, kLeastEqualiser)))
        return false;
    return !layer.centre_v || usable(calibration + 2 * n_k, n_v, kAny);
}

} // namespace

// State built by a load: tracks [layer][n_sequences of the snapshot], calibrations.
class Restore {
public:
    Restore(Cache::State &state, const Reader &reader, Failure *failure)
        : s_(state), in_(reader), failure_(failure) {}
    ~Restore();
    Status read(uint32_t sequence);
    Status check_positions(const ExpectedTokens *expected); // [sequences]; checks every layer
    Status prepare_for(uint64_t n_tokens);                  // reserves n_tokens in each sequence
    Status ended() const { return in_.ended(); }
    void commit();

private:
    Status fail_read();
    Status bad(const char *what);
    Status header(uint32_t sequence);
    Status take_memory();
    Status calibrations();
    Status track(uint32_t layer, uint32_t i);
    void take_calibration(uint32_t layer, uint32_t i, Track &track) const;
    Status counts(const Layer &layer, Track &track, uint64_t *n_pages);
    bool join_parts(Layer &layer, Track &track) const;
    Status page(Layer &layer, Track &track);
    Status page_body(const Layer &layer, Track &track, const PageHead &head, Block &block);
    size_t index_of(uint32_t layer, uint32_t i) const { return size_t(layer) * n_sequences_ + i; }
    Track &at(uint32_t layer, uint32_t i) { return tracks_[index_of(layer, i)]; }

    Cache::State &s_;
    SnapshotInput in_;
    Failure *failure_;
    uint32_t version_ = 0, n_sequences_ = 0;
    uint32_t sequence_ = 0;
    bool all_ = false;
    uint64_t n_held_ = 0; // main blocks of the layer that is loaded
    Track *tracks_ = nullptr;
    float *calibration_ = nullptr; // [layer][n_sequences of the snapshot]
    size_t calibration_bytes_ = 0;
    uint8_t *flags_ = nullptr; // CentringFlag, same layout
};

Restore::~Restore() {
    const Host &host = *s_.host;
    const uint32_t n_layers = s_.config.n_layers;
    for (uint32_t l = 0; tracks_ && l < n_layers; l++)
        for (uint32_t i = 0; i < n_sequences_; i++) clear_track(s_, s_.layers[l], at(l, i));
    host.free(tracks_, sizeof(Track) * n_layers * n_sequences_, alignof(Track));
    host.free(calibration_, calibration_bytes_, alignof(float));
    host.free(flags_, size_t(n_layers) * n_sequences_, 1);
}

Status Restore::fail_read() {
    return set_failure(failure_, in_.status(), {}, "the read callback of a snapshot failed");
}

Status Restore::bad(const char *what) {
    if (in_.status() != Status::ok) return fail_read();
    return set_failure(failure_, Status::malformed, {}, "snapshot: %s", what);
}

Status Restore::take_memory() {
    const Host &host = *s_.host;
    const uint32_t n_layers = s_.config.n_layers;
    // At most as many tracks as the cache has, so products cannot overflow.
    const size_t n_tracks = size_t(n_layers) * n_sequences_, bytes = sizeof(Track) * n_tracks;
    flags_ = static_cast<uint8_t *>(host.alloc(n_tracks, 1));
    tracks_ = static_cast<Track *>(host.alloc(bytes, alignof(Track)));
    if (tracks_) memset(static_cast<void *>(tracks_), 0, bytes);
    if (s_.n_calibration) {
        const size_t size = n_tracks * calibration_floats(s_.config) * sizeof(float);
        calibration_ = static_cast<float *>(host.alloc(size, alignof(float)));
        calibration_bytes_ = calibration_ ? size : 0;
    }
    if (flags_ && tracks_ && (calibration_ || !s_.n_calibration)) return Status::ok;
    return set_failure(failure_, Status::memory, {}, "no memory to load a snapshot");
}

Status Restore::header(uint32_t sequence) {
    char magic[8] = {};
    in_.bytes(magic, sizeof magic);
    version_ = in_.u32();
    const uint32_t n_sequences = in_.u32();
    if (in_.status() != Status::ok) return fail_read();
    if (memcmp(magic, kSnapshotMagic, sizeof magic) != 0)
        return set_failure(failure_, Status::magic, {}, "this is not a snapshot of a KV cache");
    if (version_ < kOldestSnapshot || version_ > kSnapshotVersion)
        return set_failure(failure_, Status::version, {}, "snapshot of version %u, not %u to %u",
                           version_, kOldestSnapshot, kSnapshotVersion);
    const uint32_t wanted = sequence == kAllSequences ? s_.config.n_sequences : 1;
    if (n_sequences != wanted)
        return set_failure(failure_, Status::mismatch, {},
                           "the snapshot holds %u sequences, but %u are requested", n_sequences,
                           wanted);
    n_sequences_ = n_sequences;
    const Identity identity = {s_};
    for (uint32_t i = 0; i < identity.count(); i++) {
        const uint32_t value = in_.u32();
        if (in_.status() != Status::ok) return fail_read();
        const uint32_t own = identity.value(i);
        if (value == own) continue;
        const TypeOps *const type = identity.is_type(i) ? type_ops(value) : nullptr;
        if (type)
            return set_failure(failure_, Status::mismatch, {.index = i},
                               "the snapshot has %s %s, the cache %s", identity.name(i),
                               type->facts.name, type_ops(own)->facts.name);
        return set_failure(failure_, Status::mismatch, {.index = i},
                           "the snapshot has %s %u, the cache %u", identity.name(i), value, own);
    }
    const Status status = take_memory();
    if (status != Status::ok) return status;
    const uint32_t n_told = version_ == 1 ? 1 : n_sequences_; // sequences with flags of their own
    for (uint32_t i = 0; i < n_told; i++)
        for (uint32_t l = 0; l < s_.config.n_layers; l++) {
            const uint32_t flag = in_.u32();
            if (flag > kGiven || (flag && !s_.layers[l].calibration))
                return bad("invalid calibration");
            flags_[index_of(l, i)] = static_cast<uint8_t>(flag);
        }
    if (in_.checksum()) return Status::ok;
    if (in_.status() != Status::ok) return fail_read();
    return set_failure(failure_, Status::checksum, {}, "the header of the snapshot is damaged");
}

Status Restore::calibrations() {
    const size_t n = calibration_floats(s_.config);
    for (uint32_t i = 0; i < n_sequences_; i++)
        for (uint32_t l = 0; l < s_.config.n_layers; l++) {
            if (version_ == 1 && i) flags_[index_of(l, i)] = flags_[index_of(l, 0)];
            if (!flags_[index_of(l, i)]) continue;
            float *to = calibration_ + index_of(l, i) * n;
            if (version_ == 1 && i) {
                memcpy(to, calibration_ + index_of(l, 0) * n, n * sizeof *to);
                continue;
            }
            for (size_t j = 0; j < n; j++) to[j] = f32_from_bits(in_.u32());
            if (in_.status() != Status::ok) return fail_read();
            if (!calibration_usable(s_, s_.layers[l], to))
                return bad("invalid means or equalizers");
        }
    return Status::ok;
}

Status Restore::page_body(const Layer &layer, Track &track, const PageHead &head, Block &block) {
    for (int32_t &p : block.positions) p = in_.i32();
    const BlockShape &shape = layer.shape[block.form];
    if (!in_.bytes(block.data(), shape.errors)) return fail_read();
    if (!values_finite(s_, layer, block)) return bad("a page holds NaN or an infinity");
    if (!can_turn(s_.turn, head.delta)) return bad("a shift rotates keys too far");
    if (head.origin < 0) return bad("the origin of a page is negative");
    set_origin(s_, layer, block, head.origin);
    const PageRef page = {
        &block, static_cast<uint16_t>(head.first), static_cast<uint16_t>(head.n), head.delta, 0,
        nullptr};
    for (uint32_t i = 0; i < head.n; i++) {
        const int32_t stored = block.positions[head.first + i];
        const int64_t p = int64_t(stored) + head.delta;
        if (stored < 0 || p < 0 || p > INT32_MAX)
            return bad("a position is negative or exceeds the largest one");
        const int32_t dropped = track.n_dropped ? track.dropped_last : 0;
        const int32_t before = i               ? position_at(page, i - 1)
                               : track.n_pages ? last_position(track)
                                               : dropped;
        if (p < before) return bad("positions descend");
    }
    track.pages[track.n_pages++] = page;
    return Status::ok;
}

// Joins the last two pages if they are parts of one block, which was saved for both.
bool Restore::join_parts(Layer &layer, Track &track) const {
    if (track.n_pages < 2) return false;
    Block *const last = track.pages[track.n_pages - 1].block;
    Block *const before = track.pages[track.n_pages - 2].block;
    if (last->form != before->form || last->origin != before->origin ||
        memcmp(last->positions, before->positions, sizeof last->positions) != 0 ||
        memcmp(last->data(), before->data(), layer.shape[last->form].errors) != 0)
        return false;
    before->n_owners++;
    track.pages[track.n_pages - 1].block = before;
    free_block(*s_.host, layer, last);
    return true;
}

Status Restore::page(Layer &layer, Track &track) {
    PageHead head{};
    head.form = in_.u32();
    head.first = in_.u32();
    head.n = in_.u32();
    head.delta = in_.i32();
    if (layer.before_rope && head.form == kEncoded) head.origin = in_.i32();
    if (in_.status() != Status::ok) return fail_read();
    const uint32_t limit = head.form == kSinks ? s_.n_sinks : kPageTokens;
    if (head.form >= kFormCount || head.n == 0 || head.n > limit || head.first > limit - head.n ||
        (head.form == kEncoded && !layer.encodes))
        return bad("an invalid page");
    const auto form = static_cast<Form>(head.form);
    Block *block = grow_table(*s_.host, track, track.n_pages + 1)
                       ? take_block(*s_.host, layer, form)
                       : nullptr;
    if (!block)
        return set_failure(failure_, Status::memory, {}, "no memory for a page of a snapshot");
    block->n_owners = 1;
    const Status status = page_body(layer, track, head, *block);
    if (status != Status::ok) free_block(*s_.host, layer, block);
    if (status != Status::ok || join_parts(layer, track)) return status;
    n_held_ += form == layer.main_form();
    if (layer.max_blocks == 0 || n_held_ <= layer.max_blocks) return status;
    return refuse_pages(s_, static_cast<uint32_t>(&layer - s_.layers),
                        track.n_pages * uint64_t(kPageTokens), failure_);
}

// Reads and checks the counts of a track. Positions may repeat, so those of dropped tokens do not
// limit their number; kMostTokens does.
Status Restore::counts(const Layer &layer, Track &track, uint64_t *n_pages) {
    track.n_tokens = in_.u64();
    track.n_dropped = in_.u64();
    track.dropped_first = in_.i32();
    track.dropped_last = in_.i32();
    *n_pages = in_.u64();
    if (in_.status() != Status::ok) return fail_read();
    if (track.n_tokens > kMostTokens)
        return set_failure(failure_, Status::malformed, {},
                           "snapshot: %llu tokens in a sequence, %llu of them dropped: the limit "
                           "is %llu",
                           ull(track.n_tokens), ull(track.n_dropped), ull(kMostTokens));
    // A window only drops tokens before others that are held.
    if (track.n_dropped > track.n_tokens || *n_pages > track.n_tokens - track.n_dropped ||
        (track.n_dropped && (!layer.window.drops() || *n_pages == 0)))
        return bad("invalid numbers of tokens");
    if (track.n_dropped && (track.dropped_first < 0 || track.dropped_first > track.dropped_last))
        return bad("positions of dropped tokens are negative or descend");
    return Status::ok;
}

Status Restore::track(uint32_t index, uint32_t i) {
    Layer &layer = s_.layers[index];
    Track &track = at(index, i);
    uint64_t n_pages = 0;
    Status status = counts(layer, track, &n_pages);
    if (status != Status::ok) return status;
    if (layer.max_blocks) drop_all_spares(s_, layer, nullptr, 0);
    // Blocks of the layer without those that the load replaces.
    n_held_ = all_
                  ? layer.n_loaded
                  : layer.main_blocks() - own_blocks(s_.track(index, sequence_), layer.main_form());
    const uint64_t before = n_held_;
    uint64_t held = 0;
    for (uint64_t p = 0; p < n_pages; p++) {
        status = page(layer, track);
        if (status != Status::ok) return status;
        held += track.pages[track.n_pages - 1].n;
        if (track.pages[track.n_pages - 1].block->form == kEncoded && layer.calibration &&
            !flags_[index_of(index, i)])
            return bad("encoded pages without their means");
    }
    if (held != track.n_tokens - track.n_dropped) return bad("tokens are missing");
    if (s_.config.max_tokens && track.n_tokens > s_.config.max_tokens)
        return set_failure(failure_, Status::capacity,
                           {.value = track.n_tokens, .limit = s_.config.max_tokens},
                           "the snapshot has %llu tokens: max_tokens of the cache is %llu",
                           ull(track.n_tokens), ull(s_.config.max_tokens));
    number_pages(track);
    layer.n_loaded += n_held_ - before;
    return Status::ok;
}

void Restore::take_calibration(uint32_t index, uint32_t i, Track &track) const {
    const Layer &layer = s_.layers[index];
    const uint8_t flag = flags_[index_of(index, i)];
    track.calibrated = false;
    if (flag == kNotCentred) return;
    const size_t n = calibration_floats(s_.config);
    const float *from = calibration_ + index_of(index, i) * n;
    const bool given =
        flag == kGiven && layer.given && memcmp(from, layer.calibration, n * sizeof *from) == 0;
    track.calibrated = !given;
    if (given) return;
    memcpy(track.calibration, from, n * sizeof *from);
    // The page it was learned from has been dropped, so only a cut to 0 tokens goes back before it.
    track.learned_end = flag == kGiven ? 0 : track.n_dropped ? 1 : UINT64_MAX;
}

Status Restore::prepare_for(uint64_t n_tokens) {
    for (uint32_t l = 0; l < s_.config.n_layers; l++)
        for (uint32_t i = 0; i < n_sequences_; i++) {
            const Status status = reserve_loaded(s_, s_.layers[l], at(l, i), n_tokens);
            if (status == Status::capacity) return refuse_pages(s_, l, n_tokens, failure_);
            if (status != Status::ok)
                return set_failure(failure_, status, {},
                                   "no memory for the pages of %llu tokens after a snapshot",
                                   ull(n_tokens));
            at(l, i).reserved = true;
        }
    return Status::ok;
}

static bool has_positions(const Track &track, const int32_t *positions) {
    for (size_t p = 0; p < track.n_pages; p++)
        for (uint32_t t = 0; t < track.pages[p].n; t++)
            if (position_at(track.pages[p], t) != positions[track.pages[p].index + t]) return false;
    return track.n_dropped == 0 || track.dropped_last < positions[track.n_dropped];
}

Status Restore::check_positions(const ExpectedTokens *expected) {
    for (uint32_t l = 0; l < s_.config.n_layers; l++)
        for (uint32_t i = 0; i < n_sequences_; i++) {
            if (at(l, i).n_tokens != expected[i].n_tokens)
                return bad("layers of different lengths");
            if (!has_positions(at(l, i), expected[i].positions))
                return bad("positions other than those of its tokens");
        }
    return Status::ok;
}

// Exchanges the tracks; this object then frees the old ones.
void Restore::commit() {
    const uint32_t sequence = all_ ? kAllSequences : sequence_;
    for (uint32_t l = 0; l < s_.config.n_layers; l++)
        for (uint32_t i = 0; i < n_sequences_; i++) {
            Track &track = s_.track(l, sequence == kAllSequences ? i : sequence);
            const Track loaded = at(l, i);
            at(l, i) = track;
            track = loaded;
            track.calibration = at(l, i).calibration;
            take_calibration(l, i, track);
        }
}

Status Restore::read(uint32_t sequence) {
    sequence_ = sequence;
    all_ = sequence == kAllSequences;
    for (uint32_t l = 0; l < s_.config.n_layers; l++) s_.layers[l].n_loaded = 0;
    Status status = header(sequence);
    if (status == Status::ok) status = calibrations();
    for (uint32_t i = 0; i < n_sequences_; i++)
        for (uint32_t l = 0; status == Status::ok && l < s_.config.n_layers; l++)
            status = track(l, i);
    if (status != Status::ok) return status;
    if (in_.checksum()) return status;
    if (in_.status() != Status::ok) return fail_read();
    return set_failure(failure_, Status::checksum, {}, "the snapshot is damaged");
}

// sequence: one, or kAllSequences.
static Status check_sequences(const Config &config, uint32_t sequence, Failure *failure) {
    return sequence == kAllSequences ? Status::ok : check_sequence(config, sequence, failure);
}

Status Cache::load(uint32_t sequence, const Reader &reader, Failure *failure) {
    Status status = check_sequences(state_->config, sequence, failure);
    if (status != Status::ok) return status;
    Restore restore(*state_, reader, failure);
    status = restore.read(sequence);
    if (status == Status::ok) status = restore.ended();
    if (status == Status::ok) restore.commit();
    return status;
}

Status Cache::load_aside(uint32_t sequence, const ExpectedTokens *expected, uint64_t n_reserved,
                         const Reader &reader, Failure *failure) {
    State &s = *state_;
    finish_load(false);
    Status status = check_sequences(s.config, sequence, failure);
    if (status != Status::ok) return status;
    void *memory = s.host->alloc(sizeof(Restore), alignof(Restore));
    if (!memory) return set_failure(failure, Status::memory, {}, "no memory to load a snapshot");
    s.aside = new (memory) Restore(s, reader, failure);
    status = s.aside->read(sequence);
    if (status == Status::ok) status = s.aside->check_positions(expected);
    if (status == Status::ok && n_reserved) status = s.aside->prepare_for(n_reserved);
    if (status != Status::ok) finish_load(false);
    return status;
}

void Cache::finish_load(bool take) {
    State &s = *state_;
    if (!s.aside) return;
    if (take) s.aside->commit();
    s.aside->~Restore();
    s.host->free(s.aside, sizeof(Restore), alignof(Restore));
    s.aside = nullptr;
}

} // namespace ggufx::kv
