// A model as a list of operations over buffers and weights: built once by a Builder, then
// immutable. Execution, memory, estimates and `info --graph` use this list and know no
// architecture.
// SPDX-License-Identifier: MIT
#pragma once

#include "graph/op.hpp"
#include "matmul/matmul.hpp"

namespace ggufx::model {

// Model dimensions for users; if layers differ, those of the first attention layer.
struct Shape {
    uint32_t n_layers = 0;
    uint32_t n_context = 0; // trained context
    uint32_t n_embd = 0;
    uint32_t n_ff = 0;
    uint32_t n_heads = 0, n_kv_heads = 0; // 0: no layer has attention
    uint32_t head_dim_k = 0, head_dim_v = 0;
    uint32_t n_experts = 0, n_used_experts = 0;
    uint64_t n_vocab = 0;
    uint32_t n_positions = 0; // learned position embeddings; 0: no limit
};

// Rows of `width` floats, one per token of a batch.
struct BufferInfo {
    uint32_t width = 0;
    bool outside = false;                // the caller's memory: the logits
    uint32_t first_op = kNoIndex;        // first operation that uses it
    uint32_t first = kNoIndex, last = 0; // groups that use it
    uint64_t offset = 0;                 // floats per token of a batch before it
};

// Matrices as stored in the file; experts or heads are `n_parts` matrices of equal shape.
struct WeightInfo {
    matmul::Weights w; // rows of all parts
    uint32_t n_parts = 1;
    size_t tensor = 0;        // index in the file
    uint64_t part_stride = 0; // rows from one part to the next; 0: rows of a part
    uint64_t first = 0;       // first row of the tensor
};

// RoPE: angle of pair i per position; cos and sin are multiplied by `factor`. Sessions with a
// context above `long_above` use the long frequencies.
struct RopeTable {
    uint32_t pairs;
    size_t frequencies, long_frequencies; // starts in Graph::frequencies
    uint32_t long_above;
    double factor;

    size_t start(uint32_t n_context) const {
        return n_context > long_above ? long_frequencies : frequencies;
    }
};

// Sliding window of a layer; 0: all tokens. chunked: the window starts at a multiple of `n`.
struct CacheWindow {
    uint32_t n = 0;
    bool chunked = false;
};

struct CacheLayer {
    uint32_t model_layer;
    CacheWindow window;
};

// Shape of keys and values; layers with the same shape share a cache.
struct CacheShape {
    uint32_t n_heads, n_kv_heads, head_dim_k, head_dim_v;
    bool v_in_k;
    RopeStyle style;
    uint32_t rope_dims;
    uint32_t rope_table; // or kNoIndex
    // Heads of a rank in tensor parallelism.
    uint32_t all_heads = 0, all_kv_heads = 0, first_kv_head = 0; // 0: the rank has all heads
    bool operator==(const CacheShape &) const = default;
};
struct CacheInfo {
    CacheShape shape;
    Vector<CacheLayer> layers;
};

// Recurrent state of a layer: the last `tail_rows` inputs of its convolution, and a state.
struct StateInfo {
    uint32_t model_layer, tail_rows;
    uint64_t tail_values, state_values;
};

// Start of a part of the graph (operation) and its end (group). Parts between the layers and the
// logits make the hidden states and send them to the ranks that need them. Pooling comes after the
// logits, then the embedding head or the score head.
struct Part {
    uint32_t first_op = 0, end_group = 0;
};
enum class PartKind : uint8_t { body, hidden, spread, logits, pool, embedding, score };
constexpr uint32_t kParts = 7;

// Operations first .. end - 1. Row-wise operations run row by row on the executor: the memory of a
// buffer is not reused within a group.
struct Group {
    uint32_t first, end;
    bool rows;
    bool ends_layer;
    uint64_t values = 0; // values that a row touches, approximately: the cost for parallel work
};

struct Graph {
    explicit Graph(const Host *host);

    const char *architecture = ""; // static storage
    Shape shape;
    Vector<Op> ops;
    Vector<Group> groups;
    Part parts[kParts];
    // The group after which no operation reads other rows or a row's position. alone_counts: from
    // there on, the bits of a row depend on the number of rows for the same expert.
    uint32_t alone_group = 0;
    bool alone_counts = false;
    // Properties of the whole model, also on a rank with some of its layers: whether experts count
    // rows, and whether layers read the keys of other layers.
    bool counts_rows = false, shares_keys = false;
    uint32_t first_layer_op = 0;
    Vector<uint32_t> layer_ends; // operation after the last one of each layer
    // Pipeline parallelism (distributed/stages.hpp): first_layer is the rank's first one in layer_ends.
    // cuts_differ: the ranks' caches and states may truncate to different lengths.
    bool by_layers = false, cuts_differ = false;
    uint32_t first_layer = 0;
    Vector<BufferInfo> buffers;
    Vector<WeightInfo> weights;
    Vector<float> vectors; // empty while the data are not read
    uint64_t n_vector_floats = 0;
    Vector<double> frequencies;
    Vector<RopeTable> rope_tables;
    Vector<CacheInfo> caches;
    Vector<StateInfo> states;
    Vector<uint32_t> borders;        // column boundaries of the ranks of a group
    Vector<float> slopes;            // per head, with ALiBi
    bool causal = true;              // causal attention
    Pooling pooling = Pooling::none; // default pooling of the file
    bool pools = false;              // an embedding model, by a key or its tensors
    View stream;                     // hidden states after the last layer
    View hidden;                     // after the last norm
    View logits;                     // outside; none: the model only makes embeddings
    View embedding, scores;          // per sequence; none: no such head, no scores
    uint64_t row_floats = 0;         // all buffers, per token of a batch
    uint64_t n_parameters = 0, weight_bytes = 0;

    uint32_t first_op(PartKind part) const { return parts[static_cast<uint32_t>(part)].first_op; }
    uint32_t first_group(PartKind part) const {
        return part == PartKind::body ? 0 : parts[static_cast<uint32_t>(part) - 1].end_group;
    }
    uint32_t end_group(PartKind part) const { return parts[static_cast<uint32_t>(part)].end_group; }

    bool predicts() const { return causal && !logits.none(); } // predicts a next token

    // Returns a vector's values; the graph must have data.
    const float *vector(Vec v) const { return v == kNoIndex ? nullptr : vectors.data() + v; }
    void shrink();                 // releases unused capacity
    uint64_t memory_bytes() const; // size of the arrays
};

// Returns a fingerprint of the model for snapshots: a checksum of the shapes and types of matrices
// and of all vectors (norms, biases), which training changes. Matrix data are not read.
uint64_t identity_of(const Graph &graph);

// Largest default context of a session or embedder. Caches for the trained context of many models
// (131,072 and more) exceed the memory of most machines. The default does not depend on the
// machine: LongRoPE factors, and so the bits of logits, depend on the context.
constexpr uint32_t kDefaultContext = 8192;

// Returns the size of the buffers for one batch. Throws limit.
size_t scratch_bytes(const Graph &graph, uint32_t n_rows);

// Forms groups of operations, then assigns memory to buffers by first and last use. The first
// operations of parts must be set.
void lay_out(Graph &graph);

} // namespace ggufx::model
