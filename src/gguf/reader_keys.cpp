// Keys and values: only where each value begins is kept; arrays of strings are skipped in one
// tight loop (262,144 tokens: below 1 ms) and indexed at first use.
// SPDX-License-Identifier: MIT
#include "gguf/reader.hpp"
#include "gguf/sort.hpp"

#include <inttypes.h>

namespace ggufx::gguf {

void Reader::read_keys() {
    where_ = Where::key;
    for (index_ = 0; index_ < out_.n_keys; index_++) {
        name_at_ = kNone;
        if (index_ % 256 == 0) window_.poll(pos_);
        read_key();
    }
    const size_t n = out_.values.size();
    Vector<uint32_t> sorted((HostAllocator<uint32_t>(part_.host.get())));
    NamePair same{};
    if (!sort_by_name(
            sorted, n, [&](uint32_t i) { return string_at(out_.values[i].key); }, &same)) {
        index_ = same.second;
        name_at_ = out_.values[same.second].key;
        fail_at(Status::duplicate, name_at_, "the same key as number %" PRIu32, same.first);
    }
    out_.values.insert(out_.values.end(), inner_.begin(), inner_.end());
}

void Reader::read_key() {
    Value value;
    value.key = pos_;
    const uint64_t n = take_count("length of the key");
    check_length(n, value.key, "a key");
    if (n == 0) fail_at(Status::key, value.key, "the key is empty");
    skip(n, "key");
    name_at_ = value.key;
    value.type = take_type("value type");
    value.offset = pos_;
    read_value(value);
    if (string_at(value.key) == "general.alignment") check_alignment(value);
    out_.values.push_back(value);
}

ValueType Reader::take_type(const char *field) {
    const uint32_t type = take_u32(field);
    if (type >= kValueTypes)
        fail_at(Status::kvtype, pos_ - 4, "%s %" PRIu32 " is not one of 0..12", field, type);
    return static_cast<ValueType>(type);
}

void Reader::read_value(Value &value) {
    value.data = pos_;
    if (value.type == ValueType::string) {
        value.count = take_count("length of the string");
        value.data = pos_;
        check_length(value.count, value.offset, "a string");
        skip(value.count, "string");
    } else if (value.type == ValueType::array) {
        const Value array = take_array();
        value.element = array.element;
        value.count = array.count;
        value.data = array.data;
        value.strings = array.strings;
        if (value.element == ValueType::array)
            read_nested(value);
        else
            skip_elements(value);
    } else {
        take(value_bytes(value.type), "value");
    }
}

// Element type and count; an array that cannot fit is refused here.
Value Reader::take_array() {
    Value array;
    array.type = ValueType::array;
    array.offset = pos_;
    array.element = take_type("element type");
    const uint64_t count_at = pos_;
    array.count = take_count("count of the array");
    array.data = pos_;
    if (array.element == ValueType::string) array.strings = out_.n_string_arrays++;
    const uint64_t width = out_.wire.count_bytes();
    const uint64_t each = array.element == ValueType::string  ? width
                          : array.element == ValueType::array ? width + 4
                                                              : value_bytes(array.element);
    if (array.count <= left() / each) return array;
    // A file that ends inside an element was cut; one that ends between two was miscounted.
    const bool cut = array.count < kPlausibleBytes / each && left() % each != 0 &&
                     value_bytes(array.element) != 0;
    fail_at(cut ? Status::truncated : Status::count, cut ? part_.size : count_at,
            "an array of %" PRIu64 " x %s needs at least %" PRIu64 " bytes each, but only %" PRIu64
            " bytes are left",
            array.count, value_type_name(array.element), each, left());
}

void Reader::skip_elements(const Value &array) {
    if (array.element == ValueType::string)
        skip_strings(array.count, array.offset + 4);
    else
        skip(array.count * value_bytes(array.element), "array");
}

void Reader::skip_strings(uint64_t n, uint64_t count_offset) {
    constexpr uint64_t kPerPoll = 32768; // strings, below 1 ms
    const Wire wire = out_.wire;
    const uint64_t width = wire.count_bytes(), longest = options_.max_string_bytes;
    for (uint64_t i = 0; i < n;) {
        window_.poll(pos_);
        const uint8_t *base = window_.data();
        const uint64_t loaded = window_.loaded(), stop = n - i < kPerPoll ? n : i + kPerPoll;
        while (i < stop && loaded - pos_ >= width) {
            const uint64_t length = wire.count(base + pos_);
            if (length > loaded - pos_ - width || length > longest) break;
            pos_ += width + length;
            i++;
        }
        check_limit("array of strings");
        if (i == stop) continue;
        // Not (all) loaded yet, or faulty: this one string with every check.
        if (left() == 0)
            fail_at(Status::truncated, count_offset,
                    "the file ends after string %" PRIu64 " of %" PRIu64, i, n);
        const uint64_t at = pos_;
        const uint64_t length = take_count("length of a string of the array");
        check_length(length, at, "a string of the array");
        skip(length, "array of strings");
        i++;
    }
}

// Arrays of arrays without recursion: a stack of how many elements each open array still has.
void Reader::read_nested(Value &outer) {
    if (options_.strict)
        fail_at(Status::kvtype, outer.offset,
                "an array of arrays, which strict mode refuses as ggml does");
    struct Level {
        uint64_t left;
        size_t self; // in inner_; the outermost has none
    };
    Level stack[kMaxDepth];
    uint32_t depth = 1;
    stack[0] = {outer.count, SIZE_MAX};
    const size_t first = inner_.size();
    const auto at = [&](size_t i) { return static_cast<uint32_t>(out_.n_keys + i); };
    outer.inner = at(first);
    while (depth > 0) {
        Level &level = stack[depth - 1];
        if (level.left == 0) {
            if (level.self != SIZE_MAX)
                inner_[level.self].n_inner = static_cast<uint32_t>(inner_.size() - level.self - 1);
            depth--;
            continue;
        }
        level.left--;
        if (inner_.size() % 256 == 0) window_.poll(pos_);
        if (inner_.size() >= kMaxNested)
            fail_at(Status::limit, pos_, "more than %" PRIu32 " arrays inside of arrays",
                    kMaxNested);
        if (depth == kMaxDepth)
            fail_at(Status::limit, pos_, "arrays nested deeper than %" PRIu32, kMaxDepth);
        Value inner = take_array();
        inner.inner = at(inner_.size() + 1);
        inner_.push_back(inner);
        if (inner.element != ValueType::array) {
            skip_elements(inner);
        } else {
            stack[depth++] = {inner.count, inner_.size() - 1};
        }
    }
    outer.n_inner = static_cast<uint32_t>(inner_.size() - first);
}

void Reader::check_alignment(const Value &value) {
    if (value.type != ValueType::u32)
        fail_at(Status::kvtype, value.offset - 4, "its type must be u32, not %s",
                value_type_name(value.type));
    const uint64_t n = out_.wire.u32(window_.data() + value.offset);
    if (n == 0 || (n & (n - 1)) != 0)
        fail_at(Status::alignment, value.offset, "%" PRIu64 " is not a power of two", n);
    out_.alignment = n;
}

} // namespace ggufx::gguf
