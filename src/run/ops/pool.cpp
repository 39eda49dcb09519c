// Runs one input after another: keys and values of a layer are not needed after its attention, so
// one cache layer serves all layers. Means are sums in binary64, tokens ascending, rounded once.
// SPDX-License-Identifier: MIT
#include "run/ops/pool.hpp"

#include "run/rows.hpp"

#include <string.h>

namespace ggufx::model {

namespace {

kv::AttendOptions text_options(const Context &c, const op::Attend &s) {
    kv::AttendOptions options = attend_options(c, s);
    options.alibi_both_sides = !s.causal;
    if (!c.one_layer) return options; // the cache layer has the window
    const CacheWindow &window = c.graph.caches[s.cache].layers[s.layer].window;
    options.window = window.n;
    options.window_kind = !s.causal        ? kv::WindowKind::symmetric
                          : window.chunked ? kv::WindowKind::chunked
                                           : kv::WindowKind::sliding;
    options.causal = s.causal || options.window > 0; // the window is the mask
    return options;
}

// Padding rows after the last input take part in products: they must hold numbers.
void clear_rest(const Context &c, const View &v, size_t first, size_t n) {
    for (size_t row = first; row < n; row++) memset(c.at(v, row), 0, v.width * sizeof(float));
}

void mean_of(float *out, const Context &c, const op::Pool &s, const SequenceRows &text) {
    constexpr size_t kAtOnce = 64; // columns
    const double n_rows = static_cast<double>(text.n);
    for (size_t first = 0, n; first < s.in.width; first += n) {
        double sums[kAtOnce] = {};
        n = s.in.width - first < kAtOnce ? s.in.width - first : kAtOnce;
        for (size_t row = 0; row < text.n; row++) {
            const float *x = c.at(s.in, text.first + row) + first;
            for (size_t i = 0; i < n; i++) sums[i] += static_cast<double>(x[i]);
        }
        for (size_t i = 0; i < n; i++) out[first + i] = static_cast<float>(sums[i] / n_rows);
    }
}

void pool(float *out, const Context &c, const op::Pool &s, const SequenceRows &text) {
    const Pooling kind = c.pooling == Pooling::rank ? s.rank : c.pooling;
    if (kind == Pooling::mean) return mean_of(out, c, s, text);
    const size_t row = kind == Pooling::last ? text.first + text.n - 1 : text.first;
    memcpy(out, c.at(s.in, row), s.in.width * sizeof(float));
}

} // namespace

Status attend_texts(const Context &c, const op::Attend &s, Failure *failure) {
    kv::Cache &cache = *c.caches[s.cache];
    const uint32_t sequence = 0, layer = c.one_layer ? 0 : s.layer;
    const kv::AttendOptions options = text_options(c, s);
    size_t end = 0;
    for (size_t i = 0; i < c.n_texts; i++) {
        const SequenceRows &text = c.inputs[i];
        end = text.first + text.n;
        Status status = c.one_layer ? cache.truncate(sequence, 0, failure) : Status::ok;
        if (status == Status::ok && !s.k.none()) {
            const kv::Source source = {c.at(s.k, text.first),
                                       s.v.none() ? nullptr : c.at(s.v, text.first)};
            status = cache.append(layer, sequence, text.n, nullptr, source, failure);
        }
        if (status == Status::ok)
            status = cache.attend({c.at(s.out, text.first), nullptr, layer, &sequence, 1,
                                   c.at(s.q, text.first), text.n},
                                  options, failure);
        if (status != Status::ok) return status;
    }
    clear_rest(c, s.out, end, c.n);
    return Status::ok;
}

Status run(const Context &c, const op::Pool &s, Failure *failure) {
    const Status status = for_rows(c.host(), c.n_texts, s.in.width,
                                   [&](size_t i) { pool(c.at(s.out, i), c, s, c.inputs[i]); });
    clear_rest(c, s.out, c.n_texts, c.n);
    return executor_failed(status, failure);
}

} // namespace ggufx::model
