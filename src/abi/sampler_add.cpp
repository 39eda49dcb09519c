// Samplers that are added to a chain: include/ggufx/sampler.h. samplers.def has their numbers.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/model_handles.hpp"
#include "abi/options.hpp"

#include <ggufx/sampler.h>
#include <inttypes.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

static_assert(sizeof(ggufx_candidate) == sizeof(sampling::Candidate) &&
              offsetof(ggufx_candidate, id) == offsetof(sampling::Candidate, id) &&
              offsetof(ggufx_candidate, logit) == offsetof(sampling::Candidate, logit));

struct Range {
    const char *name;
    float least, most, instead_of_0;

    // Returns the value, or the default for 0. Throws Error (argument) if it is out of range.
    float operator()(float value) const {
        if (value == 0.0f) return instead_of_0;
        if (value >= least && value <= most) return value;
        fail(Status::argument, {}, "%s is %g: it must be %g to %g", name,
             static_cast<double>(value), static_cast<double>(least), static_cast<double>(most));
    }
};

struct Limit {
    const char *name;
    uint32_t most;

    uint32_t operator()(uint32_t value) const {
        if (value > most)
            fail(Status::limit, {.value = value, .limit = most},
                 "%s is %" PRIu32 ", the limit is %" PRIu32, name, value, most);
        return value;
    }
};

// The range of each number: top_p::p.
#define FLOAT(id, member, least, most, instead_of_0, field, value, KEY, long_name, help)           \
    namespace id {                                                                                 \
    constexpr Range member = {#member, least, most, instead_of_0};                                 \
    }
#define COUNT(id, member, most, field, value, KEY, long_name, help)                                \
    namespace id {                                                                                 \
    constexpr Limit member = {#member, most};                                                      \
    }
#include "sampling/samplers.def"
static_assert(penalties::last_n.most == GGUFX_SAMPLER_MAX_LAST_N &&
              dry::last_n.most == GGUFX_SAMPLER_MAX_LAST_N);

// Returns the chain of a sampler, to which another one can be added.
sampling::Chain &open_chain(ggufx_sampler *sampler) {
    require(alive(sampler, Tag::sampler), "sampler must be set");
    sampling::Chain &chain = sampler->chain;
    if (chain.ends()) fail(Status::state, {}, "mirostat must be the last sampler of a chain");
    if (chain.n_samplers() == GGUFX_SAMPLER_MAX_SAMPLERS)
        fail(Status::limit, {.limit = GGUFX_SAMPLER_MAX_SAMPLERS},
             "a chain has at most %u samplers", GGUFX_SAMPLER_MAX_SAMPLERS);
    return chain;
}

template <class Filter> void add(sampling::Chain &chain, const Filter &filter) {
    if (!filter.is_off()) chain.add(filter);
}

const Host *host_of(const ggufx_sampler *sampler) {
    return sampler->runtime->host.get();
}

void check_id(int32_t id, uint32_t n_vocab, size_t index, const char *name) {
    if (id >= 0 && static_cast<uint32_t>(id) < n_vocab) return;
    fail(Status::argument, {kNone, index}, "%s: id %" PRId32 " is not one of %" PRIu32 " tokens",
         name, id, n_vocab);
}

} // namespace

#define FILTER1(id, ID, Type, name, order, type, a, example)                                       \
    extern "C" ggufx_status ggufx_sampler_add_##id(ggufx_sampler *sampler, type a,                 \
                                                   ggufx_error *error) {                           \
        return guard(error, [&] { add(open_chain(sampler), sampling::Type{id::a(a)}); });          \
    }
#define FILTER2(id, ID, Type, name, order, type, a, b, example_a, example_b)                       \
    extern "C" ggufx_status ggufx_sampler_add_##id(ggufx_sampler *sampler, type a, type b,         \
                                                   ggufx_error *error) {                           \
        return guard(error, [&] {                                                                  \
            add(open_chain(sampler), sampling::Type{id::a(a), id::b(b)});                          \
        });                                                                                        \
    }
#include "sampling/samplers.def"

extern "C" ggufx_status ggufx_sampler_add_temperature(ggufx_sampler *sampler, float temperature,
                                                      const ggufx_temperature_options *options,
                                                      ggufx_error *error) {
    return guard(error, [&] {
        const auto in = import_options(options, 0, "ggufx_temperature_options");
        open_chain(sampler).add(sampling::Temperature{temperature::temperature(temperature),
                                                      temperature::range(in.range),
                                                      temperature::exponent(in.exponent)});
    });
}

