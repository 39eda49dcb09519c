// Objects of a schema, see schema_reader.hpp. Members come in the order in which schemas name them,
// then those that no schema names. Names are classified by the patterns that match them. The file
// is long, because the rules of an object share its known members and classes of names.
// SPDX-License-Identifier: MIT
#include "grammar/schema_reader.hpp"

#include "base/text_index.hpp"
#include "chat/text.hpp"

#include <algorithm>

namespace ggufx::grammar {

using chat::Dict;
using chat::List;
using chat::Value;

namespace {

constexpr size_t kMostClasses = 64;    // classes of names by the patterns that match them
constexpr size_t kMostSome = 5;        // conditions that one member must meet
constexpr size_t kMostAnyOrder = 1000; // named members in any order
constexpr size_t kMostOrders = 256;    // choices of the members that meet such conditions
constexpr uint32_t kMostObjectStates = 1 << 15;

} // namespace

void SchemaReader::read_object(ObjectFacts &out, const Alternative &alternative) {
    keyword_ = "properties";
    const auto source_of = [&](const Subschema &part) {
        alternatives_.count_work(1 + out.sources.size() / 64);
        for (uint32_t i = 0; i < out.sources.size(); i++)
            if (out.sources[i].part.same(part)) return i;
        out.sources.push_back({part, tree_.find_dict(part, "properties"),
                               tree_.find_dict(part, "patternProperties")});
        return static_cast<uint32_t>(out.sources.size() - 1);
    };
    const auto numbers = [&] { return Vector<uint32_t>(HostAllocator<uint32_t>(syntax_.host())); };
    for (uint32_t number = 0; number < alternative.held.size(); number++) {
        const Subschema &part = alternative.held[number];
        out.min = std::max(out.min, tree_.find_count(part, "minProperties", 0));
        out.max = std::min(out.max, tree_.find_count(part, "maxProperties", kMany));
        const bool names = tree_.find(part, "properties") || tree_.find(part, "patternProperties");
        if (names) source_of(part);
        if (const Value *const others = tree_.find(part, "additionalProperties")) {
            ObjectFacts::Others more = {numbers(),
                                        tree_.enter(part, *others, "additionalProperties")};
            more.sources.push_back(source_of(part));
            if (!more.part.is_true()) out.others.push_back(std::move(more));
        }
        if (const Value *const rest = tree_.find(part, "unevaluatedProperties")) {
            ObjectFacts::Others more = {numbers(),
                                        tree_.enter(part, *rest, "unevaluatedProperties")};
            Vector<uint32_t> below = numbers();
            find_below(below, alternative, number);
            bool all = more.part.is_true(); // every member is evaluated
            for (const uint32_t i : below) {
                const Subschema &one = alternative.held[i];
                all = all || tree_.find(one, "additionalProperties") ||
                      (i != number && tree_.find(one, "unevaluatedProperties"));
                more.sources.push_back(source_of(one));
            }
            if (!all) out.others.push_back(std::move(more));
        }
        if (const Value *const value = tree_.find(part, "propertyNames"))
            tree_.add(out.names, tree_.enter(part, *value, "propertyNames"));
        const List *const required = tree_.find_names(part, "required");
        for (size_t i = 0; required && i < required->size; i++)
            out.required.push_back(required->items[i].text->view());
    }
    for (const Fact &fact : alternative.facts) {
        ObjectFacts::Some some = {
            ObjectFacts::Which::named, fact.text, nullptr, nullptr, 0, fact.part};
        if (fact.kind == FactKind::min_members) out.min = std::max(out.min, fact.n);
        if (fact.kind == FactKind::max_members) out.max = std::min(out.max, fact.n);
        if (fact.kind == FactKind::member) out.members.push_back(fact);
        if (fact.kind == FactKind::require) out.required.push_back(fact.text);
        if (fact.kind == FactKind::some_name) {
            some.names = name_language(fact.part);
            some.part = Subschema{Value::of(true), nullptr, nullptr, false};
            out.some.push_back(some);
        }
        if (fact.kind == FactKind::some_matching) {
            some.which = ObjectFacts::Which::matching;
            out.some.push_back(some);
        }
        if (fact.kind == FactKind::some_member) {
            some.which = ObjectFacts::Which::others;
            some.properties = tree_.find_dict(*fact.owner, "properties");
            some.patterns = tree_.find_dict(*fact.owner, "patternProperties");
            out.some.push_back(some);
        }
    }
}

class ObjectRules {
public:
    ObjectRules(SchemaReader &reader, const Alternative &alternative)
        : reader_(reader), syntax_(reader.syntax_), tree_(reader.tree_), json_(reader.json_),
          facts_(syntax_.host()),
          location_(alternative.held.empty() ? nullptr : alternative.held[0].location),
          members_(HostAllocator<Member>(syntax_.host())), known_(syntax_.host()),
          patterns_(HostAllocator<std::string_view>(syntax_.host())),
          known_patterns_(syntax_.host()), classes_(HostAllocator<Class>(syntax_.host())) {
        reader.read_object(facts_, alternative);
        other_nodes_.fill(kNoNode);
        some_nodes_.fill(kNoNode);
    }

