// Batches have at least four rows: products of one to three columns have other bits
// (docs/reproducibility/products.md), and an embedding must not depend on other inputs in its
// batch. The columns of an expert vary with the batch, so expert products are row-wise.
// SPDX-License-Identifier: MIT
#include "run/embedder.hpp"

#include "run/rows.hpp"

#include <algorithm>
#include <inttypes.h>
#include <string.h>

namespace ggufx::model {

namespace {

constexpr uint32_t kF32 = kv::id::F32;
constexpr uint32_t kLeastRows = 4, kDefaultBatch = 512;
constexpr float kLeastNorm = 1e-12f;

bool hands_on(const Graph &graph) {
    const auto shares = [](const Op &s) {
        const auto *attend = std::get_if<op::Attend>(&s);
        return attend && attend->shared;
    };
    return !graph.states.empty() || std::any_of(graph.ops.begin(), graph.ops.end(), shares);
}

uint32_t context_of(const Graph &graph, const EmbedOptions &options) {
    const uint32_t trained = graph.shape.n_context;
    const uint32_t n = options.n_context ? options.n_context : std::min(trained, kDefaultContext);
    if (n > INT32_MAX)
        fail(Status::argument, {}, "n_context is %" PRIu32 ", the limit is %" PRId32, n, INT32_MAX);
    if (graph.shape.n_positions && n > graph.shape.n_positions)
        fail(Status::argument, {},
             "n_context is %" PRIu32 ", the model has embeddings of %" PRIu32 " positions", n,
             graph.shape.n_positions);
    return n;
}

Pooling pooling_of(const Graph &graph, const EmbedOptions &options) {
    if (options.own_pooling) return options.pooling;
    if (graph.pooling != Pooling::none) return graph.pooling;
    return graph.causal ? Pooling::last : Pooling::mean;
}

const View &result_of(const Graph &graph, Pooling pooling) {
    return pooling == Pooling::none   ? graph.hidden
           : pooling == Pooling::rank ? graph.scores
                                      : graph.embedding;
}

kv::Config cache_config(const CacheShape &shape, uint32_t n_context) {
    kv::Config config;
    config.n_kv_heads = shape.n_kv_heads;
    config.n_q_heads = shape.n_heads;
    config.head_dim_k = shape.head_dim_k;
    config.head_dim_v = shape.head_dim_v;
    config.v_in_k = shape.v_in_k;
    config.type_k = config.type_v = kF32;
    config.max_tokens = n_context;
    return config;
}

} // namespace

EmbedPlan::EmbedPlan(const Graph &graph, const EmbedOptions &given)
    : options(given), n_context(context_of(graph, given)), pooling(pooling_of(graph, given)),
      alone(hands_on(graph)) {
    const uint32_t n_batch = options.n_batch ? options.n_batch : kDefaultBatch;
    if (n_batch > INT32_MAX)
        fail(Status::argument, {}, "n_batch is %" PRIu32 ", the limit is %" PRId32, n_batch,
             INT32_MAX);
    n_rows = std::max({alone ? n_context : n_batch, n_context, kLeastRows});
    if (alone && !graph.causal)
        fail(Status::unsupported, {},
             "embeddings of a %s model with bidirectional attention, whose layers read the keys of "
             "earlier layers, are not supported",
             graph.architecture);
    const View &result = result_of(graph, pooling);
    if (result.none())
        fail(Status::unsupported, {}, "the model has no cls.output.weight: it is not a reranker");
    width = result.width;
    dimensions = options.dimensions ? options.dimensions : width;
    if (dimensions > width)
        fail(Status::argument, {}, "dimensions is %" PRIu32 ", the model has %" PRIu32, dimensions,
             width);
    if (graph.shape.n_experts > 0) options.matmul.batch_invariant = true;
}

// Returns cache options of a session that is never truncated.
static CacheOptions whole_options(const EmbedPlan &plan) {
    return {.n_context = plan.n_context,
            .type_k = kF32,
            .type_v = kF32,
            .n_batch = plan.n_rows,
            .n_checkpoints = 0};
}

TextCaches::TextCaches(const Graph &graph, const Ref<Host> &host, const kernels::Kernels &kernels,
                       const EmbedPlan &plan)
    : caches_(HostAllocator<kv::Cache *>(host.get())) {
    if (plan.alone) {
        whole_.emplace(graph, host, kernels, whole_options(plan));
        return;
    }
    try {
        caches_.reserve(graph.caches.size());
        for (const CacheInfo &info : graph.caches) {
            caches_.push_back(
                kv::Cache::create(host, &kernels, cache_config(info.shape, plan.n_context)));
            Failure failure;
            if (caches_.back()->reserve(0, plan.n_context, &failure) != Status::ok)
                throw Error{failure};
        }
    } catch (...) {
        clear();
        throw;
    }
}

TextCaches::~TextCaches() {
    clear();
}

void TextCaches::clear() {
    for (kv::Cache *cache : caches_) kv::Cache::destroy(cache);
}

uint64_t TextCaches::estimate(const Graph &graph, const Host &host, const EmbedPlan &plan) {
    if (plan.alone) return Caches::estimate(graph, host, whole_options(plan));
    uint64_t total = graph.caches.size() * sizeof(kv::Cache *);
    for (const CacheInfo &info : graph.caches)
        total +=
            kv::Cache::estimate(host, cache_config(info.shape, plan.n_context), plan.n_context);
    return total;
}

uint64_t embedder_bytes(const Host &host, const Graph &graph, const EmbedPlan &plan) {
    const uint64_t row = sizeof(int32_t) + sizeof(uint32_t) + sizeof(SequenceRows);
    return TextCaches::estimate(graph, host, plan) + scratch_bytes(graph, plan.n_rows) +
           plan.n_rows * row + graph.rope_tables.size() * sizeof(const double *);
}

// Reports tokens done between layers, and polls during the products.
class Embedder::Poll final : public LayerWatcher {
public:
    Poll(const Progress &user, uint64_t total, uint32_t n_layers)
        : user_(user), total_(total), n_layers_(n_layers) {}

