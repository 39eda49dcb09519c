// SPDX-License-Identifier: MIT
#include "models/sampling_defaults.hpp"

#include <charconv>
#include <cstdio>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct Key {
    uint32_t bit;
    const char *name; // after "general.sampling."
};
constexpr Key kKeys[] = {
    {GGUFX_SAMPLING_TEMPERATURE, "temp"},
    {GGUFX_SAMPLING_TOP_K, "top_k"},
    {GGUFX_SAMPLING_TOP_P, "top_p"},
    {GGUFX_SAMPLING_MIN_P, "min_p"},
    {GGUFX_SAMPLING_XTC_PROBABILITY, "xtc_probability"},
    {GGUFX_SAMPLING_XTC_THRESHOLD, "xtc_threshold"},
    {GGUFX_SAMPLING_N_LAST, "penalty_last_n"},
    {GGUFX_SAMPLING_REPETITION, "penalty_repeat"},
    {GGUFX_SAMPLING_MIROSTAT, "mirostat"},
    {GGUFX_SAMPLING_TAU, "mirostat_tau"},
    {GGUFX_SAMPLING_ETA, "mirostat_eta"},
    {GGUFX_SAMPLING_LINKS, "sequence"},
};

// Returns the name for --samplers.
const char *link_name(uint32_t kind) {
    switch (kind) {
    case GGUFX_LINK_TOP_K:
        return "top_k";
    case GGUFX_LINK_TOP_P:
        return "top_p";
    case GGUFX_LINK_MIN_P:
        return "min_p";
    case GGUFX_LINK_TYPICAL:
        return "typ_p";
    case GGUFX_LINK_TOP_N_SIGMA:
        return "top_n_sigma";
    case GGUFX_LINK_XTC:
        return "xtc";
    case GGUFX_LINK_TEMPERATURE:
        return "temperature";
    case GGUFX_LINK_PENALTIES:
        return "penalties";
    default:
        return "dry";
    }
}

std::string sequence_of(const ggufx_sampling_facts &facts) {
    std::string out;
    for (uint32_t i = 0; i < facts.n_links; i++)
        out += std::string(i ? ";" : "") + link_name(facts.links[i]);
    return out;
}

// Returns a float as its shortest decimal: 0.95, not 0.949999988079071.
Json number(float value) {
    const std::string text = fmt::format("{}", value);
    double out = 0;
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
}

Json value_of(const ggufx_sampling_facts &f, uint32_t bit) {
    switch (bit) {
    case GGUFX_SAMPLING_TEMPERATURE:
        return number(f.temperature);
    case GGUFX_SAMPLING_TOP_K:
        return f.top_k;
    case GGUFX_SAMPLING_TOP_P:
        return number(f.top_p);
    case GGUFX_SAMPLING_MIN_P:
        return number(f.min_p);
    case GGUFX_SAMPLING_XTC_PROBABILITY:
        return number(f.xtc_probability);
    case GGUFX_SAMPLING_XTC_THRESHOLD:
        return number(f.xtc_threshold);
    case GGUFX_SAMPLING_N_LAST:
        return f.n_last;
    case GGUFX_SAMPLING_REPETITION:
        return number(f.repetition);
    case GGUFX_SAMPLING_MIROSTAT:
        return f.mirostat;
    case GGUFX_SAMPLING_TAU:
        return number(f.tau);
    case GGUFX_SAMPLING_ETA:
        return number(f.eta);
    default:
        return sequence_of(f);
    }
}

// Returns the samplers that the user's options need, as bits 1u << GGUFX_LINK_*.
uint32_t links_asked(const SamplingOptions &o) {
    uint32_t out = 0;
    const uint32_t given = o.given();
    const auto need = [&](bool asked, uint32_t kind) { out |= asked ? 1u << kind : 0; };
    need(given & GGUFX_SAMPLING_TOP_K, GGUFX_LINK_TOP_K);
    need(given & GGUFX_SAMPLING_TOP_P, GGUFX_LINK_TOP_P);
    need(given & GGUFX_SAMPLING_MIN_P, GGUFX_LINK_MIN_P);
    need(given & (GGUFX_SAMPLING_XTC_PROBABILITY | GGUFX_SAMPLING_XTC_THRESHOLD), GGUFX_LINK_XTC);
    need((given & GGUFX_SAMPLING_TEMPERATURE) || o.dynatemp_range > 0, GGUFX_LINK_TEMPERATURE);
    need((given & (GGUFX_SAMPLING_REPETITION | GGUFX_SAMPLING_N_LAST)) ||
             o.frequency_penalty != 0 || o.presence_penalty != 0,
         GGUFX_LINK_PENALTIES);
    need(o.typical_p < 1, GGUFX_LINK_TYPICAL);
    need(o.top_n_sigma > 0, GGUFX_LINK_TOP_N_SIGMA);
    need(o.dry_multiplier > 0, GGUFX_LINK_DRY);
    return out;
}

