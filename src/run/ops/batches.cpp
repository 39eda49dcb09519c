// Operations over whole batches: products, attention, embeddings.
// SPDX-License-Identifier: MIT
#include "run/ops/adapt.hpp"
#include "run/ops/pool.hpp"
#include "run/ops/recurrent.hpp"
#include "run/peers.hpp"
#include "run/rows.hpp"

#include <string.h>

#include <algorithm>

namespace ggufx::model {

namespace {

// Returns the caller's row that replaces a row of the stream, or null.
const float *given_row(const Context &c, const op::Embed &s, size_t row) {
    const bool begins_stream = !s.by_position && s.out.buffer == c.graph.stream.buffer;
    return begins_stream && c.embeddings ? c.embeddings[row] : nullptr;
}

Status run(const Context &c, const op::Embed &s, Failure *failure) {
    const auto *ids = s.by_position ? reinterpret_cast<const int32_t *>(c.positions) : c.tokens;
    Status status = Status::ok;
    for (size_t i = 0; i < c.n && status == Status::ok; i++)
        status = c.engine.dequantize(c.at(s.out, i), c.weights(s.weights),
                                     static_cast<uint64_t>(ids[i]), 1, failure);
    const Adapted table = {s.weights, nullptr, 0, c.at(s.out, 0), c.stride(s.out)};
    if (status == Status::ok) status = adapt_rows(c, table, ids, failure);
    if (status != Status::ok) return status;
    const CanonicalFp canonical;
    for (size_t i = 0; i < c.n; i++) {
        if (const float *given = given_row(c, s, i))
            memcpy(c.at(s.out, i), given, s.out.width * sizeof(float));
        else if (s.scale != 1)
            c.rows.scale(c.at(s.out, i), s.scale, s.out.width);
    }
    return status;
}

// Shows a successful product to its watcher, if there is one.
Status watched(const Context &c, Status status, const uint32_t *weights, uint32_t n,
               const ProductColumns &columns, Failure *failure) {
    if (status != Status::ok || !c.products) return status;
    return c.products->product_done(weights, n, columns, failure);
}

ProductColumns columns_of(const Context &c, const op::Product &s) {
    return {c.at(s.in, 0), c.stride(s.in), c.n};
}

// Ends a product whose matrices are multiplied.
Status finish(const Context &c, const op::Product &s, Status status, Failure *failure) {
    const ProductColumns in = columns_of(c, s);
    uint32_t weights[4];
    for (uint32_t i = 0; i < s.n; i++) {
        const op::Product::To &to = s.to[i];
        weights[i] = to.weights;
        if (status == Status::ok)
            status =
                adapt(c, {to.weights, in.x, in.stride, c.at(to.out, 0), c.stride(to.out)}, failure);
    }
    return watched(c, status, weights, s.n, in, failure);
}

Status run(const Context &c, const op::Product &s, Failure *failure) {
    matmul::Product list[4];
    for (uint32_t i = 0; i < s.n; i++)
        list[i] = {c.weights(s.to[i].weights), c.at(s.to[i].out, 0), c.stride(s.to[i].out)};
    const ProductColumns in = columns_of(c, s);
    return finish(c, s, c.engine.matmul_many(list, s.n, in.x, in.stride, in.n, c.options, failure),
                  failure);
}

constexpr uint64_t kBlockRows = 64; // whole tiles

// A device runs whole products.
bool has_blocks(const Context &c, const op::Product &s) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < s.n; i++) {
        const matmul::Weights &w = c.weights(s.to[i].weights);
        if (w.remote.home) return false;
        n += w.n_rows * w.n_cols;
    }
    return n > c.block_weights;
}

// Runs the next rows of one matrix; *row counts those of all matrices.
Status run_rows(const Context &c, const op::Product &s, uint64_t *row, Failure *failure) {
    uint64_t first = *row;
    uint32_t i = 0;
    while (first >= c.weights(s.to[i].weights).n_rows) first -= c.weights(s.to[i++].weights).n_rows;
    const op::Product::To &to = s.to[i];
    matmul::Weights w = c.weights(to.weights);
    const uint64_t left = w.n_rows - first;
    const uint64_t rows =
        c.block_weights ? c.block_weights / w.n_cols / kBlockRows * kBlockRows : left;
    w.data += first * w.stride;
    w.n_rows = std::min(left, std::max(rows, kBlockRows));
    const bool is_last = i + 1 == s.n && w.n_rows == left;
    *row = is_last ? 0 : *row + w.n_rows;
    const ProductColumns in = columns_of(c, s);
    const Status status = c.engine.matmul(c.at(to.out, 0) + first, c.stride(to.out), w, in.x,
                                          in.stride, in.n, c.options, failure);
    return is_last ? finish(c, s, status, failure) : status;
}

