// SPDX-License-Identifier: MIT
#include "serve/tool_schema.hpp"

#include <algorithm>

namespace ggufx::cli {

namespace {

// Keywords whose value is a schema, a list of schemas, or an object of schemas.
constexpr std::string_view kSchemas[] = {
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
};
constexpr std::string_view kLists[] = {"allOf", "anyOf", "oneOf", "prefixItems"};
constexpr std::string_view kObjects[] = {"$defs", "definitions", "dependentSchemas",
                                         "patternProperties", "properties"};

template <size_t N> bool is_in(const std::string_view (&names)[N], std::string_view key) {
    return std::find(std::begin(names), std::end(names), key) != std::end(names);
}

class Reader {
public:
    explicit Reader(std::vector<std::string> &widened) : widened_(widened) {}

    Json read(const Json &schema, const std::string &at) {
        if (!schema.is_object()) return schema;
        Json out = Json::object();
        for (size_t i = 0; i < schema.size(); i++)
            keyword(out, schema, schema.keys()[i], schema.elements()[i], at);
        return out;
    }

private:
    void note(const std::string &key, const std::string &at) {
        widened_.push_back(key + " of #" + at);
    }

    Json list(const Json &schemas, const std::string &at) {
        Json out = Json::array();
        for (size_t i = 0; i < schemas.size(); i++)
            out.push_back(read(schemas.elements()[i], at + "/" + std::to_string(i)));
        return out;
    }

    Json object(const Json &schemas, const std::string &at) {
        Json out = Json::object();
        for (size_t i = 0; i < schemas.size(); i++)
            out[schemas.keys()[i]] = read(schemas.elements()[i], at + "/" + schemas.keys()[i]);
        return out;
    }

    // Normalizes type names: "STRING" becomes "string", "any" becomes no type.
    static Json types(const Json &given) {
        const auto lower = [](std::string name) {
            for (char &c : name)
                if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
            return name;
        };
        if (const std::string *const name = given.text()) {
            const std::string type = lower(*name);
            return type == "any" ? Json() : Json(type);
        }
        if (!given.is_array()) return given;
        Json out = Json::array();
        for (const Json &one : given.elements()) {
            if (!one.text()) return given;
            if (lower(*one.text()) == "any") return Json();
            out.push_back(Json(lower(*one.text())));
        }
        return out;
    }

    void keyword(Json &out, const Json &schema, const std::string &key, const Json &value,
                 const std::string &at) {
        const std::string below = at + "/" + key;
        if (key == "type") {
            if (Json type = types(value); !type.is_null()) out[key] = std::move(type);
        } else if (key == "items" && value.is_array()) { // draft-07: a tuple
            out["prefixItems"] = list(value, below);
            const Json *const others = schema.find("additionalItems");
            if (others) out["items"] = read(*others, at + "/additionalItems");
        } else if (key == "additionalItems" || key == "$schema" || key == "id") {
            return;
        } else if (key == "dependencies" && value.is_object()) {
            dependencies(out, value, below);
        } else if (key == "exclusiveMinimum" || key == "exclusiveMaximum") {
            bound(out, schema, key, value);
        } else if (key == "minimum" || key == "maximum") {
            const Json *const is_exclusive =
                schema.find(key == "minimum" ? "exclusiveMinimum" : "exclusiveMaximum");
            const bool moved = is_exclusive && is_exclusive->truth().value_or(false);
            if (!moved) out[key] = value;
        } else if (key == "uniqueItems") {
            const Json *const items = schema.find("items");
            const bool is_known = items && items->is_object() && items->find("enum");
            if (is_known || value.truth() == false)
                out[key] = value;
            else
                note(key, at);
        } else if (key == "format" && value.text() &&
                   (*value.text() == "regex" || *value.text() == "idn-hostname")) {
            note(key, at);
        } else if (is_in(kSchemas, key)) {
            out[key] = read(value, below);
        } else if (is_in(kLists, key) && value.is_array()) {
            out[key] = list(value, below);
        } else if (is_in(kObjects, key) && value.is_object()) {
            out[key] = object(value, below);
        } else {
            out[key] = value;
        }
    }

    // Draft 4: exclusive bounds are a boolean beside the bound.
    static void bound(Json &out, const Json &schema, const std::string &key, const Json &value) {
        if (!value.truth()) {
            out[key] = value;
            return;
        }
        const Json *const limit = schema.find(key == "exclusiveMinimum" ? "minimum" : "maximum");
        if (*value.truth() && limit) out[key] = *limit;
    }

    void dependencies(Json &out, const Json &value, const std::string &at) {
        Json required = Json::object(), schemas = Json::object();
        for (size_t i = 0; i < value.size(); i++) {
            const std::string &key = value.keys()[i];
            const Json &one = value.elements()[i];
            if (one.is_array())
                required[key] = one;
            else
                schemas[key] = read(one, at + "/" + key);
        }
        if (required.size() > 0) out["dependentRequired"] = required;
        if (schemas.size() > 0) out["dependentSchemas"] = schemas;
    }

    std::vector<std::string> &widened_;
};

} // namespace

Json modern_schema(const Json &schema, std::vector<std::string> &widened) {
    return Reader(widened).read(schema, "");
}

} // namespace ggufx::cli
