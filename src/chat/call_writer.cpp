// See call_writer.hpp.
// SPDX-License-Identifier: MIT
#include "chat/call_writer.hpp"

#include "chat/json.hpp"

namespace ggufx::chat {

namespace {

// Text of a call that is repeated for each of several: without the markers around all of them.
struct Repeated {
    std::string_view first, next, end, last;
};

// `prefix` and `end` of a format, cut where the next call begins. A list has one pair of brackets.
Repeated repeated_of(const CallFormat &format) {
    const std::string_view prefix = format.prefix, end = format.end;
    if (format.listed) {
        const size_t open = prefix.rfind('['), close = end.find(']');
        if (open == prefix.npos || close == end.npos) return {prefix, prefix, end, end};
        std::string_view element = end.substr(0, close);
        while (!element.empty() && is_json_space(element.back())) element.remove_suffix(1);
        return {prefix, prefix.substr(open + 1), element, end};
    }
    const std::string_view open = format.section_open, close = format.section_close;
    return {prefix, prefix.starts_with(open) ? prefix.substr(open.size()) : prefix,
            end.ends_with(close) ? end.substr(0, end.size() - close.size()) : end, end};
}

// Calls whose first marker is no special token stand on lines of their own.
bool has_lines(const CallFormat &format) {
    const char first = format.prefix.empty() ? '\0' : format.prefix.front();
    return (first != '<' && first != '[') || format.open.ends_with('\n');
}

} // namespace

void CallWriter::marker(std::string_view text, const WrittenCall &call) {
    const size_t at = text.find(kProbeId);
    own(text.substr(0, at));
    if (at == text.npos) return;
    if (call.id) out_.add(*call.id);
    own(text.substr(at + kProbeId.size()));
}

void CallWriter::add(const WrittenCall &call) {
    const Repeated pieces = repeated_of(format_);
    const std::string_view first = n_ == 0 ? pieces.first : pieces.next;
    if (n_ > 0) own(pieces.end);
    if (n_ > 0 && format_.listed)
        own(first.starts_with('\n') ? "," : ", ");
    else if (has_lines(format_) && !line_begins_ && !first.starts_with('\n'))
        own("\n");
    marker(first, call);
    n_++;
    line_begins_ = false;
    body(call);
    index_++;
}

void CallWriter::finish() {
    if (n_ > 0) own(repeated_of(format_).last);
}

void CallWriter::body(const WrittenCall &call) {
    out_.add(*call.name);
    if (format_.numbered) {
        char number[24];
        const size_t n =
            print_text(number, sizeof number, ":%" PRIu64, static_cast<uint64_t>(index_));
        own({number, n});
    }
    marker(format_.middle, call);
    if (format_.shape == CallShape::tagged) return parameters(*call.object.dict);
    if (format_.shape == CallShape::named && format_.notation == Notation::python)
        return python_arguments(*call.object.dict);
    if (format_.notation == Notation::json && call.arguments) return out_.add(*call.arguments);
    value(call.object);
}

void CallWriter::python_arguments(const Dict &arguments) {
    own("(");
    for (size_t i = 0; i < arguments.size; i++) {
        if (i > 0) own(", ");
        out_.add(*arguments.entries[i]->key.text);
        own("=");
        value(arguments.entries[i]->value);
    }
    own(")");
}

// Strings are written as they are, other values as JSON.
void CallWriter::parameters(const Dict &arguments) {
    for (size_t i = 0; i < arguments.size; i++) {
        const Entry &entry = *arguments.entries[i];
        const bool is_text = entry.value.is(Kind::string);
        own(format_.before_key);
        out_.add(*entry.key.text);
        own(is_text || format_.after_key_other.empty() ? format_.after_key
                                                       : format_.after_key_other);
        out_.add(is_text ? *entry.value.text : *write_json(meter_, entry.value, {}));
        own(format_.after_value);
    }
}

// JSON, or its counterpart in the format's notation. The depth is that of JSON that was read.
void CallWriter::value(const Value &v) {
    if (format_.notation == Notation::json) return out_.add(*write_json(meter_, v, {}));
    meter_.charge(1);
    const bool python = format_.notation == Notation::python;
    const std::string_view separator = python ? ", " : ",";
    if (v.is(Kind::list)) {
        own("[");
        for (size_t i = 0; i < v.list->size; i++) {
            if (i > 0) own(separator);
            value(v.list->items[i]);
        }
        return own("]");
    }
    if (v.is(Kind::dict)) {
        own("{");
        for (size_t i = 0; i < v.dict->size; i++) {
            const Entry &entry = *v.dict->entries[i];
            if (i > 0) own(separator);
            if (python)
                value(entry.key);
            else
                out_.add(*entry.key.text);
            own(python ? ": " : ":");
            value(entry.value);
        }
        return own("}");
    }
    if (python && v.is(Kind::none)) return own("None");
    if (python && v.is(Kind::boolean)) return own(v.truth ? "True" : "False");
    if (!python && v.is(Kind::string)) {
        own(format_.quote);
        out_.add(*v.text);
        return own(format_.quote);
    }
    // A string of JSON is one of Python, too.
    out_.add(*write_json(meter_, v, {}));
}

} // namespace ggufx::chat
