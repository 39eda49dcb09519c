// Tensors of a file by name, shape and type; what was asked for is remembered, so that a tensor
// which the graph does not use can be refused: it would change the result. Of a file with the rows of
// one rank the tensors are those of the whole model, whose matrices get their data last (bind_rows).
// SPDX-License-Identifier: MIT
#pragma once

#include "model/graph/graph.hpp"
#include "model/group/rank_file.hpp"
#include "quant/recipe.hpp"

namespace ggufx::model {

using Role = quant::Category; // what a tensor is for
using Roles = Vector<Role>;   // of all tensors of a file

constexpr uint32_t kNoLayer = UINT32_MAX;

// "blk.LAYER.what.kind", "what.kind" without a layer, without ".kind" where it is empty.
struct TensorName {
    char text[96];
    TensorName(uint32_t layer, const char *what, const char *kind = "weight");
};

class Binder {
public:
    Binder(const gguf::File &file, const RankFile &part, Graph &graph);

    bool has(const TensorName &name) const;
    const gguf::File &file() const { return file_; }

    // Are its data there? Not those of a file opened for metadata only.
    bool is_read(const TensorName &name) const;
    // Dimensions 0 and 1, or 0 when there is no such tensor.
    uint64_t length(const TensorName &name) const;
    uint64_t rows_of(const TensorName &name) const;

    // Number of a weight; n_rows 0: any. `n_parts` matrices: [n_cols, n_rows, n_parts].
    uint32_t matrix(const TensorName &name, uint64_t n_cols, uint64_t n_rows,
                    Role role = Role::other);
    uint32_t matrices(const TensorName &name, uint64_t n_cols, uint64_t n_rows, uint64_t n_parts,
                      Role role = Role::other);
    // Rows of a weight, of each of its parts, as one of its own; some of its parts.
    uint32_t slice(uint32_t weights, uint64_t first_row, uint64_t n_rows);
    uint32_t parts(uint32_t weights, uint32_t first, uint32_t n);
    // Floats, decoded: [n], [n_cols, n_rows].
    Vec vector(const TensorName &name, uint64_t n);
    Vec table(const TensorName &name, uint64_t n_cols, uint64_t n_rows);
    // Each of n values `times` times, one after the other; the result's length is a tensor's already.
    Vec repeated(const TensorName &name, uint64_t n, uint64_t times);
    // Columns of each of n_rows rows of floats, those of several ranges one after another.
    struct Range {
        uint64_t first, n;
    };
    Vec columns(Vec from, uint64_t n_cols, uint64_t n_rows, const Range *ranges, size_t n_ranges);
    // The same, [n_rows][n_cols] turned into [n_cols][n_rows].
    Vec turned(const TensorName &name, uint64_t n_cols, uint64_t n_rows);

    // Tensors of layers first .. end - 1 may stay unread, as those without effect may.
    void pass_over_layers(uint32_t first, uint32_t end) {
        passed_first_ = first;
        passed_end_ = end;
    }
    // What the graph uses each tensor of the file for; of those that it passes over, their names.
    Roles roles() const;
    // Sets what is read as floats, all of it.
    void note_whole(Vector<uint8_t> &tensors) const;
    void refuse_leftovers() const;
    void require_data() const;

private:
    size_t index_of(const TensorName &name) const; // also by another exporter's name
    Vec add_floats(uint64_t n);
    gguf::Tensor find(const TensorName &name, const uint64_t (&ne)[3], Role role);
    bool is_passed(std::string_view name) const;

    const gguf::File &file_;
    const RankFile &part_;
    Graph &graph_;
    struct Use {
        bool used = false, whole = false;
        Role role = Role::other;
    };
    Vector<Use> used_;
    uint32_t passed_first_ = 0, passed_end_ = 0;
};

} // namespace ggufx::model
