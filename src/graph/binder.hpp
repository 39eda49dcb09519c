// Finds tensors of a file by name, shape and type, and records which ones the graph uses. An unused
// tensor would change the result, so it is refused.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/file.hpp"
#include "graph/graph.hpp"
#include "quant/recipe.hpp"

namespace ggufx::model {

using Role = quant::Category; // use of a tensor
using Roles = Vector<Role>;   // one for each tensor of a file

constexpr uint32_t kNoLayer = UINT32_MAX;

// Tensor name "blk.LAYER.what.kind"; "what.kind" without a layer; no ".kind" when it is empty.
struct TensorName {
    char text[96];
    TensorName(uint32_t layer, const char *what, const char *kind = "weight");
};

// Tensors of a model whose file has only some of their rows.
class PartialTensors {
public:
    // Returns the tensor of the whole model; with data if the file has all rows.
    virtual gguf::Tensor whole(size_t tensor) const = 0;
    // Throws split unless the file has all rows.
    virtual void require_all(size_t tensor) const = 0;

protected:
    ~PartialTensors() = default;
};

class Binder {
public:
    // partial: null if the file has all rows.
    Binder(const gguf::File &file, const PartialTensors *partial, Graph &graph);

    bool has(const TensorName &name) const;
    const gguf::File &file() const { return file_; }

    // Returns whether the data are read. They are not in a file opened for metadata only.
    bool is_read(const TensorName &name) const;
    // Returns dimension 0 or 1, or 0 when there is no such tensor.
    uint64_t length(const TensorName &name) const;
    uint64_t rows_of(const TensorName &name) const;

    // Returns the index of a weight; n_rows 0: any. `n_parts` matrices: [n_cols, n_rows, n_parts].
    uint32_t matrix(const TensorName &name, uint64_t n_cols, uint64_t n_rows,
                    Role role = Role::other);
    uint32_t matrices(const TensorName &name, uint64_t n_cols, uint64_t n_rows, uint64_t n_parts,
                      Role role = Role::other);
    // Returns rows of a weight (of each of its parts) or some of its parts as a new weight.
    uint32_t slice(uint32_t weights, uint64_t first_row, uint64_t n_rows);
    uint32_t parts(uint32_t weights, uint32_t first, uint32_t n);
    // Returns dequantized floats: [n], [n_cols, n_rows].
    Vec vector(const TensorName &name, uint64_t n);
    Vec table(const TensorName &name, uint64_t n_cols, uint64_t n_rows);
    // Repeats each of n values `times` times; the result's length is that of another tensor.
    Vec repeated(const TensorName &name, uint64_t n, uint64_t times);
    // Returns some columns of n_rows rows of floats: the ranges one after another.
    struct Range {
        uint64_t first, n;
    };
    Vec columns(Vec from, uint64_t n_cols, uint64_t n_rows, const Range *ranges, size_t n_ranges);
    // Returns a transposed table: [n_rows][n_cols] becomes [n_cols][n_rows].
    Vec turned(const TensorName &name, uint64_t n_cols, uint64_t n_rows);

    // Allows tensors of layers first .. end - 1 to stay unread, like those without effect.
    void pass_over_layers(uint32_t first, uint32_t end) {
        passed_first_ = first;
        passed_end_ = end;
    }
    // Returns the role of each tensor in the graph, or the role by name for skipped tensors.
    Roles roles() const;
    // Sets the tensors that are read whole, as floats.
    void note_whole(Vector<uint8_t> &tensors) const;
    void refuse_leftovers() const;
    void require_data() const;

private:
    size_t index_of(const TensorName &name) const; // also finds names of other exporters
    Vec add_floats(uint64_t n);
    gguf::Tensor whole(size_t tensor) const {
        return partial_ ? partial_->whole(tensor) : file_.tensor(tensor);
    }
    gguf::Tensor find(const TensorName &name, const uint64_t (&ne)[3], Role role);
    bool is_passed(std::string_view name) const;

    const gguf::File &file_;
    const PartialTensors *const partial_;
    Graph &graph_;
    struct Use {
        bool used = false, whole = false;
        Role role = Role::other;
    };
    Vector<Use> used_;
    uint32_t passed_first_ = 0, passed_end_ = 0;
};

} // namespace ggufx::model
