// Checks of an opened file: findings on metadata and layout, invalid values in the data. check.cpp:
// metadata and layout; check_data.cpp: deep check of tensor data.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/file.hpp"

namespace ggufx::gguf {

struct Finding {
    LogLevel severity;
    Status status; // error status, or ok for a remark
    uint64_t offset;
    uint64_t index;
    const char *text;
    std::string_view name; // name of the key or tensor; data() is null for the file
};

struct CheckOptions {
    bool deep = false;
    bool strict = false;
    // A non-zero result stops the check: Error (cancelled).
    int32_t (*report)(void *user, const Finding &finding) = nullptr;
    void *user = nullptr;
    Progress progress;
};

// Throws cancelled, memory; unsupported for a deep check of a metadata-only open.
void check_file(const File &file, const CheckOptions &options);

// Steps of check_file().
class Checker {
public:
    Checker(const File &file, const CheckOptions &options) : file_(file), options_(options) {}
    void check_metadata();
    void check_tensors();
    void check_layout();
    void check_data();

private:
    void report(LogLevel severity, Status status, uint64_t offset, uint64_t index,
                std::string_view name, const char *format, ...) GGUFX_PRINTF(7, 8);
    void check_key(size_t index);
    void check_bools(size_t index, const MetaEntry &entry);
    void check_names_as_text();
    void check_part(uint32_t part, size_t first, size_t last); // tensors first .. last - 1
    void check_tensor_data(size_t index, uint8_t *scratch);
    void step(uint64_t n);

    const File &file_;
    const CheckOptions &options_;
    uint64_t done_ = 0, total_ = 0;
};

} // namespace ggufx::gguf
