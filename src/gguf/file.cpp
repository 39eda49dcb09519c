// File: lifetime, keys by index and name, arrays of strings, nested arrays.
// SPDX-License-Identifier: MIT
#include "gguf/file.hpp"

#include "gguf/sort.hpp"

#include <algorithm>
#include <inttypes.h>

namespace ggufx::gguf {

namespace {
// One offset is stored per kStride strings: 64 KiB for 262,144 tokens, at most 31 steps per lookup.
constexpr uint64_t kStride = 32;

size_t table_entries(const Array &array) {
    return static_cast<size_t>((array.count + kStride - 1) / kStride);
}

void free_tables(const Host &host, const Chunks<Array> &arrays) {
    for (size_t i = 0; i < arrays.size(); i++)
        if (uint64_t *table = arrays[i].table.load(Order::relaxed))
            host.free(table, table_entries(arrays[i]) * sizeof *table, alignof(uint64_t));
}
} // namespace

File::File(Ref<Host> host)
    : host_(std::move(host)), parts_(HostAllocator<Part *>(host_.get())),
      tensors_by_name_(HostAllocator<uint64_t>(host_.get())) {}

File::~File() {
    for (Part *part : parts_) {
        if (!part) continue;
        free_tables(*host_, part->directory.arrays);
        free_tables(*host_, part->directory.inner);
        unmake(*host_, part);
    }
}

void File::release() {
    if (!refs_.release()) return;
    const Ref<Host> host = host_;
    unmake(*host, this);
}

File::Item File::item(size_t index) const {
    const Directory &dir = first();
    const size_t n_keys = dir.keys.size(), n = n_keys + dir.inner.size();
    if (index >= n)
        fail(Status::argument, {.index = index}, "metadata index %llu is not below %llu",
             static_cast<unsigned long long>(index), static_cast<unsigned long long>(n));
    if (index >= n_keys) return {nullptr, &dir.inner[index - n_keys]};
    const Value &v = dir.keys[index];
    return {&v, v.type == ValueType::array ? v.array : nullptr};
}

MetaEntry File::meta(size_t index) const {
    const Item it = item(index);
    MetaEntry out{};
    if (it.value) out.key = it.value->name();
    out.type = it.type();
    out.element = it.array ? it.array->type() : ValueType::u8;
    out.count = it.array                        ? it.array->count
                : out.type == ValueType::string ? it.value->text_bytes()
                                                : 1;
    out.offset = it.array ? it.array->offset : it.value->offset;
    return out;
}

size_t File::find_meta(std::string_view key) const {
    const Directory &dir = first();
    return find_by_name(dir.keys_by_name, key, [&](uint32_t i) { return dir.keys[i].name(); });
}

// Returns the last part whose first tensor is not after `tensor`: parts without tensors come before
// it.
uint32_t File::part_of(size_t tensor) const {
    const auto after =
        std::upper_bound(parts_.begin(), parts_.end(), tensor,
                         [](size_t index, const Part *part) { return index < part->first_tensor; });
    return static_cast<uint32_t>(after - parts_.begin()) - 1;
}

File::Memory File::memory() const {
    Memory out;
    Vector<io::Range> ranges((HostAllocator<io::Range>(host_.get())));
    for (const Part *part : parts_) {
        if (!part->tensor_data) continue;
        (part->data_buffer.data() ? out.copied : out.mapped) += part->data_bytes;
        ranges.push_back({part->tensor_data, static_cast<size_t>(part->data_bytes)});
    }
    out.resident = io::resident_pages(ranges);
    return out;
}

Tensor File::tensor(size_t index) const {
    const uint32_t number = part_of(index);
    const Part &part = *parts_[number];
    Tensor t = part.directory.tensors[index - part.first_tensor];
    t.part = number;
    t.file_offset = t.offset + part.directory.data_offset;
    if (part.tensor_data && t.n_bytes > 0) t.data = part.tensor_data + t.offset;
    return t;
}

std::string_view File::tensor_name(size_t index) const {
    const Part &part = *parts_[part_of(index)];
    return part.directory.tensors.name(index - part.first_tensor);
}

size_t File::find_tensor(std::string_view name) const {
    return find_by_name(tensors_by_name_, name, [&](uint32_t i) { return tensor_name(i); });
}

std::string_view File::name_of(size_t index) const {
    const Item it = item(index);
    return it.value ? it.value->name() : "(inner array)";
}

std::string_view File::get_string(size_t index) const {
    const Item it = item(index);
    if (it.array && it.array->type() == ValueType::string && it.array->count == 1)
        return get_array_string(index, 0);
    if (it.type() != ValueType::string) fail_type(index, "a string");
    const Value &v = *it.value;
    const Part &part = *parts_[0];
    const char *text = v.copied_text();
    if (!text) // length checked at open and stored
        text = reinterpret_cast<const char *>(part.bytes + v.offset +
                                              part.directory.wire.count_bytes());
    return {text, static_cast<size_t>(v.text_bytes())};
}

void File::fail_element(uint64_t element, uint64_t count) const {
    fail(Status::argument, {.index = element}, "element %" PRIu64 " of an array of %" PRIu64,
         element, count);
}

// Reads the string at *at and moves *at to the next one. The length is read once and checked,
// because the bytes of a mapped file may have changed since open. Returns false if it does not fit.
bool File::next_string(const Array &array, uint64_t *at, std::string_view *text) const {
    const Part &part = *parts_[0];
    const Wire wire = part.directory.wire;
    const uint64_t width = wire.count_bytes(), left = array.end - *at;
    if (left < width) return false;
    const uint64_t n = wire.count(part.bytes + *at);
    if (n > left - width) return false;
    *text = {reinterpret_cast<const char *>(part.bytes + *at + width), static_cast<size_t>(n)};
    *at += width + n;
    return true;
}

// Returns the offsets of every kStride-th string of an array, from string 0 on. After a string that
// does not fit, they are the end of the array, where no string fits. Two threads may build the
// table at once; the first to finish wins.
const uint64_t *File::string_table(const Array &array) const {
    uint64_t *table = array.table.load(Order::acquire);
    if (table) return table;
    const size_t n = table_entries(array);
    auto *made = static_cast<uint64_t *>(host_->alloc(n * sizeof(uint64_t), alignof(uint64_t)));
    if (!made) throw std::bad_alloc();
    uint64_t at = first().elements_at(array);
    std::string_view text;
    for (uint64_t i = 0; i < array.count; i++) {
        if (i % kStride == 0) made[i / kStride] = at;
        if (!next_string(array, &at, &text)) at = array.end;
    }
    if (array.table.replace(table, made, Order::acq_rel)) return made;
    host_->free(made, n * sizeof(uint64_t), alignof(uint64_t));
    return table;
}

std::string_view File::get_array_string(size_t index, uint64_t element) const {
    const Item it = item(index);
    if (it.type() == ValueType::string && element == 0) return get_string(index);
    if (!it.array || it.array->type() != ValueType::string) fail_type(index, "an array of strings");
    const Array &array = *it.array;
    if (element >= array.count) fail_element(element, array.count);
    uint64_t at = first().elements_at(array), i = 0;
    if (array.count > kStride) {
        at = string_table(array)[element / kStride];
        i = element - element % kStride;
    }
    std::string_view text;
    for (; i <= element; i++)
        if (!next_string(array, &at, &text))
            fail(Status::malformed, {.offset = at, .index = i},
                 "string %" PRIu64 " of an array ends after the array, at %" PRIu64
                 ": the file was changed while it was open",
                 i, array.end);
    return text;
}

std::string_view File::next_array_string(size_t index, uint64_t *at) const {
    const Item it = item(index);
    if (!it.array || it.array->type() != ValueType::string) fail_type(index, "an array of strings");
    if (*at == 0) *at = first().elements_at(*it.array);
    std::string_view text;
    if (!next_string(*it.array, at, &text))
        fail(Status::malformed, {.offset = *at},
             "a string of an array ends after the array, at %" PRIu64
             ": the file was changed while it was open",
             it.array->end);
    return text;
}

size_t File::get_nested(size_t index, uint64_t element) const {
    const Item it = item(index);
    if (!it.array || it.array->type() != ValueType::array) fail_type(index, "an array of arrays");
    if (element >= it.array->count) fail_element(element, it.array->count);
    return first().keys.size() + static_cast<size_t>(it.array->end + element);
}

} // namespace ggufx::gguf
