// A temporary folder that is deleted with the object, and functions for whole files in it.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

class Scratch {
public:
    explicit Scratch(const std::string &name) {
        const auto ticks = std::chrono::steady_clock::now().time_since_epoch().count();
        folder_ = std::filesystem::temp_directory_path() /
                  ("ggufx-" + name + "-" + std::to_string(ticks));
        std::filesystem::create_directory(folder_);
    }
    ~Scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    // UTF-8, as the library takes it.
    std::string path(const char8_t *name) const {
        const std::u8string text = (folder_ / name).u8string();
        return {text.begin(), text.end()};
    }
    size_t n_files() const {
        const std::filesystem::directory_iterator begin(folder_);
        return static_cast<size_t>(std::distance(begin, std::filesystem::directory_iterator()));
    }

private:
    std::filesystem::path folder_;
};

inline std::filesystem::path native(const std::string &path) {
    return std::u8string(path.begin(), path.end());
}

inline std::string content(const std::string &path) {
    std::ifstream in(native(path), std::ios::binary);
    if (!in) return "(absent)";
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void put(const std::string &path, const std::string &bytes) {
    std::ofstream(native(path), std::ios::binary) << bytes;
}

// Returns n bytes without a power-of-two period.
inline std::string bytes_of(size_t n, unsigned seed) {
    std::string out(n, 0);
    for (size_t i = 0; i < n; i++)
        out[i] = static_cast<char>((i * 31 + seed + (i >> 7)) * 2654435761u >> 13);
    return out;
}

// Returns the failure that `run` throws; status ok if it throws nothing.
template <class Run> ggufx::Failure failure_of(const Run &run) {
    try {
        run();
    } catch (const ggufx::Error &e) { return e.failure; }
    return {};
}

inline bool has_status(const ggufx::Failure &f, ggufx::Status status) {
    return f.status == static_cast<int32_t>(status);
}

} // namespace
