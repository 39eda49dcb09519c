// Keys and values. Keys and short strings are copied, arrays are measured. Arrays of strings are
// skipped in one tight loop (262,144 tokens: below 1 ms) and indexed at first use.
// SPDX-License-Identifier: MIT
#include "gguf/reader.hpp"
#include "gguf/sort.hpp"

#include <inttypes.h>
#include <string.h>

namespace ggufx::gguf {

namespace {
constexpr uint64_t kMaxOffset = (uint64_t{1} << 56) - 1; // beyond any address space
}

void Reader::read_keys() {
    where_ = Where::key;
    out_.keys.set_most(static_cast<size_t>(out_.n_keys));
    for (index_ = 0; index_ < out_.n_keys; index_++) {
        name_ = {};
        if (index_ % 256 == 0) window_.poll(pos_);
        read_key();
    }
    sort_keys();
}

void Reader::sort_keys() {
    NamePair same{};
    const auto name_of = [&](uint32_t i) { return out_.keys[i].name(); };
    if (sort_by_name(out_.keys_by_name, out_.keys.size(), name_of, &same)) return;
    index_ = same.second;
    name_ = name_of(same.second);
    fail_at(Status::duplicate, out_.key_at(out_.keys[same.second]),
            "the same key as number %" PRIu32, same.first);
}

void Reader::read_key() {
    const uint64_t at = pos_, n = take_length("length of the key");
    check_length(n, at, "a key");
    if (n == 0) fail_at(Status::key, at, "the key is empty");
    if (n > UINT32_MAX)
        fail_at(Status::limit, at, "a key of %" PRIu64 " bytes; the limit is %" PRIu32, n,
                UINT32_MAX);
    name_ = take_string(n, "key");
    Value &value = out_.keys.add();
    value.key = name_.data();
    value.key_bytes = static_cast<uint32_t>(n);
    value.type = take_type("value type");
    value.offset = pos_;
    read_value(value);
    if (name_ == "general.alignment") check_alignment(value);
}

ValueType Reader::take_type(const char *field) {
    const uint32_t type = take_u32(field);
    if (type >= kValueTypes)
        fail_at(Status::kvtype, pos_ - 4, "%s %" PRIu32 " is not one of 0..12", field, type);
    return static_cast<ValueType>(type);
}

void Reader::read_value(Value &value) {
    if (value.type == ValueType::string) return read_string(value);
    if (value.type == ValueType::array) return read_array(value);
    value.bits = number_at(out_.wire, value.type, take(value_bytes(value.type), "value"));
}

void Reader::read_string(Value &value) {
    const uint64_t n = take_length("length of the string");
    check_length(n, value.offset, "a string");
    skip(n, "string");
    const size_t n_copied = n > kCopiedString ? 0 : static_cast<size_t>(n);
    uint8_t *const text = out_.texts.add(sizeof n + n_copied);
    memcpy(text, &n, sizeof n);
    if (n_copied) memcpy(text + sizeof n, window_.data() + (pos_ - n), n_copied);
    value.text = text;
}

void Reader::read_array(Value &value) {
    Array &array = out_.arrays.add();
    value.array = &array;
    take_array(array);
    if (array.type() == ValueType::array)
        read_nested(array);
    else
        skip_elements(array);
}

// Reads element type and count; rejects an array that cannot fit.
void Reader::take_array(Array &array) {
    array.offset = pos_ & kMaxOffset;
    const ValueType element = take_type("element type");
    array.element = static_cast<uint8_t>(element);
    const uint64_t count_at = pos_;
    array.count = take_count("count of the array");
    const uint64_t width = out_.wire.count_bytes();
    const uint64_t each = element == ValueType::string  ? width
                          : element == ValueType::array ? width + 4
                                                        : value_bytes(element);
    if (array.count <= left() / each) return;
    // A file that ends inside an element was truncated; one that ends between two was miscounted.
    const bool cut =
        array.count < kPlausibleBytes / each && left() % each != 0 && value_bytes(element) != 0;
    fail_at(cut ? Status::truncated : Status::count, cut ? part_.size : count_at,
            "an array of %" PRIu64 " x %s needs at least %" PRIu64 " bytes each, but only %" PRIu64
            " bytes are left",
            array.count, value_type_name(element), each, left());
}

void Reader::skip_elements(Array &array) {
    if (array.type() == ValueType::string)
        skip_strings(array.count, array.offset + 4);
    else
        skip(array.count * value_bytes(array.type()), "array");
    array.end = pos_;
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
        // Not fully loaded yet, or invalid: read this one string with every check.
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

// Numbers the arrays inside an array consecutively, so that the index of an element is a sum. There
// are at most kMaxNested, and each takes at least 8 bytes of the file: a count cannot reserve more
// memory than the file justifies.
void Reader::number_inner(Array &array) {
    const size_t first = out_.inner.size();
    if (array.count > kMaxNested - first)
        fail_at(Status::limit, array.offset + 4,
                "%" PRIu64 " arrays inside an array, and %zu before them; the limit is %" PRIu32,
                array.count, first, kMaxNested);
    array.end = first;
    out_.inner.resize(first + static_cast<size_t>(array.count));
}

// Reads nested arrays without recursion: a stack holds the number of elements left in each open
// array.
void Reader::read_nested(Array &outer) {
    if (options_.strict)
        fail_at(Status::kvtype, outer.offset,
                "an array of arrays, which strict mode refuses as ggml does");
    struct Level {
        uint64_t left;
        size_t next; // index in the list of inner arrays
    };
    Level stack[kMaxDepth];
    uint32_t depth = 0;
    const auto open = [&](Array &array) {
        number_inner(array);
        stack[depth++] = {array.count, static_cast<size_t>(array.end)};
    };
    open(outer);
    for (uint64_t n = 0; depth > 0; n++) {
        Level &level = stack[depth - 1];
        if (level.left == 0) {
            depth--;
            continue;
        }
        if (n % 256 == 0) window_.poll(pos_);
        if (depth == kMaxDepth)
            fail_at(Status::limit, pos_, "arrays nested deeper than %" PRIu32, kMaxDepth);
        level.left--;
        Array &inner = out_.inner[level.next++];
        take_array(inner);
        if (inner.type() == ValueType::array)
            open(inner);
        else
            skip_elements(inner);
    }
}

void Reader::check_alignment(const Value &value) {
    if (value.type != ValueType::u32)
        fail_at(Status::kvtype, value.offset - 4, "its type must be u32, not %s",
                value_type_name(value.type));
    if (value.bits == 0 || (value.bits & (value.bits - 1)) != 0)
        fail_at(Status::alignment, value.offset, "%" PRIu64 " is not a power of two", value.bits);
    out_.alignment = value.bits;
}

} // namespace ggufx::gguf
