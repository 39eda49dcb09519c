// Quantization jobs: include/ggufx/quantizer.h.
// SPDX-License-Identifier: MIT
#include "abi/job_plan.hpp"
#include "abi/names.hpp"
#include "abi/options.hpp"
#include "distributed/rank_graph.hpp"
#include "eval/layer_feedback.hpp"
#include "formats/format.hpp"
#include "job/quantize.hpp"
#include "job/rows.hpp"
#include "quant/quantize.hpp"

#include <ggufx/quantizer.h>
#include <inttypes.h>

#include <optional>

using namespace ggufx;
using namespace ggufx::abi;

struct ggufx_quantizer {
    ggufx_quantizer(RuntimeRef runtime, const Ref<gguf::File> &file,
                    const job::PlanOptions &options, std::string_view imatrix_name,
                    uint64_t reserve_bytes)
        : rt(std::move(runtime)), quantization(file, options, imatrix_name, reserve_bytes) {}
    Tag tag = Tag::job;
    RuntimeRef rt;
    job::Quantization quantization;
    Vector<int32_t> tokens{HostAllocator<int32_t>(rt->host.get())}; // calibration text
    model::LayerFeedbackOptions feedback;
};

namespace {

constexpr uint32_t kRunFlags =
    GGUFX_QUANTIZER_RESUME | GGUFX_QUANTIZER_KEEP | GGUFX_QUANTIZER_MEASURE;
static_assert(GGUFX_QUANTIZER_DEFAULT_TYPE == quant::kNoType);
static_assert(GGUFX_QUANTIZER_REASON_FALLBACK == static_cast<int>(quant::Reason::fallback));
static_assert(GGUFX_QUANTIZER_REASON_KEPT == static_cast<int>(quant::Reason::kept));

const job::Quantization &quantization_of(const ggufx_quantizer *handle) {
    require(alive(handle, Tag::job), "quantizer must be set");
    return handle->quantization;
}

// Checks the output and the index of a tensor, too.
const job::Quantization &quantization_of(const ggufx_quantizer *handle, const void *out,
                                         size_t index) {
    const job::Quantization &from = quantization_of(handle);
    require(out, "out must be set");
    const size_t n = from.plan().tensors().size();
    if (index >= n)
        fail(Status::argument, {.index = index}, "tensor %zu does not exist, there are %zu", index,
             n);
    return from;
}

ggufx_quantizer_tensor_facts describe(const job::Quantization &job, size_t index) {
    const job::PlannedTensor &t = job.plan().tensors()[index];
    ggufx_quantizer_tensor_facts facts = {};
    facts.struct_size = sizeof facts;
    facts.name = {t.source.name.data(), t.source.name.size()};
    memcpy(facts.ne, t.source.ne, sizeof facts.ne);
    facts.n_dims = t.source.n_dims;
    facts.from = t.source.type;
    facts.to = t.choice.type;
    facts.wanted = t.choice.wanted;
    facts.reason = static_cast<int32_t>(t.choice.reason);
    facts.imatrix = t.weights ? 1 : t.needs_weights ? -2 : t.lacks_weights ? -1 : 0;
    facts.part = job.part_of(index);
    facts.bytes_in = t.source.n_bytes;
    facts.bytes_out = t.n_bytes;
    facts.rmse = t.rmse;
    facts.seconds = t.seconds;
    facts.error_before = t.errors.before;
    facts.error_after = t.errors.after;
    return facts;
}

struct Relay {
    const job::Quantization *job;
    void *user;
    ggufx_status (*tensor_done)(void *user, size_t index,
                                const ggufx_quantizer_tensor_facts *tensor);
    static int32_t call(void *self, size_t index) {
        const Relay &relay = *static_cast<const Relay *>(self);
        const ggufx_quantizer_tensor_facts facts = describe(*relay.job, index);
        return relay.tensor_done(relay.user, index, &facts);
    }
};

// Copies the calibration text. Throws argument.
void set_feedback(ggufx_quantizer &to, const ggufx_quantizer_feedback &options) {
    const auto in = import_options(&options, 0, "ggufx_quantizer_feedback");
    const uint32_t n_context = in.n_context ? in.n_context : 512;
    if (n_context < 4)
        fail(Status::argument, {.value = n_context, .limit = 4},
             "feedback: n_context is %" PRIu32 ", it must be at least 4", n_context);
    require(in.tokens || in.n_tokens == 0, "feedback: tokens must be set");
    require(in.bos >= -1, "feedback: bos must be an id or -1");
    require(in.damping >= 0 && in.damping <= quant::kMostFeedbackDamping,
            "feedback: damping must be from 0 to 100");
    require(in.n_passes <= quant::kMostFeedbackPasses, "feedback: n_passes must be at most 100");
    const size_t n_chunks = in.n_tokens / n_context;
    if (n_chunks == 0)
        fail(Status::argument, {.value = in.n_tokens, .limit = n_context},
             "feedback: %zu tokens are fewer than one chunk of %" PRIu32, in.n_tokens, n_context);
    to.tokens.assign(in.tokens, in.tokens + n_chunks * n_context);
    for (size_t i = 0; in.bos >= 0 && i < n_chunks; i++) to.tokens[i * n_context] = in.bos;
    to.feedback.tokens = to.tokens.data();
    to.feedback.n_chunks = n_chunks;
    to.feedback.n_context = n_context;
    to.feedback.feedback.damping = in.damping;
    if (in.n_passes > 0) to.feedback.feedback.n_passes = in.n_passes;
    job::Checksum sum;
    sum.add(to.tokens.data(), to.tokens.size() * sizeof(int32_t));
    to.quantization.set_calibration(
        {to.tokens.size(), sum.value(), n_context, to.feedback.feedback.n_passes, in.damping});
}

} // namespace

