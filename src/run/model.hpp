// A GGUF file as a graph of its architecture: weights are checked views of the file. Immutable.
// SPDX-License-Identifier: MIT
#pragma once

#include "graph/binder.hpp"
#include "graph/keys.hpp"
#include "graph/partition.hpp"

namespace ggufx::model {

// Token ids of one text. Same layout as ggufx_token_list.
struct TokenList {
    const int32_t *tokens;
    size_t n;
};

class Peers;

// Returns whether the library has a graph for an architecture; names as in general.architecture.
bool has_architecture(std::string_view name);

// build_graph throws Error (unsupported, missing, kvtype, hparam, shape, type, split) /
// std::bad_alloc. Without data (a file opened for metadata only) the graph can be measured and
// printed, not run. With `with_data`, missing data are an error (argument).
struct BuildOptions {
    bool with_data = false;
    Override *overrides = nullptr; // [n_overrides]
    size_t n_overrides = 0;
    Progress progress;                     // layers
    Roles *roles = nullptr;                // output: role of each tensor in the graph
    Vector<uint8_t> *read_whole = nullptr; // [tensors] of the file: set where all rows are read
    // output: start of each layer's vectors, and their end
    Vector<uint64_t> *layer_vectors = nullptr;
    const Partition *partition = nullptr;    // rows and heads that the graph computes; null: all
    const PartialTensors *partial = nullptr; // null: the file has all rows
};
Graph build_graph(const gguf::File &file, const BuildOptions &options);

// A graph, and the identity of the whole model.
struct ModelGraph {
    Graph graph;
    uint64_t identity;
};

class Model {
public:
    // engine and peers, which may be null, must outlive the model. Throws Error / std::bad_alloc.
    Model(Ref<gguf::File> file, const Ref<Host> &host, const matmul::Engine &engine, Peers *peers,
          ModelGraph made);

    const gguf::File &file() const { return *file_; }
    const Graph &graph() const { return graph_; }
    const Shape &shape() const { return graph_.shape; }
    const matmul::Engine &engine() const { return engine_; }
    const Ref<Host> &host() const { return host_; }
    // identity of the whole model
    uint64_t identity() const { return identity_; }

    // Returns the processes that run the model together; null for a single one.
    Peers *peers() const { return peers_; }

private:
    Ref<gguf::File> file_;
    Ref<Host> host_;
    const matmul::Engine &engine_;
    const Graph graph_;
    uint64_t identity_;
    Peers *const peers_;
};

} // namespace ggufx::model
