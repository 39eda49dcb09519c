// Limits on the memory of one request: 16 bytes per byte of its body, plus 16 MiB, and at most what
// the server allows. Each part has a share.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <stddef.h>

namespace ggufx::cli {

class RequestMemory {
public:
    static constexpr size_t kPerByte = 16, kConstant = 16u << 20;

    RequestMemory(size_t n_body, size_t most) : n_(std::min(kPerByte * n_body + kConstant, most)) {}

    size_t whole() const { return n_; }
    // Values of the body. Readers copy them once, in the worst case.
    size_t of_values() const { return n_ / 3; }
    // After the values are gone: those of the chat template, and its output.
    size_t of_template() const { return n_ / 2; }
    size_t of_prompt() const { return n_ / 8; }

private:
    size_t n_;
};

} // namespace ggufx::cli
