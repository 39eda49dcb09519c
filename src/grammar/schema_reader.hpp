// Translates a schema to rules: one for each set of schemas that all hold. A rule is made when it
// is first needed, from a work list, so that there is no recursion.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/numbers.hpp"
#include "grammar/schema.hpp"
#include "grammar/schema_alternatives.hpp"
#include "grammar/strings.hpp"

namespace ggufx::grammar {

// Conditions of an array, all of which must hold.
struct ArrayFacts {
    explicit ArrayFacts(const Host *host)
        : items(HostAllocator<Item>(host)), some(HostAllocator<Item>(host)),
          contains(HostAllocator<Contains>(host)) {}
    struct Item {
        uint32_t first, last; // indices that it applies to
        Subschema part;
    };
    struct Contains { // min to max items match
        Subschema part;
        uint32_t min, max;
    };
    uint32_t min = 0, max = kMany;
    Vector<Item> items;
    Vector<Item> some; // an item from `first` on matches
    Vector<Contains> contains;
    const SchemaLocation *unique = nullptr; // location of uniqueItems; null: none
};

// Conditions of a schema on members by their names.
struct MemberSource {
    Subschema part;
    const chat::Dict *properties, *patterns; // null if absent
};

// Conditions of an object, all of which must hold.
struct ObjectFacts {
    explicit ObjectFacts(const Host *host)
        : sources(HostAllocator<MemberSource>(host)), others(HostAllocator<Others>(host)),
          members(HostAllocator<Fact>(host)), required(HostAllocator<std::string_view>(host)),
          names(HostAllocator<Subschema>(host)), some(HostAllocator<Some>(host)) {}
    struct Others { // schema of members that none of these sources name
        Vector<uint32_t> sources;
        Subschema part;
    };
    enum class Which : uint8_t { matching, others, named };
    struct Some { // one of these members matches
        Which which;
        std::string_view pattern;                // matching: pattern of its name
        const chat::Dict *properties, *patterns; // others: not named by these
        Regex names;                             // named: its possible names
        Subschema part;
    };
    uint32_t min = 0, max = kMany;
    Vector<MemberSource> sources;
    Vector<Others> others;
    Vector<Fact> members; // conditions of one name each
    Vector<std::string_view> required;
    Subschemas names; // schemas of all names
    Vector<Some> some;
};

class SchemaReader {
public:
    SchemaReader(Syntax &syntax, std::string_view text, const SchemaOptions &options);
    void read();

private:
    void read_all();
    void note_most_complex();
    friend class ArrayRules;
    friend class ObjectRules;
    using Nodes = Vector<Node>;
    using Key = Vector<std::pair<const void *, const void *>>;
    struct Todo {
        uint32_t rule;
        Subschemas parts;
    };

    Nodes nodes() const { return Nodes(HostAllocator<Node>(syntax_.host())); }
    Node never() { return syntax_.set(nullptr, 0); }
    // Returns a reference to a new rule, so that its users are not nested deeper.
    Node rule_of(const char *name, Node body);
    Node node_of(const Subschemas &parts);
    Node way_node(const Alternative &alternative);
    Node choice_node(const Alternative &alternative, const NumberFacts &numbers,
                     const StringFacts &strings);
    void check_keywords(const Alternative &alternative);

    void find_choices(Vector<const chat::Value *> &out, const Alternative &alternative);
    // Returns false if there are more than `most`, or they are not enumerated.
    bool find_values(Vector<chat::Value> &out, const Subschemas &parts, size_t most);
    void add_order(NumberFacts &out, const Subschema *part, std::string_view number,
                   unsigned order);
    void read_numbers(NumberFacts &out, const Alternative &alternative);
    Node write_numbers(const NumberFacts &facts, const Alternative &alternative);
    void read_strings(StringFacts &out, const Alternative &alternative);
    Regex name_language(const Subschema &part); // strings that the schema allows
    void read_array(ArrayFacts &out, const Alternative &alternative);
    void read_unevaluated(ArrayFacts &out, const Alternative &alternative, uint32_t number,
                          const Subschema &rest);
    void read_object(ObjectFacts &out, const Alternative &alternative);
    void find_below(Vector<uint32_t> &out, const Alternative &alternative, uint32_t above);
    Node array_node(const Alternative &alternative);
    Node object_node(const Alternative &alternative);

    // Calls run(), and puts the location of the schema before the message of an Error.
    template <class Run> auto at(const Alternative &alternative, const Run &run) -> decltype(run());

    Syntax &syntax_;
    SchemaTree tree_;
    SchemaAlternatives alternatives_;
    JsonText json_;
    StringRules strings_;
    NumberRules numbers_;
    std::map<Key, uint32_t, std::less<Key>, HostAllocator<std::pair<const Key, uint32_t>>> rules_;
    Vector<Todo> todo_;
    const SchemaLocation *location_ = nullptr; // the schema that is being written
    const char *keyword_ = "type";             // that is written
    const bool any_order_;
};

} // namespace ggufx::grammar
