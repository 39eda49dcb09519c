// Roles of tensors in graphs, through internals. They equal the roles from tensor names, which
// quantization uses for files without a graph.
// Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "tiny_files.hpp"

#include "abi/handles.hpp"
#include "distributed/rank_graph.hpp"

#include <stdio.h>

#include <map>

namespace {

using namespace ggufx;
using model::Role;
using model::Roles;

std::map<Role, size_t> g_seen; // roles in graphs

bool is_matrix(const gguf::Tensor &t) {
    return t.ne[1] > 1 || t.ne[2] > 1;
}

// Vectors are skipped: names give them no role, because they are never quantized.
void test_names_tell_the_same(const TinyFile &tiny, const gguf::File &file, const Roles &roles) {
    CHECK(roles.size() == file.n_tensors(), "%s: %zu roles of %zu tensors", tiny.name.c_str(),
          roles.size(), file.n_tensors());
    if (roles.size() != file.n_tensors()) return;
    for (size_t i = 0; i < roles.size(); i++) {
        const gguf::Tensor t = file.tensor(i);
        if (!is_matrix(t) || !t.name.ends_with("weight")) continue;
        g_seen[roles[i]]++;
        CHECK(roles[i] == quant::category_of(t.name), "%s: \"%.*s\" is %d by its name, %d by %s",
              tiny.name.c_str(), static_cast<int>(t.name.size()), t.name.data(),
              static_cast<int>(quant::category_of(t.name)), static_cast<int>(roles[i]),
              tiny.architecture.c_str());
    }
}

// An imatrix has entries for the matrices that activations are multiplied by. Exempt are the output
// matrix, the embeddings and tensors that are never quantized.
void test_matrices_of_products_are_weighed(const TinyFile &tiny, const gguf::File &file,
                                           const Roles &roles) {
    model::BuildOptions options;
    const model::Graph graph = model::build_graph(file, options);
    const auto check = [&](uint32_t weight) {
        const size_t tensor = graph.weights[weight].tensor;
        const bool weighed = quant::is_weighed(roles[tensor]);
        const bool exempt = roles[tensor] == Role::kept || roles[tensor] == Role::output ||
                            roles[tensor] == Role::token_embd; // tied
        CHECK(weighed != exempt, "%s: tensor %zu", tiny.name.c_str(), tensor);
    };
    for (const model::Op &op : graph.ops) {
        if (const auto *product = std::get_if<model::op::Product>(&op))
            for (uint32_t i = 0; i < product->n; i++) check(product->to[i].weights);
        if (const auto *product = std::get_if<model::op::HeadProduct>(&op)) check(product->weights);
        if (const auto *product = std::get_if<model::op::ExpertProduct>(&op))
            check(product->weights);
    }
}

// An override changes the file's keys: with this one the file has no graph, and so no roles.
void test_a_file_without_a_program_has_none(const TinyFile &tiny, const gguf::File &file) {
    const std::string key = tiny.architecture + ".block_count";
    model::Override zero = {key.c_str(), "0"};
    Roles roles{HostAllocator<Role>(file.host().get())};
    model::BuildOptions options;
    options.roles = &roles;
    options.overrides = &zero;
    options.n_overrides = 1;
    bool refused = false;
    try {
        model::build_graph(file, options);
    } catch (const Error &) { refused = true; }
    CHECK(refused && roles.empty(), "%s: %zu roles of no program", tiny.name.c_str(), roles.size());
}

} // namespace

int main() {
    if (!begin_models()) return 77;
    size_t n_files = 0;
    for (const TinyFile &tiny : tiny_files()) {
        const Opened opened(tiny.path);
        const gguf::File &file = *opened.file->file;
        const Roles roles = model::roles_of(file);
        test_names_tell_the_same(tiny, file, roles);
        test_matrices_of_products_are_weighed(tiny, file, roles);
        test_a_file_without_a_program_has_none(tiny, file);
        n_files++;
    }
    CHECK(n_files >= 43, "%zu files", n_files);
    for (int role = 0; role <= static_cast<int>(Role::kept); role++)
        CHECK(g_seen[static_cast<Role>(role)] > 0, "no tensor has role %d", role);
    for (const auto &[role, n] : g_seen) printf("role %d: %zu\n", static_cast<int>(role), n);
    return end();
}
