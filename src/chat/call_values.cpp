// Name and arguments of a complete tool call: see call_scanner.hpp.
// SPDX-License-Identifier: MIT
#include "chat/call_scanner.hpp"
#include "chat/loose_values.hpp"

#include <string.h>

namespace ggufx::chat {

namespace {

Limits limits_for(size_t bytes) {
    return {10000 + 64 * uint64_t{bytes}, (1 << 16) + 128 * uint64_t{bytes}, 0};
}

// Returns false for values that are too deep or too large; memory errors propagate.
template <class Read> bool succeeds(Read &&read) {
    try {
        return read();
    } catch (const Error &) { return false; }
}

bool read_strictly(Meter &meter, std::string_view json, Value &out) {
    return succeeds([&] {
        out = read_json(meter, json, "a call", JsonNumbers::as_written);
        return true;
    });
}

void append_bytes(Vector<char> &out, std::string_view text) {
    out.assign(text.begin(), text.end());
}

size_t skip_json_space(std::string_view s, size_t i) {
    while (i < s.size() && is_json_space(s[i])) i++;
    return i;
}

size_t string_end(std::string_view s, size_t i) { // i: opening quote; -> after the closing
    for (i++; s[i] != '"'; i++) i += s[i] == '\\';
    return i + 1;
}

// End of a value in valid JSON.
size_t value_end(std::string_view s, size_t i) {
    if (s[i] == '"') return string_end(s, i);
    if (s[i] != '{' && s[i] != '[') {
        while (i < s.size() && !strchr(",]} \n\t\r", s[i])) i++;
        return i;
    }
    for (unsigned depth = 0;; i++) {
        if (s[i] == '"') i = string_end(s, i) - 1;
        if (s[i] == '{' || s[i] == '[') depth++;
        if ((s[i] == '}' || s[i] == ']') && --depth == 0) return i + 1;
    }
}

// Text of a member's value in a valid JSON object; the last of equal names counts.
std::string_view member_text(std::string_view s, std::string_view name) {
    std::string_view out;
    size_t i = skip_json_space(s, skip_json_space(s, 0) + 1);
    while (s[i] != '}') {
        const size_t end = string_end(s, i);
        const std::string_view key = s.substr(i + 1, end - i - 2);
        const size_t value = skip_json_space(s, skip_json_space(s, end) + 1); // after the colon
        i = value_end(s, value);
        if (key == name) out = s.substr(value, i - value);
        i = skip_json_space(s, i);
        if (s[i] == ',') i = skip_json_space(s, i + 1);
    }
    return out;
}

const Value *member_of(Meter &meter, const Value &object, std::string_view key) {
    return key.empty() ? nullptr : lookup(meter, *object.dict, key);
}

// Writes arguments as a JSON object: from an object, text that is one, or nothing. `raw`: the
// arguments as written if they are valid JSON.
bool put_arguments(Meter &meter, const Value *arguments, std::string_view raw, Vector<char> &out) {
    if (!arguments || arguments->is(Kind::none)) return append_bytes(out, "{}"), true;
    if (arguments->is(Kind::string)) {
        const std::string_view text = trimmed(arguments->text->view());
        if (text.empty()) return append_bytes(out, "{}"), true;
        Value inner;
        const bool strict = read_strictly(meter, text, inner);
        if (!strict && !succeeds([&] { return read_loose(meter, text, "", inner); })) return false;
        if (inner.is(Kind::none)) return append_bytes(out, "{}"), true;
        if (!inner.is(Kind::dict)) return false;
        append_bytes(out, strict ? text : write_json(meter, inner, {})->view());
        return true;
    }
    if (!arguments->is(Kind::dict)) return false;
    append_bytes(out, raw.empty() ? write_json(meter, *arguments, {})->view() : raw);
    return true;
}

std::string_view without_line_breaks(std::string_view s, const CallFormat &format) {
    const bool begins = !format.after_key.empty() && format.after_key.back() == '\n';
    const bool ends = !format.after_value.empty() && format.after_value.front() == '\n';
    if (begins && !s.empty() && s.front() == '\n') s.remove_prefix(1);
    if ((begins || ends) && !s.empty() && s.back() == '\n') s.remove_suffix(1);
    return s;
}

std::string_view without_cdata(std::string_view s) {
    const std::string_view inner = trimmed(s);
    if (!inner.starts_with(kCdataOpen) || !inner.ends_with(kCdataClose) ||
        inner.size() < kCdataOpen.size() + kCdataClose.size())
        return s;
    return inner.substr(kCdataOpen.size(), inner.size() - kCdataOpen.size() - kCdataClose.size());
}

} // namespace

bool is_json_object(const Host *host, std::string_view json) {
    Meter meter(host, limits_for(json.size()));
    Value value;
    return read_strictly(meter, json, value) && value.is(Kind::dict);
}

// "functions.f:0" is a call of f with the whole text as its id.
void CallScanner::set_name(std::string_view name) {
    if (format_.numbered) {
        const size_t colon = name.rfind(':');
        const bool digits = colon != name.npos && colon + 1 < name.size() &&
                            name.find_first_not_of("0123456789", colon + 1) == name.npos;
        if (digits) {
            call_.id.clear();
            if (has_before_name_) {
                const std::string_view before = trimmed(format_.before_name);
                call_.id.insert(call_.id.end(), before.begin(), before.end());
            }
            call_.id.insert(call_.id.end(), name.begin(), name.end());
            name = name.substr(0, colon);
        }
    }
    append_bytes(call_.name, name);
}

// Models write "directly_answer" for "directly-answer".
bool CallScanner::is_answer() const {
    const std::string_view answer = format_.answer_name;
    if (answer.empty() || answer.size() != call_.name.size()) return false;
    for (size_t i = 0; i < answer.size(); i++)
        if (call_.name[i] != answer[i] && !(call_.name[i] == '_' && answer[i] == '-')) return false;
    return true;
}

// {"name": "f", "arguments": {...}}, with the template's keys or the usual ones. The function may
// be nested: {"type": "function", "function": {...}}.
bool CallScanner::finish_object(std::string_view json) {
    Meter meter(host_, limits_for(2 * json.size()));
    Value value;
    const bool strict = read_strictly(meter, json, value);
    if (!strict && !succeeds([&] { return read_loose(meter, json, "", value); })) return false;
    if (!value.is(Kind::dict)) return false;
    std::string_view object = strict ? json : "";
    const auto raw = [&](std::string_view key) {
        return object.empty() ? std::string_view() : member_text(object, key);
    };
    if (format_.shape == CallShape::keyed && value.dict->size == 1) {
        const chat::Entry &only = *value.dict->entries[0];
        append_bytes(call_.name, only.key.text->view());
        return only.key.text->size > 0 &&
               put_arguments(meter, &only.value, raw(only.key.text->view()), call_.arguments);
    }
    if (const Value *const inner = lookup(meter, *value.dict, std::string_view("function"))) {
        if (inner->is(Kind::dict)) {
            object = raw("function");
            value = *inner;
        }
    }
    const Value *name = member_of(meter, value, format_.name_key);
    if (!name) name = member_of(meter, value, "name");
    if (!name || !name->is(Kind::string) || name->text->size == 0) return false;
    const Value *arguments = nullptr;
    std::string_view text;
    for (const std::string_view key :
         {format_.arguments_key, std::string_view("arguments"), std::string_view("parameters")}) {
        arguments = member_of(meter, value, key);
        if (!arguments) continue;
        text = raw(key);
        break;
    }
    append_bytes(call_.name, name->text->view());
    // An object without a marker is a call only if a tool of the request has its name.
    const bool is_known = tools_.has(name->text->view());
    if (entry_ == Entry::bare && (tools_.empty() ? !arguments : !is_known)) return false;
    const Value *const id = format_.has_id ? member_of(meter, value, format_.id_key) : nullptr;
    if (id && id->is(Kind::string)) append_bytes(call_.id, id->text->view());
    return put_arguments(meter, arguments, text, call_.arguments);
}

bool CallScanner::finish_named(std::string_view arguments) {
    // The name precedes the arguments in the scanned text and was stored.
    Meter meter(host_, limits_for(2 * arguments.size()));
    if (arguments.empty()) return append_bytes(call_.arguments, "{}"), true;
    Value value;
    if (format_.notation == Notation::python) {
        const auto parameters = tools_.parameters({call_.name.data(), call_.name.size()});
        if (!succeeds([&] { return read_keywords(meter, arguments, parameters, value); }))
            return false;
        return put_arguments(meter, &value, "", call_.arguments);
    }
    const bool strict =
        format_.notation == Notation::json && read_strictly(meter, arguments, value);
    if (!strict && !succeeds([&] { return read_loose(meter, arguments, format_.quote, value); }))
        return false;
    return put_arguments(meter, &value, strict ? arguments : "", call_.arguments);
}

// Converts a value between markers by the types that the tool's schema allows. Strings stay text if
// allowed; otherwise JSON or a Python literal decides. Without a schema, valid JSON is JSON.
Value CallScanner::typed(Meter &meter, const ToolSchemas::Parameters &of, std::string_view key,
                         std::string_view raw, const Parameter &parameter) const {
    const auto text = [&] { return text_value(meter, raw, true); };
    const Value *const schema = parameter.is_other ? nullptr : tools_.property(of, key);
    const unsigned types = schema ? tools_.types_of(of, *schema) : type::all;
    if (parameter.is_string) return text();
    const std::string_view literal = trimmed(raw);
    Value out;
    if (types != type::all) {
        if (tools_.named_value(of, *schema, raw)) return text();
        const bool is_null = literal == "null" || literal == "None";
        if (is_null && (types & type::null)) return Value::none(true);
        if (types & type::string) return text();
        return succeeds([&] { return read_loose(meter, literal, "", out); }) ? out : text();
    }
    return read_strictly(meter, literal, out) ? out : text();
}

bool CallScanner::finish_tagged(std::string_view s) {
    Meter meter(host_, limits_for(4 * s.size()));
    Dict *const dict = make_dict(meter);
    const bool ok = succeeds([&] {
        for (const Parameter &p : parameters_) {
            const std::string_view key = trimmed(s.substr(p.key, p.key_end - p.key));
            std::string_view raw =
                without_line_breaks(s.substr(p.value, p.value_end - p.value), format_);
            if (format_.has_cdata) raw = without_cdata(raw);
            assign(meter, dict, text_value(meter, key, true), typed(meter, schema_, key, raw, p));
        }
        append_bytes(call_.arguments, write_json(meter, Value::of(dict), {})->view());
        return true;
    });
    return ok && call_.name.size() > 0;
}

} // namespace ggufx::chat
