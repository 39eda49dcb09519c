// SPDX-License-Identifier: MIT
#include "serve/call_parameters.hpp"

namespace ggufx::cli {

namespace {

constexpr unsigned kMostReferences = 16; // one after another
constexpr unsigned kDeepest = 8;         // allOf, anyOf and oneOf in each other
constexpr size_t kFewMembers = 16;       // found without an index

} // namespace

// Returns a member of an object; NULL if there is none.
const Json *ParameterReader::find(const Json &object, const std::string &key) {
    if (object.size() <= kFewMembers) return object.find(key);
    auto &index = members_[&object];
    if (index.empty())
        for (size_t i = 0; i < object.size(); i++)
            index.emplace(object.keys()[i], &object.elements()[i]);
    const auto at = index.find(key);
    return at == index.end() ? nullptr : at->second;
}

// Returns the schema at a reference within the schema of the arguments; NULL if there is none.
const Json *ParameterReader::target_of(const std::string &reference) {
    const auto [known, is_new] = targets_.try_emplace(&reference, nullptr);
    if (!is_new) return known->second;
    const Json *at = &root_;
    std::string_view path = std::string_view(reference).substr(1);
    while (at && !path.empty()) {
        path.remove_prefix(1);
        const std::string key(path.substr(0, path.find('/')));
        path.remove_prefix(key.size());
        at = at->is_object() ? find(*at, key) : nullptr;
    }
    known->second = at;
    return at;
}

const Json *ParameterReader::resolve(const Json *schema) {
    for (unsigned n = 0; schema && n < kMostReferences; n++) {
        const Json *const given = schema->is_object() ? find(*schema, "$ref") : nullptr;
        const std::string *const reference = given ? given->text() : nullptr;
        if (!reference || !reference->starts_with("#")) return schema;
        schema = target_of(*reference);
    }
    return nullptr;
}

ParameterReader::Strings ParameterReader::read_strings(const Json &schema) {
    Strings out;
    auto texts = std::make_shared<std::vector<std::string>>();
    if (const Json *const values = schema.find("enum")) {
        if (!values->is_array() || values->size() == 0) return out;
        for (const Json &value : values->elements()) {
            if (!value.text()) return out;
            texts->push_back(*value.text());
        }
    } else if (const Json *const value = schema.find("const")) {
        if (!value->text()) return out;
        texts->push_back(*value->text());
    } else {
        const Json *const most = schema.find("maxLength");
        if (most) out.max_length = most->whole().value_or(UINT64_MAX);
        const Json *const type = schema.find("type");
        out.are_all = type && type->text() && *type->text() == "string";
        return out;
    }
    out.are_all = true;
    out.texts = std::move(texts);
    return out;
}

const ParameterReader::Strings &ParameterReader::strings_of(const Json &given) {
    const auto [known, is_new] = strings_.try_emplace(&given);
    if (!is_new) return known->second;
    const Json *const schema = resolve(&given);
    if (!schema || !schema->is_object()) return known->second;
    if (schema == &given) return known->second = read_strings(given);
    const Strings &found = strings_of(*schema); // recursive once: it is resolved
    return strings_[&given] = found;
}

CallPlan::Parameter ParameterReader::parameter_of(const std::string &key, const Json &schema) {
    CallPlan::Parameter out;
    out.key = key;
    if (!syntax_.string_end.empty()) {
        const Strings &strings = strings_of(schema);
        out.is_string = strings.are_all;
        out.texts = strings.texts;
        out.max_length = strings.max_length;
    }
    if (out.is_string) return out;
    out.grammar = grammar_of(schema);
    return out;
}

// Returns the grammar of a value, whose schema may refer to definitions.
SharedGrammar ParameterReader::grammar_of(const Json &schema) {
    Json own = schema.is_object() ? schema : Json::object();
    std::string text = own.dump();
    const bool refers = text.find("$ref\"") != text.npos || text.find("Ref\"") != text.npos;
    if (!refers) return grammars_.of_schema(text, place_);
    SharedGrammar &known = referring_[text];
    if (known) return known;
    for (const char *const name : {"$defs", "definitions"})
        if (const Json *const definitions = root_.find(name)) own[name] = *definitions;
    return known = grammars_.of_schema(own.dump(), place_);
}

// Adds the properties of a schema and of its allOf members, and those of the first anyOf or oneOf
// alternative.
void ParameterReader::add(const Json *given, unsigned depth) {
    const Json *const schema = resolve(given);
    if (!schema || !schema->is_object() || depth > kDeepest) return;
    if (!added_.insert(schema).second) return;
    const Json *const properties = schema->find("properties");
    for (size_t i = 0; properties && properties->is_object() && i < properties->size(); i++) {
        const std::string &key = properties->keys()[i];
        if (!index_.emplace(key, out_.size()).second) continue;
        out_.push_back(parameter_of(key, properties->elements()[i]));
    }
    const Json *const all = schema->find("allOf");
    for (size_t i = 0; all && all->is_array() && i < all->size(); i++)
        add(&all->elements()[i], depth + 1);
    for (const char *const key : {"anyOf", "oneOf"})
        if (const Json *const any = schema->find(key); any && any->is_array() && any->size() > 0)
            add(&any->elements()[0], depth + 1);
    const Json *const required = schema->find("required");
    for (size_t i = 0; required && required->is_array() && i < required->size(); i++)
        if (const std::string *const key = required->elements()[i].text()) required_.push_back(key);
}

std::vector<CallPlan::Parameter> ParameterReader::read() {
    add(&root_, 0);
    for (const std::string *const key : required_)
        if (const auto at = index_.find(*key); at != index_.end())
            out_[at->second].is_required = true;
    return std::move(out_);
}

} // namespace ggufx::cli