Status run(const Context &c, const op::HeadProduct &s, Failure *failure) {
    uint32_t *ids = reinterpret_cast<uint32_t *>(c.at(s.ids, 0));
    for (size_t i = 0; i < c.n; i++)
        for (uint32_t head = 0; head < s.heads; head++) ids[i * s.heads + head] = head;
    const WeightInfo &weights = c.graph.weights[s.weights];
    const matmul::Experts heads = {weights.w, s.heads, ids, 1, weights.part_stride};
    const ProductColumns in = {c.at(s.in, 0), s.in_stride, c.n * s.heads, ids, 1};
    float *const out = c.at(s.out, 0);
    Status status =
        c.engine.matmul_id(out, s.out_stride, heads, in.x, in.stride, in.n, c.options, failure);
    if (status == Status::ok)
        status =
            adapt(c, {s.weights, in.x, in.stride, out, s.out_stride, ids, s.heads, true}, failure);
    return watched(c, status, &s.weights, 1, in, failure);
}

// Sorts the pairs of a token and one of its experts by expert. Pairs of expert e: starts[e] ..
// starts[e + 1] - 1.
void sort_by_expert(uint32_t *order, uint32_t (&starts)[kMaxExperts + 1], const uint32_t *ids,
                    size_t n_pairs, uint32_t n_experts) {
    for (uint32_t e = 0; e <= n_experts; e++) starts[e] = 0;
    for (size_t i = 0; i < n_pairs; i++) starts[ids[i] + 1]++;
    for (uint32_t e = 0; e < n_experts; e++) starts[e + 1] += starts[e];
    uint32_t next[kMaxExperts];
    for (uint32_t e = 0; e < n_experts; e++) next[e] = starts[e];
    for (size_t i = 0; i < n_pairs; i++) order[next[ids[i]]++] = static_cast<uint32_t>(i);
}

// Runs experts that are separate matrices: one product each, over the columns routed to it.
Status run_separate(const Context &c, const op::ExpertProduct &s, Failure *failure) {
    const size_t n_pairs = c.n * s.used, rows = s.out.width / s.used;
    const size_t width = s.columns.width / s.used;
    uint32_t *order = reinterpret_cast<uint32_t *>(c.at(s.order, 0));
    uint32_t starts[kMaxExperts + 1];
    sort_by_expert(order, starts, reinterpret_cast<const uint32_t *>(c.at(s.ids, 0)), n_pairs,
                   s.separate);
    float *columns = c.at(s.columns, 0), *results = c.at(s.results, 0);
    for (size_t i = 0; i < n_pairs; i++) {
        const size_t token = order[i] / s.used, part = order[i] % s.used;
        const float *in = c.at(s.in, token) + (s.each ? part * width : 0);
        memcpy(columns + i * width, in, width * sizeof(float));
    }
    for (uint32_t e = 0; e < s.separate; e++) {
        const size_t first = starts[e], n = starts[e + 1] - first;
        if (n == 0) continue;
        const ProductColumns in = {columns + first * width, width, n};
        const uint32_t weights = s.weights + e;
        float *const out = results + first * rows;
        Status status = c.engine.matmul(out, rows, c.weights(weights), in.x, in.stride, in.n,
                                        c.options, failure);
        if (status == Status::ok)
            status = adapt_scattered(c, {weights, in.x, in.stride, out, rows}, order + first, n,
                                     s.used, failure);
        status = watched(c, status, &weights, 1, in, failure);
        if (status != Status::ok) return status;
    }
    for (size_t i = 0; i < n_pairs; i++)
        memcpy(c.at(s.out, 0) + order[i] * rows, results + i * rows, rows * sizeof(float));
    return Status::ok;
}

Status run(const Context &c, const op::ExpertProduct &s, Failure *failure) {
    if (s.separate) return run_separate(c, s, failure);
    const uint32_t *ids = reinterpret_cast<const uint32_t *>(c.at(s.ids, 0));
    const WeightInfo &weights = c.graph.weights[s.weights];
    const size_t rows = s.out.width / s.used;
    const matmul::Experts experts = {weights.w, weights.n_parts, ids, s.each ? 1 : s.used,
                                     weights.part_stride};
    const ProductColumns in = {c.at(s.in, 0), s.each ? s.in.width / s.used : c.stride(s.in),
                               s.each ? c.n * s.used : c.n, ids, s.each ? 1 : s.used};
    float *const out = c.at(s.out, 0);
    Status status =
        c.engine.matmul_id(out, rows, experts, in.x, in.stride, in.n, c.options, failure);
    if (status == Status::ok)
        status = adapt(c, {s.weights, in.x, in.stride, out, rows, ids, s.used, s.each}, failure);
    return watched(c, status, &s.weights, 1, in, failure);
}

