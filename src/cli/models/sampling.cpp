// SPDX-License-Identifier: MIT
#include "models/sampling.hpp"

#include "common/random.hpp"
#include "common/text.hpp"
#include "models/text_model.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace ggufx::cli {

uint32_t SamplingOptions::given() const {
    uint32_t out = 0;
    for (const auto &[key, option] : keys)
        if (option.was_given()) out |= key;
    return out;
}

void add_sampling_options(Command &sub, SamplingOptions &options) {
    auto &keys = options.keys;
    keys.emplace_back(GGUFX_SAMPLING_TEMPERATURE,
                      sub.option("--temp", options.temperature,
                                 "temperature, 0 = greedy (default that of the model, else 0.8)")
                          .within(0.0, 1e6));
    keys.emplace_back(
        GGUFX_SAMPLING_TOP_K,
        sub.option("--top-k", options.top_k,
                   "keep the k most likely tokens, 0 = all (default that of the model, else 40)"));
    keys.emplace_back(GGUFX_SAMPLING_TOP_P,
                      sub.option("--top-p", options.top_p,
                                 "keep the most likely tokens up to this total probability "
                                 "(default that of the model, else 0.95)")
                          .within(0.0, 1.0));
    keys.emplace_back(GGUFX_SAMPLING_MIN_P,
                      sub.option("--min-p", options.min_p,
                                 "drop tokens below this share of the highest probability (default "
                                 "that of the model, else 0.05)")
                          .within(0.0, 1.0));
    sub.seed("--seed", options.given_seed,
             "random seed, -1 = draw one; the same seed gives the same token ids (default -1)");
    sub.option("--typical-p", options.typical_p,
               "locally typical sampling: keep the most typical tokens up to this total "
               "probability, 1 = off (default 1)")
        .within(0.0, 1.0);
    sub.option("--top-n-sigma", options.top_n_sigma,
               "keep logits within N standard deviations of the largest, 0 = off (default 0)")
        .within(0.0, 1e6);
    keys.emplace_back(GGUFX_SAMPLING_XTC_PROBABILITY,
                      sub.option("--xtc-probability", options.xtc_probability,
                                 "XTC: probability of removing all but the last token above the "
                                 "threshold, 0 = off (default that of the model, else 0)")
                          .within(0.0, 1.0));
    keys.emplace_back(
        GGUFX_SAMPLING_XTC_THRESHOLD,
        sub.option("--xtc-threshold", options.xtc_threshold,
                   "XTC: threshold of the probability (default that of the model, else 0.1)")
            .within(0.0, 1.0));
    sub.option("--dynatemp-range", options.dynatemp_range,
               "dynamic temperature: range above and below --temp, by entropy, 0 = off (default 0)")
        .within(0.0, 1e6);
    sub.option("--dynatemp-exponent", options.dynatemp_exponent,
               "dynamic temperature: exponent of the entropy (default 1)")
        .within(0.0, 1e6);
    keys.emplace_back(
        GGUFX_SAMPLING_REPETITION,
        sub.option(
               "--repeat-penalty", options.repeat_penalty,
               "divisor of logits of repeated tokens, 1 = off (default that of the model, else 1)")
            .within(0.0, 1e6));
    sub.option("--frequency-penalty", options.frequency_penalty,
               "subtracted from a logit for each occurrence of the token (default 0)")
        .within(-1e6, 1e6);
    sub.option("--presence-penalty", options.presence_penalty,
               "subtracted once from the logit of a token that occurred (default 0)")
        .within(-1e6, 1e6);
    keys.emplace_back(
        GGUFX_SAMPLING_N_LAST,
        sub.option(
            "--repeat-last-n", options.repeat_last_n,
            "number of last tokens that penalties apply to (default that of the model, else 64)"));
    sub.option("--dry-multiplier", options.dry_multiplier,
               "DRY: multiplier of the penalty for repeated sequences, 0 = off (default 0)")
        .within(0.0, 1e6);
    sub.option("--dry-base", options.dry_base,
               "DRY: base of the exponential growth with length (default 1.75)")
        .within(1.0, 1e6);
    sub.option("--dry-allowed-length", options.dry_allowed_length,
               "DRY: length of a repeat from which it is penalized (default 2)");
    sub.option("--dry-penalty-last-n", options.dry_penalty_last_n,
               "DRY: number of last tokens to search (default 4096)");
    sub.option("--dry-sequence-breaker", options.dry_breakers,
               "DRY: text that no repeat spans; none = no such text (default line feed : \" *)")
        .repeatable();
    keys.emplace_back(GGUFX_SAMPLING_MIROSTAT,
                      sub.option("--mirostat", options.mirostat,
                                 "Mirostat version 1 or 2, instead of filters, 0 = off (default "
                                 "that of the model, else 0)")
                          .between(0u, 2u));
    keys.emplace_back(
        GGUFX_SAMPLING_TAU,
        sub.option("--mirostat-ent", options.mirostat_tau,
                   "Mirostat: target surprise in bits (default that of the model, else 5)")
            .within(0.0, 1e6));
    keys.emplace_back(GGUFX_SAMPLING_ETA,
                      sub.option("--mirostat-lr", options.mirostat_eta,
                                 "Mirostat: learning rate (default that of the model, else 0.1)")
                          .within(0.0, 1e6));
    sub.option("--logit-bias", options.biases,
               "add to the logit of a token id: 15+2.5, 15-1, 15=-inf")
        .value("ID+BIAS")
        .repeatable();
    keys.emplace_back(GGUFX_SAMPLING_LINKS,
                      sub.option("--samplers", options.samplers,
                                 "sampler chain in this order; samplers that are not named are "
                                 "off: \"top_k;top_p;temperature\"")
                          .value("NAMES"));
}

