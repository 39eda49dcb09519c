// Calls of tools in the texts that models write: see output.hpp.
// SPDX-License-Identifier: MIT
#include "chat/json.hpp"
#include "chat/native.hpp"
#include "chat/output.hpp"

#include <string.h>

namespace ggufx::chat {

namespace {

Limits limits_for(size_t bytes) {
    return {10000 + 64 * uint64_t{bytes}, (1 << 16) + 128 * uint64_t{bytes}, 0};
}

size_t skip_space(std::string_view s, size_t i) {
    while (i < s.size() && is_json_space(s[i])) i++;
    return i;
}

size_t string_end(std::string_view s, size_t i) { // at the quote; behind the other one
    for (i++; s[i] != '"'; i++) i += s[i] == '\\';
    return i + 1;
}

// Of a value in JSON that is known to be right.
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

// The text of a member's value in an object that is known to be right; the last of equal names.
std::string_view member(std::string_view s, std::string_view name) {
    std::string_view out;
    size_t i = skip_space(s, skip_space(s, 0) + 1);
    while (s[i] != '}') {
        const size_t end = string_end(s, i);
        const std::string_view key = s.substr(i + 1, end - i - 2);
        const size_t value = skip_space(s, skip_space(s, end) + 1); // behind the colon
        i = value_end(s, value);
        if (key == name) out = s.substr(value, i - value);
        i = skip_space(s, i);
        if (s[i] == ',') i = skip_space(s, i + 1);
    }
    return out;
}

void put(Vector<char> &out, std::string_view text) {
    out.insert(out.end(), text.begin(), text.end());
}

// JSON, or false where it is not right. Errors of memory go on.
bool read(Meter &meter, std::string_view json, Value &out) {
    try {
        out = read_json(meter, json, "a call");
        return true;
    } catch (const Error &) { return false; }
}

} // namespace

// {"name": "f", "arguments": {...}}; "parameters" in its place, also as a text that is JSON. A
// function may stand inside: {"type": "function", "function": {...}}.
bool read_call(const Host *host, std::string_view json, CallText &out) {
    Meter meter(host, limits_for(json.size()));
    Value value;
    if (!read(meter, json, value) || !value.is(Kind::dict)) return false;
    std::string_view object = json;
    if (const Value *const inner = lookup(meter, *value.dict, "function")) {
        if (inner->is(Kind::dict)) {
            object = member(json, "function");
            value = *inner;
        }
    }
    const Value *const name = lookup(meter, *value.dict, "name");
    if (!name || !name->is(Kind::string) || name->text->size == 0) return false;
    const bool given = lookup(meter, *value.dict, "arguments") != nullptr;
    const char *const key = given ? "arguments" : "parameters";
    const Value *const arguments = lookup(meter, *value.dict, std::string_view(key));
    if (!arguments) return false;
    const std::string_view raw = member(object, key);
    if (!arguments->is(Kind::dict) && !arguments->is(Kind::string)) return false;
    put(out.name, name->text->view());
    put(out.arguments, arguments->is(Kind::string) ? arguments->text->view() : raw);
    return true;
}

bool is_json_object(const Host *host, std::string_view json) {
    Meter meter(host, limits_for(json.size()));
    Value value;
    return read(meter, json, value) && value.is(Kind::dict);
}

namespace {

// Whether a tool says that a parameter is a text.
bool is_text(Meter &meter, const Value &tools, std::string_view function, std::string_view name) {
    if (!tools.is(Kind::list)) return false;
    for (size_t i = 0; i < tools.list->size; i++) {
        Value at = tools.list->items[i];
        const auto enter = [&](std::string_view key) {
            const Value *const found = at.is(Kind::dict) ? lookup(meter, *at.dict, key) : nullptr;
            if (found) at = *found;
            return found != nullptr;
        };
        (void)enter("function");
        const Value *const own = at.is(Kind::dict) ? lookup(meter, *at.dict, "name") : nullptr;
        if (!own || !own->is(Kind::string) || own->text->view() != function) continue;
        if (!enter("parameters") || !enter("properties") || !enter(name) || !enter("type"))
            return false;
        return at.is(Kind::string) && at.text->view() == "string";
    }
    return false;
}

std::string_view without_newlines(std::string_view s) { // one on each side
    if (!s.empty() && s.front() == '\n') s.remove_prefix(1);
    if (!s.empty() && s.back() == '\n') s.remove_suffix(1);
    return s;
}

} // namespace

// <function=name> <parameter=key> value </parameter> ... </function>: values that are JSON count as
// such where the tool does not say that they are texts.
bool read_xml_call(const Host *host, std::string_view xml, std::string_view tools, CallText &out) {
    Meter meter(host, limits_for(xml.size() + tools.size()));
    Value known;
    if (!tools.empty()) (void)read(meter, tools, known);
    const size_t begin = xml.find("<function="), name_end = xml.find('>', begin);
    const size_t end = xml.find("</function>");
    if (begin == xml.npos || name_end == xml.npos || end == xml.npos || end < name_end)
        return false;
    const std::string_view name = trimmed(xml.substr(begin + 10, name_end - begin - 10));
    if (name.empty() || first_invalid(name) < name.size()) return false;
    std::string_view rest = xml.substr(name_end + 1, end - name_end - 1);
    Dict *const dict = make_dict(meter);
    for (;;) {
        rest.remove_prefix(skip_space(rest, 0));
        if (rest.empty()) break;
        constexpr std::string_view opening = "<parameter=", closing = "</parameter>";
        const size_t key_end = rest.find('>');
        if (rest.substr(0, opening.size()) != opening || key_end == rest.npos) return false;
        const std::string_view key = trimmed(rest.substr(opening.size(), key_end - opening.size()));
        const size_t stop = rest.find(closing, key_end);
        if (stop == rest.npos) return false;
        const std::string_view raw = without_newlines(rest.substr(key_end + 1, stop - key_end - 1));
        Value value;
        const bool text = is_text(meter, known, name, key);
        if (text || !read(meter, raw, value)) value = text_value(meter, raw);
        assign(meter, dict, text_value(meter, key), value);
        rest.remove_prefix(stop + closing.size());
    }
    put(out.name, name);
    put(out.arguments, write_json(meter, Value::of(dict), {})->view());
    return true;
}

} // namespace ggufx::chat
