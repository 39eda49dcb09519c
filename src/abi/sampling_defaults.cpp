// Sampling defaults of a file: include/ggufx/sampler.h.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/options.hpp"
#include "sampling/defaults.hpp"

#include <ggufx/sampler.h>
#include <inttypes.h>

#include <algorithm>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

#define KEY(ID, bit, key, member, type, least, most, instead_of_negative, field)                   \
    static_assert(GGUFX_SAMPLING_##ID == bit);
#include "sampling/samplers.def"
static_assert(GGUFX_SAMPLING_SEQUENCE == static_cast<uint32_t>(sampling::Key::SEQUENCE));
static_assert(GGUFX_SAMPLING_SUPPRESSED == static_cast<uint32_t>(sampling::Key::SUPPRESSED));
static_assert(GGUFX_SAMPLING_MAX_SAMPLERS == sampling::kMaxDefaultSamplers);

ggufx_sampler_kind export_kind(sampling::SamplerKind kind) {
    switch (kind) {
#define EACH(id, ID, Type, name, order)                                                            \
    case sampling::SamplerKind::id:                                                                \
        return GGUFX_SAMPLER_##ID;
#include "sampling/samplers.def"
    case sampling::SamplerKind::none:
        break;
    }
    return 0;
}

} // namespace

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
#define KEY(ID, bit, key, member, type, least, most, instead_of_negative, field)                   \
    facts.member = d.member;
#include "sampling/samplers.def"
        facts.n_samplers = d.n_samplers;
        for (uint32_t i = 0; i < d.n_samplers; i++) facts.samplers[i] = export_kind(d.samplers[i]);
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
