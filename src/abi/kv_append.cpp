// KV cache: reserving memory for tokens and appending them: include/ggufx/kv.h.
// SPDX-License-Identifier: MIT
#include "abi/kv_handle.hpp"
#include "abi/options.hpp"
#include "abi/types.hpp"

using namespace ggufx;
using namespace ggufx::abi;

extern "C" ggufx_status ggufx_kv_reserve(ggufx_kv *kv, uint32_t sequence, uint64_t n_tokens,
                                         ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return kv->cache->reserve(sequence, n_tokens, failure_of(error));
    });
}

namespace {

// Checks rows of an append: at least `values` in each, `stride` values from one to the next.
Status check_rows(const void *rows, size_t n, size_t stride, const char *name, size_t n_tokens,
                  uint64_t values, ggufx_error *error) {
    uint64_t want = 0;
    const bool fits = n_tokens == 0 || values == 0 ||
                      (checked::mul(&want, uint64_t{n_tokens} - 1, stride ? stride : values) &&
                       checked::add(&want, want, values));
    if (!fits || want != n || (stride && stride < values))
        return set_failure(failure_of(error), Status::argument, {},
                           "n_%s is %zu: %zu tokens of %llu values, %llu apart, need %llu", name, n,
                           n_tokens, static_cast<unsigned long long>(values),
                           static_cast<unsigned long long>(stride ? stride : values),
                           static_cast<unsigned long long>(want));
    if (!rows && n)
        return set_failure(failure_of(error), Status::argument, {}, "%s must be set", name);
    return Status::ok;
}

Status check_tokens(const kv::Config &c, const ggufx_kv_tokens &in, ggufx_error *error) {
    const uint64_t heads = c.n_kv_heads;
    const Status status =
        check_rows(in.k, in.n_k, in.k_stride, "k", in.n_tokens, heads * c.head_dim_k, error);
    if (status != Status::ok) return status;
    if (c.v_in_k && (in.v || in.n_v || in.v_stride))
        return refuse(error, "v must be NULL, n_v and v_stride 0: values are in keys");
    if (c.v_in_k) return status;
    return check_rows(in.v, in.n_v, in.v_stride, "v", in.n_tokens, heads * c.head_dim_v, error);
}

// Sets the type of a source; false if keys and values cannot have it.
bool import_type(kv::SourceType *out, uint32_t type) {
    switch (type) {
    case GGUFX_TYPE_F32:
        *out = kv::SourceType::f32;
        return true;
    case GGUFX_TYPE_F16:
        *out = kv::SourceType::f16;
        return true;
    case GGUFX_TYPE_BF16:
        *out = kv::SourceType::bf16;
        return true;
    default:
        return false;
    }
}

} // namespace

extern "C" ggufx_status ggufx_kv_append(ggufx_kv *kv, const ggufx_kv_tokens *tokens,
                                        ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        if (!tokens) return refuse(error, "tokens must be set");
        const auto in = import_options(tokens, 0, "ggufx_kv_tokens");
        kv::Source source = {in.k, in.v, kv::SourceType::f32, in.k_stride, in.v_stride};
        if (!import_type(&source.type, in.type))
            return set_failure(failure_of(error), Status::type, {},
                               "type %u of k and v is not GGUFX_TYPE_F32, _F16 or _BF16", in.type);
        const Status status = check_tokens(kv->cache->config(), in, error);
        if (status != Status::ok) return status;
        if (!in.sequences)
            return kv->cache->append(in.layer, in.sequence, in.n_tokens, in.positions, source,
                                     failure_of(error));
        if (in.sequence) return refuse(error, "sequence must be 0 with sequences");
        if (!in.positions && in.n_tokens) return refuse(error, "positions must be set");
        return kv->cache->append_batch(in.layer, in.n_tokens, in.sequences, in.positions, source,
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
        const auto import = [](uint32_t type, const char *name) {
            return type == GGUFX_TYPE_KEEP ? kv::kKeepType : import_kv_type(type, true, name);
        };
        const uint32_t k = import(type_k, "type_k"), v = import(type_v, "type_v");
        return kv->cache->requantize(layer, k, v, import_progress(progress), failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_compact(ggufx_kv *kv, uint32_t sequence,
                                         const ggufx_progress *progress, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return kv->cache->compact(sequence, import_progress(progress), failure_of(error));
    });
}
