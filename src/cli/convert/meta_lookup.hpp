// Values of a model's keys; nothing where a key is absent or of another type.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/api.hpp"

namespace ggufx::cli {

std::optional<uint64_t> meta_natural(const ggufx_file *file, const std::string &key);
std::optional<double> meta_number(const ggufx_file *file, const std::string &key);
std::optional<bool> meta_flag(const ggufx_file *file, const std::string &key);
// Arrays; empty where there is none.
std::vector<std::string> meta_texts(const ggufx_file *file, const std::string &key);
std::vector<uint64_t> meta_naturals(const ggufx_file *file, const std::string &key); // or bools
std::vector<double> meta_numbers(const ggufx_file *file, const std::string &key);

} // namespace ggufx::cli