kv::Source source_of(const Context &c, const op::Attend &s, size_t row) {
    return {c.at(s.k, row), s.v.none() ? nullptr : c.at(s.v, row)};
}

// Attends page by page if the cache quantizes; the bits do not depend on that. If other layers read
// the same keys later, it attends all at once: their queries see pages before quantization.
Status attend_run(const Context &c, const op::Attend &s, const BatchPart &part,
                  const kv::AttendOptions &options, Failure *failure) {
    kv::Cache &cache = *c.caches[s.cache];
    for (size_t done = 0, step; done < part.n; done += step) {
        const size_t row = part.row + done;
        step = s.shared ? part.n : cache.whole_step(s.layer, part.sequence, part.n - done);
        Status status = Status::ok;
        const auto *positions = reinterpret_cast<const int32_t *>(c.positions + row);
        if (!s.k.none())
            status = cache.append(s.layer, part.sequence, step, positions, source_of(c, s, row),
                                  failure);
        if (status == Status::ok)
            status = cache.attend(
                {c.at(s.out, row), nullptr, s.layer, &part.sequence, 1, c.at(s.q, row), step},
                options, failure);
        if (status != Status::ok) return status;
    }
    return Status::ok;
}

// Attends one token of each of n sequences, in adjacent rows from `row` on.
Status attend_single(const Context &c, const op::Attend &s, size_t row, size_t n,
                     const kv::AttendOptions &options, Failure *failure) {
    kv::Cache &cache = *c.caches[s.cache];
    const uint32_t *sequences = c.sequences + row;
    Status status = Status::ok;
    if (!s.k.none()) {
        const auto *positions = reinterpret_cast<const int32_t *>(c.positions + row);
        status =
            cache.append_batch(s.layer, n, sequences, positions, source_of(c, s, row), failure);
    }
    if (status != Status::ok) return status;
    return cache.attend({c.at(s.out, row), nullptr, s.layer, sequences, n, c.at(s.q, row), 1},
                        options, failure);
}

Status run(const Context &c, const op::Attend &s, Failure *failure) {
    if (c.inputs) return attend_texts(c, s, failure);
    const kv::AttendOptions options = attend_options(c, s);
    Status status = Status::ok;
    for (size_t i = 0, n; i < c.n_parts && status == Status::ok; i += n) {
        for (n = 0; i + n < c.n_parts && c.parts[i + n].n == 1;) n++;
        if (n > 1) {
            status = attend_single(c, s, c.parts[i].row, n, options, failure);
            continue;
        }
        n = 1;
        status = attend_run(c, s, c.parts[i], options, failure);
    }
    if (status != Status::ok || !c.watcher || s.k.none()) return status;
    return c.watcher->attention_done(s.model_layer, c.n, c.at(s.q, 0), c.at(s.k, 0),
                                     s.v.none() ? nullptr : c.at(s.v, 0), c.at(s.out, 0), failure);
}

Status run(const Context &c, const op::AllGather &s, Failure *failure) {
    return c.peers->exchange(c, s, failure);
}

} // namespace

kv::AttendOptions attend_options(const Context &c, const op::Attend &s) {
    kv::AttendOptions options;
    options.causal = s.causal;
    options.scale = s.scale;
    options.softcap = s.cap;
    options.sink_logits = c.graph.vector(s.sinks);
    options.alibi_slopes = s.slopes == kNoIndex ? nullptr : c.graph.slopes.data() + s.slopes;
    options.progress = c.options.progress;
    return options;
}

Status executor_failed(Status status, Failure *failure) {
    if (status == Status::ok) return status;
    return set_failure(failure, status, {},
                       status == Status::cancelled ? "the progress callback cancelled the call"
                                                   : "the executor failed");
}

Status run_batch(const Context &c, const Op &op, Failure *failure) {
    return std::visit(
        [&](const auto &s) {
            if constexpr (std::decay_t<decltype(s)>::kRows)
                return Status::ok; // row-wise: run_row
            else
                return run(c, s, failure);
        },
        op);
}

Status run_block(const Context &c, const Op &op, uint64_t *row, Failure *failure) {
    const auto *product = std::get_if<op::Product>(&op);
    if (product && (*row > 0 || has_blocks(c, *product)))
        return run_rows(c, *product, row, failure);
    return run_batch(c, op, failure);
}

} // namespace ggufx::model
