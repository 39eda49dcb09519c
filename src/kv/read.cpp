// Reading back: decoded vectors at their current positions, and positions.
// SPDX-License-Identifier: MIT
#include "base/fpenv.hpp"
#include "kv/state.hpp"

namespace ggufx::kv {

namespace {

Status check_range(const Track &track, uint64_t first, uint64_t n, Failure *failure) {
    const uint64_t length = track.n_tokens;
    if (first > length || n > length - first)
        return set_failure(failure, Status::argument, {.index = first},
                           "tokens %llu + %llu end after the last of %llu tokens", ull(first),
                           ull(n), ull(length));
    if (n == 0 || first >= track.n_dropped) return Status::ok;
    return set_failure(
        failure, Status::argument, {.index = first},
        "the window of the layer has dropped token %llu and keeps tokens from %llu on", ull(first),
        ull(track.n_dropped));
}

// Iterator over the page and slot of consecutive tokens.
struct Walk {
    const Track &track;
    size_t page = 0;
    uint64_t skip;

    Walk(const Track &t, uint64_t first) : track(t), skip(first - t.n_dropped) { settle(); }
    void settle() {
        while (page < track.n_pages && skip >= track.pages[page].n) skip -= track.pages[page++].n;
    }
    const PageRef &ref() const { return track.pages[page]; }
    uint32_t slot() const { return ref().first + static_cast<uint32_t>(skip); }
    void next() {
        skip++;
        settle();
    }
};

} // namespace

Status Cache::read(float *k, float *v, uint32_t layer_index, uint32_t sequence, uint64_t first,
                   uint64_t n_tokens, Failure *failure) const {
    const State &s = *state_;
    const Config &c = s.config;
    Status status = check_layer(c, layer_index, failure);
    if (status == Status::ok) status = check_sequence(c, sequence, failure);
    if (status != Status::ok) return status;
    const Layer &layer = s.layers[layer_index];
    const Track &track = s.track(layer_index, sequence);
    status = check_range(track, first, n_tokens, failure);
    if (status != Status::ok || n_tokens == 0) return status;
    const CanonicalFp fp;
    float *const calibration = calibration_of(layer, track);
    Walk walk(track, first);
    for (uint64_t t = 0; t < n_tokens; t++, walk.next()) {
        const PageRef &page = walk.ref();
        for (uint32_t h = 0; h < c.n_kv_heads; h++) {
            const HeadCalibration centring = calibration_head(c, layer, calibration, h);
            const auto get = [&](Side side, uint32_t n, float *out) {
                read_part(s, layer, centring, *page.block, walk.slot(), h, side, 0, n, out);
            };
            if (k) {
                get(Side::k, c.head_dim_k, k);
                rotate_position(s, k, page.delta);
                k += c.head_dim_k;
            }
            if (v) {
                get(Side::v, c.head_dim_v, v);
                v += c.head_dim_v;
            }
        }
    }
    return Status::ok;
}

Status Cache::positions(int32_t *out, uint32_t sequence, uint64_t first, uint64_t n,
                        Failure *failure) const {
    const State &s = *state_;
    Status status = check_sequence(s.config, sequence, failure);
    if (status != Status::ok) return status;
    const Track &track = s.track(0, sequence);
    status = check_range(track, first, n, failure);
    if (status != Status::ok || n == 0) return status;
    Walk walk(track, first);
    for (uint64_t i = 0; i < n; i++, walk.next())
        out[i] = walk.ref().block->positions[walk.slot()] + walk.ref().delta;
    return Status::ok;
}

} // namespace ggufx::kv
