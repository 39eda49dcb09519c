// A program as text: a line per step, equal layers told once.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/file.hpp"
#include "model/program/program.hpp"

#include <string>

namespace ggufx::model {

using Text = std::basic_string<char, std::char_traits<char>, HostAllocator<char>>;

// `file` is that of the program: names and types of its matrices. Throws std::bad_alloc.
Text print(const Program &program, const gguf::File &file);

} // namespace ggufx::model