ggufx_sampler_link sampler_link(uint32_t kind, float p) {
    auto link = sized<ggufx_sampler_link>();
    link.kind = kind;
    link.p = p;
    return link;
}

namespace {

// Returns whether sampling is greedy: the most likely token, without random numbers.
bool is_greedy(const SamplingOptions &o) {
    return o.temperature == 0 && o.xtc_probability == 0 && o.mirostat == 0 && o.samplers.empty();
}

Sampler make_simple(const ggufx_runtime *rt, uint32_t n_vocab, const SamplingOptions &options) {
    auto of = sized<ggufx_sampler_options>();
    of.temperature = options.temperature;
    of.top_k = options.top_k;
    of.top_p = options.top_p;
    of.min_p = options.min_p;
    of.seed = options.seed;
    ggufx_sampler *sampler = nullptr;
    call([&](ggufx_error *error) {
        return ggufx_sampler_create(&sampler, rt, n_vocab, &of, error);
    });
    return Sampler(sampler);
}

// Returns whether an option needs a sampler chain.
bool needs_chain(const SamplingOptions &o) {
    return o.typical_p < 1.0f || o.top_n_sigma > 0.0f || o.xtc_probability > 0.0f ||
           o.dynatemp_range > 0.0f || o.repeat_penalty != 1.0f || o.frequency_penalty != 0.0f ||
           o.presence_penalty != 0.0f || o.dry_multiplier > 0.0f || o.mirostat != 0 ||
           !o.biases.empty() || !o.samplers.empty() || !o.suppressed.empty();
}

std::string token_text(const ggufx_tokenizer *tokenizer, int32_t id) {
    std::string text(64, '\0');
    size_t needed = 0;
    const auto fill = [&](ggufx_error *error) {
        return ggufx_detokenize(text.data(), text.size(), &needed, tokenizer, &id, 1,
                                GGUFX_DETOKENIZE_KEEP_SPACE, error);
    };
    ggufx_error error;
    if (fill(&error) == GGUFX_E_CAPACITY) text.resize(needed);
    call(fill);
    text.resize(needed);
    return text;
}

// Returns the tokens whose text contains one of `texts`.
std::vector<int32_t> breakers_of(const ggufx_tokenizer *tokenizer, uint32_t n_vocab,
                                 std::vector<std::string> texts) {
    if (texts.empty()) texts = {"\n", ":", "\"", "*"};
    if (texts.size() == 1 && texts[0] == "none") return {};
    std::vector<int32_t> out;
    if (!tokenizer) return out;
    const auto info =
        facts<ggufx_tokenizer_facts>([&](ggufx_tokenizer_facts *of, ggufx_error *error) {
            return ggufx_tokenizer_info(of, tokenizer, error);
        });
    for (uint32_t id = 0; id < info.n_tokens && id < n_vocab; id++) {
        const std::string text = token_text(tokenizer, static_cast<int32_t>(id));
        for (const std::string &breaker : texts) {
            if (text.find(breaker) == std::string::npos) continue;
            out.push_back(static_cast<int32_t>(id));
            break;
        }
    }
    return out;
}

// Parses "15+2.5", "15-1", "15=-inf": a token id and the bias added to its logit.
ggufx_logit_bias parse_bias(const std::string &text) {
    const size_t sign = text.find_first_of("+-=");
    ggufx_logit_bias out = {};
    const char *const first = text.data(), *const last = first + text.size();
    bool ok = sign != std::string::npos && sign > 0;
    if (ok) {
        const auto id = std::from_chars(first, first + sign, out.id);
        const auto bias =
            std::from_chars(first + sign + (text[sign] == '-' ? 0 : 1), last, out.bias);
        ok = id.ec == std::errc() && id.ptr == first + sign && bias.ec == std::errc() &&
             bias.ptr == last;
    }
    if (!ok)
        throw Failure(kUsage, "--logit-bias: \"" + escape(text) + "\" is not ID+BIAS or ID-BIAS");
    return out;
}

// Returns the logit biases. Suppressed tokens stay suppressed, whatever the user adds.
std::vector<ggufx_logit_bias> biases_of(const SamplingOptions &options, uint32_t n_vocab) {
    std::vector<ggufx_logit_bias> out;
    const std::vector<int32_t> &never = options.suppressed; // ascending
    for (const std::string &text : options.biases) {
        const ggufx_logit_bias bias = parse_bias(text);
        if (!std::binary_search(never.begin(), never.end(), bias.id)) out.push_back(bias);
    }
    for (const int32_t id : never)
        if (static_cast<uint32_t>(id) < n_vocab) out.push_back({id, -INFINITY});
    return out;
}

struct ChainParts {
    std::vector<int32_t> breakers;
    std::vector<ggufx_logit_bias> biases;
};

// Returns the sampler that --samplers calls `name`.
ggufx_sampler_link named_link(const std::string &name, const SamplingOptions &o,
                              const ChainParts &parts) {
    ggufx_sampler_link link;
    if (name == "top_k") {
        link = sampler_link(GGUFX_LINK_TOP_K);
        link.k = o.top_k;
    } else if (name == "top_p") {
        link = sampler_link(GGUFX_LINK_TOP_P, o.top_p);
    } else if (name == "min_p") {
        link = sampler_link(GGUFX_LINK_MIN_P, o.min_p);
    } else if (name == "typ_p") {
        link = sampler_link(GGUFX_LINK_TYPICAL, o.typical_p);
    } else if (name == "top_n_sigma") {
        link = sampler_link(GGUFX_LINK_TOP_N_SIGMA);
        link.n_sigma = o.top_n_sigma;
    } else if (name == "xtc") {
        link = sampler_link(GGUFX_LINK_XTC);
        link.probability = o.xtc_probability;
        link.threshold = o.xtc_threshold;
    } else if (name == "temperature") {
        link = sampler_link(GGUFX_LINK_TEMPERATURE);
        link.temperature = o.temperature;
        link.range = o.dynatemp_range;
        link.exponent = o.dynatemp_exponent;
    } else if (name == "penalties") {
        link = sampler_link(GGUFX_LINK_PENALTIES);
        link.repetition = o.repeat_penalty;
        link.frequency = o.frequency_penalty;
        link.presence = o.presence_penalty;
        link.n_last = o.repeat_last_n;
    } else if (name == "dry") {
        link = sampler_link(GGUFX_LINK_DRY);
        link.multiplier = o.dry_multiplier;
        link.base = o.dry_base;
        link.allowed_length = o.dry_allowed_length;
        link.n_last = o.dry_penalty_last_n;
        link.breakers = parts.breakers.data();
        link.n_breakers = parts.breakers.size();
    } else {
        throw Failure(kUsage, "--samplers: \"" + escape(name) +
                                  "\" is not one of penalties, dry, top_n_sigma, top_k, typ_p, "
                                  "top_p, min_p, xtc, temperature");
    }
    return link;
}

std::vector<ggufx_sampler_link> links_of(const SamplingOptions &o, const ChainParts &parts) {
    std::vector<ggufx_sampler_link> out;
    if (!parts.biases.empty()) {
        out.push_back(sampler_link(GGUFX_LINK_BIAS));
        out[0].biases = parts.biases.data();
        out[0].n_biases = parts.biases.size();
    }
    std::string order = o.samplers.empty()
                            ? "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature"
                            : o.samplers;
    if (o.mirostat) order = "penalties;dry;temperature"; // Mirostat replaces the filters
    for (size_t at = 0; at <= order.size();) {
        const size_t end = std::min(order.find(';', at), order.size());
        out.push_back(named_link(order.substr(at, end - at), o, parts));
        at = end + 1;
    }
    if (o.mirostat) {
        ggufx_sampler_link link = sampler_link(GGUFX_LINK_MIROSTAT);
        link.version = o.mirostat;
        link.tau = o.mirostat_tau;
        link.eta = o.mirostat_eta;
        out.push_back(link);
    }
    return out;
}

} // namespace

