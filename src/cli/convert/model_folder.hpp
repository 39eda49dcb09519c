// The folder of a published model: its small files, each read once, and warnings about what no key
// of a GGUF holds.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/input_file.hpp"
#include "floor/json.hpp"

#include <map>

namespace ggufx::cli {

class ModelFolder {
public:
    explicit ModelFolder(std::string path) : path_(std::move(path)) {}

    const std::string &path() const { return path_; }
    bool has(const std::string &name) const { return exists(joined(path_, name)); }
    std::string quoted(const std::string &name) const; // its path, for messages
    // UTF-8 of at most 256 MiB.
    std::string text(const std::string &name) const;
    // An object, empty where the file is absent. Throws Failure (invalid file) for other values.
    const Json &json(const std::string &name);

    void warn(std::string text) { warnings_.push_back(std::move(text)); }
    const std::vector<std::string> &warnings() const { return warnings_; }

private:
    std::string path_;
    std::map<std::string, Json> json_;
    std::vector<std::string> warnings_;
};

} // namespace ggufx::cli
