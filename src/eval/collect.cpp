// Sums within a chunk are binary64, in the order of tokens; chunks are added exactly. So they
// depend on the activations only, however the runner splits the batches.
// SPDX-License-Identifier: MIT
#include "eval/collect.hpp"

#include "run/rows.hpp"

#include <algorithm>
#include <inttypes.h>

namespace ggufx::model {

namespace {

constexpr size_t kTile = 64;      // columns summed at once
constexpr size_t kTaskTiles = 8;  // tiles per task: 4 KiB of sums stay in the L1 cache
constexpr size_t kLogitRows = 32; // rows projected at once
constexpr uint32_t kNoEntry = UINT32_MAX;

// The squares are exact.
void add_square(double &sum, float x) {
    sum += static_cast<double>(x) * static_cast<double>(x);
}

// Sums of one input, which several matrices may share.
struct Sums {
    size_t n_columns;
    Vector<double> squares;   // [n_parts][n_columns] of this chunk
    Vector<ExactSum> chunks;  // sums of the finished chunks
    Vector<uint64_t> columns; // [n_parts]: number of added columns

    Sums(const Host *host, size_t n, size_t n_parts)
        : n_columns(n), squares(n * n_parts, 0.0, HostAllocator<double>(host)),
          chunks(n * n_parts, ExactSum(), HostAllocator<ExactSum>(host)),
          columns(n_parts, 0, HostAllocator<uint64_t>(host)) {}

    // Adds columns from .. end - 1 of every row.
    void add(const ProductColumns &in, size_t from, size_t end) {
        for (size_t i = 0; i < in.n * in.parts_each; i++) {
            const float *x = in.x + i / in.parts_each * in.stride;
            double *sum = squares.data() + (in.parts ? in.parts[i] : 0) * n_columns;
            size_t at = from;
            for (; at + kTile <= end; at += kTile)
                for (size_t k = at; k < at + kTile; k++) add_square(sum[k], x[k]);
            for (; at < end; at++) add_square(sum[at], x[at]);
        }
    }
    void count(const ProductColumns &in) {
        for (size_t i = 0; in.parts && i < in.n * in.parts_each; i++) columns[in.parts[i]]++;
        if (!in.parts) columns[0] += in.n;
    }
    void end_chunk() {
        for (size_t i = 0; i < squares.size(); i++) chunks[i].add(squares[i]);
        std::fill(squares.begin(), squares.end(), 0.0);
    }
};

// Collects sums; the matrices of one operation have one input and share its sums.
class Collector final : public ProductWatcher {
public:
    Collector(const Model &model, bool with_output);
    Status product_done(const uint32_t *weights, uint32_t n_weights, const ProductColumns &columns,
                        Failure *failure) override;
    void end_chunk() {
        for (Sums &sums : sums_) sums.end_chunk();
    }
    void write(job::Imatrix *out) const;

private:
    void add(const op::Product &s);
    void add(const op::HeadProduct &s) { add_input(&s.weights, 1); }
    void add(const op::ExpertProduct &s);
    template <class S> void add(const S &) {}
    void add_input(const uint32_t *weights, uint32_t n);
    bool begins_tensor(uint32_t weights) const;
    void write_entry(job::Imatrix *out, const uint32_t *weights, size_t n) const;

