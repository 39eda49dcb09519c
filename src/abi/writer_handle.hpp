// Handle of the writer: include/ggufx/write.h.
// SPDX-License-Identifier: MIT
#pragma once

#include "abi/guard.hpp"
#include "gguf/writer.hpp"

#include <ggufx/write.h>

struct ggufx_writer {
    ggufx_writer(const ggufx::Ref<ggufx::Host> &host, const ggufx::gguf::WriterOptions &options)
        : writer(host, options) {}
    ggufx::abi::Tag tag = ggufx::abi::Tag::writer;
    ggufx::gguf::Writer writer;
};

namespace ggufx::abi {

inline gguf::Writer &writer_of(ggufx_writer *handle) {
    require(alive(handle, Tag::writer), "writer must be set");
    return handle->writer;
}

} // namespace ggufx::abi
