// Arrays of a schema, see schema_reader.hpp. Usually a list of items. If some items must match a
// schema, or none may be equal, there is a rule for each state of the items so far.
// SPDX-License-Identifier: MIT
#include "grammar/schema_reader.hpp"

#include <algorithm>
#include <inttypes.h>

namespace ggufx::grammar {

using chat::Kind;
using chat::List;
using chat::Value;

namespace {

constexpr uint32_t kMostArrayStates = 1 << 13;
constexpr size_t kMostDifferent = 10; // values with uniqueItems, if schemas depend on the index
constexpr size_t kMostNamed = 1000;   // values with uniqueItems otherwise
constexpr size_t kMostConditions = 6; // conditions that only some items must meet

} // namespace

void SchemaReader::read_array(ArrayFacts &out, const Alternative &alternative) {
    keyword_ = "items";
    for (uint32_t number = 0; number < alternative.held.size(); number++) {
        const Subschema &part = alternative.held[number];
        out.min = std::max(out.min, tree_.find_count(part, "minItems", 0));
        out.max = std::min(out.max, tree_.find_count(part, "maxItems", kMany));
        const List *const prefix = tree_.find_list(part, "prefixItems");
        const auto n_prefix = static_cast<uint32_t>(prefix ? prefix->size : 0);
        for (uint32_t i = 0; i < n_prefix; i++)
            out.items.push_back({i, i, tree_.enter(part, prefix->items[i], "prefixItems")});
        if (const Value *const items = tree_.find(part, "items"))
            out.items.push_back({n_prefix, kMany, tree_.enter(part, *items, "items")});
        if (const Value *const contains = tree_.find(part, "contains"))
            out.contains.push_back({tree_.enter(part, *contains, "contains"),
                                    tree_.find_count(part, "minContains", 1),
                                    tree_.find_count(part, "maxContains", kMany)});
        const Value *const unique = tree_.find(part, "uniqueItems");
        if (unique && !unique->is(Kind::boolean))
            tree_.refuse(part.location, Status::malformed,
                         "'uniqueItems' is neither true nor false");
        if (unique && unique->truth) out.unique = tree_.below(part.location, {});
        if (const Value *const rest = tree_.find(part, "unevaluatedItems"))
            read_unevaluated(out, alternative, number,
                             tree_.enter(part, *rest, "unevaluatedItems"));
    }
    for (const Fact &fact : alternative.facts) {
        if (fact.kind == FactKind::min_items) out.min = std::max(out.min, fact.n);
        if (fact.kind == FactKind::max_items) out.max = std::min(out.max, fact.n);
        if (fact.kind == FactKind::item) out.items.push_back({fact.n, fact.n, fact.part});
        if (fact.kind == FactKind::some_item) out.some.push_back({fact.n, kMany, fact.part});
        if (fact.kind == FactKind::contains) out.contains.push_back({fact.part, fact.n, fact.most});
    }
}

// Finds the schemas that `above` applies to the same value, itself included: indices in `held`.
void SchemaReader::find_below(Vector<uint32_t> &out, const Alternative &alternative,
                              uint32_t above) {
    out.assign(1, above);
    for (size_t i = 0; i < out.size(); i++) {
        alternatives_.count_work(1 + alternative.links.size() / 16);
        for (const Alternative::Link &link : alternative.links)
            if (link.above == out[i] && std::find(out.begin(), out.end(), link.below) == out.end())
                out.push_back(link.below);
    }
}

// Reads unevaluatedItems: it applies to items that no schema below evaluates and no `contains`
// matches.
void SchemaReader::read_unevaluated(ArrayFacts &out, const Alternative &alternative,
                                    uint32_t number, const Subschema &rest) {
    Vector<uint32_t> below{HostAllocator<uint32_t>(syntax_.host())};
    find_below(below, alternative, number);
    uint32_t first = 0;
    Subschemas alternatives = tree_.none(); // schemas that evaluate an item, or allow it
    for (const uint32_t i : below) {
        const Subschema &part = alternative.held[i];
        if (tree_.find(part, "items") || (i != number && tree_.find(part, "unevaluatedItems")))
            return;
        if (const List *const prefix = tree_.find_list(part, "prefixItems"))
            first = std::max(first, static_cast<uint32_t>(prefix->size));
        if (const Value *const contains = tree_.find(part, "contains")) {
            const Subschema fits = tree_.enter(part, *contains, "contains");
            if (fits.is_true()) return;
            alternatives.push_back(fits);
        }
    }
    if (rest.is_true()) return;
    if (alternatives.empty()) return out.items.push_back({first, kMany, rest});
    alternatives.push_back(rest);
    out.items.push_back({first, kMany, tree_.any_of(alternatives)});
}

class ArrayRules {
public:
    ArrayRules(SchemaReader &reader, const Alternative &alternative)
        : reader_(reader), syntax_(reader.syntax_), tree_(reader.tree_), facts_(syntax_.host()),
          location_(alternative.held.empty() ? nullptr : alternative.held[0].location),
          ordered_(HostAllocator<uint32_t>(syntax_.host())), ranges_(ordered_),
          values_(HostAllocator<Value>(syntax_.host())), constants_(tree_.none()),
          rules_(HostAllocator<std::pair<const State, uint32_t>>(syntax_.host())),
          todo_(HostAllocator<State>(syntax_.host())) {
        reader.read_array(facts_, alternative);
        for (const ArrayFacts::Item &item : facts_.items)
            n_told_ = std::max(n_told_, item.first == item.last ? item.last + 1 : item.first);
    }

