// Sampling defaults of a model's author: keys general.sampling.* of its file, and suppressed tokens
// (tokenizer.ggml.suppress_tokens). A value out of range is ignored and its key reported, so that a
// bad default does not make a model unusable.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/file.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::sampling {

// A bit for each key.
enum class Key : uint32_t {
#define KEY(ID, bit, key, member, type, least, most, instead_of_negative, field) ID = bit,
#include "sampling/samplers.def"
    SEQUENCE = 2048,
    SUPPRESSED = 4096,
};

enum class SamplerKind : uint8_t {
    none,
#define EACH(id, ID, Type, name, order) id,
#include "sampling/samplers.def"
};

constexpr size_t kMaxDefaultSamplers = 16;

struct Defaults {
    uint32_t present = 0; // keys with a usable value
    uint32_t ignored = 0; // keys with an ignored value
#define KEY(ID, bit, key, member, type, least, most, instead_of_negative, field) type member = 0;
#include "sampling/samplers.def"
    uint32_t n_samplers = 0;
    SamplerKind samplers[kMaxDefaultSamplers] = {};
};

Defaults read_defaults(const gguf::File &file);

// Appends ids below n_vocab, each once, ascending. Returns false if the key is no array of
// integers. Throws std::bad_alloc.
bool read_suppressed(Vector<int32_t> &out, const gguf::File &file, uint64_t n_vocab);
// Returns the vocabulary size by the file's keys; 0 without such keys.
uint64_t vocabulary_size(const gguf::File &file);

} // namespace ggufx::sampling
