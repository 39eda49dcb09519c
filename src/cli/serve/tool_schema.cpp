// SPDX-License-Identifier: MIT
#include "serve/tool_schema.hpp"

#include "common/text.hpp"

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
constexpr std::string_view kLists[] = {"allOf", "anyOf", "oneOf"};
constexpr std::string_view kObjects[] = {"$defs", "definitions", "patternProperties", "properties"};

// Keywords that keywords of earlier drafts become. Their values have schemas, too.
constexpr std::string_view kReplacing[] = {"dependentRequired", "dependentSchemas", "prefixItems"};

template <size_t N> bool is_in(const std::string_view (&names)[N], std::string_view key) {
    return std::find(std::begin(names), std::end(names), key) != std::end(names);
}

// Members of an object that is being made. A schema names each keyword once, so only those that replace others
// may be there already.
class Members {
public:
    void add(const std::string &key, Json value) { all_.push_back({key, std::move(value)}); }
    void replace(std::string_view key, Json value) {
        const auto at = std::find_if(all_.begin(), all_.end(),
                                     [&](const Json::Member &one) { return one.key == key; });
        if (at == all_.end())
            add(std::string(key), std::move(value));
        else
            at->value = std::move(value);
    }
    Json take() { return Json::object_of(std::move(all_)); }

private:
    std::vector<Json::Member> all_;
};

class Reader {
public:
    explicit Reader(std::vector<std::string> &widened) : widened_(widened) {}

    Json read(const Json &schema) {
        if (!schema.is_object()) return schema;
        Members out;
        for (size_t i = 0; i < schema.size(); i++)
            keyword(out, schema, schema.keys()[i], schema.elements()[i]);
        return out.take();
    }

private:
    static constexpr size_t kMostNotes = 64;    // keywords that are named
    static constexpr size_t kLongestNote = 256; // bytes

    void note(const std::string &key) {
        if (widened_.size() >= kMostNotes) return;
        std::string text = key + " of #";
        for (const std::string_view name : at_) {
            text += '/';
            text += name.substr(0, kLongestNote);
        }
        widened_.push_back(shorten(text, kLongestNote));
    }

    Json read_at(const Json &schema, std::string_view name) {
        at_.push_back(name);
        Json out = read(schema);
        at_.pop_back();
        return out;
    }

    Json list(const Json &schemas, std::string_view name) {
        Json out = Json::array();
        at_.push_back(name);
        for (size_t i = 0; i < schemas.size(); i++)
            out.push_back(read_at(schemas.elements()[i], std::to_string(i)));
        at_.pop_back();
        return out;
    }

    Json object(const Json &schemas, std::string_view name) {
        std::vector<Json::Member> out;
        at_.push_back(name);
        for (size_t i = 0; i < schemas.size(); i++)
            out.push_back({schemas.keys()[i], read_at(schemas.elements()[i], schemas.keys()[i])});
        at_.pop_back();
        return Json::object_of(std::move(out));
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

    void keyword(Members &out, const Json &schema, const std::string &key, const Json &value) {
        if (key == "type") {
            if (Json type = types(value); !type.is_null()) out.add(key, std::move(type));
        } else if (key == "items" && value.is_array()) { // draft-07: a tuple
            out.replace("prefixItems", list(value, key));
            const Json *const others = schema.find("additionalItems");
            if (others) out.add(key, read_at(*others, "additionalItems"));
        } else if (key == "additionalItems" || key == "$schema" || key == "id") {
            return;
        } else if (key == "dependencies" && value.is_object()) {
            dependencies(out, value, key);
        } else if (key == "exclusiveMinimum" || key == "exclusiveMaximum") {
            bound(out, schema, key, value);
        } else if (key == "minimum" || key == "maximum") {
            const Json *const is_exclusive =
                schema.find(key == "minimum" ? "exclusiveMinimum" : "exclusiveMaximum");
            const bool moved = is_exclusive && is_exclusive->truth().value_or(false);
            if (!moved) out.add(key, value);
        } else if (key == "uniqueItems") {
            const Json *const items = schema.find("items");
            const bool is_known = items && items->is_object() && items->find("enum");
            if (is_known || value.truth() == false)
                out.add(key, value);
            else
                note(key);
        } else if (key == "format" && value.text() &&
                   (*value.text() == "regex" || *value.text() == "idn-hostname")) {
            note(key);
        } else if (is_in(kSchemas, key)) {
            out.add(key, read_at(value, key));
        } else if (is_in(kReplacing, key)) {
            replace(out, key, value);
        } else if (is_in(kLists, key) && value.is_array()) {
            out.add(key, list(value, key));
        } else if (is_in(kObjects, key) && value.is_object()) {
            out.add(key, object(value, key));
        } else {
            out.add(key, value);
        }
    }

    // Adds a keyword that may be there already, from a keyword of an earlier draft.
    void replace(Members &out, const std::string &key, const Json &value) {
        if (key == "prefixItems" && value.is_array())
            out.replace(key, list(value, key));
        else if (key == "dependentSchemas" && value.is_object())
            out.replace(key, object(value, key));
        else
            out.replace(key, value);
    }

    // Draft 4: exclusive bounds are a boolean beside the bound.
    static void bound(Members &out, const Json &schema, const std::string &key, const Json &value) {
        if (!value.truth()) {
            out.add(key, value);
            return;
        }
        const Json *const limit = schema.find(key == "exclusiveMinimum" ? "minimum" : "maximum");
        if (*value.truth() && limit) out.add(key, *limit);
    }

    void dependencies(Members &out, const Json &value, std::string_view name) {
        std::vector<Json::Member> required, schemas;
        at_.push_back(name);
        for (size_t i = 0; i < value.size(); i++) {
            const std::string &key = value.keys()[i];
            const Json &one = value.elements()[i];
            if (one.is_array())
                required.push_back({key, one});
            else
                schemas.push_back({key, read_at(one, key)});
        }
        at_.pop_back();
        if (!required.empty())
            out.replace("dependentRequired", Json::object_of(std::move(required)));
        if (!schemas.empty()) out.replace("dependentSchemas", Json::object_of(std::move(schemas)));
    }

    std::vector<std::string_view> at_; // pointer of the current schema
    std::vector<std::string> &widened_;
};

} // namespace

Json modern_schema(const Json &schema, std::vector<std::string> &widened) {
    return Reader(widened).read(schema);
}

} // namespace ggufx::cli