    Progress progress() { return user_.report ? Progress{this, report} : Progress{}; }
    void begin_batch(uint64_t n) { n_ = n; }
    void end_batch() { done_ = start_ += n_; }
    Status layer_done(uint32_t layer, Failure *failure) override {
        done_ = start_ + n_ * (layer + 1) / (n_layers_ + uint64_t{1});
        if (!user_.cancelled(done_, total_)) return Status::ok;
        return set_failure(failure, Status::cancelled, {},
                           "cancelled after %" PRIu64 " of %" PRIu64 " tokens", done_, total_);
    }

private:
    static int32_t report(void *self, uint64_t, uint64_t) {
        const Poll &poll = *static_cast<Poll *>(self);
        return poll.user_.cancelled(poll.done_, poll.total_);
    }

    const Progress &user_;
    const uint64_t total_;
    uint64_t start_ = 0, n_ = 0, done_ = 0;
    uint32_t n_layers_;
};

Embedder::Embedder(const Model &model, const EmbedPlan &plan)
    : model_(model), plan_(plan),
      caches_(model.graph(), model.host(), model.engine().kernels(), plan),
      scratch_(model.host(), scratch_bytes(model.graph(), plan.n_rows)),
      tokens_(plan.n_rows, HostAllocator<int32_t>(model.host().get())),
      positions_(plan.n_rows, HostAllocator<uint32_t>(model.host().get())),
      rows_(HostAllocator<SequenceRows>(model.host().get())), adapter_scratch_(model.host().get()),
      frequencies_(HostAllocator<const double *>(model.host().get())),
      context_{.graph = model.graph(),
               .engine = model.engine(),
               .rows = *kernels::rows_of(model.engine().kernels()),
               .frequencies = nullptr,
               .caches = caches_.caches(),
               .states = caches_.states(),
               .options = plan.options.matmul,
               .scratch = reinterpret_cast<float *>(scratch_.data()),
               .n_batch = plan.n_rows,
               .tokens = tokens_.data(),
               .positions = positions_.data(),
               .parts = &part_,
               .n_parts = 1,
               .memory = &memory_,
               .one_layer = !plan.alone,
               .pooling = plan.pooling} {
    const Graph &graph = model.graph();
    rows_.reserve(plan.n_rows);
    frequencies_.reserve(graph.rope_tables.size());
    for (const RopeTable &rope_table : graph.rope_tables)
        frequencies_.push_back(graph.frequencies.data() + rope_table.start(plan.n_context));
    context_.frequencies = frequencies_.data();
}

void Embedder::set_adapters(const AdapterSet::Use *uses, size_t n) {
    adapters_ = adapter_scratch_.prepare(model_.host(), model_.graph(), uses, n, plan_.n_rows);
    context_.adapter_scratch = adapter_scratch_.data();
    context_.n_adapter_scratch = adapter_scratch_.size();
}

uint64_t Embedder::rows_of(const EmbedInputs &inputs) const {
    if (plan_.pooling != Pooling::none) return inputs.n;
    uint64_t n = 0;
    for (size_t i = 0; i < inputs.n; i++) n += used_length(inputs.texts[i].n);
    return n;
}

Status Embedder::check(const EmbedInputs &inputs, Failure *failure) const {
    const uint64_t n_vocab = model_.shape().n_vocab;
    for (size_t i = 0; i < inputs.n; i++) {
        const uint64_t n = inputs.texts[i].n;
        if (n == 0)
            return set_failure(failure, Status::argument, {kNone, i}, "text %zu has no tokens", i);
        if (n > plan_.n_context && !plan_.options.cuts)
            return set_failure(failure, Status::argument, {kNone, i},
                               "text %zu has %" PRIu64 " tokens, the limit is %" PRIu32, i, n,
                               plan_.n_context);
        for (uint64_t at = 0; at < n; at++) {
            const int32_t id = inputs.texts[i].tokens[at];
            if (id >= 0 && static_cast<uint64_t>(id) < n_vocab) continue;
            return set_failure(failure, Status::argument, {kNone, i},
                               "token %" PRIu64 " of text %zu is %" PRId32
                               ", the vocabulary has %" PRIu64 " tokens",
                               at, i, id, n_vocab);
        }
    }
    return Status::ok;
}

// Gathers as many inputs from `first` on as fit into a batch. Padding rows repeat the first token.
void Embedder::gather(const EmbedInputs &inputs, size_t first) {
    rows_.clear();
    n_rows_used_ = 0;
    for (size_t i = first; i < inputs.n; i++) {
        const size_t n = used_length(inputs.texts[i].n);
        if (n > plan_.n_rows - n_rows_used_ || (plan_.alone && i > first)) break;
        memcpy(tokens_.data() + n_rows_used_, inputs.texts[i].tokens, n * sizeof(int32_t));
        for (size_t p = 0; p < n; p++) positions_[n_rows_used_ + p] = static_cast<uint32_t>(p);
        rows_.push_back({n_rows_used_, n});
        n_rows_used_ += n;
    }
    for (size_t row = n_rows_used_; row < kLeastRows; row++) {
        tokens_[row] = tokens_[0];
        positions_[row] = 0;
    }
}

Status Embedder::run_batch_of_texts(LayerWatcher *watcher, Failure *failure) {
    context_.n = std::max<size_t>(n_rows_used_, kLeastRows);
    part_ = {0, 0, context_.n, 0, adapters_.get()};
    context_.inputs = rows_.data();
    context_.n_texts = rows_.size();
    Status status = caches_.begin(failure);
    if (status != Status::ok) return status;
    status = run_layers(context_, watcher, failure);
    caches_.end();
    if (status == Status::ok) status = run_part(context_, PartKind::hidden, failure);
    if (status != Status::ok || plan_.pooling == Pooling::none) return status;
    context_.n = std::max<size_t>(rows_.size(), kLeastRows);
    status = run_part(context_, PartKind::pool, failure);
    if (status != Status::ok) return status;
    const bool ranks = plan_.pooling == Pooling::rank;
    return run_part(context_, ranks ? PartKind::score : PartKind::embedding, failure);
}

Status Embedder::copy_results(float *out, size_t first_text, Failure *failure) const {
    const CanonicalFp canonical;
    const View &from = result_of(context_.graph, plan_.pooling);
    const size_t n = plan_.dimensions;
    const bool by_token = plan_.pooling == Pooling::none;
    size_t text = 0;
    for (size_t row = 0; row < (by_token ? n_rows_used_ : rows_.size()); row++, out += n) {
        if (!by_token)
            text = row;
        else if (row == rows_[text].first + rows_[text].n)
            text++;
        memcpy(out, context_.at(from, row), n * sizeof(float));
        if (plan_.options.normalizes) context_.rows.l2(out, out, n, kLeastNorm);
        for (size_t i = 0; i < n; i++)
            if (out[i] != out[i])
                return set_failure(failure, Status::value, {kNone, first_text + text},
                                   "the model computed a NaN for text %zu", first_text + text);
    }
    return Status::ok;
}

Status Embedder::embed(float *out, const EmbedInputs &inputs, const Progress &progress,
                       Failure *failure) {
    Status status = check(inputs, failure);
    if (status != Status::ok) return status;
    uint64_t total = 0;
    for (size_t i = 0; i < inputs.n; i++) total += used_length(inputs.texts[i].n);
    Poll poll(progress, total, model_.shape().n_layers);
    context_.options.progress = poll.progress();
    for (size_t done = 0; done < inputs.n && status == Status::ok; done += rows_.size()) {
        gather(inputs, done);
        poll.begin_batch(n_rows_used_);
        status = run_batch_of_texts(&poll, failure);
        if (status == Status::ok) status = copy_results(out, done, failure);
        const bool by_token = plan_.pooling == Pooling::none;
        out += (by_token ? n_rows_used_ : rows_.size()) * plan_.dimensions;
        poll.end_batch();
    }
    context_.options.progress = {};
    return status;
}

} // namespace ggufx::model