    Node run() {
        if (facts_.max < facts_.min) return reader_.never();
        if (facts_.some.size() > kMostSome)
            tree_.refuse(location_, Status::unsupported,
                         "at most %zu conditions that hold for some members are supported",
                         kMostSome);
        find_members();
        find_classes();
        return json_.between('{', reader_.any_order_ ? any_order() : members(), '}');
    }

private:
    struct Member {
        std::string_view name;
        bool required, possible;
        Subschemas parts;
        uint32_t some; // conditions of facts_.some that it can meet, as bits
    };
    struct Class { // a class of names that no member has
        Node key;
        Subschemas parts;
        uint32_t some;
    };
    using Which = ObjectFacts::Which;

    const Pattern *pattern(std::string_view text) {
        return reader_.strings_.pattern(text, "a name");
    }
    bool matches(std::string_view pattern_text, std::string_view name) {
        reader_.alternatives_.count_work(1 + name.size() / 16);
        return reader_.strings_.matches(pattern(pattern_text), name);
    }
    bool any_matches(const Dict *patterns, std::string_view name) {
        for (size_t i = 0; patterns && i < patterns->size; i++)
            if (matches(patterns->entries[i]->key.text->view(), name)) return true;
        return false;
    }
    bool names(const Dict *properties, std::string_view name) {
        return properties && chat::lookup(tree_.meter(), *properties, name);
    }

    // ---- members with a name ----

    void add_member(std::string_view name, bool required) {
        const auto name_of = [&](uint32_t i) { return members_[i].name; };
        if (const uint32_t *const i = known_.find(name, name_of)) {
            members_[*i].required = members_[*i].required || required;
            return;
        }
        members_.push_back({name, required, true, tree_.none(), 0});
        known_.insert(static_cast<uint32_t>(members_.size() - 1), name_of);
    }

    void find_members() {
        for (const MemberSource &source : facts_.sources)
            for (size_t i = 0; source.properties && i < source.properties->size; i++)
                add_member(source.properties->entries[i]->key.text->view(), false);
        for (const std::string_view name : facts_.required) add_member(name, true);
        for (const Fact &fact : facts_.members) add_member(fact.text, false);
        for (const ObjectFacts::Some &some : facts_.some) // these are not `others`
            for (size_t i = 0; some.properties && i < some.properties->size; i++)
                add_member(some.properties->entries[i]->key.text->view(), false);
        const Regex allowed = name_language();
        for (Member &member : members_) {
            fill(member);
            member.possible = reader_.strings_.regexes().holds(allowed, member.name) &&
                              std::none_of(member.parts.begin(), member.parts.end(),
                                           [](const Subschema &part) { return part.is_false(); });
        }
    }