    Node run() {
        if (facts_.max < facts_.min) return reader_.never();
        simplify();
        const bool plain = facts_.some.empty() && facts_.contains.empty() && !facts_.unique;
        if (!plain && unique_alone()) return reader_.json_.between('[', different(), ']');
        return reader_.json_.between('[', plain ? list() : states(), ']');
    }

private:
    // Sorts the schemas of single items by index, then by their order in facts_.
    void order_items() {
        ordered_.clear();
        ranges_.clear();
        for (uint32_t i = 0; i < facts_.items.size(); i++)
            (facts_.items[i].first == facts_.items[i].last ? ordered_ : ranges_).push_back(i);
        syntax_.work().add_steps(8 * facts_.items.size());
        std::sort(ordered_.begin(), ordered_.end(), [&](uint32_t a, uint32_t b) {
            const uint32_t x = facts_.items[a].first, y = facts_.items[b].first;
            return x != y ? x < y : a < b;
        });
    }

    // The order of the schemas is that of facts_.
    Subschemas parts_of(uint32_t index) {
        Subschemas out = tree_.none();
        auto one = std::lower_bound(
            ordered_.begin(), ordered_.end(), index,
            [&](uint32_t item, uint32_t wanted) { return facts_.items[item].first < wanted; });
        const auto add_singles = [&](uint32_t before) {
            for (; one != ordered_.end() && *one < before && facts_.items[*one].first == index;
                 one++)
                tree_.add(out, facts_.items[*one].part);
        };
        for (const uint32_t range : ranges_) {
            add_singles(range);
            syntax_.work().add_steps(1);
            const ArrayFacts::Item &item = facts_.items[range];
            if (item.first <= index && index <= item.last) tree_.add(out, item.part);
        }
        add_singles(UINT32_MAX);
        return out;
    }
    Node item(uint32_t index) { return reader_.json_.item(reader_.node_of(parts_of(index))); }

    // Replaces conditions that follow from others, or cannot be met.
    void simplify() {
        for (ArrayFacts::Contains &one : facts_.contains) {
            if (one.max < one.min) facts_.max = 0, facts_.min = 1; // no array matches
            if (!one.part.is_false() && !one.part.is_true()) continue;
            const bool every = one.part.is_true();
            if (every) facts_.min = std::max(facts_.min, one.min);
            if (every) facts_.max = std::min(facts_.max, one.max);
            if (!every && one.min > 0) facts_.max = 0, facts_.min = 1;
        }
        std::erase_if(facts_.contains, [](const ArrayFacts::Contains &one) {
            return !one.part.is_dict() || (one.min == 0 && one.max == kMany);
        });
        for (const ArrayFacts::Item &one : facts_.some)
            if (one.part.is_true()) facts_.min = std::max(facts_.min, one.first + 1);
        std::erase_if(facts_.some, [](const ArrayFacts::Item &one) { return one.part.is_true(); });
        for (ArrayFacts::Contains &one : facts_.contains) {
            if (one.max > 0) continue; // no item may match
            facts_.items.push_back({0, kMany, tree_.negate(one.part)});
        }
        std::erase_if(facts_.contains,
                      [](const ArrayFacts::Contains &one) { return one.max == 0; });
        if (facts_.unique && facts_.max <= 1) facts_.unique = nullptr;
        order_items();
    }

