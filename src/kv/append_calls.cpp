// Cache::append and append_batch: check values and positions, take memory for all tokens, then
// append the tokens of each sequence.
// SPDX-License-Identifier: MIT
#include "base/bytes.hpp"
#include "base/checked.hpp"
#include "base/half.hpp"
#include "kv/append.hpp"

#include <string.h>
#include <type_traits>

namespace ggufx::kv {

namespace {

uint32_t magnitude_of(const void *data, SourceType type, size_t i) {
    return f32_bits(source_value(data, type, i)) & 0x7fffffffu;
}

typedef int32_t FourInts __attribute__((vector_size(16)));
typedef int16_t Eight __attribute__((vector_size(16)));

// Returns whether one of n values has a magnitude above `limit`. n is a multiple of the lanes of V;
// x may be unaligned. Magnitudes order like their bits, in 16-bit floats too: finite < infinity <
// NaN.
template <class V> bool any_beyond(const void *x, size_t n, uint32_t limit) {
    using T = typename std::remove_reference<decltype(V{}[0])>::type;
    const auto *from = static_cast<const uint8_t *>(x);
    constexpr T kMagnitude = sizeof(T) == 4 ? T(INT32_MAX) : T(INT16_MAX);
    const T most = static_cast<T>(limit);
    V beyond = {}, v;
    for (size_t i = 0; i < n * sizeof(T); i += sizeof(V)) {
        memcpy(&v, from + i, sizeof v);
        beyond |= (v & kMagnitude) > most;
    }
    uint64_t bits[sizeof(V) / sizeof(uint64_t)];
    memcpy(bits, &beyond, sizeof bits);
    return (bits[0] | bits[1]) != 0;
}

// Returns the largest magnitude, in bits of the source type, that a stream with the f32 limit
// `limit_bits` accepts. Every finite f16 passes all limits.
uint32_t limit_in(SourceType type, uint32_t limit_bits) {
    if (type == SourceType::f32) return limit_bits;
    return type == SourceType::f16 ? 0x7bffu : limit_bits >> 16;
}

// Returns the index of the first value that a stream of this type cannot hold, or n.
size_t first_refused(const void *x, SourceType type, size_t n, uint32_t limit_bits) {
    constexpr size_t kStep = 256, kLanes = 8;
    const uint32_t limit = limit_in(type, limit_bits);
    const size_t bytes = type == SourceType::f32 ? sizeof(float) : sizeof(uint16_t);
    for (size_t start = 0; start < n; start += kStep) {
        const size_t count = n - start < kStep ? n - start : kStep;
        const size_t whole = count / kLanes * kLanes;
        const void *from = static_cast<const uint8_t *>(x) + start * bytes;
        bool fits = !(type == SourceType::f32 ? any_beyond<FourInts>(from, whole, limit)
                                              : any_beyond<Eight>(from, whole, limit));
        for (size_t i = start + whole; i < start + count; i++)
            fits &= magnitude_of(x, type, i) <= limit_bits;
        if (fits) continue;
        for (size_t i = start; i < start + count; i++)
            if (magnitude_of(x, type, i) > limit_bits) return i;
    }
    return n;
}

const void *advance(const void *data, SourceType type, size_t n) {
    const size_t bytes = type == SourceType::f32 ? sizeof(float) : sizeof(uint16_t);
    return data ? static_cast<const uint8_t *>(data) + n * bytes : data;
}

// Checks `tokens` rows of `n` values; dense rows are one.
Status check_values(const Source &source, Side side, size_t tokens, size_t n, size_t stride,
                    const TypeOps &type, Failure *failure) {
    const void *const rows = side == Side::k ? source.k : source.v;
    const size_t n_rows = stride == n ? 1 : tokens, n_values = stride == n ? tokens * n : n;
    for (size_t row = 0; row < n_rows; row++) {
        const void *const x = advance(rows, source.type, row * stride);
        const size_t at = first_refused(x, source.type, n_values, type.limit_bits);
        if (at == n_values) continue;
        const bool finite = magnitude_of(x, source.type, at) < 0x7f800000u;
        const size_t token = row + at / n;
        return set_failure(failure, Status::value, {.index = token}, "%s[%zu] of token %zu %s",
                           side == Side::k ? "k" : "v", at % n, token,
                           finite ? "is too large for its KV type" : "is NaN or infinite");
    }
    return Status::ok;
}

Status check_all_values(const Cache::State &s, const Layer &layer, const Source &source,
                        size_t n_tokens, Failure *failure) {
    const auto check = [&](Side side, const TypeOps &type) {
        return check_values(source, side, n_tokens, s.head_dim(side) * size_t(s.config.n_kv_heads),
                            source_stride(s.config, source, side), type, failure);
    };
    const Status status = check(Side::k, *layer.k);
    return status != Status::ok || s.config.v_in_k ? status : check(Side::v, *layer.v);
}

// Returns the position of the last token held, or -1 for an empty track.
int64_t last_of(const Track &track) {
    return track.n_pages ? last_position(track) : -1;
}

// Releases the plain forms kept for queries of the previous append, and notes the page to reuse.
void begin_append(const Cache::State &state, Layer &layer, Track &track) {
    settle_track(state, layer, track);
    track.reuses = reused_page(layer, track) != nullptr;
    track.next_position = track.n_pages ? last_of(track) + 1 : INT64_MAX;
}

// Drops pages that no token from the first new one on can see. If the append skipped positions,
// those count too: a rollback may be followed by tokens at them.
void end_append(const Cache::State &state, Layer &layer, Track &track, int32_t first) {
    drop_window(state, layer, track, track.next_position < first ? track.next_position : first);
    trim_plain(state, layer, track);
}

Status refuse_position(Failure *failure, size_t i, int32_t position, int32_t last) {
    if (position < 0)
        return set_failure(failure, Status::argument, {.index = i},
                           "positions[%zu] is %d: positions must not be negative", i, position);
    return set_failure(failure, Status::argument, {.index = i},
                       "positions[%zu] is %d after %d: positions must not descend", i, position,
                       last);
}

// Checks that positions do not descend, from the last one held or 0 on; without positions, that n
// more fit up to INT32_MAX.
Status check_positions(const int32_t *positions, size_t n, const Track &track, Failure *failure) {
    if (!positions) {
        const int64_t room = INT32_MAX - last_of(track);
        if (room > 0 && n <= uint64_t(room)) return Status::ok;
        return set_failure(failure, Status::argument, {},
                           "%zu tokens after position %lld exceed the largest position %d", n,
                           static_cast<long long>(last_of(track)), INT32_MAX);
    }
    int32_t last = track.n_pages ? last_position(track) : 0;
    for (size_t i = 0; i < n; last = positions[i++])
        if (positions[i] < last) return refuse_position(failure, i, positions[i], last);
    return Status::ok;
}

Status check_capacity(const Config &c, const Track &track, uint64_t n, Failure *failure) {
    const uint64_t limit = c.max_tokens && c.max_tokens < kMostTokens ? c.max_tokens : kMostTokens;
    uint64_t total = 0;
    if (checked::add(&total, track.n_tokens, n) && total <= limit) return Status::ok;
    const uint64_t left = limit > track.n_tokens ? limit - track.n_tokens : 0;
    return set_failure(failure, Status::capacity, {.value = n, .limit = left},
                       "cannot append %llu tokens to %llu: %s is %llu", ull(n), ull(track.n_tokens),
                       limit == c.max_tokens ? "max_tokens of the cache" : "the limit", ull(limit));
}

Status no_pages(const Cache::State &s, uint32_t layer, Status why, uint64_t n, Failure *failure) {
    if (why == Status::capacity) return refuse_pages(s, layer, n, failure);
    return set_failure(failure, Status::memory, {},
                       "no memory for the pages of %llu tokens of %u heads", ull(n),
                       s.config.n_kv_heads);
}

} // namespace

Status Cache::append(uint32_t layer_index, uint32_t sequence, size_t n_tokens,
                     const int32_t *positions, const Source &source, Failure *failure) {
    State &s = *state_;
    Status status = check_layer(s.config, layer_index, failure);
    if (status == Status::ok) status = check_sequence(s.config, sequence, failure);
    if (status != Status::ok || n_tokens == 0) return status;
    Layer &layer = s.layers[layer_index];
    Track &track = s.track(layer_index, sequence);
    status = check_positions(positions, n_tokens, track, failure);
    if (status == Status::ok) status = check_capacity(s.config, track, n_tokens, failure);
    if (status == Status::ok) status = check_all_values(s, layer, source, n_tokens, failure);
    if (status != Status::ok) return status;
    status = prepare(s, layer, track, n_tokens, Steps::one);
    if (status != Status::ok) return no_pages(s, layer_index, status, n_tokens, failure);
    const Positions at = {positions, last_of(track) + 1};
    begin_append(s, layer, track);
    AppendRun run(s, layer, track, source, n_tokens);
    run.fill();
    run.commit(at);
    end_append(s, layer, track, at.at(0));
    return status;
}

// ---- batches: runs of tokens of one sequence ----------------------------------------------------

namespace {

struct AppendBatch {
    Cache::State &state;
    uint32_t layer;
    size_t n;
    const uint32_t *sequences;
    const int32_t *positions;

