// JSON Schemas of a request's tools: names and types of their parameters.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/json.hpp"

namespace ggufx::chat {

namespace type {
constexpr unsigned null = 1, boolean = 2, integer = 4, number = 8, string = 16, array = 32,
                   object = 64, all = 127;
} // namespace type

class ToolSchemas {
public:
    // `json` may be empty: no tools. Throws the errors of read_json, and std::bad_alloc.
    ToolSchemas(const Host *host, std::string_view json);

    bool empty() const { return n_ == 0; }
    bool has(std::string_view function) const { return find(function) != nullptr; }

    // Parameters of a tool. An unknown tool has none and accepts all.
    struct Parameters {
        const Value *schema = nullptr; // schema of the arguments
        const Dict *properties = nullptr;
        bool takes_others = true; // accepts properties not in the schema
    };
    Parameters parameters(std::string_view function) const;

    // Returns the schema of a property, or nullptr.
    const Value *property(const Parameters &of, std::string_view key) const;
    // Types (type::*) that a schema allows; `all` if it does not restrict them. References resolve
    // within the schema of the arguments. Enumerated values count by their own types.
    unsigned types_of(const Parameters &of, const Value &schema) const;
    // Returns the value of `enum` or `const` that is written as `text`, or nullptr.
    const Value *named_value(const Parameters &of, const Value &schema,
                             std::string_view text) const;

private:
    const Value *find(std::string_view function) const;
    const Value *member(const Value &value, std::string_view key) const;
    const Value *resolve(const Parameters &of, const Value &schema, unsigned depth) const;
    struct Budget { // per query: limits schemas whose branches refer to each other
        unsigned depth, *left;
        bool spend() const { return depth > 0 && *left > 0 && (*left)-- > 0; }
        Budget deeper() const { return {depth - 1, left}; }
    };
    unsigned types(const Parameters &of, const Value &schema, Budget budget) const;
    const Value *named(const Parameters &of, const Value &schema, std::string_view text,
                       Budget budget) const;

    mutable Meter meter_;
    Value tools_;
    size_t n_ = 0;
};

} // namespace ggufx::chat