    // Fills in the schemas of a member by its name, and the conditions that it can meet.
    void fill(Member &member) {
        const std::string_view name = member.name;
        reader_.alternatives_.count_work((facts_.sources.size() + facts_.members.size()) / 16);
        Vector<uint8_t> told(facts_.sources.size(), 0, HostAllocator<uint8_t>(syntax_.host()));
        for (size_t i = 0; i < facts_.sources.size(); i++) {
            const MemberSource &source = facts_.sources[i];
            const Value *const own =
                source.properties ? chat::lookup(tree_.meter(), *source.properties, name) : nullptr;
            if (own) tree_.add(member.parts, tree_.enter(source.part, *own, "properties", name));
            told[i] = own != nullptr;
            for (size_t k = 0; source.patterns && k < source.patterns->size; k++) {
                const chat::Entry &entry = *source.patterns->entries[k];
                if (!matches(entry.key.text->view(), name)) continue;
                told[i] = true;
                tree_.add(member.parts, tree_.enter(source.part, entry.value, "patternProperties",
                                                    entry.key.text->view()));
            }
        }
        for (const ObjectFacts::Others &others : facts_.others)
            if (std::none_of(others.sources.begin(), others.sources.end(),
                             [&](uint32_t i) { return told[i]; }))
                tree_.add(member.parts, others.part);
        for (const Fact &fact : facts_.members)
            if (fact.text == name) tree_.add(member.parts, fact.part);
        for (uint32_t i = 0; i < facts_.some.size(); i++) {
            const ObjectFacts::Some &some = facts_.some[i];
            const bool is =
                some.which == Which::matching ? matches(some.pattern, name)
                : some.which == Which::named
                    ? reader_.strings_.regexes().holds(some.names, name)
                    : !names(some.properties, name) && !any_matches(some.patterns, name);
            if (is) member.some |= 1u << i;
        }
    }

    Regex name_language() {
        Regex out = reader_.strings_.regexes().any();
        for (const Subschema &part : facts_.names)
            out = reader_.strings_.regexes().both(out, reader_.name_language(part));
        return out;
    }

    // ---- other members ----

    struct Split { // names that the same patterns match
        Regex names;
        Vector<uint8_t> matched; // [patterns]
    };

    void add_pattern(std::string_view text) {
        const auto text_of = [&](uint32_t i) { return patterns_[i]; };
        if (known_patterns_.find(text, text_of)) return;
        patterns_.push_back(text);
        known_patterns_.insert(static_cast<uint32_t>(patterns_.size() - 1), text_of);
    }

    void find_classes() {
        Regexes &regexes = reader_.strings_.regexes();
        const auto add_all = [&](const Dict *dict) {
            for (size_t i = 0; dict && i < dict->size; i++)
                add_pattern(dict->entries[i]->key.text->view());
        };
        for (const MemberSource &source : facts_.sources) add_all(source.patterns);
        bool by_name = !facts_.names.empty();
        for (const ObjectFacts::Some &some : facts_.some) {
            if (some.which == Which::matching) add_pattern(some.pattern);
            if (some.which == Which::others) add_all(some.patterns);
            by_name = by_name || some.which == Which::named;
        }
        const Vector<uint8_t> none(HostAllocator<uint8_t>(syntax_.host()));
        if (patterns_.empty() && !by_name) return add_class([&] { return other_key(); }, none);
        Vector<Regex> named{HostAllocator<Regex>(syntax_.host())};
        for (const Member &member : members_) named.push_back(regexes.text(member.name));
        const Regex others = regexes.other(regexes.either(named.data(), named.size()));
        const Regex all = regexes.both(name_language(), others);
        Vector<Split> splits{HostAllocator<Split>(syntax_.host())};
        splits.push_back({all, none});
        const auto split = [&](Regex inside, Regex outside) {
            const size_t n = splits.size();
            for (size_t i = 0; i < n; i++) {
                const Regex in = regexes.both(splits[i].names, inside);
                const bool some_in = !regexes.is_none(in);
                const Regex out = regexes.both(splits[i].names, outside);
                const bool some_out = !regexes.is_none(out);
                if (some_in && some_out) {
                    splits.push_back({out, splits[i].matched});
                    splits.back().matched.push_back(0);
                }
                splits[i].names = some_in ? in : some_out ? out : regexes.none();
                splits[i].matched.push_back(some_in);
            }
            if (splits.size() > kMostClasses)
                tree_.refuse(location_, Status::unsupported,
                             "'patternProperties' is supported for at most %zu classes of names",
                             kMostClasses);
        };
        for (const std::string_view text : patterns_) {
            StringRules &strings = reader_.strings_;
            split(strings.language(pattern(text), true), strings.language(pattern(text), false));
        }
        for (const ObjectFacts::Some &some : facts_.some)
            if (some.which == Which::named) split(some.names, regexes.other(some.names));
        for (const Split &one : splits)
            if (!regexes.is_none(one.names))
                add_class([&] { return reader_.strings_.write_language(one.names); }, one.matched);
    }