    // Items whose schema depends on the index, then the others.
    Node list() {
        const uint32_t min = facts_.min, max = facts_.max, n = n_told_;
        if (max < min) return reader_.never();
        const auto left = [&](uint32_t i) { return max == kMany ? kMany : max - i; };
        const Node rest = item(n);
        if (n == 0) {
            if (max == 0) return syntax_.empty();
            const Node all = reader_.json_.list(rest, rest, min > 0 ? min - 1 : 0,
                                                max == kMany ? kMany : max - 1);
            return min == 0 ? syntax_.optional(all) : all;
        }
        Node tail = syntax_.empty(); // continuations after i items; a rule each limits nesting
        if (n < max)
            tail = syntax_.repeat(syntax_.sequence({reader_.json_.comma(), rest}),
                                  min > n ? min - n : 0, left(n));
        else if (min > n)
            tail = reader_.never();
        for (uint32_t i = n; i-- > 0;) {
            Node here = syntax_.empty();
            if (i < max) {
                here = i > 0 ? syntax_.sequence({reader_.json_.comma(), item(i), tail})
                             : syntax_.sequence({item(i), tail});
                if (i >= min) here = syntax_.optional(here);
            }
            tail = reader_.rule_of("elements", here);
        }
        return tail;
    }

    // ---- uniqueItems ----

    bool unique_alone() const {
        return facts_.unique && facts_.some.empty() && facts_.contains.empty() && n_told_ == 0;
    }
    void add_values(uint32_t index, size_t most) {
        const Subschemas parts = parts_of(index);
        if (parts.empty() || !reader_.find_values(values_, parts, most))
            tree_.refuse(facts_.unique, Status::unsupported,
                         "'uniqueItems' is supported for items of at most %zu values listed by "
                         "'enum' or 'const', or of at most %zu if positions have different schemas",
                         kMostNamed, kMostDifferent);
    }
    void make_constants() {
        const Subschema of = tree_.never(location_);
        for (const Value &value : values_) constants_.push_back(tree_.constant(value, of));
    }

    // Each value at most once, in any order.
    Node different() {
        add_values(0, kMostNamed);
        make_constants();
        Vector<Node> items = reader_.nodes();
        for (const Subschema &constant : constants_) {
            Subschemas parts = parts_of(0);
            tree_.add(parts, constant);
            items.push_back(reader_.json_.item(reader_.node_of(parts)));
        }
        return syntax_.members({reader_.json_.comma(), items.data(), items.size(), 0,
                                static_cast<uint32_t>(items.size()), facts_.min, facts_.max});
    }

    // ---- states ----

    using Counts = std::array<uint32_t, kMostConditions>;
    struct State {        // before an item
        uint32_t index;   // at most n_counted_: later items are alike
        Counts fitting;   // matches of each `contains`
        uint32_t missing; // conditions of `some` not met yet, as bits
        uint32_t used;    // values_ that were used, as bits
        auto operator<=>(const State &) const = default;
    };

    Node states() {
        if (facts_.max < facts_.min) return reader_.never();
        if (facts_.some.size() + facts_.contains.size() > kMostConditions)
            tree_.refuse(
                location_, Status::unsupported,
                "at most %zu conditions that hold for some items ('contains') are supported",
                kMostConditions);
        n_counted_ = std::max({1u, n_told_, facts_.min}); // the first one has no comma
        for (const ArrayFacts::Item &one : facts_.some)
            n_counted_ = std::max(n_counted_, one.first);
        if (facts_.max != kMany) n_counted_ = facts_.max;
        if (facts_.unique) find_values();
        if (n_counted_ > kMostArrayStates) limit();
        const State start = {0, {}, (1u << facts_.some.size()) - 1, 0};
        const Node out = rule_of(start);
        while (!todo_.empty()) {
            const State state = todo_.back();
            todo_.pop_back();
            const uint32_t rule = rules_.find(state)->second;
            syntax_.set_body(rule, body(state));
        }
        return out;
    }

    [[noreturn]] void limit() {
        tree_.refuse(location_, Status::limit, "its items lead to over %" PRIu32 " states",
                     kMostArrayStates);
    }

