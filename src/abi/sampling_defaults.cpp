// Sampling defaults of a file: include/ggufx/sampler.h.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/options.hpp"
#include "model/sampling/defaults.hpp"

#include <ggufx/sampler.h>
#include <inttypes.h>

#include <algorithm>

using namespace ggufx;
using namespace ggufx::abi;

static_assert(GGUFX_SAMPLING_TEMPERATURE == sampling::kTemperatureKey);
static_assert(GGUFX_SAMPLING_TOP_K == sampling::kTopKKey);
static_assert(GGUFX_SAMPLING_TOP_P == sampling::kTopPKey);
static_assert(GGUFX_SAMPLING_MIN_P == sampling::kMinPKey);
static_assert(GGUFX_SAMPLING_XTC_PROBABILITY == sampling::kXtcProbabilityKey);
static_assert(GGUFX_SAMPLING_XTC_THRESHOLD == sampling::kXtcThresholdKey);
static_assert(GGUFX_SAMPLING_N_LAST == sampling::kLastNKey);
static_assert(GGUFX_SAMPLING_REPETITION == sampling::kRepetitionKey);
static_assert(GGUFX_SAMPLING_MIROSTAT == sampling::kMirostatKey);
static_assert(GGUFX_SAMPLING_TAU == sampling::kTauKey);
static_assert(GGUFX_SAMPLING_ETA == sampling::kEtaKey);
static_assert(GGUFX_SAMPLING_LINKS == sampling::kSequenceKey);
static_assert(GGUFX_SAMPLING_SUPPRESSED == sampling::kSuppressedKey);
static_assert(GGUFX_SAMPLING_MOST_LINKS == sampling::kMostDefaultSamplers);
static_assert(GGUFX_LINK_MOST_LAST == sampling::kMostLast);
static_assert(GGUFX_LINK_TOP_K == static_cast<uint32_t>(sampling::SamplerKind::top_k));
static_assert(GGUFX_LINK_DRY == static_cast<uint32_t>(sampling::SamplerKind::dry));

extern "C" ggufx_status ggufx_file_sampling(ggufx_sampling_facts *out, int32_t *out_suppressed,
                                            size_t capacity, const ggufx_file *file,
                                            ggufx_error *error) {
    return guard(error, [&]() -> Status {
        require(out && alive(file, Tag::file), "out and file must be set");
        require(out_suppressed || capacity == 0, "out_suppressed must be set");
        const gguf::File &of = *file->file;
        const sampling::Defaults d = sampling::read_defaults(of);
        Vector<int32_t> ids{HostAllocator<int32_t>(of.host().get())};
        const bool is_list = sampling::read_suppressed(ids, of, sampling::vocabulary_size(of));
        ggufx_sampling_facts facts = {};
        facts.flags = d.present | (ids.empty() ? 0 : GGUFX_SAMPLING_SUPPRESSED);
        facts.ignored = d.ignored | (is_list ? 0 : GGUFX_SAMPLING_SUPPRESSED);
        facts.temperature = d.temperature;
        facts.top_p = d.top_p;
        facts.min_p = d.min_p;
        facts.xtc_probability = d.xtc_probability;
        facts.xtc_threshold = d.xtc_threshold;
        facts.repetition = d.repetition;
        facts.tau = d.tau;
        facts.eta = d.eta;
        facts.top_k = d.top_k;
        facts.n_last = d.n_last;
        facts.mirostat = d.mirostat;
        facts.n_links = d.n_samplers;
        for (uint32_t i = 0; i < d.n_samplers; i++)
            facts.links[i] = static_cast<uint32_t>(d.samplers[i]);
        facts.n_suppressed = ids.size();
        export_struct(out, facts, "ggufx_sampling_facts");
        std::copy_n(ids.begin(), std::min(capacity, ids.size()), out_suppressed);
        if (!out_suppressed || ids.size() <= capacity) return Status::ok;
        return set_failure(failure_of(error), Status::capacity,
                           {.value = ids.size(), .limit = capacity},
                           "the file has %" PRIu64 " suppressed tokens, there is room for %" PRIu64,
                           static_cast<uint64_t>(ids.size()), static_cast<uint64_t>(capacity));
    });
}
