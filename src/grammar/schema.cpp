// See schema.hpp. A set of schemas that hold at once becomes a rule, once; sets that it leads to are
// left to later, so that nothing calls itself.
// SPDX-License-Identifier: MIT
#include "grammar/schema.hpp"

#include "grammar/machine.hpp"
#include "grammar/pattern.hpp"
#include "grammar/schema_parts.hpp"

#include <algorithm>
#include <map>

namespace ggufx::grammar {

using chat::Kind;
using chat::Value;

namespace {

// Keywords that say nothing of the texts, and those that are taken elsewhere.
constexpr std::string_view kPassedOver[] = {"$schema",
                                            "$id",
                                            "$anchor",
                                            "$defs",
                                            "definitions",
                                            "$comment",
                                            "title",
                                            "description",
                                            "default",
                                            "examples",
                                            "deprecated",
                                            "readOnly",
                                            "writeOnly",
                                            "contentEncoding",
                                            "contentMediaType",
                                            "contentSchema",
                                            "$ref",
                                            "allOf",
                                            "anyOf",
                                            "oneOf",
                                            "type",
                                            "enum",
                                            "const",
                                            "properties",
                                            "required",
                                            "additionalProperties",
                                            "items",
                                            "prefixItems",
                                            "patternProperties",
                                            "not"};
// Those that say nothing without another one.
constexpr std::string_view kNeedsOther[][2] = {
    {"then", "if"}, {"else", "if"}, {"minContains", "contains"}, {"maxContains", "contains"}};

struct Format {
    std::string_view name;
    const char *pattern;
};
#define GGUFX_DATE                                                                                 \
    "(\\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|"            \
    "02-(0[1-9]|1\\d|2[0-8]))|(\\d\\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])"   \
    "00)-02-29)"
#define GGUFX_TIME                                                                                 \
    "([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)"
constexpr Format kFormats[] = {
    {"date", "^" GGUFX_DATE "$"},
    {"time", "^" GGUFX_TIME "$"},
    {"date-time", "^" GGUFX_DATE "T" GGUFX_TIME "$"},
    {"uuid", "^[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$"},
    {"ipv4",
     "^((25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)\\.){3}(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)$"},
    {"email", "^[A-Za-z0-9_+-]+(\\.[A-Za-z0-9_+-]+)*@[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\\."
              "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+$"},
};

// What a set of schemas without alternatives says, beside objects, arrays and choices.
struct Bounds {
    uint32_t min_length = 0, max_length = kMany, min_items = 0, max_items = kMany;
    int64_t low = 0, high = 0;
    bool has_low = false, has_high = false;
    const Value *pattern = nullptr;
    const char *format = nullptr;
    bool has_length = false;
};

class Reader {
public:
    Reader(Syntax &syntax, std::string_view text, bool compact)
        : syntax_(syntax), tree_(syntax.host(), text), json_(syntax, compact),
          rules_(RuleMap<Key>::allocator_type(syntax.host())),
          patterns_(RuleMap<std::string_view>::allocator_type(syntax.host())),
          lengths_(RuleMap<Lengths>::allocator_type(syntax.host())),
          todo_(HostAllocator<Todo>(syntax.host())) {}

    void read() {
        Parts parts = tree_.none();
        tree_.add(parts, tree_.root(), nullptr);
        const Node root = node_of(parts);
        const uint32_t rule = syntax_.add_rule("root", 0);
        syntax_.set_body(rule, root);
        syntax_.set_root(rule);
        while (!todo_.empty()) {
            const Todo next = std::move(todo_.back());
            todo_.pop_back();
            Vector<Parts> flat{HostAllocator<Parts>(syntax_.host())};
            tree_.expand(flat, next.parts);
            Nodes ways = nodes();
            for (const Parts &way : flat) ways.push_back(flat_node(way));
            syntax_.set_body(next.rule, syntax_.choice(ways.data(), ways.size()));
        }
    }

private:
    using Nodes = Vector<Node>;
    using Key = Vector<const void *>;
    using Rules =
        std::map<Key, uint32_t, std::less<Key>, HostAllocator<std::pair<const Key, uint32_t>>>;
    using Lengths = std::pair<uint32_t, uint32_t>;
    template <class K>
    using RuleMap =
        std::map<K, uint32_t, std::less<K>, HostAllocator<std::pair<const K, uint32_t>>>;
    struct Todo {
        uint32_t rule;
        Parts parts;
    };
    struct Member {
        std::string_view name;
        bool required;
    };
    using Members = Vector<Member>;

