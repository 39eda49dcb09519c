// Values of a model's metadata keys; nothing if a key is absent or has another type.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"

namespace ggufx::cli {

std::optional<uint64_t> meta_natural(const ggufx_file *file, const std::string &key);
std::optional<double> meta_number(const ggufx_file *file, const std::string &key);
std::optional<bool> meta_flag(const ggufx_file *file, const std::string &key);
// Arrays; empty if the key is absent.
std::vector<std::string> meta_texts(const ggufx_file *file, const std::string &key);
std::vector<uint64_t> meta_naturals(const ggufx_file *file, const std::string &key); // or bools
std::vector<double> meta_numbers(const ggufx_file *file, const std::string &key);

} // namespace ggufx::cli
