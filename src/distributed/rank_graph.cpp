// SPDX-License-Identifier: MIT
#include "distributed/rank_graph.hpp"

#include "distributed/packed_readers.hpp"
#include "distributed/rank_rows.hpp"
#include "distributed/stages.hpp"

namespace ggufx::model {

static Graph build(const gguf::File &file, const RankFile &part, const RankOptions &ranks,
                   BuildOptions options) {
    const bool by_layers = ranks.by_layers && ranks.size > 1;
    const Host *const host = file.host().get();
    const Partition rows(host, ranks.rank, ranks.size, ranks.speeds);
    Vector<uint64_t> layer_vectors{HostAllocator<uint64_t>(host)};
    if (part.is_part()) options.partial = &part;
    if (by_layers) // starts from the graph of the whole model
        options.layer_vectors = &layer_vectors;
    else
        options.partition = &rows;
    Graph graph = build_graph(file, options);
    if (by_layers)
        keep_stage(graph, ranks, layer_vectors);
    else
        find_packed(graph, ranks.size);
    if (part.is_part()) bind_rows(graph, file, part);
    return graph;
}

Graph build_rank_graph(const gguf::File &file, const RankOptions &ranks,
                       const BuildOptions &options) {
    const RankFile part(file);
    return build(file, part, part.check(ranks), options);
}

Graph build_file_graph(const gguf::File &file, const BuildOptions &options) {
    const RankFile part(file);
    return build(file, part, part.is_part() ? part.ranks() : RankOptions{}, options);
}

ModelGraph build_model_graph(const gguf::File &file, const RankOptions &ranks,
                             const BuildOptions &options) {
    const RankFile part(file);
    Graph graph = build(file, part, part.check(ranks), options);
    uint64_t identity = 0;
    if (ranks.size == 1) {
        identity = identity_of(graph);
    } else { // ranks have different weights: that of the whole model
        BuildOptions of_whole = options;
        of_whole.progress = {};
        if (part.is_part()) of_whole.partial = &part;
        identity = identity_of(build_graph(file, of_whole));
    }
    return {std::move(graph), identity};
}

Roles roles_of(const gguf::File &file) {
    Roles out{HostAllocator<Role>(file.host().get())};
    const size_t index = file.find_meta("general.architecture");
    if (index == gguf::kNotFound || file.meta(index).type != gguf::ValueType::string) return out;
    if (!has_architecture(file.get_string(index))) return out;
    BuildOptions options;
    options.roles = &out;
    try {
        build_file_graph(file, options);
    } catch (const Error &) { // the model cannot run, but its tensors can still be processed
        out.clear();
    }
    return out;
}

} // namespace ggufx::model