void warn_of_ignored(const Globals &globals, const ModelSampling &model) {
    if (globals.quiet) return;
    const auto warn = [](const std::string &key) {
        std::fprintf(stderr, "ggufx: warning: %s has an unusable value and is ignored\n",
                     key.c_str());
    };
    for (const Key &key : kKeys)
        if (model.facts.ignored & key.bit) warn(std::string("general.sampling.") + key.name);
    if (model.facts.ignored & GGUFX_SAMPLING_SUPPRESSED) warn("tokenizer.ggml.suppress_tokens");
}

} // namespace

bool ModelSampling::orders(uint32_t links) const {
    if (!has(GGUFX_SAMPLING_LINKS)) return true;
    for (uint32_t i = 0; i < facts.n_links; i++) links &= ~(1u << facts.links[i]);
    return links == 0;
}

ModelSampling model_sampling(const ggufx_file *file) {
    ModelSampling out;
    const auto fill = [&](ggufx_error *error) {
        out.facts.struct_size = sizeof out.facts;
        return ggufx_file_sampling(&out.facts, out.suppressed.data(), out.suppressed.size(), file,
                                   error);
    };
    call(fill);
    if (out.facts.n_suppressed == 0) return out;
    out.suppressed.resize(out.facts.n_suppressed);
    call(fill);
    return out;
}

void use_model_sampling(const Globals &globals, SamplingOptions &options,
                        const ModelSampling &model) {
    warn_of_ignored(globals, model);
    const ggufx_sampling_facts &f = model.facts;
    const uint32_t given = options.given();
    const auto use = [&](uint32_t key, auto &option, auto value) {
        if (model.has(key) && !(given & key)) option = value;
    };
    use(GGUFX_SAMPLING_TEMPERATURE, options.temperature, f.temperature);
    use(GGUFX_SAMPLING_TOP_K, options.top_k, f.top_k);
    use(GGUFX_SAMPLING_TOP_P, options.top_p, f.top_p);
    use(GGUFX_SAMPLING_MIN_P, options.min_p, f.min_p);
    use(GGUFX_SAMPLING_XTC_PROBABILITY, options.xtc_probability, f.xtc_probability);
    use(GGUFX_SAMPLING_XTC_THRESHOLD, options.xtc_threshold, f.xtc_threshold);
    use(GGUFX_SAMPLING_N_LAST, options.repeat_last_n, f.n_last);
    use(GGUFX_SAMPLING_REPETITION, options.repeat_penalty, f.repetition);
    // The user's order consists of filters, which Mirostat would replace.
    if (!(given & GGUFX_SAMPLING_LINKS)) use(GGUFX_SAMPLING_MIROSTAT, options.mirostat, f.mirostat);
    use(GGUFX_SAMPLING_TAU, options.mirostat_tau, f.tau);
    use(GGUFX_SAMPLING_ETA, options.mirostat_eta, f.eta);
    if (model.orders(links_asked(options)))
        use(GGUFX_SAMPLING_LINKS, options.samplers, sequence_of(f));
    options.suppressed = model.suppressed;
}

Json sampling_json(const ModelSampling &model) {
    Json out = Json::object();
    for (const Key &key : kKeys)
        if (model.has(key.bit)) out[key.name] = value_of(model.facts, key.bit);
    if (!model.suppressed.empty()) out["suppress_tokens"] = model.suppressed;
    Json ignored = Json::array();
    for (const Key &key : kKeys)
        if (model.facts.ignored & key.bit) ignored.push_back(key.name);
    if (model.facts.ignored & GGUFX_SAMPLING_SUPPRESSED) ignored.push_back("suppress_tokens");
    if (ignored.size() > 0) out["ignored"] = ignored;
    return out;
}

std::string sampling_text(const ModelSampling &model) {
    std::string out;
    const auto add = [&](const std::string &text) { out += (out.empty() ? "" : ", ") + text; };
    for (const Key &key : kKeys) {
        if (!model.has(key.bit)) continue;
        const Json value = value_of(model.facts, key.bit);
        const std::string *text = value.text();
        add(fmt::format("{} {}", key.name, text ? *text : value.dump()));
    }
    if (!model.suppressed.empty())
        add(fmt::format("{} suppressed tokens", model.suppressed.size()));
    for (const Key &key : kKeys)
        if (model.facts.ignored & key.bit) add(fmt::format("{} (unusable, ignored)", key.name));
    return out;
}

} // namespace ggufx::cli
