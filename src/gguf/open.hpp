// Opening: bytes -> Part (metadata, directory, tensor data) -> File.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/file.hpp"

namespace ggufx::gguf {

// Opens one file, or the whole split set that the name belongs to. Throws Error or std::bad_alloc.
Ref<File> open_path(const Ref<Host> &host, const char *path, const OpenOptions &options);
// Opens one file from a byte source.
Ref<File> open_source(const Ref<Host> &host, const Ref<io::Source> &source,
                      const OpenOptions &options);

} // namespace ggufx::gguf