    // Adds a class of names, which make_key() writes. matched: per pattern, then per condition of
    // `some` on names.
    template <class MakeKey>
    void add_class(const MakeKey &make_key, const Vector<uint8_t> &matched) {
        Class out = {kNoNode, tree_.none(), 0};
        const auto is_matched = [&](std::string_view pattern) {
            const auto text_of = [&](uint32_t i) { return patterns_[i]; };
            return matched[*known_patterns_.find(pattern, text_of)] != 0;
        };
        const auto any_matched = [&](const Dict *dict) {
            for (size_t i = 0; dict && i < dict->size; i++)
                if (is_matched(dict->entries[i]->key.text->view())) return true;
            return false;
        };
        for (const MemberSource &source : facts_.sources) {
            for (size_t i = 0; source.patterns && i < source.patterns->size; i++) {
                const chat::Entry &entry = *source.patterns->entries[i];
                const std::string_view text = entry.key.text->view();
                if (is_matched(text))
                    tree_.add(out.parts,
                              tree_.enter(source.part, entry.value, "patternProperties", text));
            }
        }
        for (const ObjectFacts::Others &others : facts_.others)
            if (std::none_of(others.sources.begin(), others.sources.end(),
                             [&](uint32_t i) { return any_matched(facts_.sources[i].patterns); }))
                tree_.add(out.parts, others.part);
        size_t named = patterns_.size();
        for (uint32_t i = 0; i < facts_.some.size(); i++) {
            const ObjectFacts::Some &some = facts_.some[i];
            const bool is = some.which == Which::matching ? is_matched(some.pattern)
                            : some.which == Which::named  ? matched[named++] != 0
                                                          : !any_matched(some.patterns);
            if (is) out.some |= 1u << i;
        }
        for (const Subschema &part : out.parts)
            if (part.is_false()) return; // no member has such a name
        out.key = make_key();
        classes_.push_back(std::move(out));
    }

