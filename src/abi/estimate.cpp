// Estimates and recommendations: include/ggufx/estimate.h.
// SPDX-License-Identifier: MIT
#include "eval/estimate.hpp"
#include "abi/guard.hpp"
#include "abi/job_plan.hpp"
#include "abi/model_handles.hpp"
#include "abi/options.hpp"
#include "abi/types.hpp"
#include "base/fpenv.hpp"

#include <ggufx/estimate.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

constexpr uint32_t kEstimateFlags = GGUFX_ESTIMATE_HAS_FILE_TYPE | GGUFX_ESTIMATE_IMATRIX |
                                    GGUFX_ESTIMATE_LAYERS | GGUFX_ESTIMATE_HAS_TYPE_K |
                                    GGUFX_ESTIMATE_HAS_TYPE_V;

// Imported files of adapters.
struct AdapterFiles {
    void import(const ggufx_estimate_options &in) {
        require(in.adapters || in.n_adapters == 0, "ggufx_estimate_options.adapters must be set");
        require(in.n_adapters <= model::kMostAdapters,
                "ggufx_estimate_options.n_adapters is above 64");
        for (size_t i = 0; i < in.n_adapters; i++) {
            require(alive(in.adapters[i], Tag::file),
                    "ggufx_estimate_options.adapters: each must be a file");
            files[i] = in.adapters[i]->file;
        }
    }
    Ref<gguf::File> files[model::kMostAdapters];
};

// part: rank file that provides defaults for the rank options.
model::EstimateOptions import_estimate(const ggufx_estimate_options *options,
                                       const model::RankFile &part, AdapterFiles &adapters) {
    const auto in = import_options(options, kEstimateFlags, "ggufx_estimate_options");
    require(in.bandwidth >= 0 && in.bandwidth <= 1e30,
            "ggufx_estimate_options.bandwidth must be bytes per second, or 0");
    const auto job = import_options(in.quantizer, kJobFlags, "ggufx_quantizer_options");
    model::EstimateOptions out;
    if (in.file_type || in.flags & GGUFX_ESTIMATE_HAS_FILE_TYPE)
        out.file_type = recipe_of(in.file_type);
    out.plan = import_plan(job, nullptr);
    out.plan.assume_imatrix = (in.flags & GGUFX_ESTIMATE_IMATRIX) && !job.imatrix;
    if (job.imatrix_name) out.imatrix_name = job.imatrix_name;
    out.reserve_bytes = job.reserve_bytes;
    out.session.n_context = in.n_context;
    out.session.n_batch = in.n_batch;
    out.session.type_k = import_kv_type(in.type_k, in.flags & GGUFX_ESTIMATE_HAS_TYPE_K,
                                        "ggufx_estimate_options.type_k");
    out.session.type_v = import_kv_type(in.type_v, in.flags & GGUFX_ESTIMATE_HAS_TYPE_V,
                                        "ggufx_estimate_options.type_v");
    out.session.n_checkpoints = in.n_checkpoints;
    out.session.n_sequences = in.n_sequences;
    out.session.n_context_total = in.n_context_total;
    if (in.n_sessions) out.n_sessions = in.n_sessions;
    if (in.memory_bytes) out.memory_bytes = in.memory_bytes;
    out.bandwidth = in.bandwidth;
    out.device_memory_bytes = in.device_memory_bytes;
    out.model_object = sizeof(ggufx_model);
    out.session_object = sizeof(ggufx_session);
    out.embedder_object = sizeof(ggufx_embedder);
    out.adapter_object = sizeof(ggufx_adapter);
    out.ranks = {in.rank, in.n_ranks ? in.n_ranks : 1, in.weights,
                 (in.flags & GGUFX_ESTIMATE_LAYERS) != 0};
    check_ranks(out.ranks, "ggufx_estimate_options");
    if (in.n_ranks == 0 && part.is_part()) out.ranks = part.ranks();
    if (out.ranks.size > 1 && in.device_memory_bytes)
        fail(Status::unsupported, {}, "ranks of a group do not use a device");
    out.group_object = sizeof(HostGroup);
    adapters.import(in);
    out.adapters = adapters.files;
    out.n_adapters = in.n_adapters;
    return out;
}

