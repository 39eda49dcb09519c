// Loads tensor data of parsed parts into memory.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/part.hpp"

namespace ggufx::gguf {

// Sets tensor_data of each part from its source. Throws Error or std::bad_alloc.
void load_data(const Ref<Host> &host, const OpenOptions &options, const Vector<Part *> &parts,
               const Vector<Ref<io::Source>> &sources);

} // namespace ggufx::gguf
