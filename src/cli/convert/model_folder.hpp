// The folder of a published model: its small files, each read once, and warnings about settings
// without a GGUF key.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/input_file.hpp"
#include "common/json.hpp"

#include <map>

namespace ggufx::cli {

constexpr const char *kTokenizerFile = "tokenizer.json";
constexpr const char *kTokenizerConfigFile = "tokenizer_config.json";

// Throws Failure for a Git LFS pointer in place of the file.
inline void require_fetched(std::string_view bytes, const std::string &what) {
    if (bytes.starts_with("version https://git-lfs.github.com/spec/"))
        throw Failure(kInvalidFile, what + ": a pointer of Git LFS stands in place of the file; "
                                           "fetch it with: git lfs pull");
}

class ModelFolder {
public:
    explicit ModelFolder(std::string path) : path_(std::move(path)) {}

    const std::string &path() const { return path_; }
    bool has(const std::string &name) const { return exists(joined(path_, name)); }
    std::string quoted(const std::string &name) const; // its path, for messages
    // Reads UTF-8 text of at most 256 MiB.
    std::string text(const std::string &name) const;
    // Reads an object, empty if the file is absent. Throws Failure (invalid file) for other values.
    const Json &json(const std::string &name);
    // The same for a supplementary file: an invalid one causes a warning, and the object is empty.
    const Json &optional_json(const std::string &name);

    void warn(std::string text) { warnings_.push_back(std::move(text)); }
    const std::vector<std::string> &warnings() const { return warnings_; }

private:
    std::string path_;
    std::map<std::string, Json> json_;
    std::vector<std::string> warnings_;
};

} // namespace ggufx::cli
