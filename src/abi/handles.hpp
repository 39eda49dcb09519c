// Opaque handles of the public headers and the references between them.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "base/io.hpp"
#include "device/rows.hpp"
#include "gguf/file.hpp"
#include "matmul/matmul.hpp"

#include <stdint.h>

namespace ggufx::abi {

// First word of every object, checked by each call and overwritten by its destruction. So wrong,
// freed and NULL handles give an error instead of a crash, as long as the memory is readable and
// unchanged.
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
    embedder = 0x45474758u,
    writer = 0x57474758u,
    imatrix = 0x49474758u,
    moments = 0x51474758u,
    job = 0x4a474758u,
    chat = 0x43474758u,
    chat_parser = 0x50474758u,
    chat_prompt = 0x4f474758u,
    grammar = 0x47474758u,
    matcher = 0x48474758u,
    adapter = 0x4c474758u,
    device = 0x45444758u,
    generator = 0x4e474758u,
};

// Destroys an object: marks the tag as dead, frees the memory, then releases the host.
template <class T> void destroy_object(Ref<Host> host, T *object) {
    object->tag = Tag::dead;
    unmake(*host, object);
}

} // namespace ggufx::abi

// Incomplete types in the public headers.
struct ggufx_runtime {
    ggufx::abi::Tag tag = ggufx::abi::Tag::runtime;
    ggufx::RefCount refs;
    ggufx::Ref<ggufx::Host> host;
    ggufx::matmul::Engine *engine = nullptr; // owns the workspaces and the kernel table
    int32_t isa = 0;

    void retain() { refs.retain(); }
    void release(); // frees itself and then its host
};

namespace ggufx::abi {
using RuntimeRef = Ref<ggufx_runtime>;
}

namespace ggufx::abi {
// Keeps memory that a host wrapped as a tensor until its last slice is destroyed.
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
// Copies the name. Throws std::bad_alloc. (tensor.cpp)
Ref<Wrapped> keep_wrapped(const Ref<Host> &host, io::OnEnd end, std::string_view name);
} // namespace ggufx::abi

// Tensor handle. Tensors of a file, which may have a million, are an index and borrow the file. All
// others are an OwnedTensor.
struct ggufx_tensor {
    static constexpr uint32_t kOwned = UINT32_MAX; // more than a file can have

    ggufx::abi::Tag tag = ggufx::abi::Tag::tensor;
    uint32_t index = kOwned;           // index in the file
    ggufx::gguf::File *home = nullptr; // file with the data; null for wrapped memory

    ggufx::gguf::Tensor view() const;
};

namespace ggufx::abi {
// Tensor handle with a reference to the memory that it views.
struct OwnedTensor : ggufx_tensor {
    gguf::Tensor tensor;
    Ref<Host> host;
    Ref<gguf::File> file;
    Ref<Wrapped> wrapped;
    Ref<device::Rows> rows; // uploaded rows, starting at byte device_at; data is null then
    uint64_t device_at = 0;
};

inline const OwnedTensor *as_owned(const ggufx_tensor *tensor) { // null for a tensor of a file
    return tensor->index == ggufx_tensor::kOwned ? static_cast<const OwnedTensor *>(tensor)
                                                 : nullptr;
}
} // namespace ggufx::abi

inline ggufx::gguf::Tensor ggufx_tensor::view() const {
    const ggufx::abi::OwnedTensor *const owned = ggufx::abi::as_owned(this);
    return owned ? owned->tensor : home->tensor(index);
}

namespace ggufx::abi {
inline matmul::Weights weights_of(const ggufx_tensor &tensor) {
    const gguf::Tensor t = tensor.view();
    matmul::Weights w = {t.type, t.data, t.row_stride, t.n_rows, t.ne[0]};
    const OwnedTensor *const owned = as_owned(&tensor);
    if (owned && owned->rows) {
        w.remote = owned->rows->remote();
        w.remote.at = owned->device_at;
        w.remote.stride = t.row_stride;
    }
    return w;
}
} // namespace ggufx::abi

// Opened file with the handles of its tensors.
struct ggufx_file {
    ggufx::abi::Tag tag = ggufx::abi::Tag::file;
    ggufx::Ref<ggufx::gguf::File> file;
    ggufx::Vector<ggufx_tensor> tensors;

    explicit ggufx_file(ggufx::Ref<ggufx::gguf::File> f)
        : file(std::move(f)), tensors(ggufx::HostAllocator<ggufx_tensor>(file->host().get())) {}
};
