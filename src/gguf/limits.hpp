// Limits of the container reader; docs/file-formats.md lists them with their reasons.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace ggufx::gguf {

constexpr uint32_t kMaxDims = 4;
constexpr uint64_t kMaxNameBytes = 63;    // of a tensor: ggml keeps 64 with the terminator
constexpr uint32_t kMaxDepth = 8;         // arrays inside of arrays
constexpr uint32_t kMaxNested = 1u << 16; // inner arrays of a file
constexpr uint64_t kMaxCount = INT32_MAX; // keys, and tensors, of a file, whatever is asked for
constexpr uint64_t kMaxMetadata = 1ull << 30;

// Unless ggufx_open_options says otherwise. Models have below 100 keys, mixtures of experts with a
// tensor per expert below 100,000 tensors; ggml reads strings of 1 GiB.
constexpr uint64_t kUsualCount = 1ull << 20; // keys, and tensors
constexpr uint64_t kUsualString = 1ull << 30;
constexpr uint64_t kDefaultAlignment = 32;

// A length beyond this that does not fit the file is a wrong length; below, the file was cut.
constexpr uint64_t kPlausibleBytes = 1ull << 28;
// Likewise for a tensor of more than this many times the file.
constexpr uint64_t kPlausibleTimes = 4096;

// Smallest encodings, for counts that cannot be true: a key of one byte with a u8, an unnamed
// tensor without dimensions, in version 1 and later.
constexpr uint64_t kMinPair = 13, kMinPairV1 = 9;
constexpr uint64_t kMinTensor = 24, kMinTensorV1 = 20;

} // namespace ggufx::gguf
