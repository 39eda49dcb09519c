// What ggufx kv-eval measures per pair of cache types, against an F32 cache in the same run.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/shards.hpp"
#include "models/text_model.hpp"

namespace ggufx::cli {

struct KvEvalOptions {
    TextOptions input;
    std::string heatmap;
    std::vector<std::string> types_k = {"f16", "q8_0", "q4_0", "gx4", "gx3"};
    std::vector<std::string> types_v; // empty: each as its keys
    std::vector<unsigned> layers;     // whose attention is compared; empty: all
    uint32_t n_context = 512;
    uint64_t chunks = 0; // 0 = all
    ShardOptions shards;
};

struct KvPair {
    std::string k, v;
    uint32_t type_k, type_v;
    std::string name() const { return k == v ? k : k + "/" + v; }
};

// Sums over the scored predictions of a model's logits. Those of a chunk are made first, then chunks
// are added in their order: so shards have the figures of one run.
struct LogitSums {
    uint64_t n = 0, same_top = 0;
    double loss = 0, squares = 0, divergence = 0;

    void add(const LogitSums &other);

    // The second half of a chunk of ids, as ggufx_perplexity scores it: logits of all positions but
    // the last, with this cache and with an F32 cache (the same object: nothing is compared).
    void add(const std::vector<float> &logits, const std::vector<float> &reference,
             std::span<const int32_t> chunk, size_t n_vocab);
    double perplexity() const;
    double standard_error() const; // of the perplexity
};

// What a chunk, or several of them, adds to the result of a pair.
struct KvSums {
    std::vector<double> noise, power; // per compared layer: sums of squares
    double decode_seconds = 0;
    LogitSums logits;

    void add(const KvSums &other);
    double error(size_t layer) const; // relative rms of the attention's output
    double error() const;             // over all compared layers
};
struct KvChunk {
    LogitSums reference;      // with an F32 cache
    std::vector<KvSums> sums; // of the pairs
};

struct KvResult {
    KvPair pair;
    uint64_t cache_bytes = 0;  // of n_context tokens
    double bits_per_value = 0; // as stored in full pages
    double attend_seconds = 0; // one query over n_context tokens, one layer
    KvSums sums;
};

struct KvReport {
    uint64_t n_chunks = 0;        // of the text
    std::vector<unsigned> layers; // compared
    LogitSums reference;
    std::vector<KvResult> results;
    std::vector<KvChunk> chunks; // that were run, in their order

    void add(const KvChunk &chunk);
};

std::vector<KvPair> kv_pairs(const KvEvalOptions &options);
// What is to be evaluated, before any chunk is run.
KvReport begin_kv_report(const KvEvalOptions &options, const TextModel &model);
// Chunks first .. end - 1.
void evaluate_kv(KvReport &report, const Globals &globals, const KvEvalOptions &options,
                 const TextModel &model, uint64_t first, uint64_t end);

// Of a share of the text as its part keeps it, and back: chunks that have been run elsewhere.
Json kv_part_json(const KvReport &report);
void add_kv_part(KvReport &report, const PartReader &part);

// Layers x pairs, coloured by error: one SVG without references to anything else.
std::string kv_heatmap(const KvReport &report, const std::string &title);

} // namespace ggufx::cli
