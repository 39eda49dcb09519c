// SPDX-License-Identifier: MIT
#include "models/sampling.hpp"

#include "common/random.hpp"
#include "common/text.hpp"
#include "models/text_model.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <functional>

namespace ggufx::cli {

uint32_t SamplingOptions::given() const {
    uint32_t out = 0;
    for (const auto &[key, option] : keys)
        if (option.was_given()) out |= key;
    return out;
}

namespace {

template <class T> std::string with_default(const char *help, T value, uint32_t key) {
    return fmt::format("{} (default {}{})", help, key ? "that of the model, else " : "", value);
}

// Numbers of samplers by sampler and name.
#define FLOAT(id, member, least, most, instead_of_0, field, value, KEY, long_name, help)           \
    inline float id##_##member(const SamplingOptions &o) {                                         \
        return o.field;                                                                            \
    }
#define COUNT(id, member, most, field, value, KEY, long_name, help)                                \
    inline uint32_t id##_##member(const SamplingOptions &o) {                                      \
        return o.field;                                                                            \
    }
#include "sampling/samplers.def"

} // namespace

Option add_number(Command &sub, const char *name, float &value, const char *help, uint32_t key,
                  double least, double most) {
    return sub.option(name, value, with_default(help, value, key)).within(least, most);
}

Option add_number(Command &sub, const char *name, uint32_t &value, const char *help, uint32_t key,
                  double, double most) {
    Option option = sub.option(name, value, with_default(help, value, key));
    return most < UINT32_MAX ? option.between(0, static_cast<uint64_t>(most)) : option;
}

