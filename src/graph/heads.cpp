// Embedding and reranker heads: rows are pooled, then multiplied by two matrices of embeddings
// (dense_2, dense_3) or by a classifier (cls, cls.output). They are optional for any architecture.
// SPDX-License-Identifier: MIT
#include "graph/builder.hpp"

namespace ggufx::model {

// Number of rows by the key (a number, or its element count); else by the tensor.
uint64_t Builder::rows_by(const char *key, const char *name) const {
    const uint64_t n = keys_.n_elements(key);
    if (n > 0) return keys_.is_array(key) ? n : keys_.count(key, {1, kMaxWidth});
    const uint64_t rows = binder_.rows_of({kNoLayer, name});
    if (rows > kMaxWidth)
        fail(Status::shape, {}, "tensor \"%s.weight\" has more than 2^24 rows", name);
    return rows;
}

void Builder::pool(View h, const ArchConfig &config) {
    constexpr const char *key = "pooling_type", *dense = "dense_2_feat_out";
    graph_.causal = causal(config);
    graph_.pooling =
        static_cast<Pooling>(keys_.count_or(key, {0, static_cast<uint64_t>(Pooling::rank)}, 0));
    graph_.pools = keys_.has(key) || keys_.has(dense) || has("dense_2") || has("cls") ||
                   has("cls.output") || !config.output.logits;
    begin_part(PartKind::pool);
    const View pooled = buffer(h.width);
    const Pooling plain = graph_.causal ? Pooling::last : Pooling::first;
    const bool own = config.output.rank_pooling != Pooling::none;
    emit(op::Pool{h, pooled, own ? config.output.rank_pooling : plain});
    begin_part(PartKind::embedding);
    embedding_head(pooled);
    begin_part(PartKind::score);
    score_head(pooled, config);
}

void Builder::embedding_head(View h) {
    graph_.embedding = h;
    for (const char *name : {"dense_2", "dense_3"}) {
        const bool second = name[6] == '3';
        const char *key = second ? "dense_3_feat_out" : "dense_2_feat_out";
        if (!keys_.has(key) && !has(name)) continue;
        graph_.embedding = linear(graph_.embedding, {name, rows_by(key, name)});
    }
}

// A classifier of one or two matrices.
void Builder::score_head(View h, const ArchConfig &config) {
    constexpr const char *first = "cls", *last = "cls.output";
    constexpr const char *labels = "classifier.output_labels";
    if (!has(first) && !has(last)) {
        if (graph_.pooling == Pooling::rank) require({"cls.output.weight"});
        return;
    }
    View x = h;
    if (has(first)) {
        x = linear(x, {first, has(last) || has("cls.norm") ? h.width : rows_by(labels, first)});
        if (config.output.rank_gelu)
            emit(op::Activate{x, View{}, 1, x.width, 0, Act::gelu});
        else
            emit(op::Cap{x, 1}); // tanh
        if (has("cls.norm")) norm(x, x, "cls.norm", NormKind::layer);
    }
    if (has(last)) x = linear(x, {last, rows_by(labels, last)});
    if (config.output.rank_softmax) emit(op::Softmax{x});
    graph_.scores = x;
}

} // namespace ggufx::model
