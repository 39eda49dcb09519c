// Centering and equalizing: the mean of every channel of K and V, and the spread of every channel
// of K. A sequence learns them from the first page that it encodes, and keeps them; sequences do
// not affect each other. Exact identities undo them: q.k = q.mu_k + (q * eq_k).stored, sum p v =
// sum p stored + mu_v * sum p.
// SPDX-License-Identifier: MIT
#include "base/fpenv.hpp"
#include "base/math.hpp"
#include "kv/state.hpp"

namespace ggufx::kv {

namespace {

// Equalizers are limited to 1 / kMostSpread .. kMostSpread.
constexpr double kMostSpread = 16.0;

// Sums over the tokens of a page, in the order of slots.
struct Channel {
    double sum, squares;
};

double spread_of(const Channel &c, uint32_t n) {
    const double mean = c.sum / n, variance = c.squares / n - mean * mean;
    return variance > 1e-12 * (c.squares / n) ? __builtin_sqrt(variance) : 0.0;
}

// eq = sqrt(spread / geometric mean of the spreads), within limits; 1 for constant channels. On
// entry, eq holds the spreads.
void equalise(float *eq, uint32_t n) {
    double logs = 0.0;
    uint32_t moving = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!(eq[i] > 0.0f)) continue;
        logs += log_f64(static_cast<double>(eq[i]));
        moving++;
    }
    const double mean = moving ? exp_f64(logs / moving) : 1.0;
    for (uint32_t i = 0; i < n; i++) {
        double s = eq[i] > 0.0f ? __builtin_sqrt(static_cast<double>(eq[i]) / mean) : 1.0;
        s = s > kMostSpread ? kMostSpread : s < 1.0 / kMostSpread ? 1.0 / kMostSpread : s;
        eq[i] = static_cast<float>(s);
    }
}

} // namespace

size_t calibration_floats(const Config &config) {
    return size_t(config.n_kv_heads) * (2 * size_t(config.head_dim_k) + config.head_dim_v);
}

float *calibration_of(const Layer &layer, const Track &track) {
    if (track.calibrated) return track.calibration;
    return layer.given ? layer.calibration : nullptr;
}

HeadCalibration calibration_head(const Config &config, const Layer &layer, float *calibration,
                                 uint32_t head) {
    HeadCalibration c = {nullptr, nullptr, nullptr};
    if (!calibration) return c;
    const size_t dk = config.head_dim_k, dv = config.head_dim_v;
    const size_t all = config.n_kv_heads * dk;
    if (layer.centre_k) {
        c.mu_k = calibration + head * dk;
        c.eq_k = c.mu_k + all;
    }
    if (layer.centre_v) c.mu_v = calibration + 2 * all + head * dv;
    return c;
}

void Cache::State::place_calibration(float *all, size_t one) {
    calibration = all;
    const size_t n_sequences = config.n_sequences;
    for (uint32_t l = 0; l < config.n_layers; l++) {
        Layer &layer = layers[l];
        const bool centred = all && (layer.centre_k || layer.centre_v);
        float *of_layer = centred ? all + l * (n_sequences + 1) * one : nullptr;
        layer.calibration = of_layer;
        for (uint32_t i = 0; i < n_sequences; i++)
            track(l, i).calibration = centred ? of_layer + (i + size_t{1}) * one : nullptr;
    }
}

namespace {

// Sums the channels of one head over a page; change(x, slot) is applied to each vector first.
template <class Change>
const Channel *sum_channels(Side side, uint32_t head, uint32_t n, const PageValues &values,
                            const Scratch &scratch, const Change &change) {
    float *x = scratch.vectors.x; // one vector, followed by the sums of all channels
    auto *sums = reinterpret_cast<Channel *>(x + scratch.stride);
    static_assert(sizeof(Channel) <= (kernels::kKvGroup - 1) * sizeof(float));
    for (uint32_t i = 0; i < n; i++) sums[i] = {0.0, 0.0};
    for (uint32_t t = values.first; t < values.end; t++) {
        values.get(values.ctx, side, t, head, x);
        change(x, t);
        for (uint32_t i = 0; i < n; i++) {
            const double v = static_cast<double>(x[i]);
            sums[i].sum += v;
            sums[i].squares += v * v;
        }
    }
    return sums;
}

void set_means(float *mu, const Channel *sums, uint32_t n, uint32_t n_tokens) {
    for (uint32_t i = 0; i < n; i++) mu[i] = static_cast<float>(sums[i].sum / n_tokens);
}

void set_equalizers(float *eq, const Channel *sums, uint32_t n, uint32_t n_tokens) {
    for (uint32_t i = 0; i < n; i++) eq[i] = static_cast<float>(spread_of(sums[i], n_tokens));
    equalise(eq, n);
}

void calibrate_side(float *mu, float *eq, Side side, uint32_t head, uint32_t n,
                    const PageValues &values, const Scratch &scratch) {
    const uint32_t n_tokens = values.end - values.first;
    const Channel *sums =
        sum_channels(side, head, n, values, scratch, [](const float *, uint32_t) {});
    set_means(mu, sums, n, n_tokens);
    if (eq) set_equalizers(eq, sums, n, n_tokens);
}

// Means of keys that are rotated back to position 0, then equalizers of keys without the rotated
// mean.
void calibrate_before_rope(const Cache::State &state, const Layer &layer, float *mu, float *eq,
                           uint32_t head, const PageValues &values, const Scratch &scratch) {
    const uint32_t n = state.config.head_dim_k, n_tokens = values.end - values.first;
    const Block &block = *values.block;
    set_means(mu,
              sum_channels(Side::k, head, n, values, scratch,
                           [&](float *x, uint32_t slot) {
                               rotate_position(state, x, -block.positions[slot]);
                           }),
              n, n_tokens);
    average_rotations(state, mu);
    float mean[kMaxCodes];
    rotated_mean(state, layer, block, mu, mean);
    set_equalizers(eq,
                   sum_channels(Side::k, head, n, values, scratch,
                                [&](float *x, uint32_t) {
                                    for (uint32_t i = 0; i < n; i++) x[i] = x[i] - mean[i];
                                }),
                   n, n_tokens);
}

} // namespace