    const Model &model_;
    Vector<Sums> sums_;
    Vector<uint32_t> sums_of_; // index in sums_ for each weight, or kNoEntry
};

Collector::Collector(const Model &model, bool with_output)
    : model_(model), sums_(HostAllocator<Sums>(model.host().get())),
      sums_of_(model.graph().weights.size(), kNoEntry,
               HostAllocator<uint32_t>(model.host().get())) {
    const Graph &graph = model.graph();
    const auto add_part = [&](PartKind part) {
        for (uint32_t g = graph.first_group(part); g < graph.end_group(part); g++)
            for (uint32_t i = graph.groups[g].first; i < graph.groups[g].end; i++)
                std::visit([&](const auto &s) { add(s); }, graph.ops[i]);
    };
    add_part(PartKind::body);
    if (with_output) add_part(PartKind::logits);
}

void Collector::add(const op::Product &s) {
    uint32_t weights[4] = {};
    for (uint32_t i = 0; i < s.n; i++) weights[i] = s.to[i].weights;
    add_input(weights, s.n);
}

void Collector::add(const op::ExpertProduct &s) {
    for (uint32_t e = 0; e < (s.separate ? s.separate : 1); e++) {
        const uint32_t weights = s.weights + e;
        add_input(&weights, 1);
    }
}

// Returns whether weights start a tensor: the first part stands for a tensor that is split by rows.
bool Collector::begins_tensor(uint32_t weights) const {
    const WeightInfo &info = model_.graph().weights[weights];
    return info.w.data == model_.file().tensor(info.tensor).data;
}

void Collector::add_input(const uint32_t *weights, uint32_t n) {
    const WeightInfo &first = model_.graph().weights[weights[0]];
    bool is_needed = false;
    for (uint32_t i = 0; i < n; i++) {
        if (!begins_tensor(weights[i])) continue;
        sums_of_[weights[i]] = static_cast<uint32_t>(sums_.size());
        is_needed = true;
    }
    if (is_needed)
        sums_.emplace_back(model_.host().get(), static_cast<size_t>(first.w.n_cols), first.n_parts);
}

Status Collector::product_done(const uint32_t *weights, uint32_t n_weights,
                               const ProductColumns &columns, Failure *failure) {
    uint32_t index = kNoEntry;
    for (uint32_t i = 0; i < n_weights && index == kNoEntry; i++) index = sums_of_[weights[i]];
    if (index == kNoEntry) return Status::ok;
    Sums &sums = sums_[index];
    sums.count(columns);
    const size_t step = kTile * kTaskTiles, n_tasks = (sums.n_columns + step - 1) / step;
    const Status status = for_rows(*model_.host(), n_tasks, columns.n * step, [&](size_t task) {
        sums.add(columns, task * step, std::min(sums.n_columns, (task + 1) * step));
    });
    return executor_failed(status, failure);
}

// Writes the entry of n weights of one tensor, which layers may share.
void Collector::write_entry(job::Imatrix *out, const uint32_t *weights, size_t n) const {
    const WeightInfo &info = model_.graph().weights[weights[0]];
    job::ImatrixEntry &entry = out->begin_entry(model_.file().tensor(info.tensor).name);
    const Sums &first = sums_[sums_of_[weights[0]]];
    entry.exact_sums.resize(first.chunks.size());
    entry.exact_counts.resize(first.columns.size(), 0);
    for (size_t k = 0; k < n; k++) {
        const Sums &sums = sums_[sums_of_[weights[k]]];
        for (size_t i = 0; i < sums.chunks.size(); i++) entry.exact_sums[i].add(sums.chunks[i]);
        for (size_t i = 0; i < sums.columns.size(); i++) entry.exact_counts[i] += sums.columns[i];
    }
    entry.round_exact();
}

void Collector::write(job::Imatrix *out) const {
    const Vector<WeightInfo> &all = model_.graph().weights;
    Vector<uint32_t> order(HostAllocator<uint32_t>(model_.host().get()));
    for (uint32_t i = 0; i < sums_of_.size(); i++)
        if (sums_of_[i] != kNoEntry) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return all[a].tensor < all[b].tensor; });
    for (size_t i = 0, n; i < order.size(); i += n) {
        for (n = 1; i + n < order.size() && all[order[i + n]].tensor == all[order[i]].tensor;) n++;
        write_entry(out, order.data() + i, n);
    }
}

class Run {
public:
    Run(Session &session, const CollectTask &task)
        : session_(session), task_(task), collector_(session.model(), task.with_output),
          chunk_(task.text.n_context, HostAllocator<int32_t>(session.model().host().get())),
          logits_(HostAllocator<float>(session.model().host().get())) {
        if (!task.with_output) return;
        logits_.resize(kLogitRows * static_cast<size_t>(session.model().shape().n_vocab));
    }
    Status chunk(size_t index, Failure *failure);
    const Collector &collector() const { return collector_; }

private:
    static int32_t report(void *self, uint64_t done, uint64_t total);
    static int32_t poll(void *self, uint64_t, uint64_t) { return report(self, 0, 0); }
    Progress progress(int32_t (*how)(void *, uint64_t, uint64_t)) {
        return task_.progress.report ? Progress{this, how} : Progress{};
    }
    Status project(size_t n, Failure *failure);

    Session &session_;
    const CollectTask &task_;
    Collector collector_;
    Vector<int32_t> chunk_;
    Vector<float> logits_;
    uint64_t done_ = 0;
};

int32_t Run::report(void *self, uint64_t done, uint64_t) {
    const auto *run = static_cast<const Run *>(self);
    const Chunks &text = run->task_.text;
    return run->task_.progress.cancelled(run->done_ + done, text.count() * text.n_context);
}

// Projects all rows of the latest batch, to collect the inputs of the products.
Status Run::project(size_t n, Failure *failure) {
    Status status = Status::ok;
    for (size_t row = 0; row < n && status == Status::ok; row += kLogitRows)
        status = session_.project(logits_.data(), row, std::min(kLogitRows, n - row), failure,
                                  {progress(poll), &collector_});
    return status;
}

Status Run::chunk(size_t index, Failure *failure) {
    task_.text.copy(chunk_.data(), index);
    Status status = Status::ok;
    for (size_t done = 0; done < chunk_.size() && status == Status::ok;) {
        const size_t n = std::min<size_t>(chunk_.size() - done, session_.n_batch());
        status =
            session_.advance(chunk_.data() + done, n, failure, {progress(report), &collector_});
        done += n;
        done_ += n;
        if (status == Status::ok && task_.with_output) status = project(n, failure);
    }
    if (status == Status::ok) collector_.end_chunk();
    return status;
}

} // namespace

Status collect(job::Imatrix *out, Session &session, const CollectTask &task, Failure *failure) {
    Status status = check_chunks(session, task.text, failure);
    if (status != Status::ok) return status;
    Run run(session, task);
    for (size_t i = 0; i < task.text.count() && status == Status::ok; i++) {
        status = run.chunk(i, failure);
        (void)session.truncate(0, 0, nullptr); // to 0 tokens: cannot fail
    }
    if (status != Status::ok) return status;
    const CanonicalFp canonical;
    run.collector().write(out);
    out->n_chunks = task.text.count();
    out->chunk_tokens = task.text.n_context;
    out->finish();
    return status;
}

} // namespace ggufx::model