    Nodes nodes() const { return Nodes(HostAllocator<Node>(syntax_.host())); }
    Node never() { return syntax_.set(nullptr, 0); }
    Node node_of(const Parts &parts);
    Node flat_node(const Parts &parts);
    Node choice_node(const Parts &parts, const chat::List &values, uint32_t kinds,
                     const Bounds &bounds);
    bool accepts(const Parts &parts, const Value &value, uint32_t kinds, const Bounds &bounds);
    Node value_node(const Value &value, unsigned depth);
    Node bounded_string(const Bounds &bounds);
    Node string_node(const Parts &parts, const Bounds &bounds);
    Node pattern_node(std::string_view pattern, const Where *where);
    bool matches_any(std::string_view pattern, const Members &members);
    Node other_string(const Members &others, const Bounds &bounds, const Parts &parts);
    void read_excluded(Members &strings, bool truths[2], const Parts &parts, uint32_t kinds);
    Node array_node(const Parts &parts, const Bounds &bounds);
    Node object_node(const Parts &parts);
    void find_members(Members &out, const Parts &parts);
    Parts member_parts(const Parts &parts, std::string_view name);
    const Value *find_patterns(const Part &part);
    Node other_member(const Parts &parts, const Members &members);
    Node other_key(const Members &members);
    void read_bounds(Bounds &out, const Parts &parts, uint32_t kinds);
    void read_keyword(Bounds &out, const Part &part, std::string_view key, const Value &value,
                      uint32_t kinds);
    uint32_t count(const Part &part, std::string_view key, const Value &value);
    void bound(Bounds &out, const Part &part, std::string_view key, const Value &value,
               uint32_t kinds);

