// JSON reader: see json.hpp.
// SPDX-License-Identifier: MIT
#include "chat/json.hpp"

#include "base/json_scan.hpp"
#include "base/utf8.hpp"

namespace ggufx::chat {

namespace {

// Builds values from the parts that the scanner reports.
class JsonReader {
public:
    JsonReader(Meter &meter, std::string_view text, const char *what, JsonNumbers numbers)
        : meter_(meter), s_(text), what_(what), numbers_(numbers), scanner_(*this, text),
          string_(meter) {}

    Value read() {
        meter_.charge_bytes(s_.size());
        const size_t bad = first_invalid(s_);
        if (bad < s_.size()) refuse(bad, "a byte that is not valid UTF-8");
        scanner_.scan();
        return root_;
    }

private:
    friend class JsonScanner<JsonReader, kJsonDepth>;

    [[noreturn]] void refuse(size_t at, const char *why) const {
        fail(Status::malformed, {at}, "%s: JSON has %s at byte %" PRIu64, what_, why,
             static_cast<uint64_t>(at));
    }
    [[noreturn]] void too_deep(size_t at) const {
        fail(Status::limit, {.offset = at, .limit = kJsonDepth},
             "%s: JSON is nested deeper than %u at byte %" PRIu64, what_, kJsonDepth,
             static_cast<uint64_t>(at));
    }
    void lone_surrogate(size_t) const {} // becomes U+FFFD

    void add(const Value &value) {
        meter_.charge(1);
        if (depth_ == 0) {
            root_ = value;
        } else if (const Value &top = open_[depth_ - 1].container; top.is(Kind::dict)) {
            // the last of equal names counts
            assign(meter_, top.dict, open_[depth_ - 1].name, value);
        } else {
            append(meter_, top.list, value);
        }
    }

    void null() { add(Value::none(true)); }
    void boolean(bool value) { add(Value::of(value, true)); }

    void object_begin() {
        Dict *const dict = make_dict(meter_);
        dict->user = true;
        add(Value::of(dict));
        open_[depth_++].container = Value::of(dict);
    }
    void array_begin() {
        List *const list = make_list(meter_);
        list->user = true;
        add(Value::of(list));
        open_[depth_++].container = Value::of(list);
    }
    void object_end() { depth_--; }
    void array_end() { depth_--; }

    void put_string(const Text *text, bool is_name) {
        if (is_name) {
            open_[depth_ - 1].name = Value::of(text);
        } else {
            add(Value::of(text));
        }
    }
    void plain_string(std::string_view text, bool is_name) {
        put_string(make_text(meter_, text, true), is_name);
    }
    void string_begin() { string_ = TextBuilder(meter_); }
    void string_part(std::string_view text) { string_.add(text, true); }
    void string_code(uint32_t code) { string_.add_code(code, true); }
    void string_end(bool is_name) { put_string(string_.finish(), is_name); }

    void number(std::string_view text, bool is_integer) {
        const char *const first = text.data(), *const last = first + text.size();
        if (numbers_ == JsonNumbers::as_written) {
            Value out = Value::of(borrow_text(meter_, text, true));
            out.kind = Kind::written;
            return add(out);
        }
        int64_t integer = 0;
        if (is_integer && std::from_chars(first, last, integer).ec == std::errc())
            return add(Value::of(integer, true));
        double real = 0;
        if (std::from_chars(first, last, real).ec != std::errc())
            refuse(static_cast<size_t>(first - s_.data()), "a number outside of a float's range");
        add(Value::of(real, true));
    }

    struct Open {
        Value container;
        Value name; // name of the next member
    };

    Meter &meter_;
    std::string_view s_;
    const char *what_;
    JsonNumbers numbers_;
    JsonScanner<JsonReader, kJsonDepth> scanner_;
    TextBuilder string_;
    Value root_;
    Open open_[kJsonDepth];
    unsigned depth_ = 0;
};

} // namespace

Value read_json(Meter &meter, std::string_view text, const char *what, JsonNumbers numbers) {
    return JsonReader(meter, text, what, numbers).read();
}

} // namespace ggufx::chat
