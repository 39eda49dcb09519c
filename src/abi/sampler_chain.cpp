// Sampler chains: include/ggufx/sampler.h.
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

constexpr const char *kNames[] = {
    "",          "TOP_K", "TOP_P", "MIN_P",    "TYPICAL", "TOP_N_SIGMA", "XTC", "TEMPERATURE",
    "PENALTIES", "DRY",   "BIAS",  "MIROSTAT", "HOST"};
constexpr uint32_t kMostKind = GGUFX_LINK_HOST;
static_assert(sizeof kNames / sizeof kNames[0] == kMostKind + 1);

constexpr uint32_t of(uint32_t kind) {
    return 1u << kind;
}

// Refuses members that only other kinds use: they would have no effect.
void refuse_others(const ggufx_sampler_link &in) {
    const struct {
        const char *name;
        bool is_set;
        uint32_t kinds;
    } members[] = {
        {"k", in.k != 0, of(GGUFX_LINK_TOP_K)},
        {"p", in.p != 0, of(GGUFX_LINK_TOP_P) | of(GGUFX_LINK_MIN_P) | of(GGUFX_LINK_TYPICAL)},
        {"n_sigma", in.n_sigma != 0, of(GGUFX_LINK_TOP_N_SIGMA)},
        {"probability", in.probability != 0, of(GGUFX_LINK_XTC)},
        {"threshold", in.threshold != 0, of(GGUFX_LINK_XTC)},
        {"temperature", in.temperature != 0, of(GGUFX_LINK_TEMPERATURE)},
        {"range", in.range != 0, of(GGUFX_LINK_TEMPERATURE)},
        {"exponent", in.exponent != 0, of(GGUFX_LINK_TEMPERATURE)},
        {"repetition", in.repetition != 0, of(GGUFX_LINK_PENALTIES)},
        {"frequency", in.frequency != 0, of(GGUFX_LINK_PENALTIES)},
        {"presence", in.presence != 0, of(GGUFX_LINK_PENALTIES)},
        {"n_last", in.n_last != 0, of(GGUFX_LINK_PENALTIES) | of(GGUFX_LINK_DRY)},
        {"multiplier", in.multiplier != 0, of(GGUFX_LINK_DRY)},
        {"base", in.base != 0, of(GGUFX_LINK_DRY)},
        {"allowed_length", in.allowed_length != 0, of(GGUFX_LINK_DRY)},
        {"tau", in.tau != 0, of(GGUFX_LINK_MIROSTAT)},
        {"eta", in.eta != 0, of(GGUFX_LINK_MIROSTAT)},
        {"m", in.m != 0, of(GGUFX_LINK_MIROSTAT)},
        {"version", in.version != 0, of(GGUFX_LINK_MIROSTAT)},
        {"breakers", in.breakers || in.n_breakers, of(GGUFX_LINK_DRY)},
        {"biases", in.biases || in.n_biases, of(GGUFX_LINK_BIAS)},
        {"link", in.link != nullptr, of(GGUFX_LINK_HOST)},
        {"user", in.user != nullptr, of(GGUFX_LINK_HOST)},
    };
    for (const auto &member : members) {
        if (member.is_set && !(member.kinds & of(in.kind)))
            fail(Status::argument, {}, "ggufx_sampler_link.%s is set, but %s does not use it",
                 member.name, kNames[in.kind]);
    }
}

// Returns the value, or the default for 0. Throws when it is out of range.
float number(float value, float least, float most, const char *name, float instead_of_0) {
    if (value == 0.0f) return instead_of_0;
    if (value >= least && value <= most) return value;
    fail(Status::argument, {}, "ggufx_sampler_link.%s is %g: it must be %g to %g", name,
         static_cast<double>(value), static_cast<double>(least), static_cast<double>(most));
}
float number(float value, float most, const char *name) {
    return number(value, 0.0f, most, name, 0.0f);
}

uint32_t import_last(const ggufx_sampler_link &in) {
    if (in.n_last > GGUFX_LINK_MOST_LAST)
        fail(Status::limit, {}, "ggufx_sampler_link.n_last is %" PRIu32 ", the limit is %u",
             in.n_last, GGUFX_LINK_MOST_LAST);
    return in.n_last;
}

void check_id(int32_t id, uint32_t n_vocab, size_t index, const char *name) {
    if (id >= 0 && static_cast<uint32_t>(id) < n_vocab) return;
    fail(Status::argument, {kNone, index},
         "ggufx_sampler_link.%s: id %" PRId32 " is not one of %" PRIu32 " tokens", name, id,
         n_vocab);
}

constexpr float kMost = sampling::kMostLogit;
constexpr float kMostPenalty = 1e6f;

// ---- one function per kind with several parameters; samplers that are off are not added ------

