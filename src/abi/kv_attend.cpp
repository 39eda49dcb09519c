// KV cache: attention, reads and attention scores: include/ggufx/kv.h.
// SPDX-License-Identifier: MIT
#include "abi/kv_handle.hpp"
#include "abi/options.hpp"

using namespace ggufx;
using namespace ggufx::abi;

namespace {

Status check_per_head(const float *data, size_t n, const char *name, uint32_t heads,
                      ggufx_error *error) {
    if (n == (data ? heads : 0)) return Status::ok;
    return set_failure(failure_of(error), Status::argument, {},
                       "%s has %zu values; there are %u query heads", name, n, heads);
}

Status import_attend(kv::AttendOptions &out, const kv::Config &c,
                     const ggufx_attend_options *options, ggufx_error *error) {
    const auto in = import_options(options, GGUFX_ATTEND_ALL, "ggufx_attend_options");
    Status status =
        check_per_head(in.alibi_slopes, in.n_alibi_slopes, "alibi_slopes", c.n_q_heads, error);
    if (status == Status::ok)
        status =
            check_per_head(in.sink_logits, in.n_sink_logits, "sink_logits", c.n_q_heads, error);
    if (in.window_kind > GGUFX_KV_WINDOW_SYMMETRIC || (in.window == 0 && in.window_kind))
        return set_failure(failure_of(error), Status::argument, {},
                           "window_kind %u of a window of %u positions is unknown", in.window_kind,
                           in.window);
    out.causal = !(in.flags & GGUFX_ATTEND_ALL);
    out.scale = in.scale;
    out.softcap = in.softcap;
    out.window = in.window;
    out.window_kind = static_cast<kv::WindowKind>(in.window_kind);
    out.alibi_slopes = in.alibi_slopes;
    out.sink_logits = in.sink_logits;
    out.progress = import_progress(in.progress);
    return status;
}

// Queries of a call: n_queries for each of n sequences.
struct Queries {
    const uint32_t *sequences;
    size_t n, n_queries;
    const float *q;
    size_t n_q;
    const int32_t *positions;
};

Status attend(float *out, size_t n_out, float *lse, const ggufx_kv *kv, uint32_t layer,
              const Queries &queries, const ggufx_attend_options *options, ggufx_error *error) {
    const kv::Config &c = kv->cache->config();
    kv::AttendOptions attend;
    Status status = import_attend(attend, c, options, error);
    uint64_t rows = 0;
    if (status == Status::ok && !checked::mul(&rows, queries.n, queries.n_queries))
        return refuse(error, "there are too many queries");
    if (status == Status::ok)
        status = check_floats(queries.q, queries.n_q, "q", rows, c.n_q_heads, c.head_dim_k, error);
    if (status == Status::ok)
        status = check_floats(out, n_out, "out", rows, c.n_q_heads, c.head_dim_v, error);
    if (status != Status::ok) return status;
    return kv->cache->attend(out, lse, layer, queries.sequences, queries.n, queries.q,
                             queries.n_queries, queries.positions, attend, failure_of(error));
}

} // namespace

extern "C" ggufx_status ggufx_kv_attend(float *out, size_t n_out, float *lse, const ggufx_kv *kv,
                                        uint32_t layer, uint32_t sequence, const float *q,
                                        size_t n_q, size_t n_queries, const int32_t *positions,
                                        const ggufx_attend_options *options, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return attend(out, n_out, lse, kv, layer, {&sequence, 1, n_queries, q, n_q, positions},
                      options, error);
    });
}

extern "C" ggufx_status ggufx_kv_attend_batch(float *out, size_t n_out, float *lse,
                                              const ggufx_kv *kv, uint32_t layer,
                                              const uint32_t *sequences, const float *q, size_t n_q,
                                              size_t n, const int32_t *positions,
                                              const ggufx_attend_options *options,
                                              ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        if (!sequences && n) return refuse(error, "sequences must be set");
        return attend(out, n_out, lse, kv, layer, {sequences, n, 1, q, n_q, positions}, options,
                      error);
    });
}

extern "C" ggufx_status ggufx_kv_read(float *k, size_t n_k, float *v, size_t n_v,
                                      const ggufx_kv *kv, uint32_t layer, uint32_t sequence,
                                      uint64_t first, uint64_t n_tokens, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        const kv::Config &c = kv->cache->config();
        Status status = Status::ok;
        if (k || n_k)
            status = check_floats(k, n_k, "k", n_tokens, c.n_kv_heads, c.head_dim_k, error);
        if (status == Status::ok && (v || n_v))
            status = check_floats(v, n_v, "v", n_tokens, c.n_kv_heads, c.head_dim_v, error);
        if (status != Status::ok) return status;
        return kv->cache->read(k, v, layer, sequence, first, n_tokens, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_scores(float *out, size_t n_out, const ggufx_kv *kv,
                                        uint32_t layer, uint32_t sequence, const float *q,
                                        size_t n_q, size_t n_queries, float scale,
                                        ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        const kv::Config &c = kv->cache->config();
        const Status status =
            check_floats(q, n_q, "q", n_queries, c.n_q_heads, c.head_dim_k, error);
        if (status != Status::ok) return status;
        if (!out && n_out) return refuse(error, "out must be set");
        return kv->cache->scores(out, n_out, layer, sequence, q, n_queries, scale,
                                 failure_of(error));
    });
}
