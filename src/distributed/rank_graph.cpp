// SPDX-License-Identifier: MIT
#include "distributed/rank_graph.hpp"

#include "distributed/packed_readers.hpp"
#include "distributed/rank_rows.hpp"
#include "distributed/stages.hpp"

namespace ggufx::model {

static RankOptions ranks_of(const RankFile &part, const RankOptions &given, RankChoice choice) {
    if (choice == RankChoice::of_whole) return {};
    const bool is_asked = given.size > 1 || choice == RankChoice::given;
    return !is_asked && part.is_part() ? part.ranks() : part.check(given);
}

Graph build_rank_graph(const gguf::File &file, const RankOptions &given,
                       const BuildOptions &options, RankChoice choice) {
    const RankFile part(file);
    const RankOptions ranks = ranks_of(part, given, choice);
    const bool by_layers = ranks.by_layers && ranks.size > 1;
    const Host *const host = file.host().get();
    const Partition rows(host, ranks.rank, ranks.size, ranks.speeds);
    Vector<uint64_t> layer_vectors{HostAllocator<uint64_t>(host)};
    BuildOptions of_rank = options;
    if (part.is_part()) of_rank.partial = &part;
    if (by_layers) // starts from the graph of the whole model
        of_rank.layer_vectors = &layer_vectors;
    else
        of_rank.partition = &rows;
    Graph graph = build_graph(file, of_rank);
    if (by_layers)
        keep_stage(graph, ranks, layer_vectors);
    else
        find_packed(graph, ranks.size);
    if (part.is_part() && choice != RankChoice::of_whole) bind_rows(graph, file, part);
    return graph;
}

ModelGraph build_model_graph(const gguf::File &file, const RankOptions &ranks,
                             const BuildOptions &options) {
    Graph graph = build_rank_graph(file, ranks, options);
    if (ranks.size == 1) {
        const uint64_t identity = identity_of(graph);
        return {std::move(graph), identity};
    }
    BuildOptions of_whole = options; // ranks have different weights
    of_whole.progress = {};
    const Graph whole = build_rank_graph(file, {}, of_whole, RankChoice::of_whole);
    return {std::move(graph), identity_of(whole)};
}

Roles roles_of(const gguf::File &file) {
    Roles out{HostAllocator<Role>(file.host().get())};
    const size_t index = file.find_meta("general.architecture");
    if (index == gguf::kNotFound || file.meta(index).type != gguf::ValueType::string) return out;
    if (!has_architecture(file.get_string(index))) return out;
    BuildOptions options;
    options.roles = &out;
    try {
        build_rank_graph(file, {}, options, RankChoice::of_file);
    } catch (const Error &) { // the model cannot run, but its tensors can still be processed
        out.clear();
    }
    return out;
}

} // namespace ggufx::model
