// Saving of snapshots in the format of snapshot.hpp. The writer gets pieces of up to a page.
// SPDX-License-Identifier: MIT
#include "kv/snapshot.hpp"

#include "base/bytes.hpp"
#include "base/crc64.hpp"
#include "base/snapshot_file.hpp"
#include "base/snapshot_io.hpp"

#include <string.h>

namespace ggufx::kv {

namespace {

constexpr uint32_t kVInK = 0x80000000u; // flag in the word of head_dim_v, which is far smaller
// Flag in the word of rope_style: a checksum of the frequencies replaces base and scale.
constexpr uint32_t kOwnFrequencies = 0x80000000u;
constexpr uint32_t kWindowKindShift = 2;   // in the word of a layer's centering flags
constexpr uint32_t kBeforeRope = 0x10000u; // flag in the same word: pages have an origin

constexpr size_t kLine = 64; // bytes; pages are whole lines

// Masks of the bits of a page that belong to given slots, by the layout of kernels/kv_page.hpp, 64
// bytes at a time: one head's page, of which only the given slots are kept.
class OwnPage {
public:
    OwnPage(const TypeOps &type, Side side, uint32_t head_dim, uint64_t slots)
        : f_(type.format()), side_(side), slots_(slots),
          d_(type.is_float() ? head_dim : padded_values(type, head_dim)),
          layout_(kernels::kv_layout_codes(f_, d_)) {}

    // Writes to[kLine]: bytes at .. at + kLine - 1 of the page, with zeros for other slots.
    void copy_line(uint8_t *to, const uint8_t *page, size_t at) {
        const size_t key = key_of(at);
        if (key != key_) make_mask(at);
        key_ = key;
        for (size_t i = 0; i < kLine; i++) to[i] = static_cast<uint8_t>(page[at + i] & mask_[i]);
    }

private:
    static constexpr size_t kNone = SIZE_MAX;

    bool is_float() const { return f_.bits == 0; }
    uint8_t whole(uint32_t slot) const { return slots_ >> slot & 1 ? 0xff : 0; }

    // Lines with the same key share a mask. In K, each group of 16 tokens is contiguous, in floats
    // and in codes. All other lines have a mask of their own.
    size_t key_of(size_t at) const {
        if (side_ == Side::v) return at;
        if (!is_float()) return at < layout_.high ? at / (layout_.high / 4) : at;
        const size_t each = size_t(d_) * kernels::kKvGroup * f_.float_bytes;
        return each % kLine ? at : at / each;
    }

    void make_mask(size_t at) {
        for (size_t i = 0; i < kLine; i++) {
            const auto byte = static_cast<uint32_t>(at + i);
            mask_[i] = is_float()              ? whole(float_slot(byte / f_.float_bytes))
                       : byte < layout_.high   ? of_codes(byte, f_.low_bits())
                       : byte < layout_.scales ? of_codes(byte - layout_.high, 1)
                                               : whole(scale_slot(byte - layout_.scales));
        }
    }

    uint32_t float_slot(uint32_t i) const {
        constexpr uint32_t group = kernels::kKvGroup, column = 64 * kPageTokens;
        if (side_ == Side::k) return i / (group * d_) * group + i % group;
        return i % column / kernels::v_float_width(d_, i / column);
    }

    // Inverse of k_field and v_field: a byte has the codes of several registers.
    uint8_t of_codes(uint32_t at, uint32_t bits) const {
        const uint32_t per = 8 / bits, byte = at % kLine;
        uint32_t mask = 0;
        for (uint32_t i = 0; i < per; i++) {
            const auto reg = static_cast<uint32_t>(at / kLine * per + i);
            const uint32_t slot = side_ == Side::k
                                      ? reg / (layout_.strips * 8) * kernels::kKvGroup + byte / 4
                                      : reg % 32 / 2 * 4 + byte % 4;
            if (slots_ >> slot & 1) mask |= ((1u << bits) - 1) << i * bits;
        }
        return static_cast<uint8_t>(mask);
    }

    // Returns the slot of a scale or, after the scales, of a minimum.
    uint32_t scale_slot(uint32_t at) const {
        const uint32_t n = f_.vector_scale ? 1 : layout_.strips, i = at / 2 % (n * kPageTokens);
        if (side_ == Side::v) return i % kPageTokens;
        return i / (kernels::kKvGroup * n) * kernels::kKvGroup + i % kernels::kKvGroup;
    }

