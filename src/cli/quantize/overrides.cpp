// SPDX-License-Identifier: MIT
#include "quantize/overrides.hpp"

#include "common/input_file.hpp"
#include "common/name_pattern.hpp"
#include "quantize/quantize.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

struct Overrides::Override {
    std::string rule; // as given
    NamePattern pattern;
    uint32_t type;
    std::vector<size_t> tensors; // tensors that it decides
    std::vector<size_t> earlier; // tensors that it matches, but an earlier override decides
};

namespace {

// Tensors with the same outcome; the first one represents them.
struct TensorGroup {
    size_t n = 0;
    ggufx_quantizer_tensor_facts first = {};

    void add(const ggufx_quantizer_tensor_facts &tensor) {
        if (n++ == 0) first = tensor;
    }
    std::string name() const { return in_quotes(view(first.name)); }
    std::string matching() const {
        return fmt::format("{} matching tensor{}", n, n == 1 ? "" : "s");
    }
    std::string examples() const { return fmt::format(" ({}{})", name(), n > 1 ? ", ..." : ""); }
};

std::string fallback_text(const TensorGroup &group, size_t n_decided) {
    const ggufx_quantizer_tensor_facts &t = group.first;
    const auto wanted = facts<ggufx_type_facts>([&](ggufx_type_facts *out, ggufx_error *error) {
        return ggufx_type_info(out, t.wanted, error);
    });
    return fmt::format("does not fit {} of {} tensor{}: {} rows are not whole blocks of {} values "
                       "({} has rows of {} and gets {}{})",
                       group.n, n_decided, n_decided == 1 ? "" : "s",
                       group.n == 1 ? "its" : "their", wanted.block_values, group.name(), t.ne[0],
                       type_name(t.to), group.n > 1 ? ", ..." : "");
}

// Tensors that an override matches, by outcome.
struct Outcome {
    TensorGroup applied, fallbacks, earlier;
    TensorGroup kept_by_kind, kept_by_copy, kept_output; // --only-copy, --leave-output

    size_t n_kept() const { return kept_by_kind.n + kept_by_copy.n + kept_output.n; }
    // Returns the reasons why an override has no effect; empty if it has one.
    std::string no_effect() const {
        std::string text;
        const auto add = [&](const TensorGroup &group, const std::string &clause) {
            if (group.n) text += (text.empty() ? "" : ", ") + clause + group.examples();
        };
        if (applied.n + fallbacks.n) return text;
        add(earlier, "earlier overrides decide " + earlier.matching());
        add(kept_by_copy, "--only-copy keeps " + kept_by_copy.matching());
        add(kept_output, "--leave-output keeps " + kept_output.matching());
        add(kept_by_kind, kept_by_kind.matching() + (kept_by_kind.n == 1 ? " is never quantized"
                                                                         : " are never quantized"));
        return text;
    }
};

Outcome outcome_of(const ggufx_quantizer *job, const ModelQuantizeOptions &options,
                   const std::vector<size_t> &decided, const std::vector<size_t> &earlier) {
    Outcome out;
    for (const size_t i : earlier) out.earlier.add(job_tensor(job, i));
    for (const size_t i : decided) {
        const ggufx_quantizer_tensor_facts t = job_tensor(job, i);
        const bool is_output = view(t.name) == "output.weight";
        TensorGroup &group = t.reason == GGUFX_QUANTIZER_REASON_FALLBACK ? out.fallbacks
                             : t.reason != GGUFX_QUANTIZER_REASON_KEPT   ? out.applied
                             : options.only_copy                         ? out.kept_by_copy
                             : options.leave_output && is_output         ? out.kept_output
                                                                         : out.kept_by_kind;
        group.add(t);
    }
    return out;
}

} // namespace

Overrides::Overrides(const ModelQuantizeOptions &options) : options_(options) {
    for (const std::string &rule : options.rules) add(rule);
    if (options.rules_file.empty()) return;
    const std::string text = read_text(options.rules_file);
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        std::string line = text.substr(at, end - at);
        while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
        if (!line.empty() && line[0] != '#') add(line);
        at = end + 1;
    }
}

void Overrides::add(const std::string &rule) {
    const size_t equals = rule.rfind('=');
    if (equals == std::string::npos || equals == 0) {
        throw Failure(kUsage, "--tensor-type: " + in_quotes(rule) + " is not PATTERN=TYPE");
    }
    const uint32_t type = type_from_name(rule.substr(equals + 1), "--tensor-type");
    NamePattern pattern("--tensor-type", rule.substr(0, equals));
    overrides_.push_back(
        std::make_shared<Override>(Override{rule, std::move(pattern), type, {}, {}}));
}

std::vector<uint32_t> Overrides::choose(const ggufx_quantizer *job) {
    std::vector<uint32_t> types(job_facts(job).n_tensors, GGUFX_QUANTIZER_DEFAULT_TYPE);
    for (size_t i = 0; i < types.size(); i++) {
        const ggufx_quantizer_tensor_facts t = job_tensor(job, i);
        bool decided = false;
        for (const auto &override : overrides_) { // later ones too, to count their matches
            if (!override->pattern.matches(view(t.name))) continue;
            (decided ? override->earlier : override->tensors).push_back(i);
            if (!decided) types[i] = override->type;
            decided = true;
        }
    }
    return types;
}

void Overrides::warn(const ggufx_quantizer *job) const {
    for (const auto &override : overrides_) {
        const std::string rule = "ggufx: --tensor-type " + in_quotes(override->rule);
        const Outcome found = outcome_of(job, options_, override->tensors, override->earlier);
        const std::string reasons = found.no_effect();
        if (override->tensors.empty() && override->earlier.empty())
            fmt::print(stderr, "{} matches no tensor\n", rule);
        if (!reasons.empty()) fmt::print(stderr, "{} has no effect: {}\n", rule, reasons);
        if (found.fallbacks.n)
            fmt::print(stderr, "{} {}\n", rule,
                       fallback_text(found.fallbacks, override->tensors.size()));
    }
}

Json Overrides::to_json(const ggufx_quantizer *job) const {
    Json list = Json::array();
    for (const auto &override : overrides_) {
        const Outcome found = outcome_of(job, options_, override->tensors, override->earlier);
        list.push_back({{"override", json_bytes(override->rule)},
                        {"type", type_name(override->type)},
                        {"matches", override->tensors.size() + override->earlier.size()},
                        {"applies", found.applied.n},
                        {"earlier", found.earlier.n},
                        {"kept", found.n_kept()},
                        {"fallbacks", found.fallbacks.n}});
    }
    return list;
}

} // namespace ggufx::cli
