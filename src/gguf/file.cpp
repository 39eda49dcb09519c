// Life of a File, its keys by index and name, and arrays of strings and arrays.
// SPDX-License-Identifier: MIT
#include "gguf/file.hpp"

#include "gguf/sort.hpp"

#include <inttypes.h>

namespace ggufx::gguf {

namespace {
// One offset is kept per kStride strings: 64 KiB for 262,144 tokens, at most 31 steps per look-up.
constexpr uint64_t kStride = 32;

size_t table_entries(const Value &v) {
    return static_cast<size_t>((v.count + kStride - 1) / kStride);
}
} // namespace

File::File(Ref<Host> host)
    : host_(std::move(host)), parts_(HostAllocator<Part *>(host_.get())),
      tensors_(HostAllocator<Tensor>(host_.get())),
      keys_by_name_(HostAllocator<uint32_t>(host_.get())),
      tensors_by_name_(HostAllocator<uint32_t>(host_.get())),
      strings_(HostAllocator<Strings>(host_.get())) {}

File::~File() {
    if (!strings_.empty())
        for (const Value &v : first().values)
            if (v.strings != kNoTable)
                host_->free(strings_[v.strings].table.load(std::memory_order_relaxed),
                            table_entries(v) * sizeof(uint64_t), alignof(uint64_t));
    for (Part *part : parts_) unmake(*host_, part);
}

void File::release() {
    if (!refs_.release()) return;
    const Ref<Host> host = host_;
    unmake(*host, this);
}

const Value &File::value(size_t index) const {
    const Directory &dir = first();
    if (index >= dir.values.size())
        fail(Status::argument, {.index = index}, "metadata index %llu is not below %llu",
             static_cast<unsigned long long>(index),
             static_cast<unsigned long long>(dir.values.size()));
    return dir.values[index];
}

std::string_view File::key_of(size_t index) const {
    const Part &part = *parts_[0];
    const uint8_t *p = part.bytes + part.directory.values[index].key;
    return {reinterpret_cast<const char *>(p) + part.directory.wire.count_bytes(),
            static_cast<size_t>(part.directory.wire.count(p))};
}

MetaEntry File::meta(size_t index) const {
    const Value &v = value(index);
    return {index < n_keys_ ? key_of(index) : std::string_view(), v.type, v.element, v.count,
            v.offset};
}

size_t File::find_meta(std::string_view key) const {
    return find_by_name(keys_by_name_, key, [&](uint32_t i) { return key_of(i); });
}

size_t File::find_tensor(std::string_view name) const {
    return find_by_name(tensors_by_name_, name, [&](uint32_t i) { return tensors_[i].name; });
}

std::string_view File::get_string(size_t index) const {
    const Value &v = value(index);
    if (v.type == ValueType::array && v.element == ValueType::string && v.count == 1)
        return get_array_string(index, 0);
    if (v.type != ValueType::string) fail_type(index, "a string");
    return {reinterpret_cast<const char *>(parts_[0]->bytes + v.data),
            static_cast<size_t>(v.count)};
}

// Offsets of strings 0, kStride, 2 * kStride, ... of an array. Two threads may build it at once;
// the first to finish is believed.
const uint64_t *File::string_table(const Value &v) const {
    std::atomic<uint64_t *> &slot = strings_[v.strings].table;
    uint64_t *table = slot.load(std::memory_order_acquire);
    if (table) return table;
    const size_t n = table_entries(v);
    auto *made = static_cast<uint64_t *>(host_->alloc(n * sizeof(uint64_t), alignof(uint64_t)));
    if (!made) throw std::bad_alloc();
    const Part &part = *parts_[0];
    const Wire wire = part.directory.wire;
    uint64_t at = v.data;
    for (uint64_t i = 0; i < v.count; i++) {
        if (i % kStride == 0) made[i / kStride] = at;
        at += wire.count_bytes() + wire.count(part.bytes + at);
    }
    if (slot.compare_exchange_strong(table, made, std::memory_order_acq_rel)) return made;
    host_->free(made, n * sizeof(uint64_t), alignof(uint64_t));
    return table;
}

std::string_view File::get_array_string(size_t index, uint64_t element) const {
    const Value &v = value(index);
    if (v.type == ValueType::string && element == 0) return get_string(index);
    if (v.type != ValueType::array || v.element != ValueType::string)
        fail_type(index, "an array of strings");
    if (element >= v.count)
        fail(Status::argument, {.index = element}, "element %" PRIu64 " of an array of %" PRIu64,
             element, v.count);
    const Part &part = *parts_[0];
    const Wire wire = part.directory.wire;
    uint64_t at = v.data, i = 0;
    if (v.count > kStride) {
        at = string_table(v)[element / kStride];
        i = element - element % kStride;
    }
    for (; i < element; i++) at += wire.count_bytes() + wire.count(part.bytes + at);
    const uint8_t *p = part.bytes + at;
    return {reinterpret_cast<const char *>(p) + wire.count_bytes(),
            static_cast<size_t>(wire.count(p))};
}

size_t File::get_nested(size_t index, uint64_t element) const {
    const Value &v = value(index);
    if (v.type != ValueType::array || v.element != ValueType::array)
        fail_type(index, "an array of arrays");
    if (element >= v.count)
        fail(Status::argument, {.index = element}, "element %" PRIu64 " of an array of %" PRIu64,
             element, v.count);
    const Vector<Value> &values = first().values;
    if (v.n_inner == v.count) return static_cast<size_t>(v.inner + element); // all are leaves
    size_t at = v.inner;
    for (uint64_t i = 0; i < element; i++) at += 1 + values[at].n_inner;
    return at;
}

} // namespace ggufx::gguf
