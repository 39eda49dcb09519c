// SPDX-License-Identifier: MIT
#include "models/sampling_defaults.hpp"

#include <charconv>
#include <cstdio>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

// Returns a number as its shortest decimal: 0.95, not 0.949999988079071.
Json number(float value) {
    const std::string text = fmt::format("{}", value);
    double out = 0;
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
}
Json number(uint32_t value) {
    return value;
}

std::string sequence_of(const ggufx_sampling_facts &facts) {
    std::string out;
    for (uint32_t i = 0; i < facts.n_samplers; i++)
        out += std::string(i ? ";" : "") + sampler_name(facts.samplers[i]);
    return out;
}

struct Key {
    uint32_t bit;
    const char *name; // after "general.sampling."
    Json (*value)(const ggufx_sampling_facts &facts);
};
const Key kKeys[] = {
#define KEY(ID, bit, key, member, type, least, most, instead_of_negative, field)                   \
    {GGUFX_SAMPLING_##ID, key,                                                                     \
     [](const ggufx_sampling_facts &facts) { return number(facts.member); }},
#include "sampling/samplers.def"
    {GGUFX_SAMPLING_SEQUENCE, "sequence",
     [](const ggufx_sampling_facts &facts) { return Json(sequence_of(facts)); }},
};

// Returns the samplers that the user's options need, as bits 1u << GGUFX_SAMPLER_*: a key was given,
// or an option without a key differs from its default.
uint32_t samplers_asked(const SamplingOptions &o) {
    constexpr uint32_t mirostat = 0;
    uint32_t out = 0;
    const uint32_t given = o.given();
#define EACH(id, ID, Type, name, order) constexpr uint32_t id = 1u << GGUFX_SAMPLER_##ID;
#include "sampling/samplers.def"
    const auto need = [&](uint32_t key, bool differs, uint32_t sampler) {
        if (key ? (given & key) != 0 : differs) out |= sampler;
    };
#define FLOAT(id, member, least, most, instead_of_0, field, value, KEY, long_name, help)           \
    need(GGUFX_SAMPLING_##KEY, o.field != static_cast<float>(value), id);
#define COUNT(id, member, most, field, value, KEY, long_name, help)                                \
    need(GGUFX_SAMPLING_##KEY, o.field != value, id);
#include "sampling/samplers.def"
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

bool ModelSampling::orders(uint32_t samplers) const {
    if (!has(GGUFX_SAMPLING_SEQUENCE)) return true;
    for (uint32_t i = 0; i < facts.n_samplers; i++) samplers &= ~(1u << facts.samplers[i]);
    return samplers == 0;
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
    const uint32_t given = options.given(), mirostat = options.mirostat;
    const auto use = [&](uint32_t key, auto &option, auto value) {
        if (model.has(key) && !(given & key)) option = value;
    };
#define KEY(ID, bit, key, member, type, least, most, instead_of_negative, field)                   \
    use(GGUFX_SAMPLING_##ID, options.field, f.member);
#include "sampling/samplers.def"
    // The user's order consists of filters, which Mirostat would replace.
    if (given & GGUFX_SAMPLING_SEQUENCE) options.mirostat = mirostat;
    if (model.orders(samplers_asked(options)))
        use(GGUFX_SAMPLING_SEQUENCE, options.samplers, sequence_of(f));
    options.suppressed = model.suppressed;
}

Json sampling_json(const ModelSampling &model) {
    Json out = Json::object();
    for (const Key &key : kKeys)
        if (model.has(key.bit)) out[key.name] = key.value(model.facts);
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
        const Json value = key.value(model.facts);
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
