// Puts a graph together: buffers, operations, weights of a file. The blocks (attention, feed-forward ...)
// are in files of their own and use nothing else.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/graph/arch_config.hpp"
#include "model/graph/binder.hpp"
#include "model/graph/keys.hpp"
#include "model/graph/partition.hpp"
#include "model/graph/rope.hpp"

namespace ggufx::model {

// A matrix with its bias and factor, where the file has them.
struct Linear {
    const char *name;
    uint64_t width; // of its result
    Role role = Role::other;
};

// Rows of a matrix of `whole` rows, with their biases and the factor.
struct Rows {
    const char *name;
    uint64_t whole, first, n;
    Role role = Role::other;
};

// Columns of a row that this rank of a group has; alone it has all.
struct Share {
    uint32_t borders = kNoIndex; // of all ranks, start among Graph::borders
    uint32_t first = 0, n = 0;
};

class Builder {
public:
    // All must outlive the builder. Throws Error.
    Builder(const gguf::File &file, const RankFile &part, const Keys &keys, Graph &graph,
            const Partition &partition, const Progress &progress);

    const Keys &keys() const { return keys_; }
    Binder &binder() { return binder_; }
    const Binder &binder() const { return binder_; }
    Graph &graph() { return graph_; }

    uint32_t layer() const { return layer_; } // kNoLayer outside of all
    bool has(const char *what, const char *kind = "weight") const {
        return binder_.has({layer_, what, kind});
    }

    // Throws limit: more than kMaxBufferWidth values.
    View buffer(uint64_t width);
    void emit(const Op &op) { graph_.ops.push_back(op); }

    // ---- tensors of the layer
    // Those without which the architecture is another one. Missing: the first that is not there.
    void require(const Names &names) const;
    Vec vector(const char *what, uint64_t n, const char *kind = "weight") {
        return binder_.vector({layer_, what, kind}, n);
    }
    Vec vector_if(const char *what, uint64_t n, const char *kind = "weight") {
        return has(what, kind) ? vector(what, n, kind) : kNoIndex;
    }

    // ---- ranks of a group: each has some rows of the matrices and some heads
    const Partition &partition() const { return partition_; }
    Share share(uint64_t width);
    // Borders of things of `width` columns each, as those of columns.
    uint32_t borders(const Borders &of, uint32_t width = 1);
    // All columns of a row, or of `parts` equal parts of one, of which each rank has some.
    void all_gather(View in, View out, uint32_t borders, uint32_t parts = 1);
    View whole(View in, uint64_t width, uint32_t borders, uint32_t parts = 1);

    // ---- operations
    // Whole results, whichever ranks have the rows.
    View linear(View in, const Linear &linear);
    // Of several matrices of one input; results in `out`.
    void linears(View *out, View in, const Linear *list, uint32_t n);
    // Rows of one matrix as `n` results.
    void split(View *out, View in, const char *name, const uint64_t *widths, uint32_t n, Role role);
    // Results of these rows and no others; neighbours may be of one matrix.
    void rows(View *out, View in, const Rows *list, size_t n);
    // A norm by weights of the layer: NormKind, `groups` parts.
    void norm(View out, View in, const char *name, NormKind kind, uint32_t groups = 1);
    View normed(View in, const char *name, NormKind kind);
    // `parts` parts of x in place, each with weights of its own: [width of a part, parts].
    // Of a rank they are `parts` of `whole` parts, from `first` on.
    void norm_parts(View x, const char *name, NormKind kind, uint32_t parts, uint32_t first,
                    uint32_t whole);
    void norm_by(View out, View in, Vec w, uint32_t groups); // RMS; w of a group, or none
    View plain(View in, const Linear &linear);               // without bias and factor
    void add(View x, View y, float scale = 1) { emit(op::Add{x, y, scale}); }

    // The number of such a rotation, and where its angles stand.
    uint32_t rope_table(const Rope &rope);
    View angles(uint32_t rope_table);
    // A new layer in the cache of that shape; whose it is, for layers that share it.
    void cache_layer(op::Attend *attend, const CacheShape &shape, const CacheWindow &window);
    void share_layer(op::Attend *attend, const CacheShape &shape, uint32_t owner);
    // For users who ask: those of the first attention layer.
    void note_heads(uint32_t heads, uint32_t kv_heads, uint32_t dim_k, uint32_t dim_v);
    uint32_t state(const StateInfo &info);

    // ---- the frame: embedding, layers, output
    float epsilon() const { return epsilon_; }
    uint32_t n_embd() const { return graph_.shape.n_embd; }
    uint32_t n_layers() const { return graph_.shape.n_layers; }
    View embed(float scale);
    // x += what the table has for the position of a token.
    void add_positions(View x, const char *table);
    // x += the row of type 0, if there is one: others are those of a pair's second text, for training.
    void add_token_types(View x);
    bool causal(const ArchConfig &config) const;
    // Slopes of ALiBi: where they start among Graph::slopes.
    uint32_t slopes(uint32_t heads, float largest);
    void begin_layer(uint32_t layer);
    void end_layer();
    void output(View x, const ArchConfig &config);
    void finish();
    // Behind it, of the whole graph: what a rank has that gets whole layers.
    void keep_layers(const RankOptions &ranks);

private:
    void logits(View h, const ArchConfig &config);
    void pool(View h, const ArchConfig &config);
    void embedding_head(View h);
    void score_head(View h, const ArchConfig &config);
    void begin_part(PartKind part);
    uint64_t rows_by(const char *key, const char *name) const;
    void check_heads() const;
    uint64_t vocabulary() const;
    void epilogue(View out, const char *name, uint64_t first, uint64_t whole);

    const Keys &keys_;
    Graph &graph_;
    const Partition &partition_;
    const Progress progress_; // layers
    Binder binder_;
    uint32_t layer_ = kNoLayer;
    float epsilon_ = 0;
    uint32_t tokens_ = kNoIndex; // weights of the embedding
    uint32_t slope_heads_ = 0;   // of the slopes made last
    Vector<Rope> ropes_;         // of Graph::rotations
    Vector<View> angles_;
    Vector<uint64_t> layer_vectors_; // where those of each layer begin, and end
};

// The rotation of a layer with or without a window.
Rope window_rope(const Keys &keys, const ArchConfig &config, uint32_t dims, bool windowed);

// Blocks; h is the input behind its norm. They give what is added to the stream.
View attention(Builder &b, const ArchConfig &config, View h);
View mla(Builder &b, const ArchConfig &config, View h);
View delta_net(Builder &b, View h, bool interleaved);
View mamba1(Builder &b, const ArchConfig &config, View h);
View mamba2(Builder &b, const ArchConfig &config, View h);
View short_conv(Builder &b, View h);
View feed_forward(Builder &b, const ArchConfig &config, View h); // dense or experts, by the tensors
bool has_experts(const Builder &b);                              // the layer
struct Dense {
    Act act;
    const char *suffix = "";
    bool plain = false;          // without a gate
    const char *limit = nullptr; // as in Experts
};
View dense(Builder &b, const Dense &dense, View h);
View experts(Builder &b, const Experts &experts, View h, View scores); // scores may be none
View mixer(Builder &b, const ArchConfig &config, View h); // attention or what the tensors say

// Embedding, all layers, output; the same from an embedding on.
void standard(Builder &b, const ArchConfig &config);
void standard_from(Builder &b, const ArchConfig &config, View x);

} // namespace ggufx::model
