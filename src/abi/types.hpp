// Types of KV caches: their ids in the public interface, and those of kv/types.def.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace ggufx::abi {

// Returns the id of a cache's type, 0 for a type that is not given: 0 without its flag. Throws type,
// with the name of the member.
uint32_t import_kv_type(uint32_t type, bool has, const char *member);
// Returns the GGUFX_TYPE_* of an id.
uint32_t export_kv_type(uint32_t id);

} // namespace ggufx::abi
