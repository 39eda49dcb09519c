// Builds a graph: buffers, operations, weights of a file. The blocks (attention, feed-forward ...)
// are in separate files and use only this interface.
// SPDX-License-Identifier: MIT
#pragma once

#include "graph/arch_config.hpp"
#include "graph/binder.hpp"
#include "graph/keys.hpp"
#include "graph/partition.hpp"
#include "graph/rope.hpp"

namespace ggufx::model {

// A matrix, and its bias and scale where the file has them.
struct Linear {
    const char *name;
    uint64_t width; // rows of the result
    Role role = Role::other;
};

// Some rows of a matrix with `whole` rows, their biases and the scale.
struct Rows {
    const char *name;
    uint64_t whole, first, n;
    Role role = Role::other;
};

// Columns of a row that this rank computes; all columns without a group.
struct Share {
    uint32_t borders = kNoIndex; // column boundaries of all ranks: start in Graph::borders
    uint32_t first = 0, n = 0;
};

class Builder {
public:
    // All arguments must outlive the builder. Throws Error.
    Builder(const gguf::File &file, const PartialTensors *partial, const Keys &keys, Graph &graph,
            const Partition &partition, const Progress &progress);

    const Keys &keys() const { return keys_; }
    Binder &binder() { return binder_; }
    const Binder &binder() const { return binder_; }
    Graph &graph() { return graph_; }

    uint32_t layer() const { return layer_; } // kNoLayer outside of layers
    bool has(const char *what, const char *kind = "weight") const {
        return binder_.has({layer_, what, kind});
    }

    // Adds a buffer. Throws limit: more than kMaxBufferWidth values.
    View buffer(uint64_t width);
    void emit(const Op &op) { graph_.ops.push_back(op); }

    // ---- tensors of the layer
    // Requires tensors that define the architecture; the error names the first missing one.
    void require(const Names &names) const;
    Vec vector(const char *what, uint64_t n, const char *kind = "weight") {
        return binder_.vector({layer_, what, kind}, n);
    }
    Vec vector_if(const char *what, uint64_t n, const char *kind = "weight") {
        return has(what, kind) ? vector(what, n, kind) : kNoIndex;
    }

    // ---- tensor parallelism: each rank has some rows of the matrices and some heads
    const Partition &partition() const { return partition_; }
    Share share(uint64_t width);
    // Adds the boundaries `of`, for items of `width` columns each.
    uint32_t borders(const Borders &of, uint32_t width = 1);
    // Gathers all columns of a row, or of `parts` equal parts of a row, from all ranks.
    void all_gather(View in, View out, uint32_t borders, uint32_t parts = 1);
    View whole(View in, uint64_t width, uint32_t borders, uint32_t parts = 1);

    // ---- operations
    // Complete results, whichever ranks have the rows.
    View linear(View in, const Linear &linear);
    // Products of several matrices with one input; writes the results to `out`.
    void linears(View *out, View in, const Linear *list, uint32_t n);
    // Splits the rows of one matrix into `n` results.
    void split(View *out, View in, const char *name, const uint64_t *widths, uint32_t n, Role role);
    // Results of these rows only; adjacent entries may belong to one matrix.
    void rows(View *out, View in, const Rows *list, size_t n);
    // A norm with weights of the layer, over `groups` parts.
    void norm(View out, View in, const char *name, NormKind kind, uint32_t groups = 1);
    View normed(View in, const char *name, NormKind kind);
    // Norms `parts` parts of x in place, each with its own weights: [width of a part, parts]. On a
    // rank these are the parts from `first` on among `whole` parts.
    void norm_parts(View x, const char *name, NormKind kind, uint32_t parts, uint32_t first,
                    uint32_t whole);
    void norm_by(View out, View in, Vec w, uint32_t groups); // RMS; w for one group, or none
    View plain(View in, const Linear &linear);               // without bias and scale
    void add(View x, View y, float scale = 1) { emit(op::Add{x, y, scale}); }

    // Returns the index of a RoPE table, and the buffer of its angles.
    uint32_t rope_table(const Rope &rope);
    View angles(uint32_t rope_table);
    // Adds a cache layer of that shape; share_layer reads the cache of layer `owner`.
    void cache_layer(op::Attend *attend, const CacheShape &shape, const CacheWindow &window);
    void share_layer(op::Attend *attend, const CacheShape &shape, uint32_t owner);
    // Records head counts for users: those of the first attention layer.
    void note_heads(uint32_t heads, uint32_t kv_heads, uint32_t dim_k, uint32_t dim_v);
    uint32_t state(const StateInfo &info);

    // ---- frame: embedding, layers, output
    float epsilon() const { return epsilon_; }
    uint32_t n_embd() const { return graph_.shape.n_embd; }
    uint32_t n_layers() const { return graph_.shape.n_layers; }
    View embed(float scale);
    // x += the table's row for the token's position.
    void add_positions(View x, const char *table);
    // x += the row of token type 0, if there is one. Other types mark the second text of a pair.
    void add_token_types(View x);
    bool causal(const ArchConfig &config) const;
    // Returns the start of the ALiBi slopes in Graph::slopes.
    uint32_t slopes(uint32_t heads, float largest);
    void begin_layer(uint32_t layer);
    void end_layer();
    void output(View x, const ArchConfig &config);
    void finish();
    // Returns the start of each layer's vectors, and their end.
    const Vector<uint64_t> &layer_vectors() const { return layer_vectors_; }

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
    const Progress progress_; // in layers
    Binder binder_;
    uint32_t layer_ = kNoLayer;
    float epsilon_ = 0;
    uint32_t tokens_ = kNoIndex; // weights of the embedding
    uint32_t slope_heads_ = 0;   // heads of the latest slopes
    Vector<Rope> ropes_;         // those in Graph::rope_tables
    Vector<View> angles_;
    Vector<uint64_t> layer_vectors_;
};

// RoPE of a layer with or without a sliding window.
Rope window_rope(const Keys &keys, const ArchConfig &config, uint32_t dims, bool windowed);

// Blocks; h is the normalized input. They return the value to add to the residual stream.
View attention(Builder &b, const ArchConfig &config, View h);
View mla(Builder &b, const ArchConfig &config, View h);
View delta_net(Builder &b, View h, bool interleaved);
View mamba1(Builder &b, const ArchConfig &config, View h);
View mamba2(Builder &b, const ArchConfig &config, View h);
View short_conv(Builder &b, View h);
// dense or experts, by the tensors
View feed_forward(Builder &b, const ArchConfig &config, View h);
bool has_experts(const Builder &b); // in the current layer
struct Dense {
    Act act;
    const char *suffix = "";
    bool plain = false;          // without a gate
    const char *limit = nullptr; // as in Experts
};
View dense(Builder &b, const Dense &dense, View h);
View experts(Builder &b, const Experts &experts, View h, View scores); // scores may be none
// attention or the kind that the tensors imply
View mixer(Builder &b, const ArchConfig &config, View h);

// Embedding, all layers, output; standard_from starts from an embedding.
void standard(Builder &b, const ArchConfig &config);
void standard_from(Builder &b, const ArchConfig &config, View x);

} // namespace ggufx::model
