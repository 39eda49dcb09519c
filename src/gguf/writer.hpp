// Writer of a GGUF file or split set. Keys and tensors are checked when they are added, with every
// check of the reader, so that the output can be read. writer.cpp: keys and tensors;
// writer_plan.cpp: parts and sizes; writer_emit.cpp: bytes in order; writer_sink.cpp: destinations.
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

// Key of an array of zeros: the only kind of room in the metadata that every reader skips.
constexpr std::string_view kReserveKey = "ggufx.reserve";

// A key and its value.
struct WriterKey {
    explicit WriterKey(const Host *host) : bytes(HostAllocator<uint8_t>(host)) {}
    std::string_view name() const {
        return {reinterpret_cast<const char *>(bytes.data()) + 8, n_name};
    }
    size_t value_at() const { return 8 + n_name + 4; } // offset of the value in `bytes`

    Vector<uint8_t> bytes; // length, name, type, value as in the file
    size_t n_name = 0;
    ValueType type = ValueType::u8;
    uint32_t n_nested = 0; // inner arrays
};

// Callback for bytes offset .. offset+n-1 of a tensor's dense data, little-endian; returns 0 on
// success.
struct TensorStream {
    void *user = nullptr;
    int32_t (*read)(void *user, uint64_t offset, void *dst, size_t n) = nullptr;
};

struct WriterTensor {
    explicit WriterTensor(const Host *host) : name_bytes(HostAllocator<char>(host)) {}
    std::string_view name() const { return {name_bytes.data(), name_bytes.size()}; }

    Vector<char> name_bytes;
    Tensor view; // its data are used without a stream
    TensorStream stream;
    io::OnEnd keep; // releases the source
};

// A key with numbers from memory.
struct NumberKey {
    std::string_view name;
    ValueType type; // type of one number
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

    // Sets a key from the `n` bytes of a little-endian file's value. Throws as recode_value(), key,
    // alignment, and argument if bytes are left over.
    void set_value(std::string_view key, ValueType type, const uint8_t *bytes, uint64_t n);
    void set_number(std::string_view key, ValueType type, uint64_t bits);
    void set_string(std::string_view key, std::string_view text);
    void set_array(std::string_view key, ValueType element, const void *elements, size_t n);
    void set_strings(std::string_view key, const char *const *texts, const size_t *lengths,
                     size_t n);
    void unset(std::string_view key);                             // throws not_found
    void rename(std::string_view key, std::string_view new_name); // not_found, key, duplicate
    // Copies the keys of a file, and adds n_more keys that the file does not have.
    void copy_meta(const File &file, const NumberKey *more = nullptr, size_t n_more = 0);

    // Throws name, duplicate, type, endian, limit. `keep` runs when the tensor is destroyed, also
    // if this throws.
    void add_tensor(std::string_view name, const Tensor &view, TensorStream stream, io::OnEnd keep);
    void reserve_tensors(size_t n); // throws limit; n tensors are added without moving the others
    void drop_tensors(size_t from); // removes tensors from index `from` on

    const Ref<Host> &host() const { return host_; }
    const WriterOptions &options() const { return options_; }
    const Wire &wire() const { return wire_; }
    const Keys &keys() const { return keys_; } // in file order
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

struct SplitLimits {
    uint64_t max_bytes = 0, max_tensors = 0; // 0: no limit
    bool splits() const { return max_bytes || max_tensors; }
};

struct PartPlan {
    size_t first = 0, n_tensors = 0;
    uint64_t n_keys = 0;
    uint64_t meta_end = 0, data_offset = 0;
    uint64_t n_bytes = 0; // size of the file
};

// Assignment of tensors to files, and the size of each file. Throws limit, overflow, memory.
class WritePlan {
public:
    WritePlan(const Writer &writer, const SplitLimits &limits);

    const Vector<PartPlan> &parts() const { return parts_; }
    bool splits() const { return limits_.splits(); }
    uint64_t alignment() const { return alignment_; }
    uint64_t n_bytes() const { return n_bytes_; } // total of all parts
    // Id of the set, the same in all parts: CRC-64 of the keys, the directory, the limits, and the
    // first bytes of each tensor in memory. The same calls give the same id.
    uint64_t split_id() const;
    // Calls visit(key) for the keys of a part, in order.
    template <class Visit> void each_key(size_t part, const Visit &visit) const {
        if (part > 0) { // one key at most: a set has many parts, a file may have many keys
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

// Receives the parts in order, each one's bytes in order.
class Sink {
public:
    virtual ~Sink() = default;
    virtual void begin(size_t part) = 0;
    virtual void write(const uint8_t *data, size_t n) = 0;
    virtual void end() = 0;
    virtual void commit() = 0; // all parts are complete
};

// Writes PATH, or PREFIX-00001-of-0000N.gguf if the plan splits. keep_old: throws io if a file
// exists.
void write_path(const Writer &writer, const WritePlan &plan, const char *path, bool keep_old,
                const Progress &progress);
// Recovers a set after a crash between its first rename and its last: restores the old files, or
// deletes them if the new ones are complete. Returns whether there was one. `path` is one of its
// parts.
bool recover_set(const Ref<Host> &host, const char *path);

struct WriteHook {
    int32_t (*write)(void *user, uint32_t part, const void *data, size_t n);
    void *user;
};
void write_hook(const Writer &writer, const WritePlan &plan, const WriteHook &hook,
                const Progress &progress);

// Writes every part to the sink and commits it. Throws cancelled, io and the sink's errors.
void emit(const Writer &writer, const WritePlan &plan, Sink &sink, const Progress &progress);
// Writes everything before the data of a part.
void emit_head(const Writer &writer, const WritePlan &plan, size_t part, Sink &sink);

} // namespace ggufx::gguf