void choose_seed(const Globals &globals, SamplingOptions &options, const GroupChoice &group) {
    if (options.given_seed) {
        options.seed = *options.given_seed;
    } else if (!is_greedy(options)) {
        const uint64_t own = random_seed();
        std::vector<uint64_t> all(group.n_ranks(), own);
        if (group.is_set())
            call([&](ggufx_error *error) {
                return group.group.allgather(group.group.user, all.data(), &own, sizeof own,
                                             kAnswerWithin, error);
            });
        options.seed = all[0];
    }
    if (!globals.verbose || !group.is_first()) return;
    std::fprintf(stderr, "ggufx: info: seed %llu\n", static_cast<unsigned long long>(options.seed));
}

Sampler make_sampler(const ggufx_runtime *rt, uint32_t n_vocab, const SamplingOptions &options,
                     const ggufx_tokenizer *tokenizer) {
    if (!needs_chain(options)) return make_simple(rt, n_vocab, options);
    ChainParts parts;
    if (options.dry_multiplier > 0.0f)
        parts.breakers = breakers_of(tokenizer, n_vocab, options.dry_breakers);
    parts.biases = biases_of(options, n_vocab);
    ggufx_sampler *handle = nullptr;
    call([&](ggufx_error *error) {
        return ggufx_sampler_create_chain(&handle, rt, n_vocab, options.seed, error);
    });
    Sampler sampler(handle);
    for (const ggufx_sampler_link &link : links_of(options, parts)) {
        ggufx_error error;
        const ggufx_status status = ggufx_sampler_add(handle, &link, &error);
        if (status != GGUFX_OK)
            throw Failure(status == GGUFX_E_MEMORY ? exit_code(status) : kUsage, error);
    }
    return sampler;
}

void add_session_options(Command &sub, SessionOptions &options) {
    sub.option("--ctx", options.n_context,
               "context size in tokens (default that of the model, at most 8192)");
    add_model_options(sub, options.making);
    add_adapter_options(sub, options.adapters);
    sub.option("--ctk", options.type_k, "KV cache type of keys (default f16)").value("KVTYPE");
    sub.option("--ctv", options.type_v, "KV cache type of values (default f16)").value("KVTYPE");
}

Session make_session(const ggufx_runtime *rt, const ggufx_file *file, const ggufx_model *model,
                     const SessionOptions &options) {
    auto session = sized<ggufx_session_options>();
    session.n_context = options.n_context;
    session.type_k = kv_type_from_name(options.type_k, "--ctk");
    session.type_v = kv_type_from_name(options.type_v, "--ctv");
    Session made = make_session(rt, file, model, session, options.making.group.n_ranks());
    Adapters(rt, model, options.adapters).give_to(made.get());
    return made;
}

} // namespace ggufx::cli