extern "C" size_t ggufx_file_type_count(void) {
    size_t n = 0;
    quant::file_types(&n);
    return n;
}

extern "C" ggufx_status ggufx_file_type_at(ggufx_file_type_facts *out, size_t index,
                                           ggufx_error *error) {
    return guard(error, [&] {
        size_t n = 0;
        const quant::FileTypeInfo *types = quant::file_types(&n);
        require(out, "out must be set");
        if (index >= n)
            fail(Status::argument, {.index = index}, "recipe %zu does not exist, there are %zu",
                 index, n);
        ggufx_file_type_facts facts = {};
        facts.name = types[index].name;
        facts.file_type = static_cast<uint32_t>(types[index].id);
        facts.type = types[index].type;
        export_struct(out, facts, "ggufx_file_type_facts");
    });
}

extern "C" ggufx_status ggufx_file_type_find(uint32_t *out, const char *name, ggufx_error *error) {
    return guard(error, [&] {
        require(out && name, "out and name must be set");
        if (const quant::FileTypeInfo *found = quant::file_type_by_name(name)) {
            *out = static_cast<uint32_t>(found->id);
            return;
        }
        size_t n = 0;
        const quant::FileTypeInfo *types = quant::file_types(&n);
        NearestName nearest(name, strlen(name));
        for (size_t i = 0; i < n; i++) nearest.offer(types[i].name);
        fail(Status::not_found, {}, "no recipe is called \"%s\"%s",
             Quoted(name, strlen(name)).c_str(), nearest.question());
    });
}

extern "C" ggufx_status ggufx_quantizer_create(ggufx_quantizer **out, const ggufx_runtime *rt,
                                               const ggufx_file *file, uint32_t file_type,
                                               const ggufx_quantizer_options *options,
                                               ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        require(alive(file, Tag::file), "file must be set");
        const auto in = import_options(options, kJobFlags, "ggufx_quantizer_options");
        job::PlanOptions plan = import_plan(in, recipe_of(file_type));
        const model::Roles roles = model::roles_of(*file->file);
        if (!roles.empty()) plan.roles = roles.data();
        if (in.feedback && plan.keep_split && file->file->n_parts() > 1)
            fail(Status::unsupported, {}, "feedback writes one file: not with KEEP_SPLIT");
        const auto made = make<ggufx_quantizer>(
            *rt->host, RuntimeRef::share(const_cast<ggufx_runtime *>(rt)), file->file, plan,
            in.imatrix_name ? in.imatrix_name : "", in.reserve_bytes);
        try {
            if (in.feedback) set_feedback(*made, *in.feedback);
        } catch (...) {
            unmake(*rt->host, made);
            throw;
        }
        *out = made;
    });
}

extern "C" void ggufx_quantizer_destroy(ggufx_quantizer *quantizer) {
    const NoCancel whole;
    if (!alive(quantizer, Tag::job)) return;
    const RuntimeRef rt = quantizer->rt;
    destroy_object(rt->host, quantizer);
}

