// SPDX-License-Identifier: MIT
#include "eval/estimate.hpp"

#include "base/checked.hpp"
#include "device/codebooks.hpp"
#include "device/sizes.hpp"
#include "distributed/wavefront.hpp"
#include "eval/quality.hpp"
#include "kv/types.hpp"

#include <algorithm>
#include <inttypes.h>

namespace ggufx::model {

namespace {

// Sums and products of bytes; throw overflow.
uint64_t sum(uint64_t a, uint64_t b) {
    uint64_t out = 0;
    if (!checked::add(&out, a, b)) fail(Status::overflow, {}, "more than 2^64 bytes");
    return out;
}
uint64_t product(uint64_t a, uint64_t b) {
    uint64_t out = 0;
    if (!checked::mul(&out, a, b)) fail(Status::overflow, {}, "more than 2^64 bytes");
    return out;
}

// Returns the bytes of the opened files; a file read without data counts with its data.
uint64_t bytes_of_file(const gguf::File &file) {
    uint64_t total = 0;
    for (size_t i = 0; i < file.n_parts(); i++) {
        const gguf::Part &part = file.part(i);
        uint64_t size = part.size;
        if (part.n_missing > 0 &&
            !checked::round_up(&size, sum(size, part.n_missing), part.directory.alignment))
            fail(Status::overflow, {}, "the file has more than 2^64 bytes");
        total = sum(total, size);
    }
    return total;
}

// Returns the bytes of the keys and values of one token in all layers of a cache.
uint64_t token_bytes(const CacheInfo &cache, uint32_t type_k, uint32_t type_v) {
    const CacheShape &shape = cache.shape;
    uint64_t head = kv::vector_bytes(*kv::type_ops(type_k), shape.head_dim_k);
    if (!shape.v_in_k) head += kv::vector_bytes(*kv::type_ops(type_v), shape.head_dim_v);
    return product(product(cache.layers.size(), shape.n_kv_heads), head);
}

double per_second(double bandwidth, uint64_t bytes) {
    return bytes ? bandwidth / static_cast<double>(bytes) : 0;
}

} // namespace

Estimator::Estimator(const Ref<gguf::File> &file, const matmul::Engine &engine,
                     const EstimateOptions &options)
    : file_(file), engine_(engine), options_(options), outline_(read_outline(*file, options.ranks)),
      places_(places_of(outline_.graph, *file)) {
    if (is_rank() && (options.n_adapters > 0 || !outline_.graph.predicts()))
        fail(Status::unsupported, {}, "ranks of a group do not support adapters or embeddings");
    if (options.n_adapters > 0 && !outline_.has_graph)
        fail(Status::unsupported, {}, "this architecture is not supported: no adapters");
    for (size_t i = 0; i < options.n_adapters; i++) {
        const Adapter adapter(file->host(), options.adapters[i], *file, outline_.graph, {});
        adapter_files_ = sum(adapter_files_, bytes_of_file(*options.adapters[i]));
        adapter_objects_ = sum(
            adapter_objects_, sum(sizeof adapter + options.adapter_object, adapter.memory_bytes()));
        adapter_room_.widen(adapter.room());
    }
}

// Adds the memory of adapters, with the batch size of the sessions.
void Estimator::add_adapters(Estimate &out) const {
    if (options_.n_adapters == 0) return;
    const uint64_t of_session = sum(AdapterSet::bytes(options_.n_adapters),
                                    AdapterScratch::bytes(adapter_room_, out.n_batch));
    out.adapter_files = adapter_files_;
    out.adapters = sum(adapter_objects_, product(of_session, out.n_sessions));
}

WeightBytes Estimator::weigh(const quant::FileTypeInfo *file_type) const {
    job::PlanOptions plan = options_.plan;
    plan.file_type = file_type;
    if (!outline_.roles.empty()) plan.roles = outline_.roles.data();
    if (!file_type) { // any type serves for a copy
        plan.file_type = quant::file_type_info(static_cast<uint32_t>(quant::FileType::f16));
        plan.recipe.only_copy = true;
    }
    const job::Quantization job(file_, plan, options_.imatrix_name, options_.reserve_bytes);
    WeightBytes out;
    out.file_type = file_type;
    out.sums = sum_plan(job.plan(), shape().n_experts, shape().n_used_experts);
    out.device = fit_device(job.plan());
    const RankOptions &ranks = options_.ranks;
    if (is_rank()) out.rank = bytes_of_rank(outline_.graph, job.plan(), ranks.rank, ranks.size);
    if (!file_type) {
        out.file = bytes_of_file(*file_);
        return out;
    }
    for (const job::OutputPart &part : job.make_parts()) out.file = sum(out.file, part.n_bytes);
    return out;
}

// Adds layers from the last one on, after the output matrix.
DeviceFit Estimator::fit_device(const job::Plan &plan) const {
    const auto n_layers = static_cast<uint32_t>(outline_.graph.layer_ends.size());
    DeviceFit out;
    if (options_.device_memory_bytes == 0 || n_layers == 0) return out;
    const HostAllocator<uint64_t> all(&engine_.host());
    Vector<uint64_t> bytes(n_layers + 1, 0, all), longest(n_layers + 1, 0, all); // by place
    for (const job::PlannedTensor &t : plan.tensors()) {
        const uint32_t place = places_[file_->find_tensor(t.source.name)];
        if (place == kNotMultiplied || t.n_bytes == 0) continue;
        uint64_t stride = 0;
        if (!checked::round_up(&stride, t.n_bytes / t.source.n_rows, device::kRowBorder))
            fail(Status::overflow, {}, "more than 2^64 bytes");
        (void)product(stride, sum(t.source.n_rows, 64)); // checks that the product fits 64 bits
        bytes[place] = sum(bytes[place], device::bytes_of(stride, t.source.n_rows));
        longest[place] = std::max(longest[place], t.source.ne[0]);
    }
    uint64_t weights = bytes[n_layers], columns = longest[n_layers];
    for (uint32_t n = 1; n <= n_layers; n++) {
        weights = sum(weights, bytes[n_layers - n]);
        columns = std::max(columns, longest[n_layers - n]);
        out.bytes_all = sum(weights, sum(device::codebooks_bytes(),
                                         device::scratch_bytes(device::scratch_values(columns))));
        if (out.bytes_all > options_.device_memory_bytes) continue;
        out.bytes = out.bytes_all;
        out.n_layers = n;
    }
    return out;
}

// Adds embedders for models that predict no token; their batches hold whole inputs.
void Estimator::add_embedders(Estimate &out, const SessionOptions &session) const {
    EmbedOptions options;
    options.n_context = session.n_context;
    options.n_batch = session.n_batch;
    const EmbedPlan plan(outline_.graph, options);
    const uint64_t bytes = embedder_bytes(engine_.host(), outline_.graph, plan);
    out.n_context = plan.n_context;
    out.n_batch = plan.n_rows;
    out.type_k = out.type_v = kv::id::F32;
    out.sessions = product(sum(bytes, options_.embedder_object), options_.n_sessions);
}

void Estimator::add_sessions(Estimate &out, const SessionOptions &session) const {
    if (outline_.has_graph && !outline_.graph.predicts()) return add_embedders(out, session);
    const SessionPlan plan(shape(), session);
    const uint32_t n_slices = slicing_of(outline_.graph, options_.ranks.size, plan.n_batch).most;
    const SessionBytes bytes(engine_.host(), outline_.graph, plan, n_slices);
    const uint64_t rest = bytes.rest + (n_slices > 1 ? Messenger::bytes() : 0);
    out.n_context = plan.caches.n_context;
    out.n_batch = plan.n_batch;
    out.type_k = plan.caches.type_k;
    out.type_v = plan.caches.type_v;
    out.caches = product(bytes.caches, options_.n_sessions);
    out.sessions = product(sum(rest, options_.session_object), options_.n_sessions);
}

Estimate Estimator::combine(const WeightBytes &weights, const SessionOptions &session) const {
    Estimate out;
    out.weights = weights;
    out.n_sessions = options_.n_sessions;
    out.has_graph = outline_.has_graph;
    out.runtime = engine_.memory_bytes();
    out.model = sum(outline_.model_bytes, options_.model_object);
    if (is_rank()) out.model = sum(out.model, options_.group_object);
    add_sessions(out, session);
    add_adapters(out);
    const uint64_t n_rows = std::min<uint64_t>(shape().n_vocab, out.n_context);
    out.rank_weights = is_rank() ? sum(weights.rank.weights, product(weights.rank.row, n_rows))
                                 : weights.sums.n_bytes;
    out.total = sum(sum(is_rank() ? out.rank_weights : weights.file, sum(out.runtime, out.model)),
                    sum(out.caches, out.sessions));
    out.total = sum(out.total, sum(out.adapter_files, out.adapters));
    out.loss = weight_loss(weights.sums.error) + kv_loss(out.type_k, out.type_v);
    return out;
}

// Returns the largest context that fits, by bisection: bytes only grow with the context.
uint32_t Estimator::max_context(const Estimate &estimate) const {
    SessionOptions session = options_.session;
    session.type_k = estimate.type_k;
    session.type_v = estimate.type_v;
    const uint64_t fixed = estimate.total - estimate.caches - estimate.sessions;
    const auto fits = [&](uint32_t n_context) {
        session.n_context = n_context;
        Estimate with;
        add_sessions(with, session);
        return sum(fixed, sum(with.caches, with.sessions)) <= options_.memory_bytes;
    };
    const uint32_t trained = shape().n_context;
    uint32_t low = 0, high = estimate.n_context > trained ? estimate.n_context : trained;
    if (fits(high)) return high;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        (fits(middle) ? low : high) = middle;
    }
    return low;
}

Estimate Estimator::finish(Estimate out) const {
    const job::PlanSums &sums = out.weights.sums;
    out.max_context = max_context(out);
    out.token_kv = 0;
    const bool remembers = !out.has_graph || outline_.graph.predicts();
    for (const CacheInfo &cache : outline_.graph.caches)
        if (remembers) out.token_kv = sum(out.token_kv, token_bytes(cache, out.type_k, out.type_v));
    if (sums.n_parameters)
        out.bits_per_weight =
            8 * static_cast<double>(sums.n_bytes) / static_cast<double>(sums.n_parameters);
    out.token_weights = is_rank() ? out.weights.rank.token : sums.token_bytes;
    out.tokens_per_second = per_second(options_.bandwidth, out.token_weights);
    const uint64_t read = product(out.token_kv, out.n_context);
    out.tokens_per_second_full = per_second(options_.bandwidth, sum(out.token_weights, read));
    return out;
}

Estimate Estimator::estimate() const {
    return finish(combine(weigh(options_.file_type), options_.session));
}

} // namespace ggufx::model
