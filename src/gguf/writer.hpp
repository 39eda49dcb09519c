// A GGUF file (or split set) to be: keys and tensors as they will stand in it, checked as they come
// with every check of the reader, so that what is written can be read.
// writer.cpp: keys and tensors; writer_plan.cpp: parts and sizes; writer_emit.cpp: bytes in order;
// writer_sink.cpp: where they go.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/io.hpp"
#include "base/text_index.hpp"
#include "gguf/file.hpp"
#include "gguf/recode.hpp"

#include <list>
#include <string_view>

namespace ggufx::gguf {

struct WriterOptions {
    bool big_endian = false;
    uint32_t version = 3;
    uint64_t reserve_bytes = 0; // room for later edits, see kReserveKey
};

// An array of zeros: the only kind of room in the metadata that every reader passes over.
constexpr std::string_view kReserveKey = "ggufx.reserve";

// A key and its value.
struct WriterKey {
    explicit WriterKey(const Host *host) : bytes(HostAllocator<uint8_t>(host)) {}
    std::string_view name() const {
        return {reinterpret_cast<const char *>(bytes.data()) + 8, n_name};
    }
    size_t value_at() const { return 8 + n_name + 4; } // of the value in bytes

    Vector<uint8_t> bytes; // length, name, type, value as in the file
    size_t n_name = 0;
    ValueType type = ValueType::u8;
    uint32_t n_nested = 0; // inner arrays
};

// Gives bytes offset .. offset+n-1 of a tensor's dense data, little-endian; 0 is success.
struct TensorStream {
    void *user = nullptr;
    int32_t (*read)(void *user, uint64_t offset, void *dst, size_t n) = nullptr;
};

struct WriterTensor {
    explicit WriterTensor(const Host *host) : name_bytes(HostAllocator<char>(host)) {}
    std::string_view name() const { return {name_bytes.data(), name_bytes.size()}; }

    Vector<char> name_bytes;
    Tensor view; // its data, else the stream's
    TensorStream stream;
    io::OnEnd keep; // lets go of the source
};

// A key with numbers from memory.
struct NumberKey {
    std::string_view name;
    ValueType type; // of one
    const void *numbers;
    size_t n;
    bool is_array = true;
};

// A call that throws has changed nothing.
class Writer {
    using Keys = std::list<WriterKey, HostAllocator<WriterKey>>;
    using Place = Keys::iterator;

public:
    Writer(const Ref<Host> &host, const WriterOptions &options);

    // The first `n` bytes of a little-endian file's value. Throws what recode_value does, key,
    // alignment, and argument when bytes are left over.
    void set_value(std::string_view key, ValueType type, const uint8_t *bytes, uint64_t n);
    void set_number(std::string_view key, ValueType type, uint64_t bits);
    void set_string(std::string_view key, std::string_view text);
    void set_array(std::string_view key, ValueType element, const void *elements, size_t n);
    void set_strings(std::string_view key, const char *const *texts, const size_t *lengths,
                     size_t n);
    void unset(std::string_view key);                             // throws not_found
    void rename(std::string_view key, std::string_view new_name); // not_found, key, duplicate
    // And n_more keys, whose names the file has not.
    void copy_meta(const File &file, const NumberKey *more = nullptr, size_t n_more = 0);

    // Throws name, duplicate, type, endian, limit; keep runs when the tensor is gone, also then.
    void add_tensor(std::string_view name, const Tensor &view, TensorStream stream, io::OnEnd keep);
    void reserve_tensors(size_t n); // throws limit; n tensors are added without moving the others
    void drop_tensors(size_t from); // takes the last ones back

