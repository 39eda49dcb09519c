// Saving of snapshots in the format of snapshot.hpp. The writer gets pieces of up to a page.
// SPDX-License-Identifier: MIT
#include "kv/snapshot.hpp"

#include "base/bytes.hpp"
#include "base/crc64.hpp"
#include "base/snapshot_file.hpp"
#include "kv/own_bytes.hpp"

#include <string.h>

namespace ggufx::kv {

namespace {

void write_page(SnapshotOutput &out, const Config &config, const Layer &layer, const Track &track,
                const PageRef &page) {
    const Block &block = *page.block;
    for (const uint32_t v : {block.form, uint32_t{page.first}, uint32_t{page.n}}) out.u32(v);
    out.i32(page.delta);
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
