// The opaque handles of the public headers and how they hold each other.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "base/io.hpp"
#include "gguf/file.hpp"
#include "matmul/matmul.hpp"

#include <stdint.h>

namespace ggufx::abi {

// First word of every object: checked at each call, poisoned on free, so that a wrong, freed or
// NULL handle is an error and not a crash (as far as memory still shows it).
enum class Tag : uint32_t {
    dead = 0xdeadc0deu,
    runtime = 0x52474758u,
    file = 0x46474758u,
    tensor = 0x54474758u,
    kv = 0x4b474758u,
    tokenizer = 0x56474758u,
    model = 0x4d474758u,
    session = 0x53474758u,
    sampler = 0x41474758u,
    writer = 0x57474758u,
    imatrix = 0x49474758u,
    job = 0x4a474758u,
};

} // namespace ggufx::abi

// Public functions see these names as incomplete types.
struct ggufx_runtime {
    ggufx::abi::Tag tag = ggufx::abi::Tag::runtime;
    ggufx::RefCount refs;
    ggufx::Ref<ggufx::Host> host;
    ggufx::matmul::Engine *engine = nullptr; // owns the workspaces; knows the kernels
    int32_t isa = 0;

    void retain() { refs.retain(); }
    void release(); // frees itself and then its host
};

namespace ggufx::abi {
using RuntimeRef = Ref<ggufx_runtime>;
}

namespace ggufx::abi {
// Keeps memory that a host wrapped as a tensor, until the last slice of it is gone.
struct Wrapped {
    Wrapped(Ref<Host> h, io::OnEnd e) : host(std::move(h)), end(std::move(e)) {}
    void retain() { refs.retain(); }
    void release() {
        if (!refs.release()) return;
        const Ref<Host> keep = host;
        unmake(*keep, this);
    }
    RefCount refs;
    Ref<Host> host;
    io::OnEnd end;
    Buffer name;
};
} // namespace ggufx::abi

// A tensor is owned by its file (borrowed handle), or holds a reference on what it views.
struct ggufx_tensor {
    ggufx::abi::Tag tag = ggufx::abi::Tag::tensor;
    bool borrowed = false;
    ggufx::gguf::Tensor view;
    ggufx::gguf::File *home = nullptr; // file of the data, null when they are wrapped
    // of owned handles only:
    ggufx::Ref<ggufx::Host> host;
    ggufx::Ref<ggufx::gguf::File> file;
    ggufx::Ref<ggufx::abi::Wrapped> wrapped;
};

// An opened file with the handles of its tensors.
struct ggufx_file {
    ggufx::abi::Tag tag = ggufx::abi::Tag::file;
    ggufx::Ref<ggufx::gguf::File> file;
    ggufx::Vector<ggufx_tensor> tensors;

    explicit ggufx_file(ggufx::Ref<ggufx::gguf::File> f)
        : file(std::move(f)), tensors(ggufx::HostAllocator<ggufx_tensor>(file->host().get())) {}
};
