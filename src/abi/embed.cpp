// Embeddings: include/ggufx/embed.h.
// SPDX-License-Identifier: MIT
#include "abi/guard.hpp"
#include "abi/matmul_flags.hpp"
#include "abi/model_handles.hpp"
#include "abi/options.hpp"
#include "base/checked.hpp"

#include <ggufx/embed.h>
#include <inttypes.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

static_assert(static_cast<uint32_t>(model::Pooling::mean) == GGUFX_POOLING_MEAN &&
              static_cast<uint32_t>(model::Pooling::first) == GGUFX_POOLING_FIRST &&
              static_cast<uint32_t>(model::Pooling::last) == GGUFX_POOLING_LAST &&
              static_cast<uint32_t>(model::Pooling::rank) == GGUFX_POOLING_RANK);

model::EmbedOptions import_embed_options(const ggufx_embed_options *in) {
    const auto options =
        import_options(in, GGUFX_EMBED_NORMALIZE | GGUFX_EMBED_TRUNCATE, "ggufx_embed_options");
    if (options.matmul_flags & ~kMatmulFlags)
        fail(Status::argument, {}, "ggufx_embed_options.matmul_flags: unknown flags 0x%x",
             options.matmul_flags & ~kMatmulFlags);
    if (options.pooling > GGUFX_POOLING_NONE)
        fail(Status::argument, {}, "ggufx_embed_options.pooling is %" PRIu32 ", the limit is %d",
             options.pooling, GGUFX_POOLING_NONE);
    model::EmbedOptions out;
    out.n_context = options.n_context;
    out.n_batch = options.n_batch;
    out.own_pooling = options.pooling != GGUFX_POOLING_DEFAULT;
    if (options.pooling != GGUFX_POOLING_NONE)
        out.pooling = static_cast<model::Pooling>(options.pooling);
    out.dimensions = options.dimensions;
    out.normalizes = (options.flags & GGUFX_EMBED_NORMALIZE) != 0;
    out.cuts = (options.flags & GGUFX_EMBED_TRUNCATE) != 0;
    out.matmul = matmul_options(options.matmul_flags, "ggufx_embed_options.matmul_flags");
    return out;
}

uint32_t public_pooling(model::Pooling pooling) {
    return pooling == model::Pooling::none ? static_cast<uint32_t>(GGUFX_POOLING_NONE)
                                           : static_cast<uint32_t>(pooling);
}

// Checks that the rows add up to the floats.
Status check_sizes(const model::Embedder &embedder, const model::EmbedInputs &inputs, size_t n_out,
                   Failure *failure) {
    uint64_t floats = 0;
    const uint64_t rows = embedder.rows_of(inputs);
    if (!checked::mul(&floats, rows, embedder.plan().dimensions)) floats = UINT64_MAX;
    if (floats == n_out) return Status::ok;
    return set_failure(failure, Status::argument, {},
                       "out must hold %" PRIu64 " rows x %" PRIu32 " floats, n_out is %" PRIu64,
                       rows, embedder.plan().dimensions, static_cast<uint64_t>(n_out));
}

} // namespace

extern "C" ggufx_status ggufx_embedder_create(ggufx_embedder **out, const ggufx_model *model,
                                              const ggufx_embed_options *options,
                                              ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(model, Tag::model), "out and model must be set");
        const model::EmbedOptions imported = import_embed_options(options);
        if (model->group)
            fail(Status::unsupported, {}, "ranks of a group do not compute embeddings");
        const auto shared = Ref<ggufx_model>::share(const_cast<ggufx_model *>(model));
        *out = make<ggufx_embedder>(*model->model.host(), shared, imported);
    });
}

extern "C" void ggufx_embedder_destroy(ggufx_embedder *embedder) {
    const NoCancel whole;
    if (!alive(embedder, Tag::embedder)) return;
    destroy_object(embedder->model->model.host(), embedder);
}

extern "C" ggufx_status ggufx_embedder_estimate(uint64_t *out, const ggufx_runtime *rt,
                                                const ggufx_file *file,
                                                const ggufx_embed_options *options,
                                                ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        require(alive(file, Tag::file), "file must be set");
        const model::EmbedOptions imported = import_embed_options(options);
        const model::Graph graph = model::build_rank_graph(*file->file, {}, {});
        const model::EmbedPlan plan(graph, imported);
        *out = model::embedder_bytes(*rt->host, graph, plan) + sizeof(ggufx_embedder);
    });
}

extern "C" ggufx_status ggufx_embedder_info(ggufx_embedder_facts *out,
                                            const ggufx_embedder *embedder, ggufx_error *error) {
    return guard(error, [&] {
        require(out && alive(embedder, Tag::embedder), "out and embedder must be set");
        const model::EmbedPlan &plan = embedder->embedder.plan();
        ggufx_embedder_facts facts = {};
        facts.n_context = plan.n_context;
        facts.n_batch = plan.n_rows;
        facts.pooling = public_pooling(plan.pooling);
        facts.dimensions = plan.dimensions;
        facts.full_dimensions = plan.width;
        export_struct(out, facts, "ggufx_embedder_facts");
    });
}

extern "C" ggufx_status ggufx_embed(float *out, size_t n_out, ggufx_embedder *embedder,
                                    const ggufx_token_list *texts, size_t n_texts,
                                    const ggufx_progress *progress, ggufx_error *error) {
    return guard(error, [&] {
        Failure *failure = failure_of(error);
        if (!out || !alive(embedder, Tag::embedder) || !texts || n_texts == 0)
            return set_failure(failure, Status::argument, {},
                               "out, embedder and texts must be set, n_texts >= 1");
        const Progress imported = import_progress(progress);
        const model::EmbedInputs inputs = {import_lists(texts, n_texts, "text"), n_texts};
        const Status status = check_sizes(embedder->embedder, inputs, n_out, failure);
        if (status != Status::ok) return status;
        return embedder->embedder.embed(out, inputs, imported, failure);
    });
}