    const Ref<Host> &host() const { return host_; }
    const WriterOptions &options() const { return options_; }
    const Wire &wire() const { return wire_; }
    const Keys &keys() const { return keys_; } // in the order of the file
    const Vector<WriterTensor> &tensors() const { return tensors_; }
    const WriterKey *find_key(std::string_view name) const; // null when absent
    uint64_t alignment() const;

private:
    WriterKey begin_key(std::string_view name, ValueType type) const;
    WriterKey number_key(const NumberKey &from) const;
    void check_alignment(const WriterKey &key) const;
    Keys no_keys() const { return Keys(HostAllocator<WriterKey>(host_.get())); }
    void put_keys(Keys made);
    void finish_key(WriterKey key);
    Place require_key(std::string_view name) const;

    Ref<Host> host_;
    WriterOptions options_;
    Wire wire_;
    Keys keys_;
    TextIndex<Place> keys_by_name_;
    Vector<WriterTensor> tensors_;
    TextIndex<uint32_t> tensors_by_name_;
};

// ---- parts
// ---------------------------------------------------------------------------------------

struct SplitLimits {
    uint64_t max_bytes = 0, max_tensors = 0; // 0: no limit
    bool splits() const { return max_bytes || max_tensors; }
};

struct PartPlan {
    size_t first = 0, n_tensors = 0;
    uint64_t n_keys = 0;
    uint64_t meta_end = 0, data_offset = 0;
    uint64_t n_bytes = 0; // of the file
};

// Which tensors stand in which file, and how large each file is. Throws limit, overflow, memory.
class WritePlan {
public:
    WritePlan(const Writer &writer, const SplitLimits &limits);

    const Vector<PartPlan> &parts() const { return parts_; }
    bool splits() const { return limits_.splits(); }
    uint64_t alignment() const { return alignment_; }
    uint64_t n_bytes() const { return n_bytes_; } // of all parts
    // Of all parts alike: CRC-64 of the keys, the directory, the limits, and the first bytes of
    // each tensor that is in memory. The same calls give the same.
    uint64_t split_id() const;
    // visit(key) for the keys of a part, in order.
    template <class Visit> void each_key(size_t part, const Visit &visit) const {
        if (part > 0) { // one at most: a set has many parts, a file may have many keys
            const WriterKey *key = writer_.find_key("general.alignment");
            if (key) visit(*key);
            return;
        }
        for (const WriterKey &key : writer_.keys())
            if (in_first_part(key)) visit(key);
    }

private:
    bool in_first_part(const WriterKey &key) const;
    PartPlan begin_part(size_t part) const;
    bool fits(const PartPlan &part, const PartPlan &with) const;
    PartPlan with_tensor(const PartPlan &part, const WriterTensor &tensor) const;
    void add_part(const PartPlan &part);

    const Writer &writer_;
    SplitLimits limits_;
    uint64_t alignment_;
    uint64_t n_bytes_ = 0;
    Vector<PartPlan> parts_;
};

// ---- bytes
// ---------------------------------------------------------------------------------------

// Takes the parts in order, each one's bytes in order.
class Sink {
public:
    virtual ~Sink() = default;
    virtual void begin(size_t part) = 0;
    virtual void write(const uint8_t *data, size_t n) = 0;
    virtual void end() = 0;
    virtual void commit() = 0; // all parts are complete
};

// PATH, or PREFIX-00001-of-0000N.gguf when the plan splits. keep_old: throws io where a file has
// the name.
void write_path(const Writer &writer, const WritePlan &plan, const char *path, bool keep_old,
                const Progress &progress);
// Puts a set back to its old files, or lets go of them, where a process was killed between its
// first new name and its last; true when there was one. `path` is one of its parts.
bool recover_set(const Ref<Host> &host, const char *path);

struct WriteHook {
    int32_t (*write)(void *user, uint32_t part, const void *data, size_t n);
    void *user;
};
void write_hook(const Writer &writer, const WritePlan &plan, const WriteHook &hook,
                const Progress &progress);

// Every part into the sink; commits it. Throws cancelled, io and what the sink throws.
void emit(const Writer &writer, const WritePlan &plan, Sink &sink, const Progress &progress);
// What stands before the data of a part.
void emit_head(const Writer &writer, const WritePlan &plan, size_t part, Sink &sink);

} // namespace ggufx::gguf
