// SPDX-License-Identifier: MIT
#include "chat/call_parameters.hpp"

#include "chat/json.hpp"

#include <charconv>
#include <math.h>

namespace ggufx::chat {

namespace {

constexpr unsigned kMostReferences = 16; // one after another
constexpr unsigned kDeepestSchema = 8;   // allOf, anyOf and oneOf in each other

const Text *text_of(const Value *value) {
    return value && value->is(Kind::string) ? value->text : nullptr;
}

// Returns the list of a value; null if it is none.
const List *list_of(const Value *value) {
    return value && value->is(Kind::list) ? value->list : nullptr;
}

// Returns a length that is written as a natural number, UINT64_MAX for other values.
uint64_t length_of(const Value &value) {
    if (!value.is(Kind::written)) return UINT64_MAX;
    const std::string_view digits = value.text->view();
    double out = 0; // 2, 2.0 and 2e0 are the same integer
    const auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    const bool is_length = error == std::errc() && out >= 0 && out < 0x1p53 && out == trunc(out);
    return is_length && last == digits.data() + digits.size() ? static_cast<uint64_t>(out)
                                                              : UINT64_MAX;
}

// Returns the list with the one value.
const List *list_with(Meter &meter, const Value &value) {
    List *const out = make_list(meter, 1);
    append(meter, out, value);
    return out;
}

} // namespace

std::string_view schema_text(Meter &meter, const Value &schema) {
    return write_json(meter, schema, {})->view();
}

// Returns a member of an object; null if there is none.
const Value *ParameterReader::find(const Value &object, std::string_view key) {
    return object.is(Kind::dict) ? lookup(meter_, *object.dict, key) : nullptr;
}

// Returns the schema at a reference within the schema of the arguments; null if there is none.
const Value *ParameterReader::target_of(const Text &reference) {
    const auto [known, is_new] = targets_.try_emplace(&reference, nullptr);
    if (!is_new) return known->second;
    const Value *at = &root_;
    std::string_view path = reference.view().substr(1);
    while (at && !path.empty()) {
        path.remove_prefix(1);
        const std::string_view key = path.substr(0, path.find('/'));
        path.remove_prefix(key.size());
        at = find(*at, key);
    }
    return known->second = at;
}

const Value *ParameterReader::resolve(const Value *schema) {
    for (unsigned n = 0; schema && n < kMostReferences; n++) {
        const Text *const reference = text_of(find(*schema, "$ref"));
        if (!reference || !reference->view().starts_with('#')) return schema;
        schema = target_of(*reference);
    }
    return nullptr;
}

ParameterReader::Strings ParameterReader::read_strings(const Value &schema) {
    Strings out;
    if (const Value *const values = find(schema, "enum")) {
        const List *const list = list_of(values);
        if (!list || list->size == 0) return out;
        for (size_t i = 0; i < list->size; i++)
            if (!text_of(&list->items[i])) return out;
        out.texts = list;
    } else if (const Value *const value = find(schema, "const")) {
        if (!text_of(value)) return out;
        out.texts = list_with(meter_, *value);
    } else {
        if (const Value *const most = find(schema, "maxLength")) out.max_length = length_of(*most);
        const Text *const type = text_of(find(schema, "type"));
        out.are_all = type && type->view() == "string";
        return out;
    }
    out.are_all = true;
    return out;
}

const ParameterReader::Strings &ParameterReader::strings_of(const Value &given) {
    const auto [known, is_new] = strings_.try_emplace(&given);
    if (!is_new) return known->second;
    const Value *const schema = resolve(&given);
    if (!schema || !schema->is(Kind::dict)) return known->second;
    if (schema == &given) return known->second = read_strings(given);
    return known->second = strings_of(*schema); // recursive once: it is resolved
}

CallParameter ParameterReader::parameter_of(std::string_view key, const Value &schema) {
    CallParameter out;
    out.key = key;
    if (raw_strings_) {
        const Strings &strings = strings_of(schema);
        out.is_string = strings.are_all;
        out.texts = strings.texts;
        out.max_length = strings.max_length;
    }
    if (!out.is_string) out.grammar = grammar_of(schema);
    return out;
}

// Returns the grammar of a value, whose schema may refer to definitions.
size_t ParameterReader::grammar_of(const Value &schema) {
    Meter meter(meter_.host(), meter_.limits());
    Value own = Value::of(make_dict(meter));
    for (size_t i = 0; schema.is(Kind::dict) && i < schema.dict->size; i++)
        assign(meter, own.dict, schema.dict->entries[i]->key, schema.dict->entries[i]->value);
    const std::string_view text = schema_text(meter, own);
    const bool refers = text.find("$ref\"") != text.npos || text.find("Ref\"") != text.npos;
    if (!refers) return grammars_.of_schema(text);
    if (const auto known = referring_.find(text); known != referring_.end()) return known->second;
    for (const std::string_view name : {"$defs", "definitions"})
        if (const Value *const definitions = find(root_, name))
            assign(meter, own.dict, text_value(meter, name), *definitions);
    const size_t out = grammars_.of_schema(schema_text(meter, own));
    referring_.emplace(make_text(meter_, text, false)->view(), out);
    return out;
}

// Adds the properties of a schema and of its allOf members, and those of the first anyOf or oneOf
// alternative.
void ParameterReader::add(const Value *given, unsigned depth) {
    const Value *const schema = resolve(given);
    if (!schema || !schema->is(Kind::dict) || depth > kDeepestSchema) return;
    if (!added_.insert(schema).second) return;
    const Value *const properties = find(*schema, "properties");
    const size_t n = properties && properties->is(Kind::dict) ? properties->dict->size : 0;
    for (size_t i = 0; i < n; i++) {
        const Entry &entry = *properties->dict->entries[i];
        const std::string_view key = entry.key.text->view();
        if (!index_.emplace(key, out_.size()).second) continue;
        out_.push_back(parameter_of(key, entry.value));
    }
    const List *const all = list_of(find(*schema, "allOf"));
    for (size_t i = 0; all && i < all->size; i++) add(&all->items[i], depth + 1);
    for (const std::string_view key : {"anyOf", "oneOf"})
        if (const List *const any = list_of(find(*schema, key)); any && any->size > 0)
            add(&any->items[0], depth + 1);
    const List *const required = list_of(find(*schema, "required"));
    for (size_t i = 0; required && i < required->size; i++)
        if (const Text *const key = text_of(&required->items[i])) required_.push_back(key->view());
}

Vector<CallParameter> ParameterReader::read() {
    add(&root_, 0);
    for (const std::string_view key : required_)
        if (const auto at = index_.find(key); at != index_.end())
            out_[at->second].is_required = true;
    return std::move(out_);
}

} // namespace ggufx::chat
