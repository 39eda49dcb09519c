// The JSON Schemas of the tools of a request: which parameters a tool has and of which types they are.
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
    // `json` may be empty: no tools. Throws what read_json throws, std::bad_alloc.
    ToolSchemas(const Host *host, std::string_view json);

    bool empty() const { return n_ == 0; }
    bool has(std::string_view function) const { return find(function) != nullptr; }

    // Parameters of a tool; a tool that is not known has none and takes any.
    struct Parameters {
        const Value *schema = nullptr; // of the arguments
        const Dict *properties = nullptr;
        bool takes_others = true; // beside these properties
    };
    Parameters parameters(std::string_view function) const;

    // Schema of a property, nullptr when it has none.
    const Value *property(const Parameters &of, std::string_view key) const;
    // Types of type::* that a schema allows, `all` where it says nothing. References are those within
    // the schema of the arguments. Enumerated values count by their own types.
    unsigned types_of(const Parameters &of, const Value &schema) const;
    // The value of `enum` or `const` that is written as `text`, nullptr when there is none.
    const Value *named_value(const Parameters &of, const Value &schema,
                             std::string_view text) const;

private:
    const Value *find(std::string_view function) const;
    const Value *member(const Value &value, std::string_view key) const;
    const Value *resolve(const Parameters &of, const Value &schema, unsigned depth) const;
    struct Budget { // of one question: branches that name each other are many
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
