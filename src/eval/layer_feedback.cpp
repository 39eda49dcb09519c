// SPDX-License-Identifier: MIT
#include "eval/layer_feedback.hpp"

#include "base/fpenv.hpp"
#include "formats/format.hpp"

#include <inttypes.h>
#include <string.h>

#include <algorithm>
#include <exception>
#include <optional>

namespace ggufx::model {

namespace {

constexpr size_t kNotPlanned = SIZE_MAX;

Graph checked_graph(const gguf::File &file) {
    BuildOptions build;
    build.with_data = true;
    return build_graph(file, build);
}

// Calls f(weights, n) for the weights of a product of the layers; n weights share an input.
template <class F> void for_weights(const Op &op, F f) {
    uint32_t weights[4];
    if (const auto *product = std::get_if<op::Product>(&op)) {
        for (uint32_t i = 0; i < product->n; i++) weights[i] = product->to[i].weights;
        f(weights, product->n);
    } else if (const auto *heads = std::get_if<op::HeadProduct>(&op)) {
        f(&heads->weights, 1);
    } else if (const auto *experts = std::get_if<op::ExpertProduct>(&op)) {
        for (uint32_t e = 0; e < std::max(experts->separate, 1u); e++) {
            weights[0] = experts->weights + e;
            f(weights, 1);
        }
    }
}

// Progress that only polls.
struct Poll {
    job::BlockStore &store;
    std::exception_ptr failure = nullptr;

    Progress progress() { return {this, report}; }
    static int32_t report(void *self, uint64_t, uint64_t) {
        Poll &poll = *static_cast<Poll *>(self);
        try {
            poll.store.poll();
        } catch (...) { poll.failure = std::current_exception(); }
        return poll.failure != nullptr;
    }
    // Throws the store's failure in place of that of the call that it cancelled.
    template <class F> void run(F f) {
        try {
            f();
        } catch (...) {
            if (failure) std::rethrow_exception(failure);
            throw;
        }
    }
};

// Throws the failure of a matrix, with the name of its tensor, where it begins at first_row.
void require(Status status, const Failure &failure, const gguf::Tensor &t, uint64_t first_row) {
    if (status == Status::ok) return;
    At at = at_of(failure);
    if (status == Status::value && at.index != kNone) at.index += first_row;
    fail(status, at, "tensor \"%s\": %s%s", Quoted(t.name).c_str(), failure.message,
         first_row > 0 && status == Status::value ? " of one of its matrices" : "");
}

} // namespace

// Moments of one input; `kept_out` has every kKeptOutChunks-th chunk, `used` the others.
struct LayerFeedback::Moments {
    Moments(const Ref<Host> &host, size_t n_columns, bool with_drift)
        : used(host, n_columns, with_drift), kept_out(host, n_columns, with_drift) {}
    quant::Moments used, kept_out;
    std::optional<quant::FeedbackMetric> metric; // made by the first matrix that needs it
};

// Adds the inputs of one product to moments: one for all columns, or one per matrix (experts with
// columns of their own).
class LayerFeedback::Collector final : public ProductWatcher {
public:
    Collector(const LayerFeedback &run, Vector<Moments> &moments, const Progress &progress)
        : run_(run), moments_(moments), progress_(progress),
          rows_(HostAllocator<float>(run.file_->host().get())) {}

