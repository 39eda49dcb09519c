// Alternatives of a schema and their simple values, see schema_reader.hpp.
// SPDX-License-Identifier: MIT
#include "grammar/schema_reader.hpp"

#include "grammar/formats.hpp"

#include <algorithm>

namespace ggufx::grammar {

using chat::Kind;
using chat::List;
using chat::Value;

namespace {

// Keywords of earlier drafts. Ignoring them would allow more than they do.
constexpr std::string_view kOldKeywords[][2] = {
    {"$recursiveRef", "'$dynamicRef'"},
    {"additionalItems", "'items' beside 'prefixItems'"},
    {"dependencies", "'dependentRequired' and 'dependentSchemas'"},
    {"disallow", "'not'"},
    {"divisibleBy", "'multipleOf'"},
    {"extends", "'allOf'"}};

} // namespace

SchemaReader::SchemaReader(Syntax &syntax, std::string_view text, const SchemaOptions &options)
    : syntax_(syntax), tree_(syntax.host(), syntax.work(), text),
      alternatives_(tree_, options.formats), json_(syntax, options.white_space, options.any_number),
      strings_(syntax, json_), numbers_(syntax, options.any_number),
      rules_(HostAllocator<std::pair<const Key, uint32_t>>(syntax.host())),
      todo_(HostAllocator<Todo>(syntax.host())), any_order_(options.any_order) {}

template <class Run>
auto SchemaReader::at(const Alternative &alternative, const Run &run) -> decltype(run()) {
    try {
        return run();
    } catch (const Error &e) {
        // Errors of the tree have their location already.
        if (e.failure.message[0] == '#') throw;
        tree_.refuse(alternative.held.empty() ? nullptr : alternative.held[0].location,
                     static_cast<Status>(e.failure.status), "%s", e.failure.message);
    }
}

void SchemaReader::read() {
    try {
        read_all();
    } catch (const Error &) {
        note_most_complex();
        throw;
    }
    note_most_complex();
}

// Some alternatives are usual; many of them multiply the work for all other keywords.
void SchemaReader::note_most_complex() {
    constexpr size_t kUnusual = 16;
    const SchemaAlternatives::Widest &widest = alternatives_.widest();
    const bool is_wide = widest.n >= kUnusual;
    char pointer[160];
    SchemaTree::print_pointer(pointer, sizeof pointer, is_wide ? widest.location : location_);
    syntax_.set_most_complex(pointer, is_wide ? widest.keyword : std::string_view(keyword_));
}

void SchemaReader::read_all() {
    Subschemas parts = tree_.none();
    tree_.add(parts, tree_.root());
    const Node root = node_of(parts);
    const uint32_t rule = syntax_.add_rule("root", 0);
    syntax_.set_body(rule, root);
    syntax_.set_root(rule);
    while (!todo_.empty()) {
        const Todo next = std::move(todo_.back());
        todo_.pop_back();
        Vector<Alternative> alternatives{HostAllocator<Alternative>(syntax_.host())};
        alternatives_.expand(alternatives, next.parts);
        Nodes out = nodes();
        for (const Alternative &alternative : alternatives) {
            check_keywords(alternative);
            out.push_back(at(alternative, [&] { return way_node(alternative); }));
        }
        syntax_.set_body(next.rule, syntax_.choice(out.data(), out.size()));
    }
}

Node SchemaReader::rule_of(const char *name, Node body) {
    const uint32_t rule = syntax_.add_rule(name, 0);
    syntax_.set_body(rule, body);
    return syntax_.rule(rule);
}

// Returns the rule of schemas that all hold.
Node SchemaReader::node_of(const Subschemas &parts) {
    if (parts.empty()) return json_.any_value();
    Key key{HostAllocator<std::pair<const void *, const void *>>(syntax_.host())};
    for (const Subschema &part : parts) {
        if (part.is_false()) return never();
        // A negated schema is identified by the address after its first byte.
        key.emplace_back(reinterpret_cast<const char *>(part.dict()) + part.negated, part.scope);
    }
    std::sort(key.begin(), key.end());
    const auto found = rules_.find(key);
    if (found != rules_.end()) return syntax_.rule(found->second);
    const uint32_t rule = syntax_.add_rule("schema", 0);
    rules_.emplace(std::move(key), rule);
    todo_.push_back({rule, parts});
    return syntax_.rule(rule);
}

void SchemaReader::check_keywords(const Alternative &alternative) {
    for (const Subschema &part : alternative.held)
        for (const auto &old : kOldKeywords)
            if (tree_.find(part, old[0]))
                tree_.refuse(part.location, Status::unsupported,
                             "the keyword '%s' is of an earlier draft: %s", old[0].data(),
                             old[1].data());
}

// ---- simple values ----

Node SchemaReader::way_node(const Alternative &alternative) {
    NumberFacts numbers(syntax_.host());
    StringFacts strings(syntax_.host());
    const uint32_t kinds = alternative.kinds;
    location_ = alternative.held.empty() ? nullptr : alternative.held[0].location;
    if (kinds & kNumber) read_numbers(numbers, alternative);
    if (kinds & kString) read_strings(strings, alternative);
    Nodes alternatives = nodes();
    if (kinds & kArray) alternatives.push_back(array_node(alternative));
    if (kinds & kObject) alternatives.push_back(object_node(alternative));
    const bool chosen =
        std::any_of(alternative.held.begin(), alternative.held.end(),
                    [&](const Subschema &part) { return alternatives_.choices(part); });
    if (chosen) {
        alternatives.push_back(choice_node(alternative, numbers, strings));
        return syntax_.choice(alternatives.data(), alternatives.size());
    }
    bool null = true, truths[2] = {true, true};
    for (const Fact &fact : alternative.facts) {
        if (fact.kind != FactKind::value_not) continue;
        if (fact.value->is(Kind::none)) null = false;
        if (fact.value->is(Kind::boolean)) truths[fact.value->truth] = false;
    }
    if (kinds & kNull && null) alternatives.push_back(syntax_.literal("null"));
    if (kinds & kBoolean && truths[1]) alternatives.push_back(syntax_.literal("true"));
    if (kinds & kBoolean && truths[0]) alternatives.push_back(syntax_.literal("false"));
    if (kinds & kNumber) alternatives.push_back(write_numbers(numbers, alternative));
    if (kinds & kString) alternatives.push_back(strings_.write(strings));
    return syntax_.choice(alternatives.data(), alternatives.size());
}

// Finds the simple values that are in all lists of an alternative.
void SchemaReader::find_choices(Vector<const Value *> &out, const Alternative &alternative) {
    bool first = true;
    for (const Subschema &part : alternative.held) {
        const List *const list = alternatives_.choices(part);
        if (!list) continue;
        const auto has = [&](const Value *value) {
            alternatives_.count_work(1 + list->size / 4);
            return std::any_of(list->items, list->items + list->size,
                               [&](const Value &other) { return tree_.same(*value, other); });
        };
        if (first) {
            for (size_t i = 0; i < list->size; i++)
                if (tree_.kind_of(list->items[i]) & alternative.kinds & ~(kArray | kObject))
                    out.push_back(&list->items[i]);
        } else {
            out.erase(std::remove_if(out.begin(), out.end(),
                                     [&](const Value *value) { return !has(value); }),
                      out.end());
        }
        first = false;
    }
    for (const Fact &fact : alternative.facts) {
        if (fact.kind != FactKind::value_not) continue;
        alternatives_.count_work(1 + out.size() / 4);
        out.erase(
            std::remove_if(out.begin(), out.end(),
                           [&](const Value *value) { return tree_.same(*value, *fact.value); }),
            out.end());
    }
}

Node SchemaReader::choice_node(const Alternative &alternative, const NumberFacts &numbers,
                               const StringFacts &strings) {
    Vector<const Value *> values{HostAllocator<const Value *>(syntax_.host())};
    find_choices(values, alternative);
    StringFacts texts(strings);
    texts.has_choices = true;
    NumberFacts equal(numbers); // bounds are checked for each value
    equal.bounds.clear();
    Nodes alternatives = nodes();
    for (const Value *const value : values) {
        if (value->is(Kind::none)) alternatives.push_back(syntax_.literal("null"));
        if (value->is(Kind::boolean))
            alternatives.push_back(syntax_.literal(value->truth ? "true" : "false"));
        if (value->is(Kind::string)) texts.choices.push_back(value->text->view());
        if (!value->is(Kind::written)) continue;
        NumberFacts one(equal);
        add_order(one, nullptr, value->text->view(), NumberFacts::equal);
        alternatives_.count_work(1 + numbers.bounds.size() / 16);
        if (numbers.are_met(one.bounds[0].value))
            alternatives.push_back(write_numbers(one, alternative));
    }
    if (!texts.choices.empty()) alternatives.push_back(strings_.write(texts));
    return syntax_.choice(alternatives.data(), alternatives.size());
}

// Finds the values that schemas allow, if they are enumerated.
bool SchemaReader::find_values(Vector<Value> &out, const Subschemas &parts, size_t most) {
    Vector<Alternative> alternatives{HostAllocator<Alternative>(syntax_.host())};
    alternatives_.expand(alternatives, parts);
    const auto add = [&](const Value &value) {
        for (const Value &there : out)
            if (tree_.same(there, value)) return;
        out.push_back(value);
    };
    for (const Alternative &alternative : alternatives) {
        const bool chosen =
            std::any_of(alternative.held.begin(), alternative.held.end(),
                        [&](const Subschema &part) { return alternatives_.choices(part); });
        if (alternative.constant) {
            add(*alternative.constant);
        } else if (chosen) {
            Vector<const Value *> values{HostAllocator<const Value *>(syntax_.host())};
            find_choices(values, alternative);
            for (const Value *const value : values) add(*value);
        } else {
            if (alternative.kinds & ~(kNull | kBoolean)) return false;
            if (alternative.kinds & kNull) add(Value::none());
            if (alternative.kinds & kBoolean) add(Value::of(false)), add(Value::of(true));
        }
        if (out.size() > most) return false;
    }
    return true;
}

// ---- numbers ----

void SchemaReader::add_order(NumberFacts &out, const Subschema *part, std::string_view number,
                             unsigned order) {
    Decimal value(syntax_.host());
    if (!read_decimal(value, number))
        tree_.refuse(part ? part->location : nullptr, Status::limit,
                     "a number has over %d digits: '%s'", kMostDigits, Quoted(number).c_str());
    out.bounds.push_back({std::move(value), static_cast<uint8_t>(order)});
}

void SchemaReader::read_numbers(NumberFacts &out, const Alternative &alternative) {
    using Order = NumberFacts::Order;
    static constexpr struct {
        const char *key;
        unsigned order; // allowed orders of a number
    } kBounds[] = {{"minimum", Order::greater | Order::equal},
                   {"maximum", Order::less | Order::equal},
                   {"exclusiveMinimum", Order::greater},
                   {"exclusiveMaximum", Order::less}};
    const auto add_step = [&](const Subschema *part, std::string_view number, bool is_multiple) {
        Decimal size(syntax_.host());
        const bool fits = read_decimal(size, number);
        if (!fits || size.is_zero() || size.negative)
            tree_.refuse(part ? part->location : nullptr, fits ? Status::malformed : Status::limit,
                         "'multipleOf' is not above 0, or has over %d digits", kMostDigits);
        out.steps.push_back({std::move(size), is_multiple});
    };
    keyword_ = "multipleOf";
    out.whole = (alternative.kinds & kInteger) != 0;
    out.fraction = (alternative.kinds & kFraction) != 0;
    for (const Subschema &part : alternative.held) {
        const auto number = [&](const char *key) {
            const Value *const value = tree_.find(part, key);
            if (value && !value->is(Kind::written))
                tree_.refuse(part.location, Status::malformed, "'%s' is not a number", key);
            return value;
        };
        for (const auto &bound : kBounds)
            if (const Value *const value = number(bound.key))
                add_order(out, &part, value->text->view(), bound.order);
        if (const Value *const value = number("multipleOf"))
            add_step(&part, value->text->view(), true);
    }
    for (const Fact &fact : alternative.facts) {
        if (fact.kind == FactKind::order) add_order(out, nullptr, fact.text, fact.n);
        if (fact.kind == FactKind::multiple_not) add_step(nullptr, fact.text, false);
        if (fact.kind == FactKind::value_not && fact.value->is(Kind::written))
            add_order(out, nullptr, fact.value->text->view(), Order::less | Order::greater);
    }
}

Node SchemaReader::write_numbers(const NumberFacts &facts, const Alternative &alternative) {
    if (facts.whole && facts.fraction && facts.bounds.empty() && facts.steps.empty())
        return json_.any_number();
    return at(alternative, [&] { return numbers_.write(facts); });
}

// ---- strings ----

void SchemaReader::read_strings(StringFacts &out, const Alternative &alternative) {
    const auto add_pattern = [&](std::string_view text, bool matches,
                                 const SchemaLocation *location) {
        keyword_ = "pattern";
        try {
            const StringFacts::Match match = {strings_.pattern(text, "'pattern'"), matches};
            if (std::find(out.patterns.begin(), out.patterns.end(), match) == out.patterns.end())
                out.patterns.push_back(match);
        } catch (const Error &e) {
            tree_.refuse(location, static_cast<Status>(e.failure.status), "%s", e.failure.message);
        }
    };
    const auto text_of = [&](const Subschema &part, const char *key) {
        const Value *const value = tree_.find(part, key);
        if (value && !value->is(Kind::string))
            tree_.refuse(part.location, Status::malformed, "'%s' is not a string", key);
        return value;
    };
    for (const Subschema &part : alternative.held) {
        out.min_length = std::max(out.min_length, tree_.find_count(part, "minLength", 0));
        out.max_length = std::min(out.max_length, tree_.find_count(part, "maxLength", kMany));
        if (const Value *const value = text_of(part, "pattern"))
            add_pattern(value->text->view(), true, part.location);
        if (const Value *const value = text_of(part, "format"))
            if (alternatives_.asserts_format(part, value->text->view()))
                add_pattern(format_pattern(value->text->view()), true, part.location);
    }
    for (const Fact &fact : alternative.facts) {
        if (fact.kind == FactKind::min_length) out.min_length = std::max(out.min_length, fact.n);
        if (fact.kind == FactKind::max_length) out.max_length = std::min(out.max_length, fact.n);
        if (fact.kind == FactKind::pattern_not) add_pattern(fact.text, false, fact.part.location);
        if (fact.kind == FactKind::format_not)
            add_pattern(format_pattern(fact.text), false, fact.part.location);
        if (fact.kind == FactKind::value_not && fact.value->is(Kind::string))
            out.others.push_back(fact.value->text->view());
    }
}

// Returns the strings that a schema allows, for names of members.
Regex SchemaReader::name_language(const Subschema &part) {
    keyword_ = "propertyNames";
    Subschemas parts = tree_.none();
    tree_.add(parts, part);
    if (parts.empty()) return strings_.regexes().any();
    Vector<Alternative> alternatives{HostAllocator<Alternative>(syntax_.host())};
    alternatives_.expand(alternatives, parts);
    Regex out = strings_.regexes().none();
    for (const Alternative &alternative : alternatives) {
        if (!(alternative.kinds & kString)) continue;
        StringFacts facts(syntax_.host());
        read_strings(facts, alternative);
        for (const Subschema &held : alternative.held)
            facts.has_choices = facts.has_choices || alternatives_.choices(held);
        Vector<const Value *> values{HostAllocator<const Value *>(syntax_.host())};
        if (facts.has_choices) find_choices(values, alternative);
        for (const Value *const value : values)
            if (value->is(Kind::string)) facts.choices.push_back(value->text->view());
        out = strings_.regexes().either(out, strings_.language(facts));
    }
    return out;
}

void read_schema(Syntax &syntax, std::string_view text, const SchemaOptions &options) {
    SchemaReader(syntax, text, options).read();
}

} // namespace ggufx::grammar
