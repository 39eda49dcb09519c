// Groups of query rows: the positions that they see, and packing for a page. Packed queries are
// rotated back by the shift of the keys, equalized, and transformed to the basis of the type. The
// result is interleaved floats, or integer codes with scales.
// SPDX-License-Identifier: MIT
#include "base/bytes.hpp"
#include "kv/attend.hpp"

#include <algorithm>
#include <string.h>

namespace ggufx::kv {

namespace {

using namespace kernels;

bool all_finite(const float *x, uint32_t n) {
    uint32_t largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t magnitude = f32_bits(x[i]) & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest < 0x7f800000u;
}

void put_floats(PackedQuery &out, uint32_t row, uint32_t width, const float *x, uint32_t n) {
    for (uint32_t c = 0; c < n; c++) out.x[size_t(c) * width + row] = x[c];
}

typedef float FourKeys __attribute__((vector_size(16)));
typedef uint32_t FourBits __attribute__((vector_size(16)));

// put_floats for four rows. finite[row]: all values of the row are finite.
void put_four_rows(PackedQuery &out, const float *const (&rows)[kRows], uint32_t n,
                   bool (&finite)[kRows]) {
    static_assert(kRows == 4);
    FourBits bad[kRows] = {};
    uint32_t c = 0;
    for (; c + 4 <= n; c += 4) {
        FourKeys x[kRows];
        for (uint32_t r = 0; r < kRows; r++) {
            memcpy(x + r, rows[r] + c, sizeof x[r]);
            FourBits magnitude;
            memcpy(&magnitude, x + r, sizeof magnitude);
            magnitude &= 0x7f800000u;
            bad[r] |= static_cast<FourBits>(magnitude == 0x7f800000u);
        }
        const FourKeys low01 = __builtin_shufflevector(x[0], x[1], 0, 4, 1, 5);
        const FourKeys low23 = __builtin_shufflevector(x[2], x[3], 0, 4, 1, 5);
        const FourKeys high01 = __builtin_shufflevector(x[0], x[1], 2, 6, 3, 7);
        const FourKeys high23 = __builtin_shufflevector(x[2], x[3], 2, 6, 3, 7);
        const FourKeys turned[4] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                                    __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                                    __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                                    __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
        memcpy(out.x + size_t(c) * kRows, turned, sizeof turned);
    }
    for (uint32_t r = 0; r < kRows; r++) {
        for (uint32_t i = c; i < n; i++) out.x[size_t(i) * kRows + r] = rows[r][i];
        finite[r] =
            (bad[r][0] | bad[r][1] | bad[r][2] | bad[r][3]) == 0 && all_finite(rows[r] + c, n - c);
    }
}

// Packs zeros for a missing row, or one that is not finite.
void pack_nothing(const AttendCall &call, PackedQuery &out, uint32_t row, uint32_t width,
                  float *x) {
    const uint32_t n = call.state->config.head_dim_k;
    const TypeOps &type = *call.layer->k;
    const uint32_t padded = type.is_float() ? n : padded_values(type, n);
    for (uint32_t c = 0; c < padded; c++) x[c] = 0.0f;
    put_floats(out, row, width, x, n);
    out.bias[row] = 0.0f;
    for (size_t c = 0; out.rotation && c < rotation_floats(n); c++)
        out.rotation[row * rotation_floats(n) + c] = 0.0f;
    if (!type.is_float())
        call.kernels->pack({type.kind, row, width, out.codes, out.d_q, out.s_q, out.q_sum}, x,
                           padded);
}

// Returns false if the query is not finite.
bool pack_row(const AttendCall &call, const Group &group, uint32_t row, PackedQuery &out,
              float *x) {
    const Config &config = call.state->config;
    const Layer &layer = *call.layer;
    const TypeOps &type = *layer.k;
    const uint32_t n = config.head_dim_k, width = group.width;
    const float *q = group.rows[row].q;
    if (!all_finite(q, n)) return false;
    for (uint32_t c = 0; c < n; c++) x[c] = q[c];
    rotate_position(*call.state, x, -out.delta);
    put_floats(out, row, width, x, n);
    out.bias[row] = 0.0f;
    if (type.is_float()) return true;
    const HeadCalibration calibration = calibration_head(
        call.state->config, layer, calibration_of(layer, *group.track), group.kv_head);
    if (calibration.mu_k && layer.before_rope)
        rotation_query(*call.state, x, calibration.mu_k, out.rotation + row * rotation_floats(n));
    else if (calibration.mu_k)
        // in two chains over even and odd coordinates, as scores of float keys
        out.bias[row] = call.kernels->dot(x, calibration.mu_k, n) * call.options.scale;
    for (uint32_t c = 0; calibration.mu_k && c < n; c++) x[c] = x[c] * calibration.eq_k[c];
    const uint32_t padded = padded_values(type, n);
    for (uint32_t c = n; c < padded; c++) x[c] = 0.0f;
    call.kernels->rotate(type.transform, x, transformed_values(type, n));
    return call.kernels->pack({type.kind, row, width, out.codes, out.d_q, out.s_q, out.q_sum}, x,
                              padded);
}

// Packs float rows that need no rotation.
void pack_four_rows(const AttendCall &call, const Group &group, PackedQuery &out, float *vector,
                    bool not_finite[kRows]) {
    const float *rows[kRows];
    bool finite[kRows];
    for (uint32_t r = 0; r < kRows; r++) rows[r] = group.rows[r < group.n_rows ? r : 0].q;
    put_four_rows(out, rows, call.state->config.head_dim_k, finite);
    for (uint32_t r = 0; r < kRows; r++) {
        out.bias[r] = 0.0f;
        if (finite[r] && r < group.n_rows) continue;
        pack_nothing(call, out, r, kRows, vector);
        not_finite[r] = r < group.n_rows;
    }
}

} // namespace

void pack_query(const AttendCall &call, const Group &group, int32_t delta, PackedQuery &out,
                float *vector, bool not_finite[kRows]) {
    const uint32_t n = call.state->config.head_dim_k;
    const bool coded = !call.layer->k->is_float();
    out.delta = delta;
    const bool as_they_are = !coded && group.width == kRows && !turns(*call.state, delta);
    if (as_they_are) pack_four_rows(call, group, out, vector, not_finite);
    for (uint32_t row = 0; row < group.width && !as_they_are; row++) {
        if (row < group.n_rows && pack_row(call, group, row, out, vector)) continue;
        pack_nothing(call, out, row, group.width, vector);
        not_finite[row] = row < group.n_rows;
    }
    const float scale = call.options.scale;
    out.plain = {n, scale, out.x, nullptr, nullptr, nullptr, nullptr, nullptr};
    const uint32_t values = coded ? padded_values(*call.layer->k, n) : n;
    const float *bias = coded && call.layer->centre_k ? out.bias : nullptr;
    out.coded = {values, scale, nullptr, out.codes, out.d_q, out.s_q, out.q_sum, bias};
}

KvQuery coded_query(const AttendCall &call, const Group &group, const PackedQuery &query,
                    const Block &block, float (&bias)[kRows]) {
    KvQuery coded = query.coded;
    if (!call.layer->before_rope) return coded;
    const auto n = static_cast<uint32_t>(rotation_floats(call.state->config.head_dim_k));
    call.kernels->dots(bias, query.rotation, rotation_of(*call.layer, block), n, group.width);
    for (uint32_t r = 0; r < group.width; r++) bias[r] = bias[r] * call.options.scale;
    coded.bias = bias;
    return coded;
}

int32_t position_of_token(const Track &track, uint64_t index) {
    size_t page = track.n_pages;
    uint64_t end = track.n_tokens;
    while (end - track.pages[page - 1].n > index) end -= track.pages[--page].n;
    const PageRef &ref = track.pages[page - 1];
    return position_at(ref, static_cast<uint32_t>(index - (end - ref.n)));
}

// Returns the positions that a query sees: all if not causal, else the intersection of the windows
// of layer and call. Without a window, positions up to its own.
Span span_of(const AttendCall &call, int64_t position) {
    if (!call.options.causal) return {INT64_MIN, INT64_MAX};
    const Window layer = call.layer->window, own = {call.options.window, call.options.window_kind};
    const Span a = layer.span(position), b = own.span(position);
    if (own.tokens == 0) return a;
    if (layer.tokens == 0) return b;
    return {a.after > b.after ? a.after : b.after, a.until < b.until ? a.until : b.until};
}

namespace {

void set_visible(const AttendCall &call, const Track &track, size_t query, Row &row) {
    const size_t in_set = query % call.n_queries;
    if (call.positions)
        row.position = call.positions[query];
    else if (call.n_queries - in_set <= track.n_tokens - track.n_dropped)
        row.position = position_of_token(track, track.n_tokens - (call.n_queries - in_set));
    else
        row.position = 0; // not causal: the query sees every position
    row.sees = span_of(call, row.position);
}

// Finds row `row` of a KV head: queries of the set ascend, each with the query heads that share the
// KV head.
void find_row(const AttendCall &call, size_t set, uint32_t kv_head, size_t row, Row &out) {
    const Config &c = call.state->config;
    const uint32_t ratio = call.ratio();
    out.query = set * call.n_queries + row / ratio;
    out.head = size_t(kv_head) * ratio + row % ratio;
    out.q = call.q + (out.query * c.n_q_heads + out.head) * c.head_dim_k;
}

// Prefetches query rows: they are too far apart for hardware prefetchers.
void fetch_rows(const AttendCall &call, size_t set, uint32_t kv_head, size_t first, size_t end) {
    const uint32_t n = call.state->config.head_dim_k, line = 64 / sizeof(float);
    Row row;
    for (; first < end; first++) {
        find_row(call, set, kv_head, first, row);
        for (uint32_t i = 0; i < n; i += line) __builtin_prefetch(row.q + i);
    }
}

} // namespace

void prepare_group(const AttendCall &call, size_t index, Group &group, AttendLocal &local) {
    const Config &c = call.state->config;
    const size_t per_head = call.groups_per_head(), per_set = per_head * c.n_kv_heads;
    const size_t set = index / per_set, first = index % per_head * kRows;
    const size_t n_rows = call.n_queries * call.ratio(), left = n_rows - first;
    group.track = &call.state->track(call.layer_index, call.sequences[set]);
    group.kv_head = static_cast<uint32_t>(index % per_set / per_head);
    group.n_rows = static_cast<uint32_t>(left < kRows ? left : kRows);
    group.width = group.n_rows == 3 ? 4 : group.n_rows;
    for (uint32_t r = 0; r < group.n_rows; r++) {
        Row &row = group.rows[r];
        find_row(call, set, group.kv_head, first + r, row);
        set_visible(call, *group.track, row.query, row);
    }
    fetch_rows(call, set, group.kv_head, std::min(first + kRows, n_rows),
               std::min(first + size_t{2} * kRows, n_rows));
    clear_sums(group.total);
    const Track &track = *group.track;
    const int32_t delta = track.n_pages ? track.pages[track.n_pages - 1].delta : 0;
    pack_query(call, group, delta, group.query, local.vector, group.total.not_finite);
}

} // namespace ggufx::kv
