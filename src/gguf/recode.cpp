// SPDX-License-Identifier: MIT
#include "gguf/recode.hpp"

#include "gguf/file.hpp"
#include "gguf/limits.hpp"

#include <inttypes.h>

namespace ggufx::gguf {

void put_number(Vector<uint8_t> &out, const Wire &to, uint64_t v, unsigned n_bytes) {
    uint8_t p[8];
    store_number(p, to, v, n_bytes);
    out.insert(out.end(), p, p + n_bytes);
}

void put_string(Vector<uint8_t> &out, const Wire &to, std::string_view text) {
    put_number(out, to, text.size(), to.count_bytes());
    out.insert(out.end(), text.begin(), text.end());
}

namespace {

// Appends n numbers, byte-swapped if `reverse`.
void append_numbers(Vector<uint8_t> &out, const uint8_t *p, size_t n, unsigned width,
                    bool reverse) {
    if (width == 1 || !reverse) {
        out.insert(out.end(), p, p + n * width);
        return;
    }
    const size_t at = out.size();
    out.resize(at + n * width);
    uint8_t *dst = out.data() + at;
    for (size_t i = 0; i < n; i++, dst += width, p += width)
        for (unsigned b = 0; b < width; b++) dst[b] = p[width - 1 - b];
}

class Recoder {
public:
    Recoder(Vector<uint8_t> &out, const Wire &to, const RecodeInput &in, uint32_t *n_nested)
        : out_(out), to_(to), in_(in), n_nested_(*n_nested) {}

    uint64_t run(ValueType type) {
        if (type == ValueType::string)
            copy_string();
        else if (type == ValueType::array)
            copy_array();
        else
            copy_numbers(type, 1);
        return pos_;
    }

private:
    uint64_t left() const { return in_.n_bytes - pos_; }

    const uint8_t *take(uint64_t n, const char *what) {
        if (n > left())
            fail(Status::truncated, {},
                 "key \"%s\": the value ends inside %s: %" PRIu64 " bytes at %" PRIu64 ", %" PRIu64
                 " left",
                 name().c_str(), what, n, pos_, left());
        pos_ += n;
        return in_.bytes + (pos_ - n);
    }

    Quoted name() const { return {in_.key.data(), in_.key.size()}; }

    uint64_t copy_count(const char *what) {
        const uint64_t n = in_.wire.count(take(in_.wire.count_bytes(), what));
        put_number(out_, to_, n, to_.count_bytes());
        return n;
    }

    void copy_string() {
        const uint64_t n = copy_count("the length of a string");
        const uint8_t *p = take(n, "a string");
        out_.insert(out_.end(), p, p + n);
    }

    // n * width cannot wrap: copy_head compared it with the bytes that are left.
    void copy_numbers(ValueType type, uint64_t n) {
        const auto width = static_cast<unsigned>(value_bytes(type));
        const uint8_t *p = take(n * width, "numbers");
        if (type == ValueType::boolean && !in_.any_bool) check_bools(p, n);
        append_numbers(out_, p, static_cast<size_t>(n), width,
                       to_.big_endian != in_.wire.big_endian);
    }

    void check_bools(const uint8_t *p, uint64_t n) const {
        for (uint64_t i = 0; i < n; i++)
            if (p[i] > 1)
                fail(Status::value, {.index = i},
                     "key \"%s\": bool number %" PRIu64 " is %u, not 0 or 1", name().c_str(), i,
                     p[i]);
    }

    struct Head {
        ValueType element;
        uint64_t count;
    };

    Head copy_head() {
        const uint32_t type = in_.wire.u32(take(4, "an element type"));
        if (type >= kValueTypes)
            fail(Status::kvtype, {}, "key \"%s\": element type %" PRIu32 " is not one of 0..12",
                 name().c_str(), type);
        put_number(out_, to_, type, 4);
        const Head head = {static_cast<ValueType>(type), copy_count("the count of an array")};
        const uint64_t width = in_.wire.count_bytes();
        const uint64_t each = head.element == ValueType::string  ? width
                              : head.element == ValueType::array ? width + 4
                                                                 : value_bytes(head.element);
        if (head.count > left() / each)
            fail(Status::count, {},
                 "key \"%s\": an array of %" PRIu64 " x %s, but only %" PRIu64 " bytes follow",
                 name().c_str(), head.count, value_type_name(head.element), left());
        return head;
    }

    void copy_elements(const Head &head) {
        if (head.element != ValueType::string) return copy_numbers(head.element, head.count);
        for (uint64_t i = 0; i < head.count; i++) copy_string();
    }

    // Copies nested arrays without recursion: open[] holds the number of elements left in each open
    // array.
    void copy_array() {
        const Head outer = copy_head();
        if (outer.element != ValueType::array) return copy_elements(outer);
        uint64_t open[kMaxDepth];
        uint32_t depth = 1;
        open[0] = outer.count;
        while (depth > 0) {
            if (open[depth - 1] == 0) {
                depth--;
                continue;
            }
            open[depth - 1]--;
            if (++n_nested_ > kMaxNested)
                fail(Status::limit, {.limit = kMaxNested},
                     "key \"%s\": more than %" PRIu32 " arrays inside arrays", name().c_str(),
                     kMaxNested);
            if (depth == kMaxDepth)
                fail(Status::limit, {.limit = kMaxDepth},
                     "key \"%s\": arrays nested deeper than %" PRIu32, name().c_str(), kMaxDepth);
            const Head inner = copy_head();
            if (inner.element == ValueType::array)
                open[depth++] = inner.count;
            else
                copy_elements(inner);
        }
    }

    Vector<uint8_t> &out_;
    const Wire &to_;
    const RecodeInput &in_;
    uint32_t &n_nested_;
    uint64_t pos_ = 0;
};

} // namespace

void put_elements(Vector<uint8_t> &out, const Wire &to, ValueType type, const void *elements,
                  size_t n) {
    append_numbers(out, static_cast<const uint8_t *>(elements), n,
                   static_cast<unsigned>(value_bytes(type)), to.big_endian != kBigEndianHost);
}

uint64_t recode_value(Vector<uint8_t> &out, const Wire &to, ValueType type, const RecodeInput &in,
                      uint32_t *n_nested) {
    return Recoder(out, to, in, n_nested).run(type);
}

// Writes the values stored at open; the elements of an array come from the file. Throws malformed
// if the array's type or count has changed since.
void File::copy_value(Vector<uint8_t> &out, const Wire &to, size_t index,
                      uint32_t *n_nested) const {
    const Item it = item(index);
    if (it.type() == ValueType::string) return put_string(out, to, get_string(index));
    if (!it.array)
        return put_number(out, to, it.value->bits,
                          static_cast<unsigned>(value_bytes(it.value->type)));
    const Directory &dir = first();
    const std::string_view name = name_of(index);
    const size_t start = out.size();
    const uint64_t at = it.array->offset;
    const RecodeInput in = {parts_[0]->bytes + at, dir.meta_end - at, dir.wire, true, name};
    recode_value(out, to, ValueType::array, in, n_nested);
    if (to.u32(out.data() + start) != it.array->element ||
        to.count(out.data() + start + 4) != it.array->count)
        fail(Status::malformed, {.offset = at, .index = index},
             "key \"%s\" is another array than when the file was opened", Quoted(name).c_str());
}

} // namespace ggufx::gguf
