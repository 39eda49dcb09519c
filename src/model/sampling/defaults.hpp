// Sampling defaults of a model's author: keys general.sampling.* of its file, and suppressed tokens
// (tokenizer.ggml.suppress_tokens). A value out of range is ignored and its key reported, so that a
// bad default does not make a model unusable.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/file.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::sampling {

// A bit for each key; equal to GGUFX_SAMPLING_*.
enum : uint32_t {
    kTemperatureKey = 1,
    kTopKKey = 2,
    kTopPKey = 4,
    kMinPKey = 8,
    kXtcProbabilityKey = 16,
    kXtcThresholdKey = 32,
    kLastNKey = 64,
    kRepetitionKey = 128,
    kMirostatKey = 256,
    kTauKey = 512,
    kEtaKey = 1024,
    kSequenceKey = 2048,
    kSuppressedKey = 4096,
};

// Equal to GGUFX_LINK_*.
enum class SamplerKind : uint8_t {
    top_k = 1,
    top_p = 2,
    min_p = 3,
    typical = 4,
    top_n_sigma = 5,
    xtc = 6,
    temperature = 7,
    penalties = 8,
    dry = 9,
};

constexpr size_t kMostDefaultSamplers = 16;
constexpr uint32_t kMostLast = 1u << 20;

struct Defaults {
    uint32_t present = 0; // keys with a usable value
    uint32_t ignored = 0; // keys with an ignored value
    float temperature = 0, top_p = 0, min_p = 0;
    float xtc_probability = 0, xtc_threshold = 0;
    float repetition = 0, tau = 0, eta = 0;
    uint32_t top_k = 0, n_last = 0, mirostat = 0;
    uint32_t n_samplers = 0;
    SamplerKind samplers[kMostDefaultSamplers] = {};
};

Defaults read_defaults(const gguf::File &file);

// Appends ids below n_vocab, each once, ascending. Returns false if the key is no array of
// integers. Throws std::bad_alloc.
bool read_suppressed(Vector<int32_t> &out, const gguf::File &file, uint64_t n_vocab);
// Returns the vocabulary size by the file's keys; 0 without such keys.
uint64_t vocabulary_size(const gguf::File &file);

} // namespace ggufx::sampling
