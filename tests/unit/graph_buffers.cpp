// Buffers of graphs, through internals. Two buffers in use in the same group of operations never
// share memory. With separate memory that turns to NaN after the last use, the bits stay the same.
// Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "tiny_files.hpp"

#include "abi/handles.hpp"
#include "run/model.hpp"
#include "run/runner.hpp"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>

namespace {

using namespace ggufx;
using namespace ggufx::model;

Graph program_of(const gguf::File &file) {
    BuildOptions options;
    options.with_data = true;
    return build_graph(file, options);
}

// First and last group that uses a buffer, recomputed from the operations.
struct Life {
    uint32_t first = kNoIndex, last = 0;
    bool used() const { return first != kNoIndex; }
};

std::vector<Life> lives_of(const Graph &graph) {
    std::vector<Life> out(graph.buffers.size());
    for (uint32_t g = 0; g < graph.groups.size(); g++) {
        for (uint32_t i = graph.groups[g].first; i < graph.groups[g].end; i++) {
            const auto use = [&](const View &view) {
                if (view.none()) return;
                Life &life = out.at(view.buffer);
                if (!life.used()) life.first = g;
                life.last = g;
            };
            std::visit([&](const auto &s) { s.views(use); }, graph.ops[i]);
        }
    }
    out[graph.stream.buffer].last = static_cast<uint32_t>(graph.groups.size());
    return out;
}

void test_groups_hold_every_step_once(const std::string &name, const Graph &graph) {
    uint32_t next = 0;
    for (const Group &group : graph.groups) {
        CHECK(group.first == next && group.end > group.first, "%s: op %u", name.c_str(), next);
        next = group.end;
    }
    CHECK(next == graph.ops.size(), "%s: %u of %zu steps", name.c_str(), next, graph.ops.size());
    const auto ends = [](const Group &group) { return group.ends_layer; };
    const auto layers = std::count_if(graph.groups.begin(), graph.groups.end(), ends);
    CHECK(layers == static_cast<long>(graph.shape.n_layers), "%s: %ld layers end", name.c_str(),
          static_cast<long>(layers));
}

void test_views_lie_in_their_slots(const std::string &name, const Graph &graph) {
    for (const Op &op : graph.ops) {
        const auto use = [&](const View &view) {
            if (view.none()) return;
            const uint64_t end = uint64_t{view.first} + view.width;
            CHECK(end <= graph.buffers[view.buffer].width, "%s: column %llu of %u", name.c_str(),
                  static_cast<unsigned long long>(end), graph.buffers[view.buffer].width);
        };
        std::visit([&](const auto &s) { s.views(use); }, op);
    }
}

void test_no_two_live_slots_overlap(const std::string &name, const Graph &graph) {
    const std::vector<Life> lives = lives_of(graph);
    size_t n_reused = 0;
    for (size_t a = 0; a < lives.size(); a++) {
        const BufferInfo &x = graph.buffers[a];
        if (x.outside || !lives[a].used()) continue;
        CHECK(x.offset + x.width <= graph.row_floats, "%s: slot %zu ends behind all", name.c_str(),
              a);
        for (size_t b = a + 1; b < lives.size(); b++) {
            const BufferInfo &y = graph.buffers[b];
            if (y.outside || !lives[b].used()) continue;
            const bool shares = x.offset < y.offset + y.width && y.offset < x.offset + x.width;
            const bool together =
                lives[a].first <= lives[b].last && lives[b].first <= lives[a].last;
            n_reused += shares;
            CHECK(!shares || !together, "%s: slots %zu and %zu", name.c_str(), a, b);
        }
    }
    CHECK(n_reused > 0, "%s: no memory is used again", name.c_str());
}

// A graph run group by group.
class Run {
public:
    Run(const ggufx_runtime *runtime, Graph &&graph, bool poisons)
        : host_(runtime->host), engine_(*runtime->engine), graph_(std::move(graph)),
          lives_(lives_of(graph_)), poisons_(poisons),
          caches_(graph_, host_, engine_.kernels(),
                  {kContext, kv::id::F32, kv::id::F32, kBatch, 0}),
          scratch_(graph_.row_floats * kBatch, poisons ? NAN : 0.0f),
          rows_(host_.get(), kBatch, 1) {
        for (const RopeTable &rope_table : graph_.rope_tables)
            frequencies_.push_back(graph_.frequencies.data() + rope_table.start(kContext));
    }