    Node rule_of(const State &state) {
        const auto found = rules_.find(state);
        if (found != rules_.end()) return syntax_.rule(found->second);
        if (rules_.size() >= kMostArrayStates) limit();
        const uint32_t rule = syntax_.add_rule("items", 0);
        rules_.emplace(state, rule);
        todo_.push_back(state);
        return syntax_.rule(rule);
    }

    // Finds the values that items can have with uniqueItems.
    void find_values() {
        const uint32_t most = facts_.max == kMany ? n_told_ : std::min(n_told_, facts_.max - 1);
        for (uint32_t i = 0; i <= most; i++) add_values(i, kMostDifferent);
        make_constants();
    }

    bool is_whole(const State &state) const {
        if (state.index < facts_.min || state.missing > 0) return false;
        for (size_t i = 0; i < facts_.contains.size(); i++)
            if (state.fitting[i] < facts_.contains[i].min) return false;
        return true;
    }

    Node body(const State &state) {
        Vector<Node> alternatives{HostAllocator<Node>(syntax_.host())};
        if (is_whole(state)) alternatives.push_back(syntax_.empty());
        if (state.index >= facts_.max)
            return syntax_.choice(alternatives.data(), alternatives.size());
        const Subschemas parts = parts_of(state.index);
        State next = state;
        next.index = std::min(state.index + 1, n_counted_);
        if (!facts_.unique) {
            add_alternatives(alternatives, state, next, parts, 0);
            return syntax_.choice(alternatives.data(), alternatives.size());
        }
        for (uint32_t i = 0; i < values_.size(); i++) {
            if (state.used >> i & 1) continue;
            Subschemas one(parts);
            tree_.add(one, constants_[i]);
            next.used = state.used | 1u << i;
            add_alternatives(alternatives, state, next, one, 0);
        }
        return syntax_.choice(alternatives.data(), alternatives.size());
    }

    // Adds the alternatives of an item: for each condition from `at` on it counts or not.
    // Recursive, once for each condition.
    void add_alternatives(Vector<Node> &out, const State &state, State next,
                          const Subschemas &parts, size_t at) {
        if (at < facts_.contains.size()) {
            const ArrayFacts::Contains &one = facts_.contains[at];
            const uint32_t n = state.fitting[at];
            const bool exact = one.max != kMany; // items that do not count must not match
            if (exact ? n < one.max : n < one.min) {
                Subschemas more(parts);
                tree_.add(more, one.part);
                next.fitting[at] = n + 1;
                add_alternatives(out, state, next, more, at + 1);
            }
            Subschemas rest(parts);
            if (exact) tree_.add(rest, tree_.negate(one.part));
            next.fitting[at] = n;
            return add_alternatives(out, state, next, rest, at + 1);
        }
        const size_t some = at - facts_.contains.size();
        if (some < facts_.some.size()) {
            const ArrayFacts::Item &one = facts_.some[some];
            if (state.missing >> some & 1 && one.first <= state.index) {
                Subschemas more(parts);
                tree_.add(more, one.part);
                State fits = next;
                fits.missing &= ~(1u << some);
                add_alternatives(out, state, fits, more, at + 1);
            }
            return add_alternatives(out, state, next, parts, at + 1);
        }
        const Node value = reader_.json_.item(reader_.node_of(parts));
        const Node item =
            state.index > 0 ? syntax_.sequence({reader_.json_.comma(), value}) : value;
        out.push_back(syntax_.sequence({item, rule_of(next)}));
    }

    SchemaReader &reader_;
    Syntax &syntax_;
    SchemaTree &tree_;
    ArrayFacts facts_;
    const SchemaLocation *location_;
    uint32_t n_told_ = 0; // items whose schema depends on the index
    uint32_t n_counted_ = 0;
    Vector<uint32_t> ordered_, ranges_; // numbers of facts_.items with one index, with several
    Vector<Value> values_;
    Subschemas constants_; // schemas of values_
    std::map<State, uint32_t, std::less<State>, HostAllocator<std::pair<const State, uint32_t>>>
        rules_;
    Vector<State> todo_;
};

Node SchemaReader::array_node(const Alternative &alternative) {
    return ArrayRules(*this, alternative).run();
}

} // namespace ggufx::grammar