    Syntax &syntax_;
    SchemaTree tree_;
    JsonText json_;
    RuleMap<Key> rules_;
    RuleMap<std::string_view> patterns_; // by their text, lengths by their bounds
    RuleMap<Lengths> lengths_;
    Vector<Todo> todo_;
};

// The rule of schemas that hold at once.
Node Reader::node_of(const Parts &parts) {
    if (parts.empty()) return json_.any_value();
    Key key{HostAllocator<const void *>(syntax_.host())};
    for (const Part &part : parts) key.push_back(part.id());
    std::sort(key.begin(), key.end());
    const auto found = rules_.find(key);
    if (found != rules_.end()) return syntax_.rule(found->second);
    const uint32_t rule = syntax_.add_rule("schema", 0);
    rules_.emplace(std::move(key), rule);
    todo_.push_back({rule, parts});
    return syntax_.rule(rule);
}

// ---- keywords ----

uint32_t Reader::count(const Part &part, std::string_view key, const Value &value) {
    const double n = value.is(Kind::boolean) || !value.is_number() ? -1 : value.number();
    if (!(n >= 0) || n != static_cast<double>(static_cast<uint64_t>(n < 1e18 ? n : 0)))
        tree_.refuse(part.where, Status::malformed, "'%s' is no count",
                     Quoted(key.data(), key.size()).c_str());
    return n >= kMany - 1 ? kMany - 1 : static_cast<uint32_t>(n);
}

void Reader::bound(Bounds &out, const Part &part, std::string_view key, const Value &value,
                   uint32_t kinds) {
    const Quoted name(key.data(), key.size());
    if (value.is(Kind::boolean) || !value.is_number())
        tree_.refuse(part.where, Status::malformed, "'%s' is no number", name.c_str());
    if (kinds & kFraction)
        tree_.refuse(part.where, Status::unsupported, "'%s' is supported of integers only",
                     name.c_str());
    const double number = value.number();
    if (!(number > -9e18 && number < 9e18))
        tree_.refuse(part.where, Status::unsupported, "'%s' has over 62 bits", name.c_str());
    const bool low = key == "minimum" || key == "exclusiveMinimum";
    const bool exclusive = key.size() > 7;
    int64_t whole = value.is(Kind::real) ? static_cast<int64_t>(number) : value.integer;
    const bool exact = !value.is(Kind::real) || static_cast<double>(whole) == number;
    if (!exact) whole += low ? number > 0 : -(number < 0); // inward
    if (exact && exclusive) whole += low ? 1 : -1;
    if (low && (!out.has_low || whole > out.low)) out.low = whole, out.has_low = true;
    if (!low && (!out.has_high || whole < out.high)) out.high = whole, out.has_high = true;
}

void Reader::read_keyword(Bounds &out, const Part &part, std::string_view key, const Value &value,
                          uint32_t kinds) {
    const auto most = [&](uint32_t &to) { to = std::min(to, count(part, key, value)); };
    const auto least = [&](uint32_t &to) { to = std::max(to, count(part, key, value)); };
    if (key == "minLength" || key == "maxLength") {
        key == "minLength" ? least(out.min_length) : most(out.max_length);
        out.has_length = true;
    } else if (key == "minItems") {
        least(out.min_items);
    } else if (key == "maxItems") {
        most(out.max_items);
    } else if (key == "minimum" || key == "maximum" || key == "exclusiveMinimum" ||
               key == "exclusiveMaximum") {
        if (kinds & (kInteger | kFraction)) bound(out, part, key, value, kinds);
    } else if (key == "pattern") {
        if (!value.is(Kind::string))
            tree_.refuse(part.where, Status::malformed, "'pattern' is no text");
        if (out.pattern && out.pattern->text->view() != value.text->view())
            tree_.refuse(part.where, Status::unsupported, "'pattern' beside another one");
        out.pattern = &value;
    } else if (key == "format") {
        for (const Format &format : kFormats) {
            if (!value.is(Kind::string) || value.text->view() != format.name) continue;
            if (out.format && out.format != format.pattern)
                tree_.refuse(part.where, Status::unsupported, "'format' beside another one");
            out.format = format.pattern;
        }
    } else if (key == "uniqueItems" && value.is(Kind::boolean) && !value.truth) {
    } else if (!std::any_of(std::begin(kNeedsOther), std::end(kNeedsOther), [&](const auto &pair) {
                   return key == pair[0] && !tree_.find(part, pair[1]);
               })) {
        tree_.refuse(part.where, Status::unsupported, "the keyword '%s' is not supported",
                     Quoted(key.data(), key.size()).c_str());
    }
}

void Reader::read_bounds(Bounds &out, const Parts &parts, uint32_t kinds) {
    for (const Part &part : parts) {
        if (!part.schema.is(Kind::dict)) continue;
        const chat::Dict &dict = *part.schema.dict;
        for (size_t i = 0; i < dict.size; i++) {
            const std::string_view key = dict.entries[i]->key.text->view();
            if (std::find(std::begin(kPassedOver), std::end(kPassedOver), key) ==
                std::end(kPassedOver))
                read_keyword(out, part, key, dict.entries[i]->value, kinds);
        }
    }
}

// ---- values ----

Node Reader::flat_node(const Parts &parts) {
    const uint32_t kinds = tree_.kinds(parts);
    Bounds bounds;
    read_bounds(bounds, parts, kinds);
    for (const Part &part : parts)
        if (const chat::List *const values = tree_.choices(part))
            return choice_node(parts, *values, kinds, bounds);
    Nodes ways = nodes();
    if (kinds & kNull) ways.push_back(syntax_.literal("null"));
    Members others{HostAllocator<Member>(syntax_.host())}; // strings that are not
    bool truths[2] = {true, true};
    read_excluded(others, truths, parts, kinds);
    if (kinds & kBoolean && truths[1]) ways.push_back(syntax_.literal("true"));
    if (kinds & kBoolean && truths[0]) ways.push_back(syntax_.literal("false"));
    if (kinds & kFraction) {
        if (!(kinds & kInteger))
            tree_.refuse(parts[0].where, Status::unsupported, "'not' of integers among numbers");
        ways.push_back(json_.any_number());
    } else if (kinds & kInteger) {
        ways.push_back(bounds.has_low || bounds.has_high
                           ? json_.integers(bounds.has_low ? &bounds.low : nullptr,
                                            bounds.has_high ? &bounds.high : nullptr)
                           : json_.any_integer());
    }
    if (kinds & kString)
        ways.push_back(others.empty() ? string_node(parts, bounds)
                                      : other_string(others, bounds, parts));
    if (kinds & kArray) ways.push_back(array_node(parts, bounds));
    if (kinds & kObject) ways.push_back(object_node(parts));
    return syntax_.choice(ways.data(), ways.size());
}

// What `not` takes away one by one: of truths and strings.
void Reader::read_excluded(Members &strings, bool truths[2], const Parts &parts, uint32_t kinds) {
    constexpr uint32_t simple = kNull | kBoolean | kString;
    for (const Part &part : parts) {
        const chat::List *const values = tree_.excluded(part);
        for (size_t i = 0; values && i < values->size; i++) {
            const Value &value = values->items[i];
            if (kind_of(value) & kinds & ~simple)
                tree_.refuse(part.where, Status::unsupported,
                             "'not' of a number, an array or an object");
            if (value.is(Kind::boolean)) truths[value.truth] = false;
            if (value.is(Kind::string)) strings.push_back({value.text->view(), false});
        }
    }
}

Node Reader::other_string(const Members &others, const Bounds &bounds, const Parts &parts) {
    if (bounds.pattern || bounds.format || bounds.has_length)
        tree_.refuse(parts[0].where, Status::unsupported,
                     "'not' of strings beside 'pattern', 'format', 'minLength' or 'maxLength'");
    return other_key(others);
}

// Equal strings are one rule, so that what is found out of one holds for all.
Node Reader::bounded_string(const Bounds &bounds) {
    if (bounds.max_length < bounds.min_length) return never();
    if (bounds.min_length == 0 && bounds.max_length == kMany) return json_.any_string();
    const auto [at, fresh] = lengths_.try_emplace({bounds.min_length, bounds.max_length}, 0);
    if (fresh) {
        at->second = syntax_.add_rule("string", 0);
        syntax_.set_body(at->second, json_.string(bounds.min_length, bounds.max_length));
    }
    return syntax_.rule(at->second);
}

Node Reader::string_node(const Parts &parts, const Bounds &bounds) {
    if (!bounds.pattern && !bounds.format) return bounded_string(bounds);
    const Where *const where = parts[0].where;
    if (bounds.has_length)
        tree_.refuse(where, Status::unsupported,
                     "'minLength' or 'maxLength' beside 'pattern' or 'format'");
    if (bounds.pattern && bounds.format)
        tree_.refuse(where, Status::unsupported, "'pattern' beside 'format'");
    return pattern_node(bounds.pattern ? bounds.pattern->text->view() : bounds.format, where);
}

Node Reader::pattern_node(std::string_view pattern, const Where *where) {
    const auto found = patterns_.find(pattern);
    if (found != patterns_.end()) return syntax_.rule(found->second);
    try {
        const Node node = read_pattern(syntax_, json_, pattern, "'pattern'");
        const uint32_t rule = syntax_.add_rule("pattern", 0);
        syntax_.set_body(rule, node);
        patterns_.emplace(pattern, rule);
        return syntax_.rule(rule);
    } catch (const Error &e) {
        tree_.refuse(where, static_cast<Status>(e.failure.status), "%s", e.failure.message);
    }
}

// Of a value that enum or const names: do the others take it, too?
bool Reader::accepts(const Parts &parts, const Value &value, uint32_t kinds, const Bounds &bounds) {
    const uint32_t kind = kind_of(value);
    if (!(kinds & kind)) return false;
    for (const Part &part : parts) {
        const chat::List *const values = tree_.choices(part);
        bool found = !values;
        for (size_t i = 0; values && i < values->size; i++)
            found = found || tree_.same(values->items[i], value);
        if (!found) return false;
        const chat::List *const excluded = tree_.excluded(part);
        for (size_t i = 0; excluded && i < excluded->size; i++)
            if (tree_.same(excluded->items[i], value)) return false;
        static constexpr std::string_view deep[] = {"properties",           "required",
                                                    "additionalProperties", "items",
                                                    "prefixItems",          "patternProperties"};
        for (const std::string_view key : deep)
            if ((kind == kObject || kind == kArray) && tree_.find(part, key))
                tree_.refuse(part.where, Status::unsupported, "'%s' beside 'enum' or 'const'",
                             key.data());
    }
    if (kind == kString) {
        if (bounds.pattern || bounds.format)
            tree_.refuse(parts[0].where, Status::unsupported,
                         "'pattern' or 'format' beside 'enum' or 'const'");
        const size_t n = chat::count_chars(tree_.meter(), *value.text);
        return n >= bounds.min_length && (bounds.max_length == kMany || n <= bounds.max_length);
    }
    if (kind == kArray) {
        return value.list->size >= bounds.min_items &&
               (bounds.max_items == kMany || value.list->size <= bounds.max_items);
    }
    if (kind != kInteger) return true;
    return (!bounds.has_low || value.number() >= static_cast<double>(bounds.low)) &&
           (!bounds.has_high || value.number() <= static_cast<double>(bounds.high));
}

Node Reader::choice_node(const Parts &parts, const chat::List &values, uint32_t kinds,
                         const Bounds &bounds) {
    Nodes ways = nodes();
    for (size_t i = 0; i < values.size; i++)
        if (accepts(parts, values.items[i], kinds, bounds))
            ways.push_back(value_node(values.items[i], 0));
    return syntax_.choice(ways.data(), ways.size());
}

// One way to write a value; calls itself, as deep as JSON may be.
Node Reader::value_node(const Value &value, unsigned depth) {
    if (value.is(Kind::string)) return json_.quoted(value.text->view());
    if (value.is(Kind::list)) {
        Nodes items = nodes();
        for (size_t i = 0; i < value.list->size; i++) {
            if (i > 0) items.push_back(json_.comma());
            items.push_back(value_node(value.list->items[i], depth + 1));
        }
        return json_.between('[', syntax_.sequence(items.data(), items.size()), ']');
    }
    if (value.is(Kind::dict)) {
        Nodes items = nodes();
        for (size_t i = 0; i < value.dict->size; i++) {
            const chat::Entry &entry = *value.dict->entries[i];
            if (i > 0) items.push_back(json_.comma());
            items.push_back(json_.quoted(entry.key.text->view()));
            items.push_back(json_.colon());
            items.push_back(value_node(entry.value, depth + 1));
        }
        return json_.between('{', syntax_.sequence(items.data(), items.size()), '}');
    }
    const chat::Text *const text = chat::write_json(tree_.meter(), value, {});
    return syntax_.literal(text->view());
}

// ---- arrays ----

Node Reader::array_node(const Parts &parts, const Bounds &bounds) {
    const uint32_t min = bounds.min_items, max = bounds.max_items;
    if (max < min) return never();
    size_t n_prefix = 0;
    const auto prefix_of = [&](const Part &part) -> const Value * {
        const Value *const list = tree_.find(part, "prefixItems");
        if (list && !list->is(Kind::list))
            tree_.refuse(part.where, Status::malformed, "'prefixItems' is no array");
        return list;
    };
    for (const Part &part : parts)
        if (const Value *const list = prefix_of(part))
            n_prefix = std::max(n_prefix, list->list->size);
    const auto element = [&](size_t i) { // of the i-th; those behind all prefixes are equal
        Parts out = tree_.none();
        for (const Part &part : parts) {
            const Value *const list = prefix_of(part), *const items = tree_.find(part, "items");
            if (list && i < list->list->size)
                tree_.add(out, list->list->items[i], tree_.below(part.where, "prefixItems"));
            else if (items)
                tree_.add(out, *items, tree_.below(part.where, "items"));
        }
        return node_of(out);
    };
    // What may follow i elements, from the last one on; a rule each, so that none is deep.
    const auto at_most = [&](size_t i) { return max == kMany || i < max; };
    const auto left = [&](size_t i) {
        return max == kMany ? kMany : max - static_cast<uint32_t>(i);
    };
    const Node rest = element(n_prefix);
    Node tail = syntax_.empty();
    if (at_most(n_prefix) && n_prefix > 0) {
        const uint32_t least = min > n_prefix ? min - static_cast<uint32_t>(n_prefix) : 0;
        tail = syntax_.repeat(syntax_.sequence({json_.comma(), rest}), least, left(n_prefix));
    } else if (min > n_prefix && n_prefix > 0) {
        tail = never();
    }
    for (size_t i = n_prefix; i-- > 1;) {
        Node here = syntax_.empty();
        if (at_most(i)) {
            here = syntax_.sequence({json_.comma(), element(i), tail});
            if (i >= min) here = syntax_.optional(here);
        }
        const uint32_t rule = syntax_.add_rule("elements", 0);
        syntax_.set_body(rule, here);
        tail = syntax_.rule(rule);
    }
    Node inside = syntax_.empty();
    if (at_most(0)) {
        inside = n_prefix > 0 ? syntax_.sequence({element(0), tail})
                              : json_.list(rest, rest, min > 0 ? min - 1 : 0,
                                           max == kMany ? kMany : max - 1);
        if (min == 0) inside = syntax_.optional(inside);
    }
    return json_.between('[', inside, ']');
}

// ---- objects ----

void Reader::find_members(Members &out, const Parts &parts) {
    TextIndex<uint32_t> known(syntax_.host());
    const auto name_of = [&](uint32_t i) { return out[i].name; };
    const auto add = [&](std::string_view name, bool required) {
        if (const uint32_t *const i = known.find(name, name_of)) {
            out[*i].required = out[*i].required || required;
            return;
        }
        out.push_back({name, required});
        known.insert(static_cast<uint32_t>(out.size() - 1), name_of);
    };
    for (const Part &part : parts) {
        const Value *const properties = tree_.find(part, "properties");
        if (!properties) continue;
        if (!properties->is(Kind::dict))
            tree_.refuse(part.where, Status::malformed, "'properties' is no object");
        for (size_t i = 0; i < properties->dict->size; i++)
            add(properties->dict->entries[i]->key.text->view(), false);
    }
    for (const Part &part : parts) {
        const Value *const names = tree_.find(part, "required");
        if (!names) continue;
        if (!names->is(Kind::list))
            tree_.refuse(part.where, Status::malformed, "'required' is no array");
        for (size_t i = 0; i < names->list->size; i++) {
            if (!names->list->items[i].is(Kind::string))
                tree_.refuse(part.where, Status::malformed, "'required' has what is no text");
            add(names->list->items[i].text->view(), true);
        }
    }
}

Parts Reader::member_parts(const Parts &parts, std::string_view name) {
    Parts out = tree_.none();
    for (const Part &part : parts) {
        const Value *const properties = tree_.find(part, "properties");
        const Value *const own =
            properties ? chat::lookup(tree_.meter(), *properties->dict, name) : nullptr;
        const Value *const others = tree_.find(part, "additionalProperties");
        if (own)
            tree_.add(out, *own, tree_.below(tree_.below(part.where, "properties"), name));
        else if (others)
            tree_.add(out, *others, tree_.below(part.where, "additionalProperties"));
    }
    return out;
}

// A key that is none of these names. In its tree of names each node is a rule: what may follow the
// characters that lead there.
Node Reader::other_key(const Members &members) {
    Vector<std::string_view> names{HostAllocator<std::string_view>(syntax_.host())};
    for (const Member &member : members) names.push_back(member.name);
    std::sort(names.begin(), names.end());
    const Node any = json_.any_text();
    const uint32_t root = syntax_.add_rule("key", 0);
    struct Branch {
        uint32_t rule;
        size_t first, last, depth; // names, and bytes of them that are read
    };
    Vector<Branch> todo{HostAllocator<Branch>(syntax_.host())};
    Vector<Range> taken{HostAllocator<Range>(syntax_.host())}, free(taken);
    todo.push_back({root, 0, names.size(), 0});
    while (!todo.empty()) {
        const Branch b = todo.back();
        todo.pop_back();
        Nodes ways = nodes();
        taken.clear();
        free.clear();
        size_t i = b.first;
        const bool is_name = i < b.last && names[i].size() == b.depth;
        if (is_name)
            i++;
        else
            ways.push_back(syntax_.empty());
        while (i < b.last) {
            const uint32_t code = chat::decode(names[i], b.depth);
            const size_t step = chat::step(names[i], b.depth), first = i;
            while (i < b.last && chat::decode(names[i], b.depth) == code) i++;
            const uint32_t rule = syntax_.add_rule("key", 0);
            const Range one = {code, code};
            ways.push_back(syntax_.sequence({json_.character(&one, 1), syntax_.rule(rule)}));
            taken.push_back(one);
            todo.push_back({rule, first, i, b.depth + step});
        }
        negate_ranges(free, taken.data(), merge_ranges(taken.data(), taken.size()));
        ways.push_back(syntax_.sequence({json_.character(free.data(), free.size()), any}));
        syntax_.set_body(b.rule, syntax_.choice(ways.data(), ways.size()));
    }
    return syntax_.sequence({syntax_.literal("\""), syntax_.rule(root), syntax_.literal("\"")});
}

// Is there a name that a pattern matches?
bool Reader::matches_any(std::string_view pattern, const Members &members) {
    Syntax own(syntax_.host());
    JsonText text(own, true);
    const uint32_t rule = own.add_rule("root", 0);
    own.set_body(rule, read_pattern(own, text, pattern, "'pattern'"));
    own.set_root(rule);
    Program program(syntax_.host());
    compile(program, own, pattern);
    Machine machine(syntax_.host(), program);
    const Place start = machine.start();
    for (const Member &member : members) {
        Place place = start;
        const Node quoted = json_.quoted(member.name);
        for (const char c : syntax_.bytes(syntax_[quoted])) {
            machine.begin_work();
            place = machine.step(place, static_cast<uint8_t>(c));
        }
        if (machine.is_whole(place)) return true;
    }
    return false;
}

// The only pattern of names that a schema has, null where it has none.
const Value *Reader::find_patterns(const Part &part) {
    const Value *const patterns = tree_.find(part, "patternProperties");
    if (!patterns) return nullptr;
    if (!patterns->is(Kind::dict))
        tree_.refuse(part.where, Status::malformed, "'patternProperties' is no object");
    return patterns->dict->size > 0 ? patterns : nullptr;
}

// A member that no schema names. Of patterns one is known, as no key can then have two values to
// satisfy, with nothing else allowed, as what is not of a pattern is no rule.
Node Reader::other_member(const Parts &parts, const Members &members) {
    Parts values = tree_.none();
    const chat::Entry *pattern = nullptr;
    for (const Part &part : parts) {
        const Value *const others = tree_.find(part, "additionalProperties");
        const Value *const patterns = find_patterns(part);
        if (!patterns) {
            if (others) tree_.add(values, *others, tree_.below(part.where, "additionalProperties"));
            continue;
        }
        const bool alone = !pattern && patterns->dict->size == 1 && others &&
                           others->is(Kind::boolean) && !others->truth;
        pattern = patterns->dict->entries[0];
        const std::string_view text = pattern->key.text->view();
        pattern_node(text, part.where); // refuses what it cannot be
        if (!alone || matches_any(text, members))
            tree_.refuse(part.where, Status::unsupported,
                         "'patternProperties' is supported of one pattern that no named property "
                         "matches, with 'additionalProperties' false");
        tree_.add(values, pattern->value,
                  tree_.below(tree_.below(part.where, "patternProperties"), text));
    }
    for (const Part &part : values)
        if (!part.schema.is(Kind::dict)) return never();
    const Node key =
        pattern ? pattern_node(pattern->key.text->view(), nullptr) : other_key(members);
    return syntax_.sequence({key, json_.colon(), node_of(values)});
}

// Members in order, from the last one on: what may follow where none stands before (bare), and
// where one does.
Node Reader::object_node(const Parts &parts) {
    Members members{HostAllocator<Member>(syntax_.host())};
    find_members(members, parts);
    const Node other = other_member(parts, members);
    Node bare = syntax_.optional(json_.list(other, other, 0, kMany));
    Node behind = syntax_.repeat(syntax_.sequence({json_.comma(), other}), 0, kMany);
    for (size_t i = members.size(); i-- > 0;) {
        const Member &m = members[i];
        const Node member = syntax_.sequence(
            {json_.quoted(m.name), json_.colon(), node_of(member_parts(parts, m.name))});
        const Node first = syntax_.sequence({member, behind});
        const Node next = syntax_.sequence({json_.comma(), member, behind});
        const uint32_t rules[2] = {syntax_.add_rule("members", 0), syntax_.add_rule("members", 0)};
        syntax_.set_body(rules[0], m.required ? first : syntax_.choice({first, bare}));
        syntax_.set_body(rules[1], m.required ? next : syntax_.choice({next, behind}));
        bare = syntax_.rule(rules[0]);
        behind = syntax_.rule(rules[1]);
    }
    return json_.between('{', bare, '}');
}

} // namespace

void read_schema(Syntax &syntax, std::string_view text, bool compact) {
    Reader(syntax, text, compact).read();
}

} // namespace ggufx::grammar
