// A file as a graph of its architecture: weights are checked views into the file. Immutable.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/graph/binder.hpp"
#include "model/graph/keys.hpp"
#include "model/group/group.hpp"
#include "model/group/rank_file.hpp"
#include "model/ops/all_gather.hpp"
#include "model/placement.hpp"

namespace ggufx::model {

// Is there a graph for it? Names as in general.architecture.
bool has_architecture(std::string_view name);

// Throws Error (unsupported, missing, kvtype, hparam, shape, type, split, mismatch) / std::bad_alloc. Without
// data, of a file opened for metadata only, the graph can be weighed and shown, not run; with
// them their absence is an error (argument).
//
// Of a file with the rows of one rank this rank's graph is made: where `ranks` are others it is
// refused (mismatch), but with of_file, for who only looks. Of the whole model that such a file is
// of, with of_whole, the graph has no weights that could be run.
enum class RankChoice : uint8_t { given, of_file, of_whole };
struct BuildOptions {
    bool with_data = false;
    Override *overrides = nullptr; // [n_overrides]
    size_t n_overrides = 0;
    Progress progress;      // layers
    Roles *roles = nullptr; // filled: what the graph uses each tensor for
    RankOptions ranks;
    RankChoice choice = RankChoice::given;
    Vector<uint8_t> *read_whole = nullptr; // [tensors] of the file: set where all rows are read
    Placer *placer = nullptr; // of a model: what the last layers multiply by goes there
    uint32_t n_placed_layers = 0;
};
Graph build_graph(const gguf::File &file, const BuildOptions &options);

// What the graph of a file's architecture uses each of its tensors for; empty where there is no
// graph, or none of this file: then their names tell. Throws std::bad_alloc.
Roles roles_of(const gguf::File &file);

class Model {
public:
    // engine and ranks, which may be null, must outlive the model. Throws Error / std::bad_alloc.
    Model(Ref<gguf::File> file, const Ref<Host> &host, const matmul::Engine &engine,
          RankGroup *ranks, const BuildOptions &options);

    const gguf::File &file() const { return *file_; }
    const Graph &graph() const { return graph_; }
    const Shape &shape() const { return graph_.shape; }
    const matmul::Engine &engine() const { return engine_; }
    const Ref<Host> &host() const { return host_; }
    uint64_t identity() const { return identity_; } // of the whole, for each rank the same

    // Of a model that several ranks run together; null alone.
    RankGroup *ranks() const { return ranks_; }
    const AllGatherMemory *all_gather_memory() const { return &all_gather_memory_; }

private:
    Ref<gguf::File> file_;
    Ref<Host> host_;
    const matmul::Engine &engine_;
    const Graph graph_;
    uint64_t identity_;
    RankGroup *const ranks_;
    const AllGatherMemory all_gather_memory_;
};

} // namespace ggufx::model
