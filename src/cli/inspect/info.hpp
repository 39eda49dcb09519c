// Options of ggufx info, and its JSON dump.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"
#include "common/json.hpp"
#include "common/name_pattern.hpp"

#include <optional>

namespace ggufx::cli {

struct InfoOptions {
    std::vector<std::string> files;
    bool kv = false;      // only the metadata
    bool tensors = false; // only the tensors
    bool graph = false;   // only the graph of the model
    bool set = false;     // all shards of a split model, not this file alone
    bool array_full = false;
    bool markdown = false;
    bool sha256 = false;
    std::string filter;
    uint64_t limit = 0; // rows per table; 0 = all

    bool show_kv() const { return kv || !tensors; }
    bool show_tensors() const { return tensors || !kv; }
};

// Returns whether the tensor data lie inside the file (a header-only copy of a model has none).
bool is_complete(const ggufx_file_facts &file, const ggufx_tensor_facts &tensor);

// Selects keys and tensors by --filter.
class NameFilter {
public:
    explicit NameFilter(const std::string &pattern) {
        if (!pattern.empty()) pattern_.emplace("--filter", pattern);
    }
    bool matches(std::string_view name) const { return !pattern_ || pattern_->matches(name); }

private:
    std::optional<NamePattern> pattern_; // empty: every name
};

Json info_json(const ggufx_file *file, const std::string &path, const InfoOptions &options);

} // namespace ggufx::cli
