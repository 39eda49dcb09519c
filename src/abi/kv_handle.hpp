// Handle of a KV cache, and checks shared by its functions. Functions of the decoding loop report
// errors without throwing.
// SPDX-License-Identifier: MIT
#pragma once

#include "abi/guard.hpp"
#include "base/checked.hpp"
#include "kv/cache.hpp"

#include <ggufx/kv.h>

struct ggufx_kv {
    ggufx::abi::Tag tag = ggufx::abi::Tag::kv;
    ggufx::abi::RuntimeRef runtime;
    ggufx::kv::Cache *cache = nullptr;
};

namespace ggufx::abi {

inline Status no_cache(ggufx_error *error) {
    return refuse(error, "kv must be a live cache");
}

// Checks a buffer of `tokens` rows of heads * head_dim floats: set, and of exactly that length.
inline Status check_floats(const void *data, size_t given, const char *name, uint64_t tokens,
                           uint32_t heads, uint32_t head_dim, ggufx_error *error) {
    uint64_t want = 0;
    const bool fits = checked::mul(&want, tokens, uint64_t(heads) * head_dim);
    if (!fits || want != given)
        return set_failure(failure_of(error), Status::argument, {},
                           "%s has %zu floats; %llu tokens of %u heads of %u need %llu", name,
                           given, static_cast<unsigned long long>(tokens), heads, head_dim,
                           static_cast<unsigned long long>(want));
    if (!data && given)
        return set_failure(failure_of(error), Status::argument, {}, "%s must be set", name);
    return Status::ok;
}

} // namespace ggufx::abi