void add_temperature(sampling::Chain &chain, const ggufx_sampler_link &in) {
    chain.add(sampling::Temperature{number(in.temperature, kMost, "temperature"),
                                    number(in.range, kMost, "range"),
                                    number(in.exponent, 0.0f, kMost, "exponent", 1.0f)});
}

void add_xtc(sampling::Chain &chain, const ggufx_sampler_link &in) {
    const sampling::Xtc xtc = {number(in.probability, 1.0f, "probability"),
                               number(in.threshold, 0.0f, 1.0f, "threshold", 0.1f)};
    if (xtc.probability > 0.0f) chain.add(xtc);
}

void add_penalties(sampling::Chain &chain, const Host *host, const ggufx_sampler_link &in) {
    const float repetition = number(in.repetition, 0.0f, kMostPenalty, "repetition", 1.0f);
    const float frequency = number(in.frequency, -kMostPenalty, kMostPenalty, "frequency", 0.0f);
    const float presence = number(in.presence, -kMostPenalty, kMostPenalty, "presence", 0.0f);
    const uint32_t n_last = import_last(in);
    if (n_last == 0 || (repetition == 1.0f && frequency == 0.0f && presence == 0.0f)) return;
    chain.add(sampling::Penalties{repetition, frequency, presence,
                                  sampling::Window(host, chain.n_vocab(), n_last)});
}

void add_dry(sampling::Chain &chain, const Host *host, const ggufx_sampler_link &in) {
    const float multiplier = number(in.multiplier, kMost, "multiplier");
    const float base = number(in.base, 1.0f, kMost, "base", 1.75f);
    const uint32_t n_last = import_last(in);
    require(in.breakers || in.n_breakers == 0, "ggufx_sampler_link.breakers must be set");
    for (size_t i = 0; i < in.n_breakers; i++)
        check_id(in.breakers[i], chain.n_vocab(), i, "breakers");
    if (n_last == 0 || multiplier == 0.0f) return;
    sampling::Dry dry(host, chain.n_vocab(), n_last);
    dry.multiplier = multiplier;
    dry.base = base;
    dry.allowed_length = in.allowed_length ? in.allowed_length : 2;
    if (in.n_breakers) dry.breakers.assign(in.breakers, in.breakers + in.n_breakers);
    std::sort(dry.breakers.begin(), dry.breakers.end());
    dry.breakers.erase(std::unique(dry.breakers.begin(), dry.breakers.end()), dry.breakers.end());
    chain.add(std::move(dry));
}

void add_bias(sampling::Chain &chain, const Host *host, const ggufx_sampler_link &in) {
    require(in.biases || in.n_biases == 0, "ggufx_sampler_link.biases must be set");
    sampling::Bias bias = {
        Vector<sampling::Bias::Entry>{HostAllocator<sampling::Bias::Entry>(host)}};
    for (size_t i = 0; i < in.n_biases; i++) {
        const ggufx_logit_bias &b = in.biases[i];
        check_id(b.id, chain.n_vocab(), i, "biases");
        if (!(b.bias <= kMost))
            fail(Status::argument, {kNone, i},
                 "ggufx_sampler_link.biases: the bias of id %" PRId32 " is NaN or +infinity", b.id);
    }
    if (in.n_biases == 0) return;
    bias.entries.reserve(in.n_biases);
    for (size_t i = 0; i < in.n_biases; i++)
        bias.entries.push_back({in.biases[i].id, in.biases[i].bias});
    const auto by_id = [](const auto &a, const auto &b) { return a.id < b.id; };
    std::sort(bias.entries.begin(), bias.entries.end(), by_id);
    for (size_t i = 1; i < bias.entries.size(); i++)
        if (bias.entries[i].id == bias.entries[i - 1].id)
            fail(Status::duplicate, {}, "ggufx_sampler_link.biases: id %" PRId32 " has two biases",
                 bias.entries[i].id);
    chain.add(std::move(bias));
}

void add_mirostat(sampling::Chain &chain, const ggufx_sampler_link &in) {
    if (in.version != 1 && in.version != 2)
        fail(Status::argument, {}, "ggufx_sampler_link.version is %" PRIu32 ": it must be 1 or 2",
             in.version);
    if (in.m == 1 || in.m > INT32_MAX || (in.m && in.version == 2))
        fail(Status::argument, {},
             "ggufx_sampler_link.m is %" PRIu32 ": it must be 2 to 2^31 - 1, of version 1", in.m);
    sampling::Mirostat link = {};
    link.version = in.version;
    link.tau = number(in.tau, 0.0f, kMostPenalty, "tau", 5.0f);
    link.eta = number(in.eta, 0.0f, kMostPenalty, "eta", 0.1f);
    link.m = in.m ? in.m : 100;
    link.reset();
    chain.add(link);
}

