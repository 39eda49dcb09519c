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

Status import_queries(ggufx_kv_queries &out, const kv::Config &c, const ggufx_kv_queries *queries,
                      ggufx_error *error) {
    if (!queries) return refuse(error, "queries must be set");
    out = import_options(queries, 0, "ggufx_kv_queries");
    if (out.sequences && out.sequence) return refuse(error, "sequence must be 0 with sequences");
    return check_floats(out.q, out.n_q, "q", out.n_queries, c.n_q_heads, c.head_dim_k, error);
}

} // namespace

extern "C" ggufx_status ggufx_kv_attend(float *out, size_t n_out, float *lse, size_t n_lse,
                                        const ggufx_kv *kv, const ggufx_kv_queries *queries,
                                        const ggufx_attend_options *options, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        const kv::Config &c = kv->cache->config();
        ggufx_kv_queries in;
        kv::AttendOptions attend;
        Status status = import_attend(attend, c, options, error);
        if (status == Status::ok) status = import_queries(in, c, queries, error);
        if (status != Status::ok) return status;
        status = check_floats(out, n_out, "out", in.n_queries, c.n_q_heads, c.head_dim_v, error);
        if (status == Status::ok && (lse || n_lse))
            status = check_floats(lse, n_lse, "lse", in.n_queries, c.n_q_heads, 1, error);
        if (status != Status::ok) return status;
        const bool many = in.sequences != nullptr;
        return kv->cache->attend({out, lse, in.layer, many ? in.sequences : &in.sequence,
                                  many ? in.n_queries : 1, in.q, many ? 1 : in.n_queries,
                                  in.positions},
                                 attend, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_read(float *k, size_t n_k, float *v, size_t n_v,
                                      const ggufx_kv *kv, const ggufx_kv_range *range,
                                      ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        if (!range) return refuse(error, "range must be set");
        const auto in = import_options(range, 0, "ggufx_kv_range");
        const kv::Config &c = kv->cache->config();
        Status status = Status::ok;
        if (k || n_k)
            status = check_floats(k, n_k, "k", in.n_tokens, c.n_kv_heads, c.head_dim_k, error);
        if (status == Status::ok && (v || n_v))
            status = check_floats(v, n_v, "v", in.n_tokens, c.n_kv_heads, c.head_dim_v, error);
        if (status != Status::ok) return status;
        return kv->cache->read(k, v, in.layer, in.sequence, in.first, in.n_tokens,
                               failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_scores(float *out, size_t n_out, const ggufx_kv *kv,
                                        const ggufx_kv_queries *queries, float scale,
                                        ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        ggufx_kv_queries in;
        const Status status = import_queries(in, kv->cache->config(), queries, error);
        if (status != Status::ok) return status;
        if (in.sequences || in.positions)
            return refuse(error, "sequences and positions must be NULL");
        if (!out && n_out) return refuse(error, "out must be set");
        return kv->cache->scores(out, n_out, in.layer, in.sequence, in.q, in.n_queries, scale,
                                 failure_of(error));
    });
}
