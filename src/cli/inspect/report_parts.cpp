// Report results in the part files of shards. Tensors are measured one by one and histograms are
// counts, so that merged parts equal the report of a single run.
// SPDX-License-Identifier: MIT
#include "inspect/report.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace ggufx::cli {

static Json part_json(const TensorReport &t) {
    return {{"name", json_bytes(t.name)},
            {"type", t.type},
            {"n", t.n_values},
            {"bytes", t.n_bytes},
            {"rms", t.rms},
            {"max_abs", t.largest},
            {"n_invalid", t.n_invalid},
            {"compared", t.compared},
            {"rel_rmse", t.error}, // null: infinite
            {"max_error", t.max_error}};
}

static std::string bytes_of(const PartReader &from, std::string_view key) {
    const Json *const hex = from.at(key).value.find("hex");
    if (!hex) return from.text(key);
    const std::string digits = hex->text() ? *hex->text() : "x";
    std::string out;
    for (size_t i = 0; i < digits.size(); i += 2) {
        const char *const end = digits.data() + i + 2;
        unsigned byte = 0;
        if (i + 1 == digits.size() || std::from_chars(end - 2, end, byte, 16).ptr != end)
            from.refuse(key, "is not a string");
        out += static_cast<char>(byte);
    }
    return out;
}

static TensorReport read_tensor(const PartReader &from) {
    TensorReport t;
    t.name = bytes_of(from, "name");
    set_kind(t);
    t.type = from.text("type");
    t.n_values = from.whole("n");
    t.n_bytes = from.whole("bytes");
    t.rms = from.number("rms");
    t.largest = from.number("max_abs");
    t.n_invalid = from.whole("n_invalid");
    t.compared = from.truth("compared");
    t.error = from.at("rel_rmse").value.is_null() ? HUGE_VAL : from.number("rel_rmse");
    t.max_error = from.number("max_error");
    return t;
}

Json report_part_json(const ModelReport &report) {
    Json tensors = Json::array(), weights = Json::array(), codes = Json::array();
    for (const TensorReport &tensor : report.tensors) tensors.push_back(part_json(tensor));
    for (const auto &[kind, bins] : report.weights)
        weights.push_back(Json{{"kind", json_bytes(kind)},
                               {"counts", std::vector<uint64_t>(bins.begin(), bins.end())}});
    for (const CodeHistogram &h : report.codes)
        codes.push_back(Json{{"type", h.type}, {"lowest", h.lowest}, {"counts", h.counts}});
    return {{"tensors", tensors}, {"weights", weights}, {"codes", codes}};
}

static void add_codes(ModelReport &report, const PartReader &from) {
    const std::vector<uint64_t> counts = from.wholes("counts");
    const std::optional<double> lowest = from.at("lowest").value.number();
    const std::string &type = from.text("type");
    auto into = std::find_if(report.codes.begin(), report.codes.end(),
                             [&](const CodeHistogram &h) { return h.type == type; });
    if (into == report.codes.end()) {
        report.codes.push_back(
            {type, std::vector<uint64_t>(counts.size()), static_cast<int>(lowest.value_or(0))});
        into = report.codes.end() - 1;
    }
    if (into->counts.size() != counts.size()) from.refuse("counts", "has another number of codes");
    for (size_t i = 0; i < counts.size(); i++) into->counts[i] += counts[i];
}

void add_report_part(ModelReport &report, const PartReader &part) {
    for (const PartReader &tensor : part.list("tensors"))
        report.tensors.push_back(read_tensor(tensor));
    for (const PartReader &kind : part.list("weights")) {
        const std::vector<uint64_t> counts = kind.wholes("counts");
        if (counts.size() != kWeightBins) kind.refuse("counts", "has another number of bins");
        auto &bins = report.weights[bytes_of(kind, "kind")];
        for (size_t i = 0; i < counts.size(); i++) bins[i] += counts[i];
    }
    for (const PartReader &codes : part.list("codes")) add_codes(report, codes);
}

} // namespace ggufx::cli
