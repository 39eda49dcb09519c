// What the verbs that write a changed copy of a model share: the copy, its name, its plan.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/api.hpp"
#include "floor/json.hpp"

namespace ggufx::cli {

using FileWriter = std::unique_ptr<ggufx_writer, Destroyer<ggufx_writer_destroy>>;

FileWriter empty_writer(const ggufx_runtime *rt); // version 3, little-endian
// An empty writer of the file's version (1 becomes 3) and byte order.
FileWriter make_writer(const ggufx_runtime *rt, const ggufx_file *file, uint64_t reserve_bytes);

// Refuses a name that is taken, unless --force.
void require_free(const Globals &globals, const std::string &path);
// The same for a file beside what goes to -o; "-" is refused too.
void require_target(const Globals &globals, const std::string &path);

struct SplitLimits {
    uint64_t max_bytes = 0;
    uint64_t max_tensors = 0;
};

// What would be written, and the writing with progress and Ctrl-C.
ggufx_writer_facts plan(const ggufx_writer *writer, const SplitLimits &limits);
// A call that writes files; says --force where it found one that it may not replace.
void call_to_write(const std::function<ggufx_status(ggufx_error *)> &write);
void write_model(const Globals &globals, ggufx_writer *writer, const std::string &path,
                 const SplitLimits &limits);

} // namespace ggufx::cli
