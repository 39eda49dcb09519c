// Shared by commands that write a changed copy of a model: its writer, its name, its plan.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"
#include "common/json.hpp"

namespace ggufx::cli {

using FileWriter = std::unique_ptr<ggufx_writer, Destroyer<ggufx_writer_destroy>>;

FileWriter empty_writer(const ggufx_runtime *rt); // version 3, little-endian
// Creates an empty writer with the file's version (1 becomes 3) and byte order.
FileWriter make_writer(const ggufx_runtime *rt, const ggufx_file *file, uint64_t reserve_bytes);

// Throws Failure if the file exists, unless --force is given.
void require_free(const Globals &globals, const std::string &path);
// Like require_free(), for a file that is not the output of -o; also refuses "-".
void require_target(const Globals &globals, const std::string &path);

struct SplitLimits {
    uint64_t max_bytes = 0;
    uint64_t max_tensors = 0;
};

// plan() returns what would be written. write_model() writes with progress and Ctrl-C.
ggufx_writer_facts plan(const ggufx_writer *writer, const SplitLimits &limits);
// Calls a function that writes files; its error suggests --force if a file exists.
void call_to_write(const std::function<ggufx_status(ggufx_error *)> &write);
void write_model(const Globals &globals, ggufx_writer *writer, const std::string &path,
                 const SplitLimits &limits);

} // namespace ggufx::cli
