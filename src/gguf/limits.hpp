// Limits of the container reader; docs/file-formats.md lists them with their reasons.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace ggufx::gguf {

constexpr uint32_t kMaxDims = 4;
constexpr uint64_t kMaxNameBytes = 63;    // tensor name: ggml has 64 with the terminator
constexpr uint32_t kMaxDepth = 8;         // nesting of arrays
constexpr uint32_t kMaxNested = 1u << 16; // inner arrays per file
constexpr uint64_t kMaxCount = INT32_MAX; // keys, and tensors, per file, regardless of options
constexpr uint64_t kMaxMetadata = 1ull << 30;

// Defaults of ggufx_open_options. Models have fewer than 100 keys. Mixture-of-experts models with a
// tensor per expert have fewer than 100,000 tensors. ggml reads strings of 1 GiB.
constexpr uint64_t kUsualCount = 1ull << 20; // keys, and tensors
constexpr uint64_t kUsualString = 1ull << 30;
constexpr uint64_t kDefaultAlignment = 32;

// A length that exceeds the file is reported as wrong from this value on, below it as a truncated
// file.
constexpr uint64_t kPlausibleBytes = 1ull << 28;
// Likewise for a tensor larger than this many times the file.
constexpr uint64_t kPlausibleTimes = 4096;

// Smallest encodings, to reject impossible counts: a key of one byte with a u8, and an unnamed
// tensor without dimensions. V1: in files of version 1.
constexpr uint64_t kMinPair = 13, kMinPairV1 = 9;
constexpr uint64_t kMinTensor = 24, kMinTensorV1 = 20;

} // namespace ggufx::gguf