    const KvFormat &f_;
    Side side_;
    uint64_t slots_;
    uint32_t d_;
    kernels::KvLayout layout_;
    size_t key_ = kNone;
    uint8_t mask_[kLine] = {};
};

void write_heads(SnapshotOutput &out, OwnPage page, const uint8_t *data, size_t head_bytes,
                 uint32_t n_heads) {
    constexpr size_t kPiece = 4096;
    uint8_t piece[kPiece];
    size_t held = 0;
    for (uint32_t head = 0; head < n_heads; head++)
        for (size_t at = 0; at < head_bytes; at += kLine) {
            page.copy_line(piece + held, data + head * head_bytes, at);
            held += kLine;
            if (held < kPiece) continue;
            out.bytes(piece, held);
            held = 0;
        }
    out.bytes(piece, held);
}

// Returns the slots of a block that pages of the track hold; bit t: slot t.
uint64_t held_slots(const Track &track, const Block &block) {
    uint64_t slots = 0;
    for (size_t i = 0; i < track.n_pages; i++) {
        const PageRef &page = track.pages[i];
        if (page.block == &block) slots |= (~uint64_t{0} >> (kPageTokens - page.n)) << page.first;
    }
    return slots;
}

// Writes the positions and all heads of a block, with zeros for all other slots: they may hold
// tokens that were cut, or those of another sequence.
void write_slots(SnapshotOutput &out, const Config &config, const Layer &layer, const Block &block,
                 uint64_t slots) {
    const BlockShape &shape = layer.shape[block.form];
    for (uint32_t t = 0; t < kPageTokens; t++) out.i32(slots >> t & 1 ? block.positions[t] : 0);
    write_heads(out, OwnPage(*shape.k, Side::k, config.head_dim_k, slots), block.data(),
                shape.k_head, config.n_kv_heads);
    if (shape.v_head)
        write_heads(out, OwnPage(*shape.v, Side::v, config.head_dim_v, slots),
                    block.data() + shape.v_offset, shape.v_head, config.n_kv_heads);
}

void write_page(SnapshotOutput &out, const Config &config, const Layer &layer, const Track &track,
                const PageRef &page) {
    const Block &block = *page.block;
    for (const uint32_t v : {block.form, uint32_t{page.first}, uint32_t{page.n}}) out.u32(v);
    out.i32(page.delta);
    if (layer.before_rope && block.form == kEncoded) out.i32(block.origin);
    const uint64_t slots = page.n < kPageTokens ? held_slots(track, block) : ~uint64_t{0};
    if (slots != ~uint64_t{0}) return write_slots(out, config, layer, block, slots);
    for (const int32_t p : block.positions) out.i32(p);
    out.bytes(block.data(), layer.shape[block.form].errors);
}

void write_track(SnapshotOutput &out, const Config &config, const Layer &layer,
                 const Track &track) {
    out.u64(track.n_tokens);
    out.u64(track.n_dropped);
    out.i32(track.dropped_first);
    out.i32(track.dropped_last);
    out.u64(track.n_pages);
    for (size_t i = 0; i < track.n_pages; i++)
        write_page(out, config, layer, track, track.pages[i]);
}

uint32_t centring_flag(const Layer &layer, const Track &track) {
    if (track.calibrated) return track.learned_end ? kLearned : kGiven;
    return layer.given && layer.calibration ? kGiven : kNotCentred;
}

uint64_t checksum_of(const RopeShift &turn) {
    uint64_t crc = 0;
    for (size_t i = 0; i < turn.n; i++) {
        uint64_t bits;
        memcpy(&bits, turn.each + i, sizeof bits);
        uint8_t bytes[8];
        store_u32le(bytes, static_cast<uint32_t>(bits));
        store_u32le(bytes + 4, static_cast<uint32_t>(bits >> 32));
        crc = crc64(crc, bytes, sizeof bytes);
    }
    return crc;
}

void write_header(SnapshotOutput &out, const Cache::State &s, uint32_t first, uint32_t end) {
    out.bytes(kSnapshotMagic, 8);
    out.u32(kSnapshotVersion);
    out.u32(end - first);
    const Identity identity = {s};
    for (uint32_t i = 0; i < identity.count(); i++) out.u32(identity.value(i));
    const auto each_track = [&](const auto &visit) {
        for (uint32_t i = first; i < end; i++)
            for (uint32_t l = 0; l < s.config.n_layers; l++) visit(s.layers[l], s.track(l, i));
    };
    each_track(
        [&](const Layer &layer, const Track &track) { out.u32(centring_flag(layer, track)); });
    out.checksum();
    each_track([&](const Layer &layer, const Track &track) {
        const float *x = calibration_of(layer, track);
        for (size_t i = 0; x && i < calibration_floats(s.config); i++) out.u32(f32_bits(x[i]));
    });
}

} // namespace

uint32_t Identity::value(uint32_t index) const {
    const Config &c = state.config;
    if (index >= kShared) {
        const Layer &layer = state.layers[(index - kShared) / kPerLayer];
        const uint32_t options = (layer.centre_k ? 1u : 0u) | (layer.centre_v ? 2u : 0u) |
                                 (layer.before_rope ? kBeforeRope : 0u) |
                                 static_cast<uint32_t>(layer.window.kind) << kWindowKindShift;
        const uint32_t values[kPerLayer] = {layer.k->facts.id, layer.v->facts.id,
                                            layer.window.tokens, options};
        return values[(index - kShared) % kPerLayer];
    }
    const uint64_t own = c.rope_frequencies ? checksum_of(state.turn) : 0;
    const uint32_t values[kShared] = {
        static_cast<uint32_t>(c.model),
        static_cast<uint32_t>(c.model >> 32),
        c.n_layers,
        c.n_kv_heads,
        c.head_dim_k,
        c.head_dim_v | (c.v_in_k ? kVInK : 0),
        c.n_sinks,
        static_cast<uint32_t>(c.rope_style) | (c.rope_frequencies ? kOwnFrequencies : 0),
        c.rope_dims,
        c.rope_frequencies ? static_cast<uint32_t>(own) : f32_bits(c.rope_base),
        c.rope_frequencies ? static_cast<uint32_t>(own >> 32) : f32_bits(c.rope_scale)};
    return values[index];
}

bool Identity::is_type(uint32_t index) const {
    return index >= kShared && (index - kShared) % kPerLayer < 2;
}

const char *Identity::name(uint32_t index) const {
    static constexpr const char *kNames[kShared] = {
        "model",         "model",      "n_layers",  "n_kv_heads", "head_dim_k", "head_dim_v",
        "n_sink_tokens", "rope_style", "rope_dims", "rope_base",  "rope_scale"};
    static constexpr const char *kLayerNames[kPerLayer] = {"type_k", "type_v", "window",
                                                           "centring and kind of window"};
    if (state.config.rope_frequencies && index + 2 >= kShared && index < kShared)
        return "rope_frequencies";
    return index < kShared ? kNames[index] : kLayerNames[(index - kShared) % kPerLayer];
}

Status Cache::save(uint32_t sequence, WriteFn write, void *user, Failure *failure) const {
    const State &s = *state_;
    const bool all = sequence == kAllSequences;
    if (!all) {
        const Status status = check_sequence(s.config, sequence, failure);
        if (status != Status::ok) return status;
    }
    const uint32_t first = all ? 0 : sequence, end = all ? s.config.n_sequences : sequence + 1;
    SnapshotOutput out(write, user);
    write_header(out, s, first, end);
    for (uint32_t i = first; i < end; i++)
        for (uint32_t l = 0; l < s.config.n_layers; l++)
            write_track(out, s.config, s.layers[l], s.track(l, i));
    out.checksum();
    if (out.status() == Status::ok) return Status::ok;
    return set_failure(failure, out.status(), {}, "the write callback of a snapshot failed");
}

Status Cache::save_path(uint32_t sequence, const char *path, Failure *failure) const {
    return save_snapshot(state_->host, path, [&](WriteFn write, void *user) {
        return save(sequence, write, user, failure);
    });
}

Status Cache::load_path(uint32_t sequence, const char *path, Failure *failure) {
    const auto from = [&](const Reader &reader, Failure *why) {
        return load(sequence, reader, why);
    };
    return load_snapshot(*state_->host, path, from, failure);
}

} // namespace ggufx::kv