void learn_calibration(const Cache::State &state, const Layer &layer, float *calibration,
                       const PageValues &values, const Scratch &scratch) {
    const Config &config = state.config;
    for (uint32_t head = 0; head < config.n_kv_heads; head++) {
        const HeadCalibration c = calibration_head(config, layer, calibration, head);
        if (c.mu_k && layer.before_rope)
            calibrate_before_rope(state, layer, c.mu_k, c.eq_k, head, values, scratch);
        else if (c.mu_k)
            calibrate_side(c.mu_k, c.eq_k, Side::k, head, config.head_dim_k, values, scratch);
        if (c.mu_v)
            calibrate_side(c.mu_v, nullptr, Side::v, head, config.head_dim_v, values, scratch);
    }
}

namespace {

Status check_floats(const float *x, size_t n, bool positive, const char *name, Failure *failure) {
    for (size_t i = 0; x && i < n; i++) {
        const bool finite = (f32_bits(x[i]) & 0x7fffffffu) < 0x7f800000u;
        if (finite && (!positive || x[i] >= kLeastEqualiser)) continue;
        return set_failure(failure, Status::argument, {.index = i}, "%s[%zu] is %s", name, i,
                           finite ? "not positive" : "NaN or infinite");
    }
    return Status::ok;
}

bool is_centred(const Cache::State &s, uint32_t layer) {
    for (uint32_t i = 0; i < s.config.n_sequences; i++) {
        const Track &track = s.track(layer, i);
        if (track.calibrated || holds_encoded(track)) return true;
    }
    return false;
}

void set_floats(float *to, const float *from, size_t n, float otherwise) {
    for (size_t i = 0; to && i < n; i++) to[i] = from ? from[i] : otherwise;
}

} // namespace

Status Cache::calibrate(uint32_t index, const float *mu_k, const float *eq_k, const float *mu_v,
                        Failure *failure) {
    State &s = *state_;
    Status status = check_layer(s.config, index, failure);
    if (status != Status::ok) return status;
    Layer &layer = s.layers[index];
    const size_t n_k = size_t(s.config.n_kv_heads) * s.config.head_dim_k;
    const size_t n_v = size_t(s.config.n_kv_heads) * s.config.head_dim_v;
    if ((!layer.centre_k && (mu_k || eq_k)) || (!layer.centre_v && mu_v) || !layer.calibration)
        return set_failure(failure, Status::unsupported, {.index = index},
                           "calibrate: layer %u does not centre these keys or values", index);
    status = check_floats(mu_k, n_k, false, "mu_k", failure);
    if (status == Status::ok) status = check_floats(eq_k, n_k, true, "eq_k", failure);
    if (status == Status::ok) status = check_floats(mu_v, n_v, false, "mu_v", failure);
    if (status != Status::ok) return status;
    if (is_centred(s, index))
        return set_failure(failure, Status::state, {.index = index},
                           "calibrate: layer %u has encoded pages", index);
    const HeadCalibration c = calibration_head(s.config, layer, layer.calibration, 0);
    set_floats(c.mu_k, mu_k, n_k, 0.0f);
    const CanonicalFp fp;
    for (uint32_t head = 0; c.mu_k && layer.before_rope && head < s.config.n_kv_heads; head++)
        average_rotations(s, c.mu_k + size_t(head) * s.config.head_dim_k);
    set_floats(c.eq_k, eq_k, n_k, 1.0f);
    set_floats(c.mu_v, mu_v, n_v, 0.0f);
    layer.given = true;
    return Status::ok;
}

} // namespace ggufx::kv
