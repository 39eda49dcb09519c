// Alternatives of schemas that all hold: ways to satisfy them in which no choice is left. In an
// alternative, each schema's own keywords hold, and facts that follow from negated schemas.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/schema_tree.hpp"

namespace ggufx::grammar {

enum class FactKind : uint8_t {
    member,        // member `text`, if present, matches `part`
    require,       // member `text` is present
    some_member,   // a member that `owner` does not name by properties or patterns matches `part`
    some_matching, // a member whose name matches pattern `text` matches `part`
    some_name,     // the name of a member matches `part`
    min_members,
    max_members,
    item,      // item `n`, if present, matches `part`
    some_item, // an item from `n` on matches `part`
    contains,  // `n` to `most` items match `part`
    min_items,
    max_items,
    min_length,
    max_length,
    pattern_not, // `text` does not match
    format_not,
    order, // `text` is a number, `n` has the bits of NumberFacts::Order
    multiple_not,
    value_not, // a null, boolean, number or string is not `value`
};

struct Fact {
    FactKind kind;
    uint32_t n, most;
    std::string_view text;  // a name, a pattern, a number
    Subschema part;         // schema to match
    const Subschema *owner; // some_member: properties and patterns of this schema do not count
    const chat::Value *value;
};

struct Alternative {
    explicit Alternative(const Host *host)
        : held(HostAllocator<Subschema>(host)), links(HostAllocator<Link>(host)),
          facts(HostAllocator<Fact>(host)) {}
    struct Link { // indices in `held`: a schema applies another one to the same value
        uint32_t below, above;
    };
    uint32_t kinds = kAllKinds;
    Subschemas held; // objects, not negated
    Vector<Link> links;
    Vector<Fact> facts;
    const chat::Value *constant = nullptr; // the only array or object allowed
};

class SchemaAlternatives {
public:
    // formats: known formats are assertions.
    SchemaAlternatives(SchemaTree &tree, bool formats);

    // Throws Error (unsupported: a keyword; malformed; limit: too many alternatives) /
    // std::bad_alloc.
    void expand(Vector<Alternative> &out, const Subschemas &parts);
    // Returns whether no value satisfies all of them, as far as that is found quickly.
    bool exclude_each_other(const Subschemas &parts, unsigned depth);
    bool asserts_format(const Subschema &part,
                        std::string_view name); // throws for unsupported ones
    void count_work(uint64_t n);                // also for callers; limited per schema
    // The keyword that led to most alternatives of a schema so far.
    struct Widest {
        size_t n;
        const SchemaLocation *location;
        std::string_view keyword;
    };
    const Widest &widest() const { return widest_; }
    // Returns enum, or const as a list of one value; null if there is neither.
    const chat::List *choices(const Subschema &part);

private:
    enum class TaskKind : uint8_t {
        any_of,
        one_of,
        condition,
        required,
        schemas,
        values,
        maybe,
        violate
    };
    struct Task { // a choice to be made
        TaskKind kind;
        Subschema part;
        uint32_t above, from; // index in `held` of the schema that applies it; entry of a list
    };
    struct Open { // a schema to process
        Subschema part;
        uint32_t above;
    };
    struct Path;
    class Violations;
    using Paths = Vector<Path>;

    void note_width(const Task &task, size_t n);
    void open_all(Path &path);
    void hold(Path &path, const Subschema &part, uint32_t above);
    void deny(Path &path, const Subschema &part);
    Path &branch(Paths &out, const Path &path); // adds a copy of `path`
    void choose(Paths &out, const Path &path, const Task &task);
    void choose_any(Paths &out, const Path &path, const Task &task);
    void choose_one(Paths &out, const Path &path, const Task &task);
    void choose_condition(Paths &out, const Path &path, const Task &task);
    void choose_dependent(Paths &out, const Path &path, const Task &task);
    void choose_value(Paths &out, const Path &path, const Task &task);
    void violate(Paths &out, const Path &path, const Subschema &part);
    bool is_empty(const Alternative &alternative, unsigned depth);
    bool are_apart(const Subschema &a, const Subschema &b);
    bool reaches_unevaluated(const Subschemas &parts);
    void member_parts(Subschemas &out, const Alternative &alternative, std::string_view name);

    SchemaTree &tree_;
    const Host *host_;
    const bool formats_;
    using Pair = std::pair<const chat::Dict *, const chat::Dict *>;
    template <class Key, class T>
    using Map = std::map<Key, T, std::less<Key>, HostAllocator<std::pair<const Key, T>>>;
    Map<const chat::Dict *, const chat::List *> constants_; // `const` as lists
    Map<Pair, bool> apart_; // pairs of oneOf branches that exclude each other
    Widest widest_ = {};
    uint64_t work_ = 0;
    unsigned nesting_ = 0; // nesting of compared branches
    bool exact_ = false;   // it matters which branches of anyOf hold
};

} // namespace ggufx::grammar
