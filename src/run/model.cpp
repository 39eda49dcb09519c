// SPDX-License-Identifier: MIT
#include "run/model.hpp"

#include "graph/arch/architectures.hpp"

#include <algorithm>
#include <inttypes.h>

namespace ggufx::model {

namespace {

struct Architecture {
    const char *name;
    void (*build)(Builder &);
};
constexpr Architecture kArchitectures[] = {
#define GGUFX_ARCHITECTURE(name, function) {name, arch::function},
#include "graph/arch/architectures.def"
#undef GGUFX_ARCHITECTURE
};

// List of names for messages: "llama, mistral3, ... ".
#define GGUFX_ARCHITECTURE(name, function) name ", "
constexpr char kNames[] =
#include "graph/arch/architectures.def"
    "";
#undef GGUFX_ARCHITECTURE

const Architecture *find_architecture(std::string_view name) {
    for (const Architecture &a : kArchitectures)
        if (name == a.name) return &a;
    return nullptr;
}

const Architecture &architecture_of(const gguf::File &file) {
    const size_t index = file.find_meta("general.architecture");
    if (index == gguf::kNotFound)
        fail(Status::missing, {}, "key general.architecture is missing: not a language model");
    const std::string_view name = file.get_string(index);
    const Architecture *known = find_architecture(name);
    if (known) return *known;
    fail(Status::unsupported, {file.meta(index).offset, index},
         "architecture %s is not supported; supported: %.*s", Quoted(name).c_str(),
         static_cast<int>(sizeof kNames - 3), kNames);
}

uint64_t parts_present(const gguf::File &file) {
    uint64_t n = 0;
    for (size_t i = 0; i < file.n_tensors(); i++)
        n = std::max(n, file.tensor(i).part + uint64_t{1});
    return n;
}

// Rejects a split model that was opened in part.
void check_parts(const gguf::File &file) {
    const size_t count = file.find_meta("split.count");
    const uint64_t n_parts = count == gguf::kNotFound ? 1 : file.get_u64(count);
    const size_t tensors = file.find_meta("split.tensors.count");
    const uint64_t n_tensors = file.n_tensors();
    if (tensors != gguf::kNotFound && file.get_u64(tensors) != n_tensors)
        fail(Status::split, {file.meta(tensors).offset, tensors},
             "split.tensors.count is %" PRIu64 ", the opened parts hold %" PRIu64 " tensors",
             file.get_u64(tensors), n_tensors);
    if (tensors != gguf::kNotFound || n_parts <= 1) return;
    const uint64_t n_present = parts_present(file);
    if (n_present < n_parts)
        fail(Status::split, {file.meta(count).offset, count},
             "split.count is %" PRIu64 ", tensors come from %" PRIu64 " parts", n_parts, n_present);
}

// Treats split keys that are no numbers as an incomplete set.
void check_split(const gguf::File &file) {
    try {
        check_parts(file);
    } catch (Error &e) {
        const auto status = static_cast<Status>(e.failure.status);
        if (status == Status::kvtype || status == Status::value)
            e.failure.status = static_cast<int32_t>(Status::split);
        throw;
    }
}

} // namespace

bool has_architecture(std::string_view name) {
    return find_architecture(name) != nullptr;
}

Graph build_graph(const gguf::File &file, const BuildOptions &options) {
    check_split(file);
    const Architecture &architecture = architecture_of(file);
    Graph graph(file.host().get());
    graph.architecture = architecture.name;
    const Keys keys(file, architecture.name, options.overrides, options.n_overrides);
    const Partition whole(file.host().get());
    Builder builder(file, options.partial, keys, graph,
                    options.partition ? *options.partition : whole, options.progress);
    architecture.build(builder);
    keys.require_all_used();
    if (options.with_data) builder.binder().require_data();
    if (options.roles) *options.roles = builder.binder().roles();
    if (options.read_whole) builder.binder().note_whole(*options.read_whole);
    if (options.layer_vectors) *options.layer_vectors = builder.layer_vectors();
    return graph;
}

Model::Model(Ref<gguf::File> file, const Ref<Host> &host, const matmul::Engine &engine,
             Peers *peers, ModelGraph made)
    : file_(std::move(file)), host_(host), engine_(engine), graph_(std::move(made.graph)),
      identity_(made.identity), peers_(peers) {}

} // namespace ggufx::model