extern "C" ggufx_status ggufx_quantizer_info(ggufx_quantizer_facts *out,
                                             const ggufx_quantizer *quantizer, ggufx_error *error) {
    return guard(error, [&] {
        const job::Quantization &from = quantization_of(quantizer);
        require(out, "out must be set");
        ggufx_quantizer_facts facts = {};
        facts.n_tensors = from.plan().tensors().size();
        facts.n_parts = from.n_parts();
        for (const job::PlannedTensor &t : from.plan().tensors()) {
            facts.n_values += t.source.ne[0] * t.source.n_rows;
            facts.bytes_in += t.source.n_bytes;
            facts.bytes_out += t.n_bytes;
            facts.n_fallbacks += t.choice.reason == quant::Reason::fallback;
            facts.n_missing += t.lacks_weights;
        }
        for (const job::OutputPart &part : from.make_parts()) facts.file_bytes += part.n_bytes;
        export_struct(out, facts, "ggufx_quantizer_facts");
    });
}

extern "C" ggufx_status ggufx_quantizer_tensor_at(ggufx_quantizer_tensor_facts *out,
                                                  const ggufx_quantizer *quantizer, size_t index,
                                                  ggufx_error *error) {
    return guard(error, [&] {
        const job::Quantization &from = quantization_of(quantizer, out, index);
        export_struct(out, describe(from, index), "ggufx_quantizer_tensor_facts");
    });
}

extern "C" ggufx_status ggufx_quantizer_override_types(ggufx_quantizer *quantizer,
                                                       const uint32_t *types, size_t n,
                                                       ggufx_error *error) {
    return guard(error, [&] {
        const size_t wanted = quantization_of(quantizer).plan().tensors().size();
        require(types || n == 0, "types must be set");
        if (n != wanted) fail(Status::argument, {}, "%zu types for %zu tensors", n, wanted);
        quantizer->quantization.choose(types);
    });
}

extern "C" ggufx_status ggufx_quantizer_tensor_error(double *out, const ggufx_quantizer *quantizer,
                                                     size_t index, uint32_t type,
                                                     uint64_t max_values,
                                                     const ggufx_progress *progress,
                                                     ggufx_error *error) {
    return guard(error, [&] {
        const job::Quantization &from = quantization_of(quantizer, out, index);
        if (!fmt::type_info(type) || !quant::encoder(type))
            fail(Status::unsupported, {}, "there is no encoder for type %" PRIu32, type);
        from.plan().require_weights(index, type);
        *out =
            job::measure(*quantizer->rt->engine, quantizer->rt->host, from.plan().tensors()[index],
                         from.plan().options().best, type, max_values, import_progress(progress));
    });
}

extern "C" ggufx_status ggufx_quantizer_run(ggufx_quantizer *quantizer, const char *path,
                                            const ggufx_quantizer_run_options *options,
                                            ggufx_error *error) {
    return guard(error, [&] {
        quantization_of(quantizer);
        require(path && path[0], "path must be set");
        const auto in = import_options(options, kRunFlags, "ggufx_quantizer_run_options");
        require(in.shard <= in.n_shards && (in.shard > 0) == (in.n_shards > 0),
                "shard must be 1..n_shards, or both 0");
        Relay relay = {&quantizer->quantization, in.user, in.tensor_done};
        job::RunOptions run;
        run.resume = (in.flags & GGUFX_QUANTIZER_RESUME) != 0;
        run.keep = (in.flags & GGUFX_QUANTIZER_KEEP) != 0;
        run.measure = (in.flags & GGUFX_QUANTIZER_MEASURE) != 0;
        run.shard = in.shard;
        run.n_shards = in.n_shards;
        run.progress = import_progress(in.progress);
        run.user = &relay;
        run.tensor_done = in.tensor_done ? Relay::call : nullptr;
        const matmul::Engine &engine = *quantizer->rt->engine;
        std::optional<model::LayerFeedback> feedback;
        if (quantizer->feedback.n_chunks > 0) {
            const job::Plan &plan = quantizer->quantization.plan();
            feedback.emplace(plan.shared_file(), plan, engine, quantizer->feedback);
            run.maker = &*feedback;
        }
        quantizer->quantization.run(engine, path, run);
    });
}

extern "C" ggufx_status ggufx_quantizer_finish(ggufx_quantizer *quantizer, const char *path,
                                               const ggufx_progress *progress, ggufx_error *error) {
    return guard(error, [&] {
        quantization_of(quantizer);
        require(path && path[0], "path must be set");
        quantizer->quantization.finish(*quantizer->rt->engine, path, import_progress(progress));
    });
}
