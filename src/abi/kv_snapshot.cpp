// KV cache snapshots: include/ggufx/kv.h.
// SPDX-License-Identifier: MIT
#include "abi/kv_handle.hpp"

using namespace ggufx;
using namespace ggufx::abi;

extern "C" ggufx_status ggufx_kv_save(const ggufx_kv *kv, uint32_t sequence,
                                      ggufx_status (*write)(void *user, const void *data, size_t n),
                                      void *user, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        if (!write) return refuse(error, "write must be set");
        return kv->cache->save(sequence, write, user, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_load(ggufx_kv *kv, uint32_t sequence,
                                      ggufx_status (*read)(void *user, void *data, size_t n),
                                      void *user, ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        if (!read) return refuse(error, "read must be set");
        return kv->cache->load(sequence, {read, user}, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_save_file(const ggufx_kv *kv, uint32_t sequence, const char *path,
                                           ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        if (!path) return refuse(error, "path must be set");
        return kv->cache->save_path(sequence, path, failure_of(error));
    });
}

extern "C" ggufx_status ggufx_kv_load_file(ggufx_kv *kv, uint32_t sequence, const char *path,
                                           ggufx_error *error) {
    return guard(error, [&] {
        if (!alive(kv, Tag::kv)) return no_cache(error);
        if (!path) return refuse(error, "path must be set");
        return kv->cache->load_path(sequence, path, failure_of(error));
    });
}
