// Metadata keys of a new model, written through the public API in the types that readers expect.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/rewrite.hpp"

namespace ggufx::cli {

class KeyWriter {
public:
    explicit KeyWriter(ggufx_writer *writer) : writer_(writer) {}

    void text(const std::string &key, const std::string &value);
    void u32(const std::string &key, uint64_t value); // throws Failure beyond 32 bits
    void f32(const std::string &key, double value);
    void i32(const std::string &key, int32_t value);
    void flag(const std::string &key, bool value);
    void texts(const std::string &key, const std::vector<std::string> &values);
    void f32s(const std::string &key, const std::vector<float> &values);
    void flags(const std::string &key, const std::vector<bool> &values);
    void i32s(const std::string &key, const std::vector<int32_t> &values);

private:
    ggufx_writer *writer_;
};

} // namespace ggufx::cli