    size_t run_end(size_t begin) const {
        size_t end = begin + 1;
        while (end < n && sequences[end] == sequences[begin]) end++;
        return end;
    }
    // Sets the index of the first token and the number of tokens in each track.
    void count() const {
        for (size_t i = n; i-- > 0;) track(i).batch_first = i, track(i).batch_tokens = 0;
        for (size_t i = 0; i < n; i++) track(i).batch_tokens++;
    }
    // first token of its sequence in the batch
    bool is_first(size_t i) const { return track(i).batch_first == i; }
    Track &track(size_t i) const { return state.track(layer, sequences[i]); }
};

Status check_batch(const AppendBatch &b, Failure *failure) {
    for (size_t i = 0; i < b.n; i++) {
        const Status status = check_sequence(b.state.config, b.sequences[i], failure);
        if (status != Status::ok) return status;
    }
    b.count();
    for (size_t i = 0; i < b.n; i++) {
        Track &track = b.track(i);
        if (b.is_first(i)) {
            const Status status =
                check_capacity(b.state.config, track, track.batch_tokens, failure);
            if (status != Status::ok) return status;
            track.batch_last = track.n_pages ? last_position(track) : 0;
        }
        if (b.positions[i] < track.batch_last)
            return refuse_position(failure, i, b.positions[i], track.batch_last);
        track.batch_last = b.positions[i];
    }
    return Status::ok;
}

// Takes memory for all sequences, or for none.
Status prepare_batch(const AppendBatch &b, Layer &layer) {
    Status status = Status::ok;
    size_t end = 0;
    for (; status == Status::ok && end < b.n; end++) {
        if (!b.is_first(end)) continue;
        Track &track = b.track(end);
        for (const Form form : kForms) track.n_marked[form] = track.n_spare[form];
        status = prepare(b.state, layer, track, track.batch_tokens, Steps::one);
        track.prepared = true;
    }
    for (size_t i = 0; i < end; i++) {
        b.track(i).prepared = false;
        for (const Form form : kForms)
            if (status != Status::ok)
                drop_spares(*b.state.host, layer, b.track(i), form, b.track(i).n_marked[form]);
    }
    return status;
}

} // namespace

Status Cache::append_batch(uint32_t layer_index, size_t n_tokens, const uint32_t *sequences,
                           const int32_t *positions, const Source &source, Failure *failure) {
    State &s = *state_;
    Status status = check_layer(s.config, layer_index, failure);
    if (status != Status::ok || n_tokens == 0) return status;
    Layer &layer = s.layers[layer_index];
    const AppendBatch batch = {s, layer_index, n_tokens, sequences, positions};
    status = check_batch(batch, failure);
    if (status == Status::ok) status = check_all_values(s, layer, source, n_tokens, failure);
    if (status != Status::ok) return status;
    status = prepare_batch(batch, layer);
    if (status != Status::ok) return no_pages(s, layer_index, status, n_tokens, failure);
    for (size_t i = 0; i < n_tokens; i++)
        if (batch.is_first(i)) begin_append(s, layer, batch.track(i));
    for (size_t i = 0; i < n_tokens;) {
        const size_t end = batch.run_end(i);
        Source part = source;
        part.k = advance(source.k, source.type, i * source_stride(s.config, source, Side::k));
        part.v = advance(source.v, source.type, i * source_stride(s.config, source, Side::v));
        AppendRun run(s, layer, batch.track(i), part, end - i);
        run.fill();
        run.commit({positions + i, 0});
        i = end;
    }
    for (size_t i = 0; i < n_tokens; i++)
        if (batch.is_first(i)) end_append(s, layer, batch.track(i), positions[i]);
    return Status::ok;
}

} // namespace ggufx::kv
