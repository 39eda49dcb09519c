// CRC-64/XZ (ECMA-182, reflected): checksum of snapshots and journals against accidental damage.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx {

// Returns the CRC of earlier bytes, whose CRC is `crc` (0: none), followed by n bytes of `data`.
uint64_t crc64(uint64_t crc, const void *data, size_t n);

} // namespace ggufx
