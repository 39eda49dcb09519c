// JSON Schemas of tools: see tool_schemas.hpp.
// SPDX-License-Identifier: MIT
#include "chat/tool_schemas.hpp"

namespace ggufx::chat {

namespace {

constexpr unsigned kDeepestReference = 16; // nesting of references and applicators
constexpr unsigned kMostSchemas = 4096;    // maximum per query

unsigned type_named(std::string_view name) {
    static constexpr struct {
        std::string_view name;
        unsigned type;
    } kTypes[] = {
        {"null", type::null},
        {"boolean", type::boolean},
        {"bool", type::boolean},
        {"integer", type::integer},
        {"int", type::integer},
        {"number", type::number | type::integer},
        {"float", type::number | type::integer},
        {"string", type::string},
        {"str", type::string},
        {"array", type::array},
        {"list", type::array},
        {"object", type::object},
        {"dict", type::object},
    };
    const auto same = [&](std::string_view lower) {
        if (lower.size() != name.size()) return false;
        for (size_t i = 0; i < name.size(); i++) // some clients write types in upper case
            if ((name[i] | 0x20) != lower[i]) return false;
        return true;
    };
    for (const auto &row : kTypes)
        if (same(row.name)) return row.type;
    return type::all;
}

unsigned type_of(const Value &value) {
    switch (value.kind) {
    case Kind::none:
        return type::null;
    case Kind::boolean:
        return type::boolean;
    case Kind::integer:
        return type::integer;
    case Kind::real:
    case Kind::written:
        return type::number | type::integer;
    case Kind::string:
        return type::string;
    case Kind::list:
        return type::array;
    case Kind::dict:
        return type::object;
    default:
        return type::all;
    }
}

Limits schema_limits(size_t bytes) {
    return {UINT64_MAX, (1 << 16) + 128 * uint64_t{bytes}, 0};
}

} // namespace

ToolSchemas::ToolSchemas(const Host *host, std::string_view json)
    : meter_(host, schema_limits(json.size())) {
    if (json.empty()) return;
    tools_ = read_json(meter_, json, "tools");
    if (tools_.is(Kind::list)) n_ = tools_.list->size;
}

const Value *ToolSchemas::member(const Value &value, std::string_view key) const {
    return value.is(Kind::dict) ? lookup(meter_, *value.dict, key) : nullptr;
}

// Finds the object with the name of a function: a tool is {"function": {...}} or that object
// itself.
const Value *ToolSchemas::find(std::string_view function) const {
    for (size_t i = 0; i < n_; i++) {
        const Value &tool = tools_.list->items[i];
        const Value *const inner = member(tool, "function");
        const Value &of = inner && inner->is(Kind::dict) ? *inner : tool;
        const Value *const name = member(of, "name");
        if (name && name->is(Kind::string) && name->text->view() == function)
            return inner && inner->is(Kind::dict) ? inner : &tool;
    }
    return nullptr;
}

ToolSchemas::Parameters ToolSchemas::parameters(std::string_view function) const {
    Parameters out;
    const Value *const tool = find(function);
    if (!tool) return out;
    out.schema = member(*tool, "parameters");
    if (!out.schema) return out;
    const Value *const root = resolve(out, *out.schema, 0);
    const Value *const properties = root ? member(*root, "properties") : nullptr;
    if (!properties || !properties->is(Kind::dict)) return out;
    out.properties = properties->dict;
    const Value *const others = member(*root, "additionalProperties");
    const bool open = others && !(others->is(Kind::boolean) && !others->truth);
    out.takes_others = open || member(*root, "patternProperties") != nullptr;
    return out;
}

const Value *ToolSchemas::property(const Parameters &of, std::string_view key) const {
    return of.properties ? lookup(meter_, *of.properties, key) : nullptr;
}

// Follows "$ref": "#/a/b" from the schema of the arguments. Returns nullptr if the target does not
// exist.
const Value *ToolSchemas::resolve(const Parameters &of, const Value &schema, unsigned depth) const {
    const Value *const reference = member(schema, "$ref");
    if (!reference || !reference->is(Kind::string) || !of.schema) return &schema;
    if (depth >= kDeepestReference) return nullptr;
    std::string_view path = reference->text->view();
    if (path.empty() || path[0] != '#') return nullptr;
    path.remove_prefix(1);
    const Value *at = of.schema;
    while (at && !path.empty()) {
        if (path[0] != '/') return nullptr;
        path.remove_prefix(1);
        const std::string_view key = path.substr(0, path.find('/'));
        path.remove_prefix(key.size());
        at = member(*at, key);
    }
    return at ? resolve(of, *at, depth + 1) : nullptr;
}

unsigned ToolSchemas::types(const Parameters &of, const Value &given, Budget budget) const {
    const Value *const schema = budget.spend() ? resolve(of, given, 0) : nullptr;
    if (!schema || !schema->is(Kind::dict)) return type::all;
    unsigned out = type::all;
    if (const Value *const name = member(*schema, "type")) {
        if (name->is(Kind::string)) out = type_named(name->text->view());
        unsigned any = 0;
        for (size_t i = 0; name->is(Kind::list) && i < name->list->size; i++) {
            const Value &item = name->list->items[i];
            if (item.is(Kind::string)) any |= type_named(item.text->view());
        }
        if (any) out = any;
    }
    if (const Value *const value = member(*schema, "const")) out &= type_of(*value);
    if (const Value *const values = member(*schema, "enum"); values && values->is(Kind::list)) {
        unsigned any = 0;
        for (size_t i = 0; i < values->list->size; i++) any |= type_of(values->list->items[i]);
        if (any & out) out &= any;
    }
    for (const std::string_view key : {"anyOf", "oneOf"}) {
        const Value *const branches = member(*schema, key);
        if (!branches || !branches->is(Kind::list) || branches->list->size == 0) continue;
        unsigned any = 0;
        for (size_t i = 0; i < branches->list->size; i++)
            any |= types(of, branches->list->items[i], budget.deeper());
        out &= any;
    }
    if (const Value *const all = member(*schema, "allOf"); all && all->is(Kind::list))
        for (size_t i = 0; i < all->list->size; i++)
            out &= types(of, all->list->items[i], budget.deeper());
    // Keywords that only strings have: a schema without a type but with one of them means a string.
    if (out == type::all)
        for (const std::string_view key : {"pattern", "format", "minLength", "maxLength"})
            if (member(*schema, key)) out = type::string;
    if (const Value *const nullable = member(*schema, "nullable"))
        if (nullable->is(Kind::boolean) && nullable->truth) out |= type::null;
    return out ? out : type::all;
}

unsigned ToolSchemas::types_of(const Parameters &of, const Value &schema) const {
    unsigned left = kMostSchemas;
    return types(of, schema, {kDeepestReference, &left});
}

const Value *ToolSchemas::named(const Parameters &of, const Value &given, std::string_view text,
                                Budget budget) const {
    const Value *const schema = budget.spend() ? resolve(of, given, 0) : nullptr;
    if (!schema || !schema->is(Kind::dict)) return nullptr;
    const auto is_same = [&](const Value &value) {
        return value.is(Kind::string) && value.text->view() == text;
    };
    const Value *const one = member(*schema, "const");
    if (one && is_same(*one)) return one;
    if (const Value *const values = member(*schema, "enum"); values && values->is(Kind::list))
        for (size_t i = 0; i < values->list->size; i++)
            if (is_same(values->list->items[i])) return &values->list->items[i];
    for (const std::string_view key : {"anyOf", "oneOf", "allOf"}) {
        const Value *const branches = member(*schema, key);
        for (size_t i = 0; branches && branches->is(Kind::list) && i < branches->list->size; i++)
            if (const Value *const found =
                    named(of, branches->list->items[i], text, budget.deeper()))
                return found;
    }
    return nullptr;
}

const Value *ToolSchemas::named_value(const Parameters &of, const Value &schema,
                                      std::string_view text) const {
    unsigned left = kMostSchemas;
    return named(of, schema, text, {kDeepestReference, &left});
}

} // namespace ggufx::chat
