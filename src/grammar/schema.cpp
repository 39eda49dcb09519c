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
    : syntax_(syntax), tree_(syntax.host(), text), ways_(tree_, options.formats),
      json_(syntax, options.white_space), strings_(syntax, json_),
      numbers_(syntax, options.any_number),
      rules_(HostAllocator<std::pair<const Key, uint32_t>>(syntax.host())),
      todo_(HostAllocator<Todo>(syntax.host())), any_order_(options.any_order) {}

template <class Run> auto SchemaReader::at(const Way &way, const Run &run) -> decltype(run()) {
    try {
        return run();
    } catch (const Error &e) {
        // Errors of the tree have their location already.
        if (e.failure.message[0] == '#') throw;
        tree_.refuse(way.held.empty() ? nullptr : way.held[0].where,
                     static_cast<Status>(e.failure.status), "%s", e.failure.message);
    }
}

void SchemaReader::read() {
    Parts parts = tree_.none();
    tree_.add(parts, tree_.root());
    const Node root = node_of(parts);
    const uint32_t rule = syntax_.add_rule("root", 0);
    syntax_.set_body(rule, root);
    syntax_.set_root(rule);
    while (!todo_.empty()) {
        const Todo next = std::move(todo_.back());
        todo_.pop_back();
        Vector<Way> ways{HostAllocator<Way>(syntax_.host())};
        ways_.expand(ways, next.parts);
        Nodes out = nodes();
        for (const Way &way : ways) {
            check_keywords(way);
            out.push_back(at(way, [&] { return way_node(way); }));
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
Node SchemaReader::node_of(const Parts &parts) {
    if (parts.empty()) return json_.any_value();
    Key key{HostAllocator<std::pair<const void *, const void *>>(syntax_.host())};
    for (const Part &part : parts) {
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

void SchemaReader::check_keywords(const Way &way) {
    for (const Part &part : way.held)
        for (const auto &old : kOldKeywords)
            if (tree_.find(part, old[0]))
                tree_.refuse(part.where, Status::unsupported,
                             "the keyword '%s' is of an earlier draft: %s", old[0].data(),
                             old[1].data());
}

// ---- simple values ----

Node SchemaReader::way_node(const Way &way) {
    NumberFacts numbers(syntax_.host());
    StringFacts strings(syntax_.host());
    const uint32_t kinds = way.kinds;
    if (kinds & kNumber) read_numbers(numbers, way);
    if (kinds & kString) read_strings(strings, way);
    Nodes ways = nodes();
    if (kinds & kArray) ways.push_back(array_node(way));
    if (kinds & kObject) ways.push_back(object_node(way));
    const bool chosen = std::any_of(way.held.begin(), way.held.end(),
                                    [&](const Part &part) { return ways_.choices(part); });
    if (chosen) {
        ways.push_back(choice_node(way, numbers, strings));
        return syntax_.choice(ways.data(), ways.size());
    }
    bool null = true, truths[2] = {true, true};
    for (const Fact &fact : way.facts) {
        if (fact.kind != FactKind::value_not) continue;
        if (fact.value->is(Kind::none)) null = false;
        if (fact.value->is(Kind::boolean)) truths[fact.value->truth] = false;
    }
    if (kinds & kNull && null) ways.push_back(syntax_.literal("null"));
    if (kinds & kBoolean && truths[1]) ways.push_back(syntax_.literal("true"));
    if (kinds & kBoolean && truths[0]) ways.push_back(syntax_.literal("false"));
    if (kinds & kNumber) ways.push_back(write_numbers(numbers, way));
    if (kinds & kString) ways.push_back(strings_.write(strings));
    return syntax_.choice(ways.data(), ways.size());
}

// Finds the simple values that are in all lists of an alternative.
void SchemaReader::find_choices(Vector<const Value *> &out, const Way &way) {
    bool first = true;
    for (const Part &part : way.held) {
        const List *const list = ways_.choices(part);
        if (!list) continue;
        const auto has = [&](const Value *value) {
            ways_.count_work(1 + list->size / 4);
            return std::any_of(list->items, list->items + list->size,
                               [&](const Value &other) { return tree_.same(*value, other); });
        };
        if (first) {
            for (size_t i = 0; i < list->size; i++)
                if (tree_.kind_of(list->items[i]) & way.kinds & ~(kArray | kObject))
                    out.push_back(&list->items[i]);
        } else {
            out.erase(std::remove_if(out.begin(), out.end(),
                                     [&](const Value *value) { return !has(value); }),
                      out.end());
        }
        first = false;
    }
    for (const Fact &fact : way.facts) {
        if (fact.kind != FactKind::value_not) continue;
        ways_.count_work(1 + out.size() / 4);
        out.erase(
            std::remove_if(out.begin(), out.end(),
                           [&](const Value *value) { return tree_.same(*value, *fact.value); }),
            out.end());
    }
}

Node SchemaReader::choice_node(const Way &way, const NumberFacts &numbers,
                               const StringFacts &strings) {
    Vector<const Value *> values{HostAllocator<const Value *>(syntax_.host())};
    find_choices(values, way);
    StringFacts texts(strings);
    texts.has_choices = true;
    NumberFacts equal(numbers); // bounds are checked for each value
    equal.bounds.clear();
    Nodes ways = nodes();
    for (const Value *const value : values) {
        if (value->is(Kind::none)) ways.push_back(syntax_.literal("null"));
        if (value->is(Kind::boolean))
            ways.push_back(syntax_.literal(value->truth ? "true" : "false"));
        if (value->is(Kind::string)) texts.choices.push_back(value->text->view());
        if (!value->is(Kind::written)) continue;
        NumberFacts one(equal);
        add_order(one, nullptr, value->text->view(), NumberFacts::equal);
        ways_.count_work(1 + numbers.bounds.size() / 16);
        if (numbers.are_met(one.bounds[0].value)) ways.push_back(write_numbers(one, way));
    }
    if (!texts.choices.empty()) ways.push_back(strings_.write(texts));
    return syntax_.choice(ways.data(), ways.size());
}

// Finds the values that schemas allow, if they are enumerated.
bool SchemaReader::find_values(Vector<Value> &out, const Parts &parts, size_t most) {
    Vector<Way> ways{HostAllocator<Way>(syntax_.host())};
    ways_.expand(ways, parts);
    const auto add = [&](const Value &value) {
        for (const Value &there : out)
            if (tree_.same(there, value)) return;
        out.push_back(value);
    };
    for (const Way &way : ways) {
        const bool chosen = std::any_of(way.held.begin(), way.held.end(),
                                        [&](const Part &part) { return ways_.choices(part); });
        if (way.constant) {
            add(*way.constant);
        } else if (chosen) {
            Vector<const Value *> values{HostAllocator<const Value *>(syntax_.host())};
            find_choices(values, way);
            for (const Value *const value : values) add(*value);
        } else {
            if (way.kinds & ~(kNull | kBoolean)) return false;
            if (way.kinds & kNull) add(Value::none());
            if (way.kinds & kBoolean) add(Value::of(false)), add(Value::of(true));
        }
        if (out.size() > most) return false;
    }
    return true;
}

// ---- numbers ----

void SchemaReader::add_order(NumberFacts &out, const Part *part, std::string_view number,
                             unsigned order) {
    Decimal value(syntax_.host());
    if (!read_decimal(value, number))
        tree_.refuse(part ? part->where : nullptr, Status::limit,
                     "a number has over %d digits: '%s'", kMostDigits, Quoted(number).c_str());
    out.bounds.push_back({std::move(value), static_cast<uint8_t>(order)});
}

void SchemaReader::read_numbers(NumberFacts &out, const Way &way) {
    using Order = NumberFacts::Order;
    static constexpr struct {
        const char *key;
        unsigned order; // allowed orders of a number
    } kBounds[] = {{"minimum", Order::greater | Order::equal},
                   {"maximum", Order::less | Order::equal},
                   {"exclusiveMinimum", Order::greater},
                   {"exclusiveMaximum", Order::less}};
    const auto add_step = [&](const Part *part, std::string_view number, bool is_multiple) {
        Decimal size(syntax_.host());
        const bool fits = read_decimal(size, number);
        if (!fits || size.is_zero() || size.negative)
            tree_.refuse(part ? part->where : nullptr, fits ? Status::malformed : Status::limit,
                         "'multipleOf' is not above 0, or has over %d digits", kMostDigits);
        out.steps.push_back({std::move(size), is_multiple});
    };
    out.whole = (way.kinds & kInteger) != 0;
    out.fraction = (way.kinds & kFraction) != 0;
    for (const Part &part : way.held) {
        const auto number = [&](const char *key) {
            const Value *const value = tree_.find(part, key);
            if (value && !value->is(Kind::written))
                tree_.refuse(part.where, Status::malformed, "'%s' is not a number", key);
            return value;
        };
        for (const auto &bound : kBounds)
            if (const Value *const value = number(bound.key))
                add_order(out, &part, value->text->view(), bound.order);
        if (const Value *const value = number("multipleOf"))
            add_step(&part, value->text->view(), true);
    }
    for (const Fact &fact : way.facts) {
        if (fact.kind == FactKind::order) add_order(out, nullptr, fact.text, fact.n);
        if (fact.kind == FactKind::multiple_not) add_step(nullptr, fact.text, false);
        if (fact.kind == FactKind::value_not && fact.value->is(Kind::written))
            add_order(out, nullptr, fact.value->text->view(), Order::less | Order::greater);
    }
}

Node SchemaReader::write_numbers(const NumberFacts &facts, const Way &way) {
    if (facts.whole && facts.fraction && facts.bounds.empty() && facts.steps.empty())
        return json_.any_number();
    return at(way, [&] { return numbers_.write(facts); });
}

// ---- strings ----

void SchemaReader::read_strings(StringFacts &out, const Way &way) {
    const auto add_pattern = [&](std::string_view text, bool matches, const Where *where) {
        try {
            const StringFacts::Match match = {strings_.pattern(text, "'pattern'"), matches};
            if (std::find(out.patterns.begin(), out.patterns.end(), match) == out.patterns.end())
                out.patterns.push_back(match);
        } catch (const Error &e) {
            tree_.refuse(where, static_cast<Status>(e.failure.status), "%s", e.failure.message);
        }
    };
    const auto text_of = [&](const Part &part, const char *key) {
        const Value *const value = tree_.find(part, key);
        if (value && !value->is(Kind::string))
            tree_.refuse(part.where, Status::malformed, "'%s' is not a string", key);
        return value;
    };
    for (const Part &part : way.held) {
        out.min_length = std::max(out.min_length, tree_.find_count(part, "minLength", 0));
        out.max_length = std::min(out.max_length, tree_.find_count(part, "maxLength", kMany));
        if (const Value *const value = text_of(part, "pattern"))
            add_pattern(value->text->view(), true, part.where);
        if (const Value *const value = text_of(part, "format"))
            if (ways_.asserts_format(part, value->text->view()))
                add_pattern(format_pattern(value->text->view()), true, part.where);
    }
    for (const Fact &fact : way.facts) {
        if (fact.kind == FactKind::min_length) out.min_length = std::max(out.min_length, fact.n);
        if (fact.kind == FactKind::max_length) out.max_length = std::min(out.max_length, fact.n);
        if (fact.kind == FactKind::pattern_not) add_pattern(fact.text, false, fact.part.where);
        if (fact.kind == FactKind::format_not)
            add_pattern(format_pattern(fact.text), false, fact.part.where);
        if (fact.kind == FactKind::value_not && fact.value->is(Kind::string))
            out.others.push_back(fact.value->text->view());
    }
}

// Returns the strings that a schema allows, for names of members.
Regex SchemaReader::name_language(const Part &part) {
    Parts parts = tree_.none();
    tree_.add(parts, part);
    if (parts.empty()) return strings_.regexes().any();
    Vector<Way> ways{HostAllocator<Way>(syntax_.host())};
    ways_.expand(ways, parts);
    Regex out = strings_.regexes().none();
    for (const Way &way : ways) {
        if (!(way.kinds & kString)) continue;
        StringFacts facts(syntax_.host());
        read_strings(facts, way);
        for (const Part &held : way.held)
            facts.has_choices = facts.has_choices || ways_.choices(held);
        Vector<const Value *> values{HostAllocator<const Value *>(syntax_.host())};
        if (facts.has_choices) find_choices(values, way);
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
