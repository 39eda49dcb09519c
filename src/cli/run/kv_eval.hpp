// What ggufx kv-eval measures per pair of cache types, against an F32 cache in the same run.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/text_model.hpp"

#include <span>

namespace ggufx::cli {

struct KvEvalOptions {
    TextOptions input;
    std::string heatmap;
    std::vector<std::string> types_k = {"f16", "q8_0", "q4_0", "gx4", "gx3"};
    std::vector<std::string> types_v; // empty: each as its keys
    std::vector<unsigned> layers;     // whose attention is compared; empty: all
    uint32_t n_context = 512;
    uint64_t chunks = 0; // 0 = all
};

struct KvPair {
    std::string k, v;
    uint32_t type_k, type_v;
    std::string name() const { return k == v ? k : k + "/" + v; }
};

// Sums over the scored predictions of a model's logits.
struct LogitSums {
    uint64_t n = 0, same_top = 0;
    double loss = 0, squares = 0, divergence = 0;

    // The second half of a chunk of ids, as ggufx_perplexity scores it: logits of all positions but
    // the last, with this cache and with an F32 cache (the same object: nothing is compared).
    void add(const std::vector<float> &logits, const std::vector<float> &reference,
             std::span<const int32_t> chunk, size_t n_vocab);
    double perplexity() const;
    double standard_error() const; // of the perplexity
};

struct KvResult {
    KvPair pair;
    uint64_t cache_bytes = 0;         // of n_context tokens
    double bits_per_value = 0;        // as stored in full pages
    std::vector<double> noise, power; // per compared layer: sums of squares
    double attend_seconds = 0;        // one query over n_context tokens, one layer
    double decode_seconds = 0;
    LogitSums logits;

    double error(size_t layer) const; // relative rms of the attention's output
    double error() const;             // over all compared layers
};

struct KvReport {
    uint64_t n_chunks = 0;
    std::vector<unsigned> layers; // compared
    LogitSums reference;          // with an F32 cache
    std::vector<KvResult> results;
};

std::vector<KvPair> kv_pairs(const KvEvalOptions &options);
KvReport evaluate_kv(const Globals &globals, const KvEvalOptions &options, const TextModel &model);

// Layers x pairs, coloured by error: one SVG without references to anything else.
std::string kv_heatmap(const KvReport &report, const std::string &title);

} // namespace ggufx::cli