void add_link(sampling::Chain &chain, const Host *host, const ggufx_sampler_link &in) {
    switch (in.kind) {
    case GGUFX_LINK_TOP_K:
        if (in.k) chain.add(sampling::TopK{in.k});
        return;
    case GGUFX_LINK_TOP_P:
        if (const float p = number(in.p, 1.0f, "p"); p > 0.0f && p < 1.0f)
            chain.add(sampling::TopP{p});
        return;
    case GGUFX_LINK_MIN_P:
        if (const float p = number(in.p, 1.0f, "p"); p > 0.0f) chain.add(sampling::MinP{p});
        return;
    case GGUFX_LINK_TYPICAL:
        if (const float p = number(in.p, 1.0f, "p"); p > 0.0f && p < 1.0f)
            chain.add(sampling::Typical{p});
        return;
    case GGUFX_LINK_TOP_N_SIGMA:
        if (const float n = number(in.n_sigma, kMost, "n_sigma"); n > 0.0f)
            chain.add(sampling::TopNSigma{n});
        return;
    case GGUFX_LINK_XTC:
        return add_xtc(chain, in);
    case GGUFX_LINK_TEMPERATURE:
        return add_temperature(chain, in);
    case GGUFX_LINK_PENALTIES:
        return add_penalties(chain, host, in);
    case GGUFX_LINK_DRY:
        return add_dry(chain, host, in);
    case GGUFX_LINK_BIAS:
        return add_bias(chain, host, in);
    case GGUFX_LINK_MIROSTAT:
        return add_mirostat(chain, in);
    default:
        require(in.link, "ggufx_sampler_link.link must be set");
        chain.add(sampling::HostSampler{in.user, in.link});
    }
}

sampling::Chain *chain_of(ggufx_sampler *sampler) {
    return std::get_if<sampling::Chain>(&sampler->sampler);
}

} // namespace

extern "C" ggufx_status ggufx_sampler_create_chain(ggufx_sampler **out, const ggufx_runtime *rt,
                                                   uint32_t n_vocab, uint64_t seed,
                                                   ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        require(n_vocab > 0 && n_vocab <= INT32_MAX, "n_vocab must be 1 to 2^31 - 1");
        *out = make<ggufx_sampler>(*rt->host, RuntimeRef::share(const_cast<ggufx_runtime *>(rt)),
                                   std::in_place_type<sampling::Chain>, rt->host, n_vocab,
                                   *kernels::rows_of(rt->engine->kernels()), seed);
    });
}

extern "C" ggufx_status ggufx_sampler_add(ggufx_sampler *sampler, const ggufx_sampler_link *link,
                                          ggufx_error *error) {
    return guard(error, [&] {
        require(alive(sampler, Tag::sampler) && link, "sampler and link must be set");
        const auto in = import_options(link, 0, "ggufx_sampler_link");
        if (in.kind == 0 || in.kind > kMostKind)
            fail(Status::argument, {}, "ggufx_sampler_link.kind is %" PRIu32 ": it must be 1 to %u",
                 in.kind, kMostKind);
        sampling::Chain *const chain = chain_of(sampler);
        if (!chain) fail(Status::state, {}, "the sampler is not a chain: its filters are fixed");
        refuse_others(in);
        if (chain->ends()) fail(Status::state, {}, "MIROSTAT must be the last sampler of a chain");
        if (chain->n_samplers() == GGUFX_LINK_MOST_LINKS)
            fail(Status::limit, {}, "a chain has at most %u samplers", GGUFX_LINK_MOST_LINKS);
        add_link(*chain, sampler->runtime->host.get(), in);
    });
}

extern "C" ggufx_status ggufx_sampler_accept(ggufx_sampler *sampler, const int32_t *ids, size_t n,
                                             ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        if (!alive(sampler, Tag::sampler) || (!ids && n))
            return set_failure(failure, Status::argument, {}, "sampler and ids must be set");
        const auto n_vocab = static_cast<int64_t>(
            std::visit([](const auto &s) { return s.n_vocab(); }, sampler->sampler));
        for (size_t i = 0; i < n; i++) {
            if (ids[i] < 0 || ids[i] >= n_vocab)
                return set_failure(failure, Status::argument, {kNone, i},
                                   "id %" PRId32 " is not one of %" PRId64 " tokens", ids[i],
                                   n_vocab);
        }
        if (sampling::Chain *const chain = chain_of(sampler))
            for (size_t i = 0; i < n; i++) chain->accept(ids[i]);
        return Status::ok;
    });
}

extern "C" ggufx_status ggufx_sampler_reset(ggufx_sampler *sampler, ggufx_error *error) {
    return guard(error, [&] {
        require(alive(sampler, Tag::sampler), "sampler must be set");
        std::visit([](auto &s) { s.reset(); }, sampler->sampler);
    });
}

extern "C" ggufx_status ggufx_sampler_clone(ggufx_sampler **out, const ggufx_sampler *sampler,
                                            ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(sampler, Tag::sampler), "out and sampler must be set");
        *out = make<ggufx_sampler>(*sampler->runtime->host, sampler->runtime, sampler->sampler);
    });
}
