// Activations of several inputs that are kept before each group, through internals: hidden states
// have the bits of a session. Models whose layers read the keys of other layers are refused.
// Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "tiny_files.hpp"

#include "abi/model_handles.hpp"
#include "eval/activation_stream.hpp"

#include <stdio.h>
#include <string.h>

#include <algorithm>

namespace {

using namespace ggufx;
using namespace ggufx::model;

constexpr uint32_t kContext = 96; // windows of 16 tokens, a page of 64
constexpr size_t kChunks = 3;
// Must be among the files: windows, experts, latent keys, recurrences.
constexpr const char *kWanted[] = {"deepseek2-lite", "gemma3", "gpt-oss", "granitehybrid",
                                   "lfm2",           "mamba2", "qwen35"};

bool multiplies(const Graph &graph, uint32_t group) {
    const Op &op = graph.ops[graph.groups[group].first];
    return std::holds_alternative<op::Product>(op) || std::holds_alternative<op::HeadProduct>(op) ||
           std::holds_alternative<op::ExpertProduct>(op);
}

class Columns final : public ProductWatcher {
public:
    Status product_done(const uint32_t *, uint32_t, const ProductColumns &columns,
                        Failure *) override {
        n += columns.n;
        return Status::ok;
    }
    size_t n = 0;
};

// Hidden states of a chunk by a session.
std::vector<float> hidden_of(const ::Session &session, const int32_t *tokens, size_t width) {
    std::vector<float> out(kContext * width);
    const BatchItem item = {.tokens = tokens, .n = kContext, .n_hidden = kContext};
    BatchOptions options;
    options.hidden = out.data();
    model::Session &inner = session.handle()->session;
    Failure failure{};
    CHECK(inner.truncate(0, 0, &failure) == Status::ok &&
              inner.decode_batch(&item, 1, options, &failure) == Status::ok,
          "session: %s", failure.message);
    return out;
}

// Stops before each group of operations, all chunks one after the other.
void test_stream(const TinyFile &tiny, const Opened &opened, const Graph &graph) {
    const ::Ids tokens = random_ids(kChunks * kContext, vocabulary_of(opened.model), 23);
    ActivationStream stream(graph, g_runtime->host, *g_runtime->engine, tokens.data(), kChunks,
                            kContext);
    Columns columns;
    size_t n_products = 0;
    const uint32_t end = graph.end_group(PartKind::hidden);
    for (uint32_t group = 0; group < end; group++) {
        const bool is_product = multiplies(graph, group);
        n_products += is_product;
        for (size_t chunk = 0; chunk < kChunks; chunk++) {
            stream.advance(chunk, group, {});
            if (is_product) stream.show(group, columns, {});
        }
    }
    CHECK(columns.n >= n_products * kChunks * kContext, "%s: %zu columns of %zu products",
          tiny.name.c_str(), columns.n, n_products);
    const Mode mode = {.matmul_flags = graph.shape.n_experts ? GGUFX_MATMUL_BATCH_INVARIANT : 0u,
                       .n_context = kContext,
                       .n_batch = kContext};
    const ::Session session(opened.model, mode);
    const size_t width = graph.hidden.width;
    for (size_t chunk = 0; chunk < kChunks; chunk++) {
        stream.advance(chunk, end, {});
        const std::vector<float> want = hidden_of(session, &tokens[chunk * kContext], width);
        bool equal = true;
        for (size_t row = 0; row < kContext; row++)
            equal &= memcmp(stream.context().at(graph.hidden, row), &want[row * width],
                            width * sizeof(float)) == 0;
        CHECK(equal, "%s: chunk %zu has other bits than in a session", tiny.name.c_str(), chunk);
    }
}

void test_refused(const TinyFile &tiny, const Graph &graph) {
    const ::Ids tokens(kContext, 1);
    Failure failure{};
    try {
        const ActivationStream stream(graph, g_runtime->host, *g_runtime->engine, tokens.data(), 1,
                                      kContext);
    } catch (const Error &error) { failure = error.failure; }
    CHECK(failure.status == GGUFX_E_UNSUPPORTED && strstr(failure.message, "keys of other layers"),
          "%s: %s", tiny.name.c_str(), failure.message);
}

} // namespace

int main() {
    if (!begin_models()) return 77;
    std::vector<std::string> seen;
    size_t n_refused = 0;
    for (const TinyFile &tiny : tiny_files()) {
        Opened opened(tiny.path);
        opened.with_model();
        BuildOptions options;
        options.with_data = true;
        const Graph graph = build_graph(*opened.file->file, options);
        n_refused += graph.shares_keys;
        if (graph.shares_keys)
            test_refused(tiny, graph);
        else
            test_stream(tiny, opened, graph);
        seen.push_back(tiny.name);
    }
    for (const char *name : kWanted)
        CHECK(std::find(seen.begin(), seen.end(), name) != seen.end(), "no file %s", name);
    CHECK(n_refused > 0, "no model shares keys");
    printf("%zu models, %zu refused\n", seen.size(), n_refused);
    return end();
}
