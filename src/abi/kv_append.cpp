// KV cache: reserving memory for tokens and appending them: include/ggufx/kv.h.
// SPDX-License-Identifier: MIT
#include "abi/kv_handle.hpp"
#include "abi/options.hpp"

using namespace ggufx;
using namespace ggufx::abi;

extern "C" ggufx_status ggufx_kv_reserve(ggufx_kv *kv, uint32_t sequence, uint64_t n_tokens,
                                         ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return kv->cache->reserve(sequence, n_tokens, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_append(ggufx_kv *kv, uint32_t layer, uint32_t sequence,
                                        size_t n_tokens, const int32_t *positions, const float *k,
                                        size_t n_k, const float *v, size_t n_v,
                                        ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        const kv::Config &c = kv->cache->config();
        const Status status = check_k_and_v(c, n_tokens, k, n_k, v, n_v, error);
        if (status != Status::ok) return status;
        return kv->cache->append(layer, sequence, n_tokens, positions, {k, v}, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_append_half(ggufx_kv *kv, uint32_t layer, uint32_t sequence,
                                             size_t n_tokens, const int32_t *positions,
                                             uint32_t format, const uint16_t *k, size_t n_k,
                                             const uint16_t *v, size_t n_v, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        const kv::Config &c = kv->cache->config();
        if (format != GGUFX_KV_HALF_F16 && format != GGUFX_KV_HALF_BF16)
            return refuse(error, "format must be GGUFX_KV_HALF_F16 or GGUFX_KV_HALF_BF16");
        const Status status = check_k_and_v(c, n_tokens, k, n_k, v, n_v, error);
        if (status != Status::ok) return status;
        const kv::Source source = {
            k, v, format == GGUFX_KV_HALF_F16 ? kv::SourceType::f16 : kv::SourceType::bf16};
        return kv->cache->append(layer, sequence, n_tokens, positions, source, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_append_batch(ggufx_kv *kv, uint32_t layer, size_t n_tokens,
                                              const uint32_t *sequences, const int32_t *positions,
                                              const float *k, size_t n_k, const float *v,
                                              size_t n_v, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        const kv::Config &c = kv->cache->config();
        const Status status = check_k_and_v(c, n_tokens, k, n_k, v, n_v, error);
        if (status != Status::ok) return status;
        if (n_tokens && (!sequences || !positions))
            return refuse(error, "sequences and positions must be set");
        return kv->cache->append_batch(layer, n_tokens, sequences, positions, {k, v},
                                       failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_calibrate(ggufx_kv *kv, uint32_t layer, const float *mu_k,
                                           const float *eq_k, size_t n_k, const float *mu_v,
                                           size_t n_v, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        const kv::Config &c = kv->cache->config();
        Status status = Status::ok;
        for (const float *floats : {mu_k, eq_k})
            if (status == Status::ok && (floats || n_k))
                status = check_floats(&n_k, n_k, floats == mu_k ? "mu_k" : "eq_k", 1, c.n_kv_heads,
                                      c.head_dim_k, error);
        if (status == Status::ok && (mu_v || n_v))
            status = check_floats(mu_v, n_v, "mu_v", 1, c.n_kv_heads, c.head_dim_v, error);
        if (status != Status::ok) return status;
        return kv->cache->calibrate(layer, mu_k, eq_k, mu_v, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_requantize(ggufx_kv *kv, uint32_t layer, uint32_t type_k,
                                            uint32_t type_v, const ggufx_progress *progress,
                                            ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return kv->cache->requantize(layer, type_k, type_v, import_progress(progress),
                                     failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_compact(ggufx_kv *kv, uint32_t sequence,
                                         const ggufx_progress *progress, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return kv->cache->compact(sequence, import_progress(progress), failure_of(error));
    });
}
