// KV cache: operations on whole sequences: include/ggufx/kv.h.
// SPDX-License-Identifier: MIT
#include "abi/kv_handle.hpp"

using namespace ggufx;
using namespace ggufx::abi;

extern "C" ggufx_status ggufx_kv_length(uint64_t *out, const ggufx_kv *kv, uint32_t sequence,
                                        ggufx_error *error) {
    if (out) *out = 0;
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        if (!out) return refuse(error, "out must be set");
        return kv->cache->length(out, sequence, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_positions(int32_t *out, const ggufx_kv *kv, uint32_t sequence,
                                           uint64_t first, uint64_t n, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        if (!out && n) return refuse(error, "out must be set");
        return kv->cache->positions(out, sequence, first, n, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_truncate(ggufx_kv *kv, uint32_t sequence, uint64_t n_tokens,
                                          ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return kv->cache->truncate(sequence, n_tokens, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_begin(ggufx_kv *kv, uint32_t sequence, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return kv->cache->begin(sequence, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_commit(ggufx_kv *kv, uint32_t sequence, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return kv->cache->commit(sequence, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_rollback(ggufx_kv *kv, uint32_t sequence, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return kv->cache->rollback(sequence, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_remove(ggufx_kv *kv, uint32_t sequence, uint64_t first,
                                        uint64_t n_tokens, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return kv->cache->remove(sequence, {first, n_tokens}, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_copy(ggufx_kv *kv, uint32_t from, uint32_t to, uint64_t first,
                                      uint64_t n_tokens, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return kv->cache->copy(from, to, {first, n_tokens}, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_shift(ggufx_kv *kv, uint32_t sequence, uint64_t first,
                                       uint64_t n_tokens, int32_t delta, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return kv->cache->shift(sequence, {first, n_tokens}, delta, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_keep(ggufx_kv *kv, uint32_t sequence, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        return kv->cache->keep(sequence, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_clear(ggufx_kv *kv, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        kv->cache->clear();
        return Status::ok;
    });
}