extern "C" ggufx_status ggufx_sampler_add_penalties(ggufx_sampler *sampler,
                                                    const ggufx_penalty_options *options,
                                                    ggufx_error *error) {
    return guard(error, [&] {
        const auto in = import_options(options, 0, "ggufx_penalty_options");
        sampling::Chain &chain = open_chain(sampler);
        const float repeat = penalties::repeat(in.repeat);
        const float frequency = penalties::frequency(in.frequency);
        const float presence = penalties::presence(in.presence);
        const uint32_t last_n = penalties::last_n(in.last_n);
        if (last_n == 0 || (repeat == 1.0f && frequency == 0.0f && presence == 0.0f)) return;
        chain.add(sampling::Penalties{repeat, frequency, presence,
                                      sampling::Window(host_of(sampler), chain.n_vocab(), last_n)});
    });
}

extern "C" ggufx_status ggufx_sampler_add_dry(ggufx_sampler *sampler,
                                              const ggufx_dry_options *options,
                                              ggufx_error *error) {
    return guard(error, [&] {
        const auto in = import_options(options, 0, "ggufx_dry_options");
        sampling::Chain &chain = open_chain(sampler);
        const float multiplier = dry::multiplier(in.multiplier), base = dry::base(in.base);
        const uint32_t last_n = dry::last_n(in.last_n);
        const int32_t *const ids = in.sequence_breakers;
        const size_t n = in.n_sequence_breakers;
        require(ids || n == 0, "ggufx_dry_options.sequence_breakers must be set");
        for (size_t i = 0; i < n; i++) check_id(ids[i], chain.n_vocab(), i, "sequence_breakers");
        if (last_n == 0 || multiplier == 0.0f) return;
        sampling::Dry dry(host_of(sampler), chain.n_vocab(), last_n);
        dry.multiplier = multiplier;
        dry.base = base;
        dry.allowed_length = in.allowed_length ? in.allowed_length : 2;
        auto &breakers = dry.breakers;
        if (n) breakers.assign(ids, ids + n);
        std::sort(breakers.begin(), breakers.end());
        breakers.erase(std::unique(breakers.begin(), breakers.end()), breakers.end());
        chain.add(std::move(dry));
    });
}

extern "C" ggufx_status ggufx_sampler_add_logit_bias(ggufx_sampler *sampler,
                                                     const ggufx_logit_bias *biases,
                                                     size_t n_biases, ggufx_error *error) {
    return guard(error, [&] {
        sampling::Chain &chain = open_chain(sampler);
        require(biases || n_biases == 0, "biases must be set");
        for (size_t i = 0; i < n_biases; i++) {
            const ggufx_logit_bias &b = biases[i];
            check_id(b.id, chain.n_vocab(), i, "biases");
            if (!(b.bias <= sampling::kMostLogit))
                fail(Status::argument, {kNone, i},
                     "biases: the bias of id %" PRId32 " is NaN or +infinity", b.id);
        }
        if (n_biases == 0) return;
        using Entry = sampling::LogitBias::Entry;
        sampling::LogitBias bias = {Vector<Entry>{HostAllocator<Entry>(host_of(sampler))}};
        bias.entries.reserve(n_biases);
        for (size_t i = 0; i < n_biases; i++)
            bias.entries.push_back({biases[i].id, biases[i].bias});
        const auto by_id = [](const Entry &a, const Entry &b) { return a.id < b.id; };
        std::sort(bias.entries.begin(), bias.entries.end(), by_id);
        for (size_t i = 1; i < bias.entries.size(); i++)
            if (bias.entries[i].id == bias.entries[i - 1].id)
                fail(Status::duplicate, {}, "biases: id %" PRId32 " has two biases",
                     bias.entries[i].id);
        chain.add(std::move(bias));
    });
}

extern "C" ggufx_status ggufx_sampler_add_mirostat(ggufx_sampler *sampler,
                                                   const ggufx_mirostat_options *options,
                                                   ggufx_error *error) {
    return guard(error, [&] {
        const auto in = import_options(options, 0, "ggufx_mirostat_options");
        sampling::Chain &chain = open_chain(sampler);
        if (in.version > 2)
            fail(Status::argument, {}, "version is %" PRIu32 ": it must be 1 or 2", in.version);
        if (in.m == 1 || in.m > INT32_MAX || (in.m && in.version != 1))
            fail(Status::argument, {}, "m is %" PRIu32 ": it must be 2 to 2^31 - 1, of version 1",
                 in.m);
        sampling::Mirostat mirostat = {};
        mirostat.version = in.version ? in.version : 2;
        mirostat.tau = mirostat::tau(in.tau);
        mirostat.eta = mirostat::eta(in.eta);
        mirostat.m = in.m ? in.m : 100;
        mirostat.reset();
        chain.add(mirostat);
    });
}

extern "C" ggufx_status
ggufx_sampler_add_host(ggufx_sampler *sampler,
                       ggufx_status (*apply)(void *user, ggufx_candidate *candidates, size_t n),
                       void *user, ggufx_error *error) {
    return guard(error, [&] {
        require(apply, "apply must be set");
        open_chain(sampler).add(sampling::HostSampler{user, apply});
    });
}