    // The products are those of experts that are weights of their own.
    void set_separate(uint32_t first, uint32_t n) {
        separate_first_ = first;
        n_separate_ = n;
    }
    // The source's columns of the following calls.
    void set_source(const ProductColumns &columns, bool kept_out) {
        source_ = columns;
        kept_out_ = kept_out;
    }
    Status product_done(const uint32_t *weights, uint32_t, const ProductColumns &columns,
                        Failure *failure) override {
        try {
            return add(weights[0], columns, failure);
        } catch (const std::bad_alloc &) {
            return set_failure(failure, Status::memory, {}, "no memory for inputs of a matrix");
        } catch (const Error &error) {
            if (failure) *failure = error.failure;
            return static_cast<Status>(error.failure.status);
        }
    }

private:
    // Columns that belong to single matrices have moments of their own.
    static bool is_by_matrix(const ProductColumns &columns) {
        return columns.parts && columns.parts_each == 1;
    }
    Status add(uint32_t weights, const ProductColumns &columns, Failure *failure) {
        const WeightInfo &info = run_.source_.weights[weights];
        const auto k = static_cast<size_t>(info.w.n_cols);
        const bool separate = separate_first_ != kNoIndex;
        tensor_ = info.tensor;
        const size_t n_sets = is_by_matrix(columns) ? info.n_parts : separate ? n_separate_ : 1;
        while (moments_.size() < n_sets)
            moments_.emplace_back(run_.file_->host(), k, has_drift(columns));
        if (separate) return add_to(moments_[weights - separate_first_], columns, failure);
        if (!is_by_matrix(columns)) return add_to(moments_[0], columns, failure);
        for (uint32_t part = 0; part < info.n_parts; part++) {
            rows_.clear();
            for (size_t i = 0; i < columns.n; i++)
                if (columns.parts[i] == part)
                    rows_.insert(rows_.end(), columns.x + i * columns.stride,
                                 columns.x + i * columns.stride + k);
            const ProductColumns own = {rows_.data(), k, rows_.size() / k};
            const Status status = add_to(moments_[part], own, failure);
            if (status != Status::ok) return status;
        }
        return Status::ok;
    }
    // Routers of both models may choose other experts: their inputs cannot be compared.
    bool has_drift(const ProductColumns &columns) const {
        return separate_first_ == kNoIndex && !is_by_matrix(columns);
    }
    Status add_to(Moments &to, const ProductColumns &columns, Failure *failure) {
        quant::Moments &moments = kept_out_ ? to.kept_out : to.used;
        const bool drift = moments.drift() != nullptr;
        Failure why = {};
        const Status status = moments.add(
            {columns.x, drift ? source_.x : nullptr, columns.stride, source_.stride, columns.n},
            progress_, &why);
        if (status == Status::ok) return status;
        return set_failure(failure, status, at_of(why), "inputs of tensor \"%s\": %s",
                           Quoted(run_.file_->tensor(tensor_).name).c_str(), why.message);
    }