    // Returns a key that is none of the names. Each node of the trie of names is a rule, for
    // the characters that may follow.
    Node other_key() {
        Vector<std::string_view> names{HostAllocator<std::string_view>(syntax_.host())};
        for (const Member &member : members_) names.push_back(member.name);
        std::sort(names.begin(), names.end());
        const Node any = json_.any_text();
        const uint32_t root = syntax_.add_rule("key", 0);
        struct Branch {
            uint32_t rule;
            size_t first, last, depth; // range of names; bytes of them that were read
        };
        Vector<Branch> todo{HostAllocator<Branch>(syntax_.host())};
        Vector<CharRange> taken{HostAllocator<CharRange>(syntax_.host())}, free(taken);
        todo.push_back({root, 0, names.size(), 0});
        while (!todo.empty()) {
            const Branch b = todo.back();
            todo.pop_back();
            Vector<Node> alternatives = reader_.nodes();
            taken.clear();
            free.clear();
            size_t i = b.first;
            const bool is_name = i < b.last && names[i].size() == b.depth;
            if (is_name)
                i++;
            else
                alternatives.push_back(syntax_.empty());
            while (i < b.last) {
                const uint32_t code = chat::decode(names[i], b.depth);
                const size_t step = chat::step(names[i], b.depth), first = i;
                while (i < b.last && chat::decode(names[i], b.depth) == code) i++;
                const uint32_t rule = syntax_.add_rule("key", 0);
                const CharRange one = {code, code};
                alternatives.push_back(
                    syntax_.sequence({json_.character(&one, 1), syntax_.rule(rule)}));
                taken.push_back(one);
                todo.push_back({rule, first, i, b.depth + step});
            }
            negate_ranges(free, taken.data(), merge_ranges(taken.data(), taken.size()));
            alternatives.push_back(
                syntax_.sequence({json_.character(free.data(), free.size()), any}));
            syntax_.set_body(b.rule, syntax_.choice(alternatives.data(), alternatives.size()));
        }
        return json_.in_quotes(syntax_.rule(root));
    }

    // ---- in order ----

    // Members in order, built from the last one on. A node is what may follow in one state. States
    // are: without a member before (bare) or with one; the number of members so far, as far as
    // bounds need it; the conditions of `some` not met yet.
    Node members() {
        const uint32_t n = static_cast<uint32_t>(members_.size());
        counted_ = facts_.max != kMany ? std::min(facts_.max, n) : std::min(facts_.min, n);
        n_sets_ = 1u << facts_.some.size();
        for (const Member &m : members_) n_required_ += m.required;
        const uint64_t width = uint64_t{counted_ + 1} * n_sets_ * 2;
        if (width * (n + 1) > kMostObjectStates && width > 2)
            tree_.refuse(location_, Status::limit, "its members lead to over %u states",
                         kMostObjectStates);
        Vector<Node> next = reader_.nodes(), here = reader_.nodes();
        here.resize(static_cast<size_t>(width));
        for (uint32_t count = 0; count <= counted_; count++)
            for (uint32_t missing = 0; missing < n_sets_; missing++)
                for (const bool bare : {false, true})
                    here[slot(count, missing, bare)] = others(count, missing, bare);
        for (uint32_t i = n; i-- > 0;) {
            next.swap(here);
            here.resize(next.size());
            const Node key = syntax_.sequence({json_.quoted(members_[i].name), json_.colon()});
            for (uint32_t count = 0; count <= std::min(counted_, i); count++)
                for (uint32_t missing = 0; missing < n_sets_; missing++)
                    for (const bool bare : {false, true})
                        here[slot(count, missing, bare)] =
                            member(members_[i], key, count, missing, bare, next);
        }
        return here[slot(0, n_sets_ - 1, true)];
    }

    size_t slot(uint32_t count, uint32_t missing, bool bare) const {
        return (size_t{count} * n_sets_ + missing) * 2 + bare;
    }
    // Returns the count after one more member; counts beyond counted_ are not distinguished.
    uint32_t more(uint32_t count) const { return std::min(count + 1, counted_); }
    bool has_room(uint32_t count) const { return facts_.max == kMany || count < facts_.max; }

