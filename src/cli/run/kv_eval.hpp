// Measurements of ggufx kv-eval per pair of cache types, compared with an F32 cache in the same
// run.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/text_model.hpp"

namespace ggufx::cli {

struct KvEvalOptions {
    TextOptions input;
    std::vector<std::string> types_k = {"f16", "q8_0", "q4_0", "gx4", "gx3"};
    std::vector<std::string> types_v; // empty: the same type as the keys
    std::vector<unsigned> layers;     // layers whose attention is compared; empty: all
    uint32_t n_context = 512;
    uint64_t chunks = 0; // 0 = all
};

struct KvPair {
    std::string k, v;
    uint32_t type_k, type_v;
    std::string name() const { return k == v ? k : k + "/" + v; }
};

// Sums over the scored predictions. Each chunk is summed first, then chunks are added in order.
struct LogitSums {
    uint64_t n = 0, same_top = 0;
    double loss = 0, squares = 0, divergence = 0;

    void add(const LogitSums &other);

    // Adds the second half of a chunk, as ggufx_eval_perplexity scores it. Takes the logits of all
    // positions except the last, with this cache and with an F32 cache. The same object for both:
    // no comparison.
    void add(const std::vector<float> &logits, const std::vector<float> &reference,
             std::span<const int32_t> chunk, size_t n_vocab);
    double perplexity() const;
    double standard_error() const; // standard error of the perplexity
};

// Contribution of one or more chunks to the result of a pair.
struct KvSums {
    std::vector<double> noise, power; // sums of squares per compared layer
    double decode_seconds = 0;
    LogitSums logits;

    void add(const KvSums &other);
    double error(size_t layer) const; // relative RMS error of the attention output
    double error() const;             // relative RMS error over all compared layers
};
struct KvChunk {
    LogitSums reference;      // sums with an F32 cache
    std::vector<KvSums> sums; // sums per pair
};

struct KvResult {
    KvPair pair;
    uint64_t cache_bytes = 0;  // size of a cache of n_context tokens
    double bits_per_value = 0; // storage in full pages
    double attend_seconds = 0; // time of one query over n_context tokens in one layer
    KvSums sums;
};

struct KvReport {
    uint64_t n_chunks = 0;        // chunks in the text
    std::vector<unsigned> layers; // compared layers
    LogitSums reference;
    std::vector<KvResult> results;

    void add(const KvChunk &chunk);
};

std::vector<KvPair> kv_pairs(const KvEvalOptions &options);
// Prepares the report, before any chunk is evaluated.
KvReport begin_kv_report(const KvEvalOptions &options, const TextModel &model);
void evaluate_kv(KvReport &report, const Globals &globals, const KvEvalOptions &options,
                 const TextModel &model);

} // namespace ggufx::cli