ggufx_estimate_facts facts_of(const model::Estimate &e, uint64_t memory_bytes, uint32_t n_layers) {
    ggufx_estimate_facts facts = {};
    if (e.total <= memory_bytes) facts.flags |= GGUFX_ESTIMATE_FITS;
    if (e.weights.sums.needs_imatrix) facts.flags |= GGUFX_ESTIMATE_NEEDS_IMATRIX;
    if (!e.has_graph) facts.flags |= GGUFX_ESTIMATE_UNSUPPORTED;
    facts.file_type =
        e.weights.file_type ? static_cast<uint32_t>(e.weights.file_type->id) : GGUFX_ESTIMATE_AS_IS;
    facts.n_context = e.n_context;
    facts.n_batch = e.n_batch;
    facts.n_sessions = e.n_sessions;
    facts.type_k = export_kv_type(e.type_k);
    facts.type_v = export_kv_type(e.type_v);
    facts.max_context = e.max_context;
    facts.n_parameters = e.weights.sums.n_parameters;
    facts.weight_bytes = e.weights.sums.n_bytes;
    facts.file_bytes = e.weights.file;
    facts.runtime_bytes = e.runtime;
    facts.model_bytes = e.model;
    facts.kv_bytes = e.caches;
    facts.session_bytes = e.sessions;
    facts.total_bytes = e.total;
    facts.token_weight_bytes = e.token_weights;
    facts.token_kv_bytes = e.token_kv;
    facts.bits_per_weight = e.bits_per_weight;
    facts.weight_error = e.weights.sums.error;
    facts.loss = e.loss;
    facts.tokens_per_second = e.tokens_per_second;
    facts.tokens_per_second_full = e.tokens_per_second_full;
    facts.adapter_file_bytes = e.adapter_files;
    facts.adapter_bytes = e.adapters;
    facts.device_bytes = e.weights.device.bytes;
    facts.device_bytes_all = e.weights.device.bytes_all;
    facts.n_device_layers = e.weights.device.n_layers;
    facts.n_layers = n_layers;
    facts.rank_weight_bytes = e.rank_weights;
    facts.received_bytes = e.weights.rank.received;
    facts.n_messages = e.weights.rank.n_messages;
    return facts;
}

// Implements both functions; `choose` is the estimator's member function.
void answer(ggufx_estimate_facts *out, const ggufx_runtime *rt, const ggufx_file *file,
            const ggufx_estimate_options *options,
            model::Estimate (model::Estimator::*choose)() const) {
    require(out && alive(rt, Tag::runtime), "out and rt must be set");
    require(alive(file, Tag::file), "file must be set");
    check_output(out, "ggufx_estimate_facts");
    const CanonicalFp canonical;
    AdapterFiles adapters;
    const model::RankFile part(*file->file); // outlives its speeds
    const model::EstimateOptions imported = import_estimate(options, part, adapters);
    const model::Estimator estimator(file->file, *rt->engine, imported);
    const model::Estimate estimate = (estimator.*choose)();
    export_struct(out, facts_of(estimate, imported.memory_bytes, estimator.n_layers()),
                  "ggufx_estimate_facts");
}

} // namespace

extern "C" ggufx_status ggufx_estimate(ggufx_estimate_facts *out, const ggufx_runtime *rt,
                                       const ggufx_file *file,
                                       const ggufx_estimate_options *options, ggufx_error *error) {
    return guard(error, [&] { answer(out, rt, file, options, &model::Estimator::estimate); });
}

extern "C" ggufx_status ggufx_recommend(ggufx_estimate_facts *out, const ggufx_runtime *rt,
                                        const ggufx_file *file,
                                        const ggufx_estimate_options *options, ggufx_error *error) {
    return guard(error, [&] { answer(out, rt, file, options, &model::Estimator::recommend); });
}
