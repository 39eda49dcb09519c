// Token embeddings and the output matrix (logits).
// SPDX-License-Identifier: MIT
#include "graph/builder.hpp"

namespace ggufx::model {

View Builder::embed(float scale) {
    const TensorName name(kNoLayer, "token_embd");
    Shape &shape = graph_.shape;
    tokens_ = binder_.matrix(name, shape.n_embd, vocabulary(), Role::token_embd);
    shape.n_vocab = graph_.weights[tokens_].w.n_rows;
    if (shape.n_vocab > INT32_MAX) fail(Status::hparam, {}, "the vocabulary exceeds 2^31 tokens");
    const View x = buffer(shape.n_embd);
    graph_.stream = x;
    emit(op::Embed{x, tokens_, scale});
    return x;
}

void Builder::add_positions(View x, const char *table) {
    Shape &shape = graph_.shape;
    const View p = buffer(x.width);
    const uint32_t rows = binder_.matrix({kNoLayer, table}, x.width, shape.n_context, Role::kept);
    shape.n_positions = shape.n_context;
    emit(op::Embed{p, rows, 1, true});
    add(x, p);
}

void Builder::add_token_types(View x) {
    if (!has("token_types")) return;
    const gguf::File &file = keys_.file();
    const size_t key = file.find_meta("tokenizer.ggml.token_type_count");
    const uint64_t n = key == gguf::kNotFound ? 0 : file.get_u64(key);
    emit(op::AddVector{x, binder_.table({kNoLayer, "token_types"}, n_embd(), n)});
}

void Builder::begin_part(PartKind part) {
    graph_.parts[static_cast<uint32_t>(part)].first_op = static_cast<uint32_t>(graph_.ops.size());
}

void Builder::output(View x, const ArchConfig &config) {
    begin_part(PartKind::hidden);
    graph_.hidden = config.norms.output ? normed(x, config.norms.output, config.norms.kind) : x;
    begin_part(PartKind::spread);
    begin_part(PartKind::logits);
    if (config.output.logits) logits(graph_.hidden, config);
    pool(graph_.hidden, config);
}

void Builder::logits(View h, const ArchConfig &config) {
    View logits = buffer(graph_.shape.n_vocab);
    graph_.buffers[logits.buffer].outside = true;
    graph_.logits = logits;
    if (binder_.has({kNoLayer, "output"})) {
        const Linear list = {"output", graph_.shape.n_vocab, Role::output};
        linears(&logits, h, &list, 1);
    } else {
        const Share s = share(graph_.shape.n_vocab);
        const View own = logits.part(s.first, s.n);
        op::Product product{};
        product.in = h;
        const bool is_cut = s.borders != kNoIndex;
        product.to[0] = {own, is_cut ? binder_.slice(tokens_, s.first, s.n) : tokens_};
        product.n = 1;
        emit(product);
        epilogue(own, "output", s.first, graph_.shape.n_vocab);
        all_gather(own, logits, s.borders);
    }
    if (config.output.scale != 1) emit(op::Scale{logits, config.output.scale});
    if (config.output.cap != 0) emit(op::Cap{logits, config.output.cap});
}

} // namespace ggufx::model