    // Returns the logits of all tokens, which follow those of earlier calls, and their embedding.
    std::vector<float> decode(const int32_t *tokens, size_t n) {
        std::vector<float> logits(n * graph_.shape.n_vocab), embedding;
        const SequenceRows text = {0, n};
        rows_.clear();
        rows_.add({.sequence = 0,
                   .first = length_,
                   .n = n,
                   .ids = tokens,
                   .positions = nullptr,
                   .position = static_cast<int32_t>(length_)});
        Context c{.graph = graph_,
                  .engine = engine_,
                  .rows = *kernels::rows_of(engine_.kernels()),
                  .frequencies = frequencies_.data(),
                  .caches = caches_.caches(),
                  .states = caches_.states(),
                  .options = {},
                  .scratch = scratch_.data(),
                  .n_batch = kBatch,
                  .logits = logits.data(),
                  .inputs = graph_.predicts() ? nullptr : &text,
                  .n_texts = 1,
                  .pooling = Pooling::mean};
        rows_.set(c);
        Failure failure;
        CHECK(caches_.begin(0, 0, 0, &failure) == Status::ok, "begin: %s", failure.message);
        for (uint32_t g = 0; g < graph_.groups.size(); g++) {
            if (g == graph_.first_group(PartKind::pool)) c.inputs = &text;
            run(c, graph_.groups[g]);
            if (g + 1 == graph_.end_group(PartKind::pool)) c.n = 1;
            if (g == last_of_embedding()) embedding = embedding_of(c);
            if (poisons_) poison(g);
        }
        caches_.commit(0, n);
        length_ += n;
        logits.insert(logits.end(), embedding.begin(), embedding.end());
        CHECK(!embedding.empty(), "no embedding");
        return logits;
    }

    static constexpr size_t kBatch = 24;

private:
    static constexpr uint32_t kContext = 64;

    // Last group of the dense layers after the pooling, or of the pooling.
    uint32_t last_of_embedding() const { return graph_.end_group(PartKind::embedding) - 1; }
    std::vector<float> embedding_of(const Context &c) const {
        const float *values = c.at(graph_.embedding, 0);
        return {values, values + graph_.embedding.width};
    }
    void run(const Context &c, const Group &group) {
        Failure failure;
        if (!group.rows) {
            const Status status = run_batch(c, graph_.ops[group.first], &failure);
            CHECK(status == Status::ok, "a step: %s", failure.message);
            return;
        }
        for (size_t row = 0; row < c.n; row++)
            for (uint32_t i = group.first; i < group.end; i++) run_row(c, graph_.ops[i], row);
    }
    void poison(uint32_t group) {
        for (size_t i = 0; i < lives_.size(); i++) {
            const BufferInfo &buffer = graph_.buffers[i];
            if (buffer.outside || !lives_[i].used() || lives_[i].last != group) continue;
            std::fill_n(scratch_.data() + buffer.offset * kBatch, buffer.width * kBatch, NAN);
        }
    }

    const Ref<Host> host_;
    const matmul::Engine &engine_;
    const Graph graph_;
    const std::vector<Life> lives_;
    const bool poisons_;
    Caches caches_;
    std::vector<float> scratch_;
    BatchRows rows_;
    std::vector<const double *> frequencies_;
    uint64_t length_ = 0;
};

// Places each buffer after the previous one.
Graph spread(Graph &&graph) {
    graph.row_floats = 0;
    for (BufferInfo &buffer : graph.buffers) {
        buffer.offset = graph.row_floats;
        if (!buffer.outside) graph.row_floats += buffer.width;
    }
    return std::move(graph);
}

void test_own_memory_changes_no_bit(const std::string &name, const gguf::File &file) {
    Run shared(g_runtime, program_of(file), false);
    Graph apart = program_of(file);
    const uint64_t before = apart.row_floats;
    const bool whole = !apart.predicts();
    Run own(g_runtime, spread(std::move(apart)), true);
    const Ids tokens = random_ids(Run::kBatch + 3, 300, 17);
    for (size_t done = 0; done < tokens.size();) {
        const size_t n = done ? 1 : Run::kBatch; // a prompt, then single tokens
        if (done && whole) break;                // the model sees whole texts
        const std::vector<float> want = shared.decode(&tokens[done], n);
        const std::vector<float> got = own.decode(&tokens[done], n);
        CHECK(memcmp(got.data(), want.data(), want.size() * sizeof(float)) == 0,
              "%s: other bits from token %zu on", name.c_str(), done);
        CHECK(want[0] == want[0] && want.back() == want.back(), "%s: NaN", name.c_str());
        done += n;
    }
    printf("%s: %llu floats a row\n", name.c_str(), static_cast<unsigned long long>(before));
}

void test_file(const TinyFile &tiny) {
    const Opened opened(tiny.path);
    const gguf::File &file = *opened.file->file;
    const Graph graph = program_of(file);
    test_groups_hold_every_step_once(tiny.name, graph);
    test_views_lie_in_their_slots(tiny.name, graph);
    test_no_two_live_slots_overlap(tiny.name, graph);
    test_own_memory_changes_no_bit(tiny.name, file);
}

} // namespace

int main() {
    if (!begin_models()) return 77;
    for (const TinyFile &file : all_tiny_files()) test_file(file);
    return end();
}
