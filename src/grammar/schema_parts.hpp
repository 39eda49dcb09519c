// Schemas that hold at once, and what they come to: references followed, allOf taken in, anyOf and
// oneOf as alternatives.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/status.hpp"
#include "chat/json.hpp"

namespace ggufx::grammar {

// Where a schema stands, for errors: "#" and the keys that lead to it.
struct Where {
    const Where *above;
    std::string_view key;
};

struct Part {
    chat::Value schema; // an object, or false
    const Where *where;
    const void *id() const { return schema.is(chat::Kind::dict) ? schema.dict : nullptr; }
};
using Parts = Vector<Part>; // all hold; a schema `true` adds nothing

// Kinds of values, as bits.
enum : uint32_t {
    kNull = 1,
    kBoolean = 2,
    kInteger = 4,
    kFraction = 8,
    kString = 16,
    kArray = 32,
    kObject = 64,
    kAllKinds = 127
};
uint32_t kind_of(const chat::Value &value); // its bit

class SchemaTree {
public:
    SchemaTree(const Host *host, std::string_view text); // throws Error / std::bad_alloc
    const chat::Value &root() const { return root_; }
    chat::Meter &meter() { return meter_; }
    const Where *below(const Where *above, std::string_view key);

    [[noreturn]] void refuse(const Where *where, Status status, const char *format, ...)
        GGUFX_PRINTF(4, 5);
    // A schema: true adds nothing, false and objects are added. Throws where it is neither.
    void add(Parts &out, const chat::Value &schema, const Where *where);
    // A member of an object, null where it is absent.
    const chat::Value *find(const Part &part, std::string_view key);
    Part resolve(const chat::Value &ref, const Where *where);
    // Alternatives without $ref, allOf, anyOf and oneOf of their own: visit(Parts) each.
    void expand(Vector<Parts> &out, const Parts &parts);
    uint32_t kinds(const Parts &flat);            // by type, enum and const
    const chat::List *choices(const Part &part);  // enum, or const as one; null: neither
    const chat::List *excluded(const Part &part); // the same of `not`
    bool same(const chat::Value &a, const chat::Value &b);
    Parts none() const { return Parts(HostAllocator<Part>(host_)); }

private:
    struct Path;
    const chat::List *values_of(const chat::Value &schema, const Where *where);
    uint32_t types_of(const chat::Value &type, const Where *where); // kinds
    uint32_t excluded_kinds(const Part &part);
    bool exclude(const Part &a, const Part &b);
    bool exclude_flat(const Parts &a, const Parts &b);
    void require_exclusive(const chat::Value &branches, const Where *where);
    void find_anchor(const chat::Value &in, std::string_view name, const chat::Value **found,
                     unsigned depth);

    const Host *host_;
    chat::Meter meter_;
    chat::Value root_;
    static constexpr unsigned kMostNesting =
        4; // of oneOf within oneOf, where branches are compared
    uint64_t work_ = 0;
    unsigned nesting_ = 0;
};

} // namespace ggufx::grammar
