// A model as a list of steps over buffers, bound to weights: made once by a Builder, immutable then.
// Running, memory, estimates and `info --graph` follow from this list; none knows an architecture.
// SPDX-License-Identifier: MIT
#pragma once

#include "matmul/matmul.hpp"
#include "model/graph/op.hpp"

namespace ggufx::model {

// What users ask about a model; layers may differ, then those are the first attention layer's.
struct Shape {
    uint32_t n_layers = 0;
    uint32_t n_context = 0; // trained
    uint32_t n_embd = 0;
    uint32_t n_ff = 0;
    uint32_t n_heads = 0, n_kv_heads = 0; // 0: no layer has attention
    uint32_t head_dim_k = 0, head_dim_v = 0;
    uint32_t n_experts = 0, n_used_experts = 0;
    uint64_t n_vocab = 0;
    uint32_t n_positions = 0; // that have learned embeddings; 0: any number
};

// Rows of `width` floats, one per token of a batch.
struct BufferInfo {
    uint32_t width = 0;
    bool outside = false;                // the caller's memory: the logits
    uint32_t first_op = kNoIndex;        // that uses it
    uint32_t first = kNoIndex, last = 0; // groups that use it
    uint64_t offset = 0;                 // floats per token of a batch before it
};

// Matrices as they lie in the file; of experts or heads `n_parts` of equal shape.
struct WeightInfo {
    matmul::Weights w; // the rows of all parts
    uint32_t n_parts = 1;
    size_t tensor = 0;        // number in the file
    uint64_t part_stride = 0; // rows from one part to the next; 0: those that a part has
    uint64_t first = 0;       // row of the tensor
};

// Angle of pair i per position; cos and sin are multiplied by `factor`. Sessions whose context is
// longer than `long_above` take other frequencies.
struct RopeTable {
    uint32_t pairs;
    size_t frequencies, long_frequencies; // starts among Graph::frequencies
    uint32_t long_above;
    double factor;

    size_t start(uint32_t n_context) const {
        return n_context > long_above ? long_frequencies : frequencies;
    }
};

// What a layer sees of the tokens before; 0: all. chunked: those from a multiple of `n` on.
struct CacheWindow {
    uint32_t n = 0;
    bool chunked = false;
};

struct CacheLayer {
    uint32_t model_layer;
    CacheWindow window;
};

// Layers whose keys and values have the same shape share a cache.
struct CacheShape {
    uint32_t n_heads, n_kv_heads, head_dim_k, head_dim_v;
    bool v_in_k;
    RopeStyle style;
    uint32_t rope_dims;
    uint32_t rope_table; // or kNoIndex
    // Of a rank of a group, whose heads are some of the model's.
    uint32_t all_heads = 0, all_kv_heads = 0, first_kv_head = 0; // 0: it has all
    bool operator==(const CacheShape &) const = default;
};
struct CacheInfo {
    CacheShape shape;
    Vector<CacheLayer> layers;
};

// Of a recurrent layer: the last `tail_rows` inputs of its convolution and a state.
struct StateInfo {
    uint32_t model_layer, tail_rows;
    uint64_t tail_values, state_values;
};

// Where the parts of a graph begin, as operations, and where their groups end. What is between the
// layers and the logits makes the hidden states, and gives them to ranks that have none where they
// are wanted; behind the logits texts are pooled, then go through the head of embeddings or through
// that of scores.
struct Part {
    uint32_t first_op = 0, end_group = 0;
};
enum class PartKind : uint8_t { body, hidden, spread, logits, pool, embedding, score };
constexpr uint32_t kParts = 7;

// Operations first .. end - 1. Those of rows run row by row on the executor: a buffer's memory is not
// reused within a group.
struct Group {
    uint32_t first, end;
    bool rows;
    bool ends_layer;
    uint64_t values = 0; // a row touches, about: what parallel work is weighed by
};

struct Graph {
    explicit Graph(const Host *host);

    const char *architecture = ""; // valid for ever
    Shape shape;
    Vector<Op> ops;
    Vector<Group> groups;
    Part parts[kParts];
    // The group of the body behind which no operation looks at other rows or at a row's place; whether
    // there the bits of a row depend on how many go the same way (experts).
    uint32_t alone_group = 0;
    bool alone_counts = false;
    // Of the whole model, also where a rank of a group has some of its layers: whether experts count
    // rows, and whether layers read keys of others.
    bool counts_rows = false, shares_keys = false;
    uint32_t first_layer_op = 0;
    Vector<uint32_t> layer_ends; // operations behind the last of each layer
    // Of a rank that has whole layers (build/stages.hpp): the first of those in layer_ends; whether
    // caches and states of ranks are not cut alike.
    bool by_layers = false, cuts_differ = false;
    uint32_t first_layer = 0;
    Vector<BufferInfo> buffers;
    Vector<WeightInfo> weights;
    Vector<float> vectors; // empty while their data are not there
    uint64_t n_vector_floats = 0;
    Vector<double> frequencies;
    Vector<RopeTable> rope_tables;
    Vector<CacheInfo> caches;
    Vector<StateInfo> states;
    Vector<uint32_t> borders;        // of columns that the ranks of a group have
    Vector<float> slopes;            // of heads, where attention has ALiBi
    bool causal = true;              // tokens see those before them alone
    Pooling pooling = Pooling::none; // that the file asks for
    bool pools = false;              // it is made for embeddings: a key or tensors say so
    View stream;                     // hidden states behind the last layer
    View hidden;                     // behind the last norm
    View logits;                     // outside; none: it makes embeddings only
    View embedding, scores;          // of texts; none: there is no such head, scores cannot be had
    uint64_t row_floats = 0;         // of all buffers, per token of a batch
    uint64_t n_parameters = 0, weight_bytes = 0;

    uint32_t first_op(PartKind part) const { return parts[static_cast<uint32_t>(part)].first_op; }
    uint32_t first_group(PartKind part) const {
        return part == PartKind::body ? 0 : parts[static_cast<uint32_t>(part) - 1].end_group;
    }
    uint32_t end_group(PartKind part) const { return parts[static_cast<uint32_t>(part)].end_group; }

    bool predicts() const { return causal && !logits.none(); } // the next token

    // Of a graph with data.
    const float *vector(Vec v) const { return v == kNoIndex ? nullptr : vectors.data() + v; }
    void shrink();                 // to what is used
    uint64_t memory_bytes() const; // that its arrays take
};

// A number that tells models apart, for snapshots: a checksum of the shapes and types of matrices
// and of all vectors (norms, biases), which a training changes. Matrices are not read.
uint64_t identity_of(const Graph &graph);

// A session or embedder that names no context takes at most so many tokens: caches of the trained
// context of many models (131,072 and more) exceed the memory of most machines. It does not ask the
// machine, since factors of longrope, and so the bits of logits, depend on the context.
constexpr uint32_t kDefaultContext = 8192;

// Of the buffers of one batch. Throws limit.
size_t scratch_bytes(const Graph &graph, uint32_t n_rows);

// Groups of steps, then memory of buffers by first and last use. The first operations of parts are set.
void lay_out(Graph &graph);

} // namespace ggufx::model
