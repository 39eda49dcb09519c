// Append: everything is checked and all pages are taken before the first byte is written, and the
// new length is set last, so that a failed append leaves the sequence as it was.
// SPDX-License-Identifier: MIT
#include "base/bytes.hpp"
#include "base/fpenv.hpp"
#include "kv/state.hpp"

namespace ggufx::kv {

namespace {

using ull = unsigned long long;

constexpr uint32_t kTaskTokens = 16;
constexpr uint64_t kSerialFloats = 1u << 15; // below: about 50 us of encoding, not worth a task

// Index of the first float a stream of this type cannot hold, or n.
size_t first_refused(const float *x, size_t n, uint32_t limit_bits) {
    constexpr size_t kStep = 256;
    for (size_t start = 0; start < n; start += kStep) {
        const size_t end = n - start < kStep ? n : start + kStep;
        uint32_t largest = 0;
        for (size_t i = start; i < end; i++) {
            const uint32_t magnitude = f32_bits(x[i]) & 0x7fffffffu;
            largest = magnitude > largest ? magnitude : largest;
        }
        if (largest <= limit_bits) continue;
        for (size_t i = start; i < end; i++)
            if ((f32_bits(x[i]) & 0x7fffffffu) > limit_bits) return i;
    }
    return n;
}

Status check_values(const float *x, size_t n, const TypeOps &type, const char *name,
                    Failure *failure) {
    const size_t at = first_refused(x, n, type.limit_bits);
    if (at == n) return Status::ok;
    const bool finite = (f32_bits(x[at]) & 0x7fffffffu) < 0x7f800000u;
    return set_failure(failure, Status::value, {.index = at}, "%s[%zu] %s", name, at,
                       finite ? "is too large for the type of its stream" : "is NaN or infinite");
}

// The new positions do not descend, from the last one held on.
Status check_positions(const int32_t *positions, size_t n, const int32_t *last, Failure *failure) {
    if (!positions) {
        const int64_t first = last ? int64_t(*last) + 1 : 0;
        const int64_t room = INT32_MAX - first + 1;
        if (room > 0 && n <= uint64_t(room)) return Status::ok;
        return set_failure(failure, Status::argument, {},
                           "%zu tokens after position %lld exceed the largest position %d", n,
                           static_cast<long long>(first - 1), INT32_MAX);
    }
    for (size_t i = 0; i < n; i++) {
        if (!last || positions[i] >= *last) {
            last = positions + i;
            continue;
        }
        return set_failure(failure, Status::argument, {.index = i},
                           "positions[%zu] is %d after %d: positions must not descend", i,
                           positions[i], *last);
    }
    return Status::ok;
}

struct Encode {
    const Config *config;
    const Layout *layout;
    const TypeOps *k_type, *v_type;
    const Track *track;
    const int32_t *positions; // null: first_position, +1, ...
    int64_t first_position;
    const float *k, *v;
    size_t n_tokens;

    void token(size_t t) const {
        const uint32_t heads = config->n_kv_heads, dk = config->head_dim_k, dv = config->head_dim_v;
        const uint64_t at = track->n_tokens + t;
        const size_t slot = static_cast<size_t>(at % kPageTokens);
        uint8_t *page = track->pages[static_cast<size_t>(at / kPageTokens)];
        for (uint32_t h = 0; h < heads; h++) {
            const size_t row = size_t(h) * kPageTokens + slot, source = t * heads + h;
            k_type->encode(page + row * layout->k_row, k + source * dk, dk);
            v_type->encode(page + layout->v_offset + row * layout->v_row, v + source * dv, dv);
        }
        auto *page_positions = reinterpret_cast<int32_t *>(page + layout->positions_offset);
        page_positions[slot] =
            positions ? positions[t] : static_cast<int32_t>(first_position + int64_t(t));
    }
    static void task(void *ctx, uint32_t index, uint32_t) {
        const Encode &e = *static_cast<const Encode *>(ctx);
        const size_t first = size_t(index) * kTaskTokens;
        const size_t left = e.n_tokens - first, n = left < kTaskTokens ? left : kTaskTokens;
        for (size_t t = first; t < first + n; t++) e.token(t);
    }
};

Status encode_all(const Host &host, Encode &e, uint64_t n_floats, Failure *failure) {
    const uint64_t n_tasks = (uint64_t(e.n_tokens) + kTaskTokens - 1) / kTaskTokens;
    if (n_floats <= kSerialFloats || n_tasks > UINT32_MAX) {
        const CanonicalFp fp;
        for (size_t t = 0; t < e.n_tokens; t++) e.token(t);
        return Status::ok;
    }
    const Status status = host.parallel_for(static_cast<uint32_t>(n_tasks), Encode::task, &e);
    if (status == Status::ok) return status;
    return set_failure(failure, status, {}, "the executor did not run the tasks of an append");
}

} // namespace

Status Cache::append(uint32_t layer, uint32_t sequence, size_t n_tokens, const int32_t *positions,
                     const float *k, const float *v, Failure *failure) {
    State &s = *state_;
    const Config &c = s.config;
    Status status = check_layer(c, layer, failure);
    if (status == Status::ok) status = check_sequence(c, sequence, failure);
    if (status != Status::ok || n_tokens == 0) return status;
    Track &track = s.track(layer, sequence);
    const int32_t *last = track.n_tokens ? s.positions(track, track.n_tokens - 1) : nullptr;
    status = check_positions(positions, n_tokens, last, failure);
    if (status != Status::ok) return status;
    if (c.max_tokens && (track.n_tokens > c.max_tokens || n_tokens > c.max_tokens - track.n_tokens))
        return set_failure(failure, Status::capacity, {},
                           "append %zu tokens to %llu: max_tokens of the cache is %llu", n_tokens,
                           ull(track.n_tokens), ull(c.max_tokens));
    const size_t n_k = n_tokens * c.n_kv_heads * c.head_dim_k;
    const size_t n_v = n_tokens * c.n_kv_heads * c.head_dim_v;
    status = check_values(k, n_k, *s.k_type, "k", failure);
    if (status == Status::ok) status = check_values(v, n_v, *s.v_type, "v", failure);
    const size_t n_pages_before = track.n_pages;
    if (status == Status::ok)
        status = take_pages(*s.host, s.layout, &track, 1, 1, track.n_tokens + n_tokens, failure);
    if (status != Status::ok) return status;
    Encode e = {&c, &s.layout, s.k_type, s.v_type, &track, positions, last ? int64_t(*last) + 1 : 0,
                k,  v,         n_tokens};
    status = encode_all(*s.host, e, uint64_t(n_k) + n_v, failure);
    if (status == Status::ok)
        track.n_tokens += n_tokens;
    else
        drop_pages_from(*s.host, s.layout, track, n_pages_before);
    return status;
}

} // namespace ggufx::kv
