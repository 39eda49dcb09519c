// CRC-64 of ECMA-182, reflected, the one of xz: of snapshots and journals, against accidents.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx {

// Of the bytes that gave `crc` (0: none) and then these.
uint64_t crc64(uint64_t crc, const void *data, size_t n);

} // namespace ggufx