void add_sampling_options(Command &sub, SamplingOptions &options) {
    const auto note = [&](uint32_t key, const Option &option) {
        if (key) options.keys.emplace_back(key, option);
    };
#define FLOAT(id, member, least, most, instead_of_0, field, value, KEY, long_name, help)           \
    note(GGUFX_SAMPLING_##KEY,                                                                     \
         add_number(sub, long_name, options.field, help, GGUFX_SAMPLING_##KEY, least, most));
#define COUNT(id, member, most, field, value, KEY, long_name, help)                                \
    note(GGUFX_SAMPLING_##KEY,                                                                     \
         add_number(sub, long_name, options.field, help, GGUFX_SAMPLING_##KEY, 0, most));
#include "sampling/samplers.def"
    sub.seed("--seed", options.given_seed,
             "random seed, -1 = draw one; the same seed gives the same token ids (default -1)");
    sub.option("--dry-sequence-breaker", options.dry_breakers,
               "DRY: text that no repeat spans; none = no such text (default line feed : \" *)")
        .repeatable();
    sub.option("--logit-bias", options.biases,
               "add to the logit of a token id: 15+2.5, 15-1, 15=-inf")
        .value("ID+BIAS")
        .repeatable();
    note(GGUFX_SAMPLING_SEQUENCE,
         sub.option("--samplers", options.samplers,
                    "sampler chain in this order; samplers that are not named are off: "
                    "\"top_k;top_p;temperature\"")
             .value("NAMES"));
}

namespace {

// Returns whether sampling is greedy: the most likely token, without random numbers.
bool is_greedy(const SamplingOptions &o) {
    return o.temperature == 0 && o.xtc_probability == 0 && o.mirostat == 0 && o.samplers.empty();
}

// Returns the tokens whose text contains one of `texts`.
std::vector<int32_t> breakers_of(const ggufx_tokenizer *tokenizer, uint32_t n_vocab,
                                 std::vector<std::string> texts) {
    if (texts.empty()) texts = {"\n", ":", "\"", "*"};
    if (texts.size() == 1 && texts[0] == "none") return {};
    std::vector<int32_t> out;
    if (!tokenizer) return out;
    const ggufx_tokenizer_facts info = tokenizer_facts(tokenizer);
    const auto n = static_cast<int32_t>(std::min(info.n_tokens, n_vocab));
    for (int32_t id = 0; id < n; id++) {
        const std::string text = detokenize(tokenizer, {&id, 1}, GGUFX_DETOKENIZE_KEEP_SPACE);
        for (const std::string &breaker : texts) {
            if (text.find(breaker) == std::string::npos) continue;
            out.push_back(id);
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

using Add = std::function<ggufx_status(ggufx_sampler *, ggufx_error *)>;

// Adds a sampler to a chain. Numbers of the user that it refuses are a usage error.
void add(const Sampler &chain, const Add &sampler) {
    ggufx_error error;
    const ggufx_status status = sampler(chain.get(), &error);
    if (status != GGUFX_OK)
        throw Failure(status == GGUFX_E_MEMORY ? exit_code(status) : kUsage, error);
}

struct NamedSampler {
    const char *name;
    int order;
    Add add;
};

// Returns the samplers that --samplers can name, in the usual order.
std::vector<NamedSampler> named_samplers(const SamplingOptions &o,
                                         const std::vector<int32_t> &breakers) {
    const Add add_temperature = [&](ggufx_sampler *chain, ggufx_error *error) {
        auto options = sized<ggufx_temperature_options>();
        options.range = o.dynatemp_range;
        options.exponent = o.dynatemp_exponent;
        return ggufx_sampler_add_temperature(chain, o.temperature, &options, error);
    };
    const Add add_penalties = [&](ggufx_sampler *chain, ggufx_error *error) {
        auto options = sized<ggufx_penalty_options>();
        options.repeat = o.repeat_penalty;
        options.frequency = o.frequency_penalty;
        options.presence = o.presence_penalty;
        options.last_n = o.repeat_last_n;
        return ggufx_sampler_add_penalties(chain, &options, error);
    };
    const Add add_dry = [&](ggufx_sampler *chain, ggufx_error *error) {
        auto options = sized<ggufx_dry_options>();
        options.multiplier = o.dry_multiplier;
        options.base = o.dry_base;
        options.allowed_length = o.dry_allowed_length;
        options.last_n = o.dry_penalty_last_n;
        options.sequence_breakers = breakers.data();
        options.n_sequence_breakers = breakers.size();
        return ggufx_sampler_add_dry(chain, &options, error);
    };
    std::vector<NamedSampler> out;
#define FILTER1(id, ID, Type, name, order, type, a, example)                                       \
    out.push_back({name, order, [&o](ggufx_sampler *chain, ggufx_error *error) {                   \
                       return ggufx_sampler_add_##id(chain, id##_##a(o), error);                   \
                   }});
#define FILTER2(id, ID, Type, name, order, type, a, b, example_a, example_b)                       \
    out.push_back({name, order, [&o](ggufx_sampler *chain, ggufx_error *error) {                   \
                       return ggufx_sampler_add_##id(chain, id##_##a(o), id##_##b(o), error);      \
                   }});
#define SAMPLER(id, ID, Type, name, order) out.push_back({name, order, add_##id});
#include "sampling/samplers.def"
    std::sort(out.begin(), out.end(),
              [](const auto &a, const auto &b) { return a.order < b.order; });
    return out;
}

// Adds the samplers of an order: "top_k;temperature".
void add_order(const Sampler &chain, const std::string &order,
               const std::vector<NamedSampler> &known) {
    for (size_t at = 0; at <= order.size();) {
        const size_t end = std::min(order.find(';', at), order.size());
        const std::string name = order.substr(at, end - at);
        const auto found = std::find_if(known.begin(), known.end(),
                                        [&](const NamedSampler &s) { return s.name == name; });
        if (found == known.end()) {
            std::string names;
            for (const NamedSampler &s : known)
                names += (names.empty() ? "" : ", ") + std::string(s.name);
            throw Failure(kUsage,
                          fmt::format("--samplers: \"{}\" is not one of {}", escape(name), names));
        }
        add(chain, found->add);
        at = end + 1;
    }
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

const char *sampler_name(ggufx_sampler_kind kind) {
    switch (kind) {
#define EACH(id, ID, Type, name, order)                                                            \
    case GGUFX_SAMPLER_##ID:                                                                       \
        return name;
#include "sampling/samplers.def"
    default:
        return "";
    }
}

Sampler make_chain(const ggufx_runtime *rt, uint32_t n_vocab, uint64_t seed) {
    ggufx_sampler *chain = nullptr;
    call(
        [&](ggufx_error *error) { return ggufx_sampler_create(&chain, rt, n_vocab, seed, error); });
    return Sampler(chain);
}

Sampler make_sampler(const ggufx_runtime *rt, uint32_t n_vocab, const SamplingOptions &options,
                     const ggufx_tokenizer *tokenizer) {
    std::vector<int32_t> breakers;
    if (options.dry_multiplier > 0.0f)
        breakers = breakers_of(tokenizer, n_vocab, options.dry_breakers);
    Sampler chain = make_chain(rt, n_vocab, options.seed);
    add(chain, [&](ggufx_sampler *sampler, ggufx_error *error) {
        const std::vector<ggufx_logit_bias> biases = biases_of(options, n_vocab);
        return ggufx_sampler_add_logit_bias(sampler, biases.data(), biases.size(), error);
    });
    const std::vector<NamedSampler> known = named_samplers(options, breakers);
    if (options.mirostat) { // instead of the filters
        add_order(chain, "penalties;dry;temperature", known);
        add(chain, [&](ggufx_sampler *sampler, ggufx_error *error) {
            auto mirostat = sized<ggufx_mirostat_options>();
            mirostat.version = options.mirostat;
            mirostat.tau = options.mirostat_tau;
            mirostat.eta = options.mirostat_eta;
            return ggufx_sampler_add_mirostat(sampler, &mirostat, error);
        });
    } else if (options.samplers.empty()) {
        for (const NamedSampler &sampler : known) add(chain, sampler.add);
    } else {
        add_order(chain, options.samplers, known);
    }
    return chain;
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
    Session made =
        make_session(rt, file, model, options.n_context, kv_type_from_name(options.type_k, "--ctk"),
                     kv_type_from_name(options.type_v, "--ctv"), options.making.group.n_ranks());
    Adapters(rt, model, options.adapters).give_to(made.get());
    return made;
}

} // namespace ggufx::cli