    Node member(const Member &m, Node key, uint32_t count, uint32_t missing, bool bare,
                const Vector<Node> &next) {
        Vector<Node> alternatives = reader_.nodes();
        const uint32_t able = m.some & missing;
        for (uint32_t is = able; m.possible && has_room(count); is = (is - 1) & able) {
            Subschemas parts(m.parts); // it meets these of the missing conditions
            for (uint32_t k = 0; k < facts_.some.size(); k++)
                if (is >> k & 1) tree_.add(parts, facts_.some[k].part);
            const Node one = json_.item(syntax_.sequence({key, reader_.node_of(parts)}));
            const Node then = next[slot(more(count), missing & ~is, false)];
            alternatives.push_back(bare ? syntax_.sequence({one, then})
                                        : syntax_.sequence({json_.comma(), one, then}));
            if (is == 0) break;
        }
        if (!m.required) alternatives.push_back(next[slot(count, missing, bare)]);
        return reader_.rule_of("members", syntax_.choice(alternatives.data(), alternatives.size()));
    }

    Node any_other(uint32_t is) {
        Vector<Node> alternatives = reader_.nodes();
        for (const Class &c : classes_) {
            if ((c.some & is) != is) continue;
            Subschemas parts(c.parts);
            for (uint32_t k = 0; k < facts_.some.size(); k++)
                if (is >> k & 1) tree_.add(parts, facts_.some[k].part);
            alternatives.push_back(
                json_.item(syntax_.sequence({c.key, json_.colon(), reader_.node_of(parts)})));
        }
        return syntax_.choice(alternatives.data(), alternatives.size());
    }

    // Members that no schema names, after `count` others.
    Node others(uint32_t count, uint32_t missing, bool bare) {
        const uint32_t min = facts_.min > count ? facts_.min - count : 0;
        const uint32_t max = facts_.max == kMany ? kMany : facts_.max - count;
        // a required member is missing
        if (count < std::min(n_required_, counted_)) return reader_.never();
        if (classes_.empty() && (min > 0 || missing > 0)) return reader_.never();
        if (min > 1 && min <= max) refuse_equal_names();
        if (missing > 0) return rest_of_some(count, missing, bare);
        const Node one = other_rule(0);
        if (max == 0) return syntax_.empty();
        if (!bare) return syntax_.repeat(syntax_.sequence({json_.comma(), one}), min, max);
        const Node list =
            json_.list(one, one, min > 0 ? min - 1 : 0, max == kMany ? kMany : max - 1);
        return min == 0 ? syntax_.optional(list) : list;
    }

    Node other_rule(uint32_t is) {
        if (other_nodes_[is] == kNoNode) other_nodes_[is] = reader_.rule_of("other", any_other(is));
        return other_nodes_[is];
    }

    // Names of such members are not compared, so two of them may be equal.
    [[noreturn]] void refuse_equal_names() {
        tree_.refuse(
            location_, Status::unsupported,
            "'minProperties' is supported if the schema names all but one of that many members");
    }

    // A member that meets some missing conditions, then the rest of them; other members may come
    // between.
    Node rest_of_some(uint32_t count, uint32_t missing, bool bare) {
        Vector<Node> alternatives = reader_.nodes();
        if (facts_.max != kMany || facts_.min > count + 1)
            tree_.refuse(location_, Status::unsupported,
                         "'minProperties' and 'maxProperties' together with conditions that hold "
                         "for some members");
        const Node comma = bare ? syntax_.empty() : json_.comma();
        for (uint32_t is = missing; is > 0; is = (is - 1) & missing) {
            const Node then = others_of_some(missing & ~is);
            alternatives.push_back(syntax_.sequence({comma, other_rule(is), then}));
        }
        alternatives.push_back(syntax_.sequence({comma, other_rule(0), others_of_some(missing)}));
        return syntax_.choice(alternatives.data(), alternatives.size());
    }
    // Returns a rule, because it is recursive.
    Node others_of_some(uint32_t missing) {
        if (some_nodes_[missing] == kNoNode) {
            const uint32_t rule = syntax_.add_rule("others", 0);
            some_nodes_[missing] = syntax_.rule(rule);
            if (missing == 0) {
                syntax_.set_body(
                    rule,
                    syntax_.repeat(syntax_.sequence({json_.comma(), other_rule(0)}), 0, kMany));
            } else {
                syntax_.set_body(rule, rest_of_some(facts_.min, missing, false));
            }
        }
        return some_nodes_[missing];
    }