    const LayerFeedback &run_;
    Vector<Moments> &moments_;
    const Progress &progress_;
    ProductColumns source_ = {};
    bool kept_out_ = false;
    uint32_t separate_first_ = kNoIndex, n_separate_ = 0;
    size_t tensor_ = 0;  // first tensor of the current product
    Vector<float> rows_; // columns of one matrix
};

namespace {

// Remembers the columns of a product.
class ColumnsWatcher final : public ProductWatcher {
public:
    Status product_done(const uint32_t *, uint32_t, const ProductColumns &columns,
                        Failure *) override {
        seen = columns;
        return Status::ok;
    }
    ProductColumns seen = {};
};

// Adds one of n matrices to the means.
void add_errors(job::OutputErrors *errors, const quant::FeedbackResult &result, size_t n) {
    const CanonicalFp canonical;
    const double share = 1 / static_cast<double>(n);
    errors->is_used |= result.is_used;
    errors->before += result.before * share;
    errors->after += (result.is_used ? result.after : result.before) * share;
}

} // namespace

LayerFeedback::LayerFeedback(const Ref<gguf::File> &file, const job::Plan &plan,
                             const matmul::Engine &engine, const LayerFeedbackOptions &options)
    : file_(file), plan_(plan), engine_(engine), options_(options), source_(checked_graph(*file)),
      quantized_(source_),
      planned_(file->n_tensors(), kNotPlanned, HostAllocator<size_t>(file->host().get())),
      blocks_(HostAllocator<Buffer>(file->host().get())),
      last_(file->n_tensors(), 0, HostAllocator<uint32_t>(file->host().get())),
      x_(source_, file->host(), engine, options.tokens, options.n_chunks, options.n_context),
      y_(quantized_, file->host(), engine, options.tokens, options.n_chunks, options.n_context) {
    if (options.n_chunks == 0) fail(Status::argument, {}, "the calibration text has no chunk");
    const uint64_t n_vocab = source_.shape.n_vocab;
    for (size_t i = 0; i < options.n_chunks * options.n_context; i++)
        if (options.tokens[i] < 0 || static_cast<uint64_t>(options.tokens[i]) >= n_vocab)
            fail(Status::argument, {.index = i},
                 "token %zu is %" PRId32 ", the vocabulary has %" PRIu64 " tokens", i,
                 options.tokens[i], n_vocab);
    blocks_.resize(file->n_tensors());
    for (size_t i = 0; i < plan.tensors().size(); i++) {
        const job::PlannedTensor &t = plan.tensors()[i];
        if (!t.copies()) planned_[file->find_tensor(t.source.name)] = i;
    }
    for (uint32_t g = 0; g < source_.end_group(PartKind::body); g++)
        for_weights(source_.ops[source_.groups[g].first], [&](const uint32_t *weights, uint32_t n) {
            for (uint32_t i = 0; i < n; i++) last_[source_.weights[weights[i]].tensor] = g;
        });
}

bool LayerFeedback::is_kept_out(size_t chunk) const {
    const size_t n = options_.n_chunks;
    return n < kKeptOutChunks ? n > 1 && chunk + 1 == n
                              : chunk % kKeptOutChunks == kKeptOutChunks - 1;
}

size_t LayerFeedback::planned(uint32_t weights) const {
    return planned_[source_.weights[weights].tensor];
}

bool LayerFeedback::has_work(const uint32_t *weights, uint32_t n) const {
    for (uint32_t i = 0; i < n; i++)
        if (planned(weights[i]) != kNotPlanned &&
            !blocks_[source_.weights[weights[i]].tensor].data())
            return true;
    return false;
}

void LayerFeedback::make_blocks(job::BlockStore &store) {
    const uint32_t end = source_.end_group(PartKind::body);
    for (uint32_t g = source_.first_group(PartKind::body); g < end; g++) {
        bool has_any = false;
        for_weights(source_.ops[source_.groups[g].first],
                    [&](const uint32_t *weights, uint32_t n) { has_any |= has_work(weights, n); });
        if (!has_any) continue;
        quantize_group(g, store);
        release(g);
    }
}

// Brings both streams to the product, collects its inputs, quantizes its matrices.
void LayerFeedback::quantize_group(uint32_t group, job::BlockStore &store) {
    const Op &op = source_.ops[source_.groups[group].first];
    Poll poll = {store};
    const Progress progress = poll.progress();
    Vector<Moments> moments(HostAllocator<Moments>(file_->host().get()));
    Collector collector(*this, moments, progress);
    const auto *experts = std::get_if<op::ExpertProduct>(&op);
    if (experts && experts->separate) collector.set_separate(experts->weights, experts->separate);
    bool is_written = true; // by an interrupted run
    for_weights(op, [&](const uint32_t *weights, uint32_t n) {
        for (uint32_t i = 0; i < n; i++)
            if (has_work(weights + i, 1)) is_written &= store.has(planned(weights[i]));
    });
    for (size_t chunk = 0; chunk < options_.n_chunks; chunk++)
        poll.run([&] {
            ColumnsWatcher source;
            x_.advance(chunk, group, progress);
            y_.advance(chunk, group, progress);
            if (is_written) return;
            x_.show(group, source, progress);
            collector.set_source(source.seen, is_kept_out(chunk));
            y_.show(group, collector, progress);
        });
    for_weights(op, [&](const uint32_t *weights, uint32_t n) {
        const uint32_t set =
            experts && experts->separate ? weights[0] - experts->weights : kNoIndex;
        for (uint32_t i = 0; i < n; i++)
            if (has_work(weights + i, 1)) quantize_tensor(weights[i], moments, set, store);
    });
}

// Writes the blocks of one matrix of a tensor.
void LayerFeedback::quantize_matrix(uint8_t *out, const job::PlannedTensor &t, size_t matrix,
                                    Moments &moments, quant::FeedbackResult *result,
                                    job::BlockStore &store) const {
    const Ref<Host> &host = file_->host();
    const auto k = static_cast<size_t>(t.source.ne[0]), n = static_cast<size_t>(t.source.ne[1]);
    const size_t n_bytes = static_cast<size_t>(t.n_bytes / t.source.n_rows * n);
    Poll poll = {store};
    const Progress progress = poll.progress();
    Vector<float> rows(n * k, 0.0f, HostAllocator<float>(host.get())),
        weights(k, 1.0f, rows.get_allocator());
    Failure failure = {};
    const matmul::Weights w = {t.source.type, t.source.data, t.source.row_stride, t.source.n_rows,
                               k};
    const auto check = [&](Status status) { require(status, failure, t.source, matrix * n); };
    check(engine_.dequantize(rows.data(), w, matrix * n, n, &failure));
    quant::Rows in = {rows.data(), n, k, nullptr};
    const quant::Blocks blocks = {out, n_bytes, t.choice.type};
    const bool has_inputs = moments.used.mean_squares(weights.data());
    const bool is_enough = moments.used.n_inputs() >= quant::kLeastInputs * k;
    poll.run([&] {
        if (has_inputs && is_enough && quant::has_feedback(t.choice.type)) {
            if (!moments.metric)
                moments.metric.emplace(host, moments.used, &moments.kept_out, options_.feedback,
                                       progress, 0);
            return check(quant::quantize_feedback(blocks, host, engine_.kernels(), in,
                                                  *moments.metric, result, progress, &failure));
        }
        in.imatrix = weights.data();
        in.best = true;
        check(quant::quantize(blocks, *host, engine_.kernels(), in, progress, &failure));
    });
    const fmt::TypeInfo &type = *fmt::type_info(t.choice.type);
    const size_t bad = quant::first_bad_block(type.id, out, n_bytes / type.block_bytes);
    if (bad == SIZE_MAX) return;
    const uint64_t row = matrix * n + bad * type.block_values / k;
    fail(Status::value, {.index = row},
         "tensor \"%s\": row %" PRIu64 " has values beyond the range of type %s",
         Quoted(t.source.name).c_str(), row, type.name);
}

// set: index of the moments; kNoIndex: one for all matrices, or one for each.
void LayerFeedback::quantize_tensor(uint32_t weights, Vector<Moments> &moments, uint32_t set,
                                    job::BlockStore &store) {
    const size_t tensor = source_.weights[weights].tensor, index = planned_[tensor];
    const job::PlannedTensor &t = plan_.tensors()[index];
    Buffer made(file_->host(), static_cast<size_t>(t.n_bytes));
    if (store.has(index)) {
        store.read(index, made.data());
    } else {
        job::OutputErrors errors;
        const auto n = static_cast<size_t>(t.source.n_rows / t.source.ne[1]);
        for (size_t i = 0; i < n; i++) {
            const size_t of = set != kNoIndex ? set : moments.size() == 1 ? 0 : i;
            quant::FeedbackResult result;
            quantize_matrix(made.data() + i * (t.n_bytes / n), t, i, moments[of], &result, store);
            if (moments.size() > 1) moments[of].metric.reset(); // other matrices have their own
            add_errors(&errors, result, n);
        }
        store.write(index, made.data(), errors);
    }
    replace(tensor, t.choice.type, made.data());
    blocks_[tensor] = std::move(made);
}

// Points all weights of a tensor to its blocks.
void LayerFeedback::replace(size_t tensor, uint32_t type, const uint8_t *blocks) {
    const gguf::Tensor &t = file_->tensor(tensor);
    uint64_t row_bytes = 0;
    (void)fmt::row_bytes(&row_bytes, *fmt::type_info(type), t.ne[0]);
    for (WeightInfo &info : quantized_.weights) {
        if (info.tensor != tensor) continue;
        const uint64_t row = static_cast<uint64_t>(info.w.data - t.data) / info.w.stride;
        info.w.type = type;
        info.w.stride = row_bytes;
        info.w.data = blocks + row * row_bytes;
    }
}

// Frees blocks that no later group multiplies, once both streams are past the product.
void LayerFeedback::release(uint32_t group) {
    for (size_t i = 0; i < blocks_.size(); i++)
        if (blocks_[i].data() && last_[i] < group) blocks_[i] = Buffer();
}

} // namespace ggufx::model
