// Part files of kv-eval shards: the sums of one chunk per object, so that merging adds in the order
// of a single run. Times are measured on the shard's machine; the report shows their means.
// SPDX-License-Identifier: MIT
#include "run/kv_eval.hpp"

#include <algorithm>

namespace ggufx::cli {

static Json sums_json(const LogitSums &sums) {
    return {{"n", sums.n},
            {"same_top", sums.same_top},
            {"loss", sums.loss},
            {"squares", sums.squares},
            {"divergence", sums.divergence}};
}

static LogitSums read_sums(const PartReader &from) {
    return {from.whole("n"), from.whole("same_top"), from.number("loss"), from.number("squares"),
            from.number("divergence")};
}

static Json chunk_json(const KvChunk &chunk) {
    Json pairs = Json::array();
    for (const KvSums &sums : chunk.sums)
        pairs.push_back(Json{{"logits", sums_json(sums.logits)},
                             {"noise", sums.noise},
                             {"power", sums.power},
                             {"seconds", sums.decode_seconds}});
    return {{"f32", sums_json(chunk.reference)}, {"pairs", pairs}};
}

static KvChunk read_chunk(const PartReader &from, size_t n_pairs, size_t n_layers) {
    KvChunk chunk;
    chunk.reference = read_sums(from.at("f32"));
    for (const PartReader &pair : from.list("pairs")) {
        KvSums sums;
        sums.logits = read_sums(pair.at("logits"));
        sums.noise = pair.numbers("noise");
        sums.power = pair.numbers("power");
        sums.decode_seconds = pair.number("seconds");
        if (sums.noise.size() != n_layers || sums.power.size() != n_layers)
            pair.refuse("noise", "has another number of layers");
        chunk.sums.push_back(std::move(sums));
    }
    if (chunk.sums.size() != n_pairs) from.refuse("pairs", "has another number of them");
    return chunk;
}

Json kv_part_json(const KvReport &report) {
    Json chunks = Json::array(), pairs = Json::array();
    for (const KvChunk &chunk : report.chunks) chunks.push_back(chunk_json(chunk));
    for (const KvResult &result : report.results)
        pairs.push_back(Json{{"bits_per_value", result.bits_per_value},
                             {"attend_seconds", result.attend_seconds}});
    return {{"chunks", chunks}, {"pairs", pairs}};
}

void add_kv_part(KvReport &report, const PartReader &part) {
    const std::vector<PartReader> pairs = part.list("pairs"), chunks = part.list("chunks");
    if (pairs.size() != report.results.size()) part.refuse("pairs", "has another number of them");
    const double before = static_cast<double>(report.chunks.size());
    const double n = static_cast<double>(chunks.size());
    for (size_t i = 0; i < pairs.size() && !chunks.empty(); i++) {
        KvResult &result = report.results[i];
        result.bits_per_value = pairs[i].number("bits_per_value");
        const double seconds = pairs[i].number("attend_seconds");
        result.attend_seconds = (result.attend_seconds * before + seconds * n) / (before + n);
    }
    for (const PartReader &chunk : chunks)
        report.add(read_chunk(chunk, report.results.size(), report.layers.size()));
}

} // namespace ggufx::cli
