// Schemas that hold at once as alternatives: ways to satisfy all of them in which nothing is left to
// choose. In a way each schema's own keywords hold, and facts that follow from schemas that do not.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/schema_tree.hpp"

namespace ggufx::grammar {

enum class FactKind : uint8_t {
    member,        // `name`, where it is there, fits `part`
    require,       // `name` is there
    some_member,   // one that no property or pattern of `part`'s keyword names fits: see Fact
    some_matching, // one whose name `text` matches fits
    some_name,     // of one of the members fits
    min_members,
    max_members,
    item,      // that of index `n`, where it is there, fits
    some_item, // one of index `n` or behind it fits
    contains,  // n to most items fit
    min_items,
    max_items,
    min_length,
    max_length,
    pattern_not, // `text` does not match
    format_not,
    order, // `text` is a number: `n` are the bits of NumberFacts::Order
    multiple_not,
    value_not, // no null, truth, number or string like `value`
};

struct Fact {
    FactKind kind;
    uint32_t n, most;
    std::string_view text; // a name, a pattern, a number
    Part part;             // what something fits
    const Part *owner;     // some_member: whose properties and patterns do not count
    const chat::Value *value;
};

struct Way {
    explicit Way(const Host *host)
        : held(HostAllocator<Part>(host)), links(HostAllocator<Link>(host)),
          facts(HostAllocator<Fact>(host)) {}
    struct Link { // numbers in `held`: a schema applies another one where it stands
        uint32_t below, above;
    };
    uint32_t kinds = kAllKinds;
    Parts held; // objects, not negated
    Vector<Link> links;
    Vector<Fact> facts;
    const chat::Value *constant = nullptr; // an array or object that alone is meant
};

class SchemaWays {
public:
    // formats: `format` is an assertion, where it is known.
    SchemaWays(SchemaTree &tree, bool formats);

    // Throws Error (unsupported: a keyword; malformed; limit: too many ways) / std::bad_alloc.
    void expand(Vector<Way> &out, const Parts &parts);
    // Nothing satisfies all of them, as far as that is seen at once.
    bool exclude_each_other(const Parts &parts, unsigned depth);
    bool asserts_format(const Part &part, std::string_view name); // throws where it cannot
    void count_work(uint64_t n); // of its callers, too: bounded for a whole schema
    // enum, or const as a list of one; null where there is neither.
    const chat::List *choices(const Part &part);

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
        Part part;
        uint32_t above, from; // number in `held` of what asks for it; of a list: entry
    };
    struct Open { // to be looked at
        Part part;
        uint32_t above;
    };
    struct Path;
    class Violations;
    using Paths = Vector<Path>;

    void open_all(Path &path);
    void hold(Path &path, const Part &part, uint32_t above);
    void deny(Path &path, const Part &part);
    Path &branch(Paths &out, const Path &path); // a copy that goes its own way
    void choose(Paths &out, const Path &path, const Task &task);
    void choose_any(Paths &out, const Path &path, const Task &task);
    void choose_one(Paths &out, const Path &path, const Task &task);
    void choose_condition(Paths &out, const Path &path, const Task &task);
    void choose_dependent(Paths &out, const Path &path, const Task &task);
    void choose_value(Paths &out, const Path &path, const Task &task);
    void violate(Paths &out, const Path &path, const Part &part);
    bool is_empty(const Way &way, unsigned depth);
    bool are_apart(const Part &a, const Part &b);
    bool reaches_unevaluated(const Parts &parts);
    void member_parts(Parts &out, const Way &way, std::string_view name);

    SchemaTree &tree_;
    const Host *host_;
    const bool formats_;
    using Pair = std::pair<const chat::Dict *, const chat::Dict *>;
    template <class Key, class T>
    using Map = std::map<Key, T, std::less<Key>, HostAllocator<std::pair<const Key, T>>>;
    Map<const chat::Dict *, const chat::List *> constants_; // of `const`, as lists
    Map<Pair, bool> apart_;                                 // branches of oneOf
    uint64_t work_ = 0;
    unsigned nesting_ = 0; // of branches that are compared
    bool exact_ = false;   // it matters which branches of anyOf hold
};

} // namespace ggufx::grammar
