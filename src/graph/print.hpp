// Prints a graph as text: a line per operation; equal layers are printed once.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/file.hpp"
#include "graph/graph.hpp"

#include <string>

namespace ggufx::model {

using Text = std::basic_string<char, std::char_traits<char>, HostAllocator<char>>;

// `file` must be the graph's file: names and types of its matrices. Throws std::bad_alloc.
Text print(const Graph &graph, const gguf::File &file);

} // namespace ggufx::model
