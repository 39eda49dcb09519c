// One file of an opened GGUF model: its bytes in memory and its parsed directory.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/arena.hpp"
#include "base/chunks.hpp"
#include "base/io.hpp"
#include "gguf/limits.hpp"
#include "gguf/sort.hpp"
#include "gguf/tensor_list.hpp"
#include "gguf/value.hpp"
#include "gguf/wire.hpp"

namespace ggufx::gguf {

// Values of ggufx_open_options.
enum class IoMode : int32_t { automatic = 0, map = 1, read = 2 };

struct OpenOptions {
    bool metadata_only = false;
    bool populate = false;
    bool huge_pages = false;
    bool huge_auto = false;
    bool reread = false;
    bool lock = false;
    bool strict = false;
    bool legacy_v1 = false;
    bool unknown_types = false;
    bool single = false;
    IoMode io = IoMode::automatic;
    uint64_t max_metadata_bytes = kMaxMetadata;
    uint64_t max_keys = kUsualCount, max_tensors = kUsualCount; // per part
    uint64_t max_string_bytes = kUsualString;
    Progress progress;
};

struct Directory {
    explicit Directory(const Host *host)
        : texts(host), keys(host), arrays(host), inner(host), tensors(host),
          keys_by_name(HostAllocator<uint64_t>(host)) {}
    Wire wire;
    uint32_t version = 0;
    uint64_t n_keys = 0;
    uint64_t n_tensors = 0;
    uint64_t alignment = 32;
    uint64_t meta_end = 0;
    uint64_t data_offset = 0;
    Arena texts;          // copies: keys, short strings
    Chunks<Value> keys;   // in file order
    Chunks<Array> arrays; // arrays of keys, in file order
    Chunks<Array> inner;  // arrays inside arrays
    TensorList tensors;
    NameOrder keys_by_name; // sorted

    // Returns the offset of an array's first element.
    uint64_t elements_at(const Array &a) const { return a.offset + 4 + wire.count_bytes(); }
    // Returns the offset of a key's length field.
    uint64_t key_at(const Value &v) const {
        return v.offset - 4 - v.key_bytes - wire.count_bytes();
    }
};

struct Part {
    explicit Part(Ref<Host> h) : host(std::move(h)), directory(host.get()) {}
    ~Part() {
        if (locked) io::unlock(tensor_data, static_cast<size_t>(locked));
    }
    Part(const Part &) = delete;
    Part &operator=(const Part &) = delete;

    Ref<Host> host;
    uint64_t size = 0;
    size_t first_tensor = 0;              // its index in the File
    uint64_t n_missing = 0;               // bytes after the file's end that its tensors need
    io::Mapping mapping;                  // whole file, or empty
    Buffer meta_buffer;                   // first bytes of a file that was read or copied
    Buffer data_buffer;                   // tensor data that were read, copied or swapped
    const uint8_t *bytes = nullptr;       // the metadata, directory.meta_end bytes
    const uint8_t *tensor_data = nullptr; // at directory.data_offset, or null
    uint64_t data_bytes = 0;              // bytes of tensor_data
    uint64_t locked = 0;                  // locked bytes from tensor_data on
    Directory directory;
};

} // namespace ggufx::gguf