    // ---- in any order ----

    // For each condition of `some`: the member that meets it, or the number of an unnamed member.
    struct Choice {
        uint32_t member; // kNoNode: an unnamed one
        uint32_t other;
    };
    using Choices = std::array<Choice, kMostSome>;

    Node any_order() {
        if (members_.size() > kMostAnyOrder)
            tree_.refuse(location_, Status::limit, "over %zu members in any order", kMostAnyOrder);
        Vector<Node> alternatives = reader_.nodes();
        add_orders(alternatives, {}, 0, 0);
        return syntax_.choice(alternatives.data(), alternatives.size());
    }

    // Recursive over the conditions of `some`.
    void add_orders(Vector<Node> &out, Choices choices, uint32_t at, uint32_t n_others) {
        if (at == facts_.some.size()) return out.push_back(one_order(choices, n_others));
        if (out.size() > kMostOrders)
            tree_.refuse(location_, Status::limit, "its members have over %zu alternatives",
                         kMostOrders);
        for (uint32_t i = 0; i < members_.size(); i++) {
            if (!(members_[i].some >> at & 1)) continue;
            choices[at] = {i, 0};
            add_orders(out, choices, at + 1, n_others);
        }
        for (uint32_t k = 0; k <= n_others && !classes_.empty(); k++) {
            choices[at] = {kNoNode, k};
            add_orders(out, choices, at + 1, std::max(n_others, k + 1));
        }
    }

    Node one_order(const Choices &choices, uint32_t n_others) {
        Vector<Node> required = reader_.nodes(), optional = reader_.nodes();
        for (uint32_t i = 0; i < members_.size(); i++) {
            const Member &m = members_[i];
            Subschemas parts(m.parts);
            bool needed = m.required;
            for (uint32_t k = 0; k < facts_.some.size(); k++) {
                if (choices[k].member != i) continue;
                tree_.add(parts, facts_.some[k].part);
                needed = true;
            }
            if (!m.possible && !needed) continue;
            const Node value = m.possible ? reader_.node_of(parts) : reader_.never();
            const Node one =
                json_.item(syntax_.sequence({json_.quoted(m.name), json_.colon(), value}));
            (needed ? required : optional).push_back(reader_.rule_of("member", one));
        }
        for (uint32_t other = 0; other < n_others; other++) {
            uint32_t is = 0;
            for (uint32_t k = 0; k < facts_.some.size(); k++)
                if (choices[k].member == kNoNode && choices[k].other == other) is |= 1u << k;
            required.push_back(other_rule(is));
        }
        const auto n_required = static_cast<uint32_t>(required.size());
        required.insert(required.end(), optional.begin(), optional.end());
        const auto n_once = static_cast<uint32_t>(required.size());
        if (!classes_.empty()) {
            if (facts_.min > n_required + 1) refuse_equal_names();
            required.push_back(other_rule(0));
        }
        return syntax_.members({json_.comma(), required.data(), required.size(), n_required, n_once,
                                facts_.min, facts_.max});
    }

    SchemaReader &reader_;
    Syntax &syntax_;
    SchemaTree &tree_;
    JsonText &json_;
    ObjectFacts facts_;
    const SchemaLocation *location_;
    Vector<Member> members_;
    TextIndex<uint32_t> known_;
    Vector<std::string_view> patterns_; // patterns that names are matched with
    TextIndex<uint32_t> known_patterns_;
    Vector<Class> classes_;
    uint32_t n_required_ = 0, counted_ = 0, n_sets_ = 1;
    std::array<Node, 1 << kMostSome> other_nodes_, some_nodes_;
};

Node SchemaReader::object_node(const Alternative &alternative) {
    return ObjectRules(*this, alternative).run();
}

} // namespace ggufx::grammar
