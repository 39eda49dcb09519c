// See schema_ways.hpp. A path is a way that is not finished: schemas to look at, choices to make.
// SPDX-License-Identifier: MIT
#include "grammar/schema_ways.hpp"

#include "grammar/formats.hpp"
#include "grammar/numbers.hpp"
#include "grammar/syntax.hpp"

#include <algorithm>
#include <set>

namespace ggufx::grammar {

using chat::Dict;
using chat::Kind;
using chat::List;
using chat::Value;

namespace {

constexpr size_t kMostWays = 4096;
constexpr uint64_t kMostWork = 1 << 22; // parts of paths that are copied, of a whole schema
constexpr unsigned kMostNesting = 4;    // of oneOf within oneOf, where branches are compared
constexpr uint32_t kNobody = UINT32_MAX;
constexpr uint32_t kDeepKinds = kArray | kObject;

} // namespace

struct SchemaWays::Path {
    explicit Path(const Host *host)
        : way(host), open(HostAllocator<Open>(host)), tasks(HostAllocator<Task>(host)),
          denied(HostAllocator<Part>(host)) {}
    Way way;
    Vector<Open> open;
    Vector<Task> tasks;
    Parts denied;
    size_t next_task = 0;
    bool dead = false;

    size_t size() const {
        return way.held.size() + way.links.size() + way.facts.size() + open.size() + tasks.size() +
               denied.size();
    }
    void add(const Part &part, uint32_t above) { open.push_back({part, above}); }
    void add_fact(FactKind kind, uint32_t n, std::string_view text, const Part &part) {
        way.facts.push_back({kind, n, kMany, text, part, nullptr, nullptr});
    }
};

SchemaWays::SchemaWays(SchemaTree &tree, bool formats)
    : tree_(tree), host_(tree.host()), formats_(formats),
      constants_(HostAllocator<std::pair<const Dict *const, const List *>>(host_)),
      apart_(HostAllocator<std::pair<const Pair, bool>>(host_)) {}

bool SchemaWays::asserts_format(const Part &part, std::string_view name) {
    if (!formats_) return false;
    if (is_unknown_format(name))
        tree_.refuse(part.where, Status::unsupported, "the format '%s' is not supported",
                     Quoted(name.data(), name.size()).c_str());
    return format_pattern(name) != nullptr;
}

void SchemaWays::count_work(uint64_t n) {
    work_ += n;
    if (work_ > kMostWork) fail(Status::limit, {}, "the schema has too many alternatives");
}

static void require_few(size_t n_ways) {
    if (n_ways > kMostWays)
        fail(Status::limit, {}, "the schema has over %zu alternatives", kMostWays);
}

void SchemaWays::expand(Vector<Way> &out, const Parts &parts) {
    const bool outer_exact = exact_;
    exact_ = tree_.has_unevaluated() && reaches_unevaluated(parts);
    Vector<Path> paths{HostAllocator<Path>(host_)};
    paths.emplace_back(host_);
    for (const Part &part : parts) paths.back().add(part, kNobody);
    while (!paths.empty()) {
        Path path = std::move(paths.back());
        paths.pop_back();
        open_all(path);
        if (path.dead || path.way.kinds == 0) continue;
        // Choices that contradict each other would be multiplied by all that follow.
        if (nesting_ == 0 && path.next_task > 0 && is_empty(path.way, 1)) continue;
        if (path.next_task == path.tasks.size()) {
            out.push_back(std::move(path.way));
        } else {
            const Task task = path.tasks[path.next_task++];
            const size_t before = paths.size();
            choose(paths, path, task);
            std::reverse(paths.begin() + static_cast<ptrdiff_t>(before), paths.end());
        }
        require_few(paths.size() + out.size());
    }
    exact_ = outer_exact;
}

// ---- what holds, and what does not ----

void SchemaWays::open_all(Path &path) {
    for (size_t i = 0; i < path.open.size() && !path.dead; i++) {
        const Open open = path.open[i];
        if (open.part.is_false()) path.dead = true;
        if (!open.part.is_dict()) continue;
        open.part.negated ? deny(path, open.part) : hold(path, open.part, open.above);
    }
    path.open.clear();
}

void SchemaWays::hold(Path &path, const Part &part, uint32_t above) {
    Way &way = path.way;
    count_work(1 + (way.held.size() + path.denied.size()) / 64);
    const auto is_same = [&](const Part &other) { return other.same_schema(part); };
    const auto there = std::find_if(way.held.begin(), way.held.end(), is_same);
    const auto number = static_cast<uint32_t>(there - way.held.begin());
    if (above != kNobody) way.links.push_back({number, above});
    if (there != way.held.end()) return;
    if (std::any_of(path.denied.begin(), path.denied.end(), is_same)) {
        path.dead = true;
        return;
    }
    way.held.push_back(part);
    way.kinds &= tree_.types(part);
    const auto task = [&](TaskKind kind, uint32_t from) {
        path.tasks.push_back({kind, part, number, from});
    };
    if (const List *const values = choices(part)) {
        uint32_t kinds = 0;
        for (size_t i = 0; i < values->size; i++) kinds |= tree_.kind_of(values->items[i]);
        way.kinds &= kinds;
        if (way.kinds & kDeepKinds) task(TaskKind::values, 0);
    }
    for (const bool dynamic : {false, true})
        if (const Value *const ref = tree_.find(part, dynamic ? "$dynamicRef" : "$ref"))
            path.add(tree_.resolve(part, *ref, dynamic), number);
    if (const List *const all = tree_.find_list(part, "allOf"))
        for (size_t i = 0; i < all->size; i++)
            path.add(tree_.enter(part, all->items[i], "allOf"), number);
    if (const Value *const schema = tree_.find(part, "not"))
        path.add(tree_.negate(tree_.enter(part, *schema, "not")), kNobody);
    if (tree_.find_list(part, "anyOf")) task(TaskKind::any_of, 0);
    if (tree_.find_list(part, "oneOf")) task(TaskKind::one_of, 0);
    const bool chooses = tree_.find(part, "then") || tree_.find(part, "else") || exact_;
    if (tree_.find(part, "if") && chooses) task(TaskKind::condition, 0);
    if (const Dict *const lists = tree_.find_dict(part, "dependentRequired"))
        for (size_t i = 0; i < lists->size; i++) task(TaskKind::required, static_cast<uint32_t>(i));
    if (const Dict *const schemas = tree_.find_dict(part, "dependentSchemas"))
        for (size_t i = 0; i < schemas->size; i++)
            task(TaskKind::schemas, static_cast<uint32_t>(i));
}

void SchemaWays::deny(Path &path, const Part &part) {
    count_work(1 + (path.way.held.size() + path.denied.size()) / 64);
    const auto is_same = [&](const Part &other) { return other.same_schema(part); };
    if (std::any_of(path.denied.begin(), path.denied.end(), is_same)) return;
    path.denied.push_back(part);
    if (std::any_of(path.way.held.begin(), path.way.held.end(), is_same)) path.dead = true;
    path.tasks.push_back({TaskKind::violate, part, kNobody, 0});
}

const List *SchemaWays::choices(const Part &part) {
    const List *const values = tree_.find_list(part, "enum");
    const Value *const value = tree_.find(part, "const");
    if (!value) return values;
    const auto [at, fresh] = constants_.try_emplace(part.dict(), nullptr);
    if (!fresh) return at->second;
    List *const list = chat::make_list(tree_.meter(), 1);
    bool fits = !values;
    for (size_t i = 0; values && i < values->size; i++)
        fits = fits || tree_.same(*value, values->items[i]);
    if (fits) chat::append(tree_.meter(), list, *value);
    return at->second = list;
}

// ---- choices ----

SchemaWays::Path &SchemaWays::branch(Paths &out, const Path &path) {
    count_work(1 + path.size());
    require_few(out.size() + 1);
    return out.emplace_back(path);
}

void SchemaWays::choose(Paths &out, const Path &path, const Task &task) {
    switch (task.kind) {
    case TaskKind::any_of:
        return choose_any(out, path, task);
    case TaskKind::one_of:
        return choose_one(out, path, task);
    case TaskKind::condition:
        return choose_condition(out, path, task);
    case TaskKind::required:
    case TaskKind::schemas:
        return choose_dependent(out, path, task);
    case TaskKind::values:
        return choose_value(out, path, task);
    case TaskKind::maybe:
        for (const bool holds : {true, false}) {
            Path &one = branch(out, path);
            one.add(holds ? task.part : tree_.negate(task.part), holds ? task.above : kNobody);
        }
        return;
    case TaskKind::violate:
        return violate(out, path, task.part);
    }
}

static void require_branches(SchemaTree &tree, const Part &part, const List &list,
                             const char *word) {
    if (list.size == 0) tree.refuse(part.where, Status::malformed, "'%s' is empty", word);
}

// Where it matters which hold: the first that does, those before it that do not, all behind it.
void SchemaWays::choose_any(Paths &out, const Path &path, const Task &task) {
    const List &list = *tree_.find_list(task.part, "anyOf");
    require_branches(tree_, task.part, list, "anyOf");
    const auto schema = [&](size_t i) { return tree_.enter(task.part, list.items[i], "anyOf"); };
    for (size_t i = 0; i < list.size; i++) {
        const Part holds = schema(i);
        if (holds.is_false()) continue;
        if (exact_) count_work(list.size);
        Path &one = branch(out, path);
        one.add(holds, task.above);
        if (!exact_) {
            if (holds.is_true()) return; // it takes what the others take
            continue;
        }
        for (size_t k = 0; k < i; k++) one.add(tree_.negate(schema(k)), kNobody);
        for (size_t k = i + 1; k < list.size; k++)
            one.tasks.push_back({TaskKind::maybe, schema(k), task.above, 0});
    }
}

void SchemaWays::choose_one(Paths &out, const Path &path, const Task &task) {
    const List &list = *tree_.find_list(task.part, "oneOf");
    require_branches(tree_, task.part, list, "oneOf");
    require_few(list.size);
    Parts branches = tree_.none();
    for (size_t i = 0; i < list.size; i++)
        branches.push_back(tree_.enter(task.part, list.items[i], "oneOf"));
    // Branches that cannot hold together need not be denied.
    Vector<uint8_t> apart(list.size * list.size, 0, HostAllocator<uint8_t>(host_));
    for (size_t i = 0; i < list.size; i++) {
        for (size_t k = 0; k < i; k++) {
            apart[i * list.size + k] = apart[k * list.size + i] =
                are_apart(branches[i], branches[k]);
        }
    }
    for (size_t i = 0; i < list.size; i++) {
        count_work(list.size);
        Path &one = branch(out, path);
        one.add(branches[i], task.above);
        for (size_t k = 0; k < list.size; k++)
            if (k != i && !apart[i * list.size + k]) one.add(tree_.negate(branches[k]), kNobody);
    }
}

void SchemaWays::choose_condition(Paths &out, const Path &path, const Task &task) {
    const Part condition = tree_.enter(task.part, *tree_.find(task.part, "if"), "if");
    for (const bool holds : {true, false}) {
        const char *const key = holds ? "then" : "else";
        Path &one = branch(out, path);
        one.add(holds ? condition : tree_.negate(condition), holds ? task.above : kNobody);
        if (const Value *const schema = tree_.find(task.part, key))
            one.add(tree_.enter(task.part, *schema, key), task.above);
    }
}

// A member is absent, or it is there and others are, or a schema holds.
void SchemaWays::choose_dependent(Paths &out, const Path &path, const Task &task) {
    const bool list = task.kind == TaskKind::required;
    const char *const key = list ? "dependentRequired" : "dependentSchemas";
    const chat::Entry &entry = *tree_.find_dict(task.part, key)->entries[task.from];
    const std::string_view name = entry.key.text->view();
    const List *const names = list ? tree_.names_of(task.part, entry.value, key) : nullptr;
    const Part schema = list ? Part{Value::of(true), nullptr, nullptr, false}
                             : tree_.enter(task.part, entry.value, key, name);
    Path &absent = branch(out, path);
    if (!(path.way.kinds & kObject)) return;
    absent.add_fact(FactKind::member, 0, name, tree_.never(task.part.where));
    Path &present = branch(out, path);
    present.way.kinds &= kObject;
    present.add_fact(FactKind::require, 0, name, schema);
    for (size_t i = 0; names && i < names->size; i++)
        present.add_fact(FactKind::require, 0, names->items[i].text->view(), schema);
    if (!list) present.add(schema, task.above);
}

// An array or object that is named is a schema of its own; what is simple stays a list.
void SchemaWays::choose_value(Paths &out, const Path &path, const Task &task) {
    const List &values = *choices(task.part);
    if (path.way.kinds & ~kDeepKinds) branch(out, path).way.kinds &= ~kDeepKinds;
    for (size_t i = 0; i < values.size; i++) {
        const Value &value = values.items[i];
        const uint32_t kind = tree_.kind_of(value);
        if (!(kind & kDeepKinds & path.way.kinds)) continue;
        if (path.way.constant && !tree_.same(*path.way.constant, value)) continue;
        Path &one = branch(out, path);
        one.way.kinds &= kind;
        one.way.constant = &value;
        one.add(tree_.constant(value, task.part), kNobody);
    }
}

// ---- schemas that do not hold ----

// Adds a path for each thing a schema says, in which this does not hold.
class SchemaWays::Violations {
public:
    Violations(SchemaWays &ways, Paths &out, const Path &path, const Part &part)
        : ways_(ways), tree_(ways.tree_), out_(out), path_(path), part_(part) {}

    void add_all() {
        add_types();
        add_choices();
        add_numbers();
        add_strings();
        add_arrays();
        add_objects();
        add_members();
        add_combinations();
        for (const char *const key : {"unevaluatedProperties", "unevaluatedItems"})
            if (!schema(key).is_true())
                tree_.refuse(part_.where, Status::unsupported, "'not' of '%s'", key);
    }

private:
    // Values of these kinds, if there are some; null otherwise.
    Path *way(uint32_t kinds) {
        if (!(path_.way.kinds & kinds)) return nullptr;
        Path &out = ways_.branch(out_, path_);
        out.way.kinds &= kinds;
        return &out;
    }
    Part schema(const char *key) {
        const Value *const value = tree_.find(part_, key);
        return value ? tree_.enter(part_, *value, key)
                     : Part{Value::of(true), part_.where, nullptr, false};
    }
    Part not_it(const Part &part) const { return tree_.negate(part); }
    void fact(uint32_t kinds, FactKind kind, uint32_t n, std::string_view text = {}) {
        if (Path *const path = way(kinds)) path->add_fact(kind, n, text, nothing());
    }
    Part nothing() const { return {Value::of(true), part_.where, nullptr, false}; }
    std::string_view number(const Value &value, const char *key) const {
        if (!value.is(Kind::written))
            tree_.refuse(part_.where, Status::malformed, "'%s' is no number", key);
        return value.text->view();
    }
    std::string_view text(const Value &value, const char *key) const {
        if (!value.is(Kind::string))
            tree_.refuse(part_.where, Status::malformed, "'%s' is no text", key);
        return value.text->view();
    }

    void add_types() {
        if (tree_.find(part_, "type")) way(kAllKinds & ~tree_.types(part_));
    }
    void add_choices() {
        const List *const values = ways_.choices(part_);
        Path *const path = values ? way(kAllKinds) : nullptr;
        for (size_t i = 0; path && i < values->size; i++) {
            const Value &value = values->items[i];
            if (tree_.kind_of(value) & kDeepKinds)
                path->add(not_it(tree_.constant(value, part_)), kNobody);
            else
                path->way.facts.push_back(
                    {FactKind::value_not, 0, 0, {}, nothing(), nullptr, &value});
        }
    }
    void add_numbers() {
        using Order = NumberFacts::Order;
        static constexpr struct {
            const char *key;
            uint32_t order; // of a number that does not fit
        } kBounds[] = {{"minimum", Order::less},
                       {"maximum", Order::greater},
                       {"exclusiveMinimum", Order::less | Order::equal},
                       {"exclusiveMaximum", Order::greater | Order::equal}};
        for (const auto &bound : kBounds)
            if (const Value *const value = tree_.find(part_, bound.key))
                fact(kNumber, FactKind::order, bound.order, number(*value, bound.key));
        if (const Value *const value = tree_.find(part_, "multipleOf"))
            fact(kNumber, FactKind::multiple_not, 0, number(*value, "multipleOf"));
    }
    // Fewer than the least, more than the most.
    void add_counts(uint32_t kinds, const char *least, const char *most, FactKind min,
                    FactKind max) {
        const uint32_t low = tree_.find_count(part_, least, 0);
        const uint32_t high = tree_.find_count(part_, most, kMany);
        if (low > 0) fact(kinds, max, low - 1);
        if (high < kMany) fact(kinds, min, high + 1);
    }
    void add_strings() {
        add_counts(kString, "minLength", "maxLength", FactKind::min_length, FactKind::max_length);
        if (const Value *const value = tree_.find(part_, "pattern"))
            fact(kString, FactKind::pattern_not, 0, text(*value, "pattern"));
        if (const Value *const value = tree_.find(part_, "format"))
            if (ways_.asserts_format(part_, text(*value, "format")))
                fact(kString, FactKind::format_not, 0, text(*value, "format"));
    }
    void add_arrays() {
        add_counts(kArray, "minItems", "maxItems", FactKind::min_items, FactKind::max_items);
        const List *const prefix = tree_.find_list(part_, "prefixItems");
        const auto n_prefix = static_cast<uint32_t>(prefix ? prefix->size : 0);
        for (uint32_t i = 0; i < n_prefix; i++) {
            const Part item = tree_.enter(part_, prefix->items[i], "prefixItems");
            Path *const path = item.is_true() ? nullptr : way(kArray);
            if (!path) continue;
            path->add_fact(FactKind::item, i, {}, not_it(item));
            path->add_fact(FactKind::min_items, i + 1, {}, nothing());
        }
        const Part items = schema("items"), contains = schema("contains");
        Path *path = items.is_true() ? nullptr : way(kArray);
        if (path) path->add_fact(FactKind::some_item, n_prefix, {}, not_it(items));
        if (tree_.find(part_, "contains")) {
            const uint32_t min = tree_.find_count(part_, "minContains", 1);
            const uint32_t max = tree_.find_count(part_, "maxContains", kMany);
            if (min > 0 && (path = way(kArray)))
                path->way.facts.push_back(
                    {FactKind::contains, 0, min - 1, {}, contains, nullptr, nullptr});
            if (max < kMany && (path = way(kArray)))
                path->way.facts.push_back(
                    {FactKind::contains, max + 1, kMany, {}, contains, nullptr, nullptr});
        }
        const Value *const unique = tree_.find(part_, "uniqueItems");
        if (unique && unique->is(Kind::boolean) && unique->truth && path_.way.kinds & kArray)
            tree_.refuse(part_.where, Status::unsupported, "'not' of 'uniqueItems'");
    }
    void add_objects() {
        add_counts(kObject, "minProperties", "maxProperties", FactKind::min_members,
                   FactKind::max_members);
        const List *const required = tree_.find_names(part_, "required");
        for (size_t i = 0; required && i < required->size; i++)
            if (Path *const path = way(kObject))
                path->add_fact(FactKind::member, 0, required->items[i].text->view(),
                               tree_.never(part_.where));
        if (const Dict *const lists = tree_.find_dict(part_, "dependentRequired")) {
            for (size_t i = 0; i < lists->size; i++) {
                const chat::Entry &entry = *lists->entries[i];
                const List &names = *tree_.names_of(part_, entry.value, "dependentRequired");
                for (size_t k = 0; k < names.size; k++) {
                    Path *const path = way(kObject);
                    if (!path) continue;
                    path->add_fact(FactKind::require, 0, entry.key.text->view(), nothing());
                    path->add_fact(FactKind::member, 0, names.items[k].text->view(),
                                   tree_.never(part_.where));
                }
            }
        }
        if (const Dict *const schemas = tree_.find_dict(part_, "dependentSchemas")) {
            for (size_t i = 0; i < schemas->size; i++) {
                const std::string_view name = schemas->entries[i]->key.text->view();
                const Part of =
                    tree_.enter(part_, schemas->entries[i]->value, "dependentSchemas", name);
                Path *const path = of.is_true() ? nullptr : way(kObject);
                if (!path) continue;
                path->add_fact(FactKind::require, 0, name, nothing());
                path->add(not_it(of), kNobody);
            }
        }
    }
    void add_members() {
        if (const Dict *const properties = tree_.find_dict(part_, "properties")) {
            for (size_t i = 0; i < properties->size; i++) {
                const std::string_view name = properties->entries[i]->key.text->view();
                const Part of =
                    tree_.enter(part_, properties->entries[i]->value, "properties", name);
                Path *const path = of.is_true() ? nullptr : way(kObject);
                if (!path) continue;
                path->add_fact(FactKind::require, 0, name, nothing());
                path->add_fact(FactKind::member, 0, name, not_it(of));
            }
        }
        if (const Dict *const patterns = tree_.find_dict(part_, "patternProperties")) {
            for (size_t i = 0; i < patterns->size; i++) {
                const std::string_view pattern = patterns->entries[i]->key.text->view();
                const Part of =
                    tree_.enter(part_, patterns->entries[i]->value, "patternProperties", pattern);
                Path *const path = of.is_true() ? nullptr : way(kObject);
                if (path) path->add_fact(FactKind::some_matching, 0, pattern, not_it(of));
            }
        }
        const Part others = schema("additionalProperties"), names = schema("propertyNames");
        if (Path *const path = others.is_true() ? nullptr : way(kObject)) {
            path->add_fact(FactKind::some_member, 0, {}, not_it(others));
            path->way.facts.back().owner = tree_.meter().make<Part>(part_);
        }
        if (Path *const path = names.is_true() ? nullptr : way(kObject))
            path->add_fact(FactKind::some_name, 0, {}, not_it(names));
    }
    void add_combinations() {
        const auto one = [&](const Part &part) {
            if (part.is_true()) return;
            if (Path *const path = way(kAllKinds)) path->add(not_it(part), kNobody);
        };
        for (const bool dynamic : {false, true})
            if (const Value *const ref = tree_.find(part_, dynamic ? "$dynamicRef" : "$ref"))
                one(tree_.resolve(part_, *ref, dynamic));
        if (const List *const all = tree_.find_list(part_, "allOf"))
            for (size_t i = 0; i < all->size; i++) one(tree_.enter(part_, all->items[i], "allOf"));
        if (const Value *const value = tree_.find(part_, "not")) {
            const Part of = tree_.enter(part_, *value, "not");
            if (Path *const path = of.is_false() ? nullptr : way(kAllKinds)) path->add(of, kNobody);
        }
        for (const char *const key : {"anyOf", "oneOf"}) {
            const List *const list = tree_.find_list(part_, key);
            Path *const path = list ? way(kAllKinds) : nullptr;
            for (size_t i = 0; path && i < list->size; i++)
                path->add(not_it(tree_.enter(part_, list->items[i], key)), kNobody);
        }
        if (const List *const list = tree_.find_list(part_, "oneOf")) { // two of them
            for (size_t i = 0; i < list->size; i++) {
                for (size_t k = 0; k < i; k++) {
                    Path *const path = way(kAllKinds);
                    if (!path) continue;
                    for (const size_t at : {k, i})
                        path->add(tree_.enter(part_, list->items[at], "oneOf"), kNobody);
                }
            }
        }
        const bool chooses = tree_.find(part_, "then") || tree_.find(part_, "else");
        if (!tree_.find(part_, "if") || !chooses) return;
        const Part condition = schema("if");
        for (const bool holds : {true, false}) {
            const Part then = schema(holds ? "then" : "else");
            Path *const path = then.is_true() ? nullptr : way(kAllKinds);
            if (!path) continue;
            path->add(holds ? condition : not_it(condition), kNobody);
            path->add(not_it(then), kNobody);
        }
    }

    SchemaWays &ways_;
    SchemaTree &tree_;
    Paths &out_;
    const Path &path_;
    const Part &part_;
};

void SchemaWays::violate(Paths &out, const Path &path, const Part &part) {
    Violations(*this, out, path, part).add_all();
}

// ---- what excludes what ----

void SchemaWays::member_parts(Parts &out, const Way &way, std::string_view name) {
    count_work(1 + (way.held.size() + way.facts.size()) / 16);
    for (const Part &part : way.held) {
        const Dict *const properties = tree_.find_dict(part, "properties");
        const Value *const own =
            properties ? chat::lookup(tree_.meter(), *properties, name) : nullptr;
        const Value *const others = tree_.find(part, "additionalProperties");
        if (own)
            tree_.add(out, tree_.enter(part, *own, "properties", name));
        else if (others && !tree_.find(part, "patternProperties"))
            tree_.add(out, tree_.enter(part, *others, "additionalProperties"));
    }
    for (const Fact &fact : way.facts)
        if (fact.kind == FactKind::member && fact.text == name) tree_.add(out, fact.part);
}

bool SchemaWays::is_empty(const Way &way, unsigned depth) {
    if (way.kinds == 0) return true;
    // Simple values that all lists have.
    const List *first = nullptr;
    for (const Part &part : way.held)
        if (!first) first = choices(part);
    if (first && !(way.kinds & kDeepKinds)) {
        bool found = false;
        for (size_t i = 0; i < first->size && !found; i++) {
            const Value &value = first->items[i];
            found = (tree_.kind_of(value) & way.kinds) != 0;
            for (const Part &part : way.held) {
                const List *const list = found ? choices(part) : nullptr;
                if (!list) continue;
                found = std::any_of(list->items, list->items + list->size,
                                    [&](const Value &other) { return tree_.same(value, other); });
                count_work(list->size);
            }
            count_work(way.facts.size() / 4);
            for (const Fact &fact : way.facts)
                if (found && fact.kind == FactKind::value_not)
                    found = !tree_.same(value, *fact.value);
        }
        if (!found) return true;
    }
    if (way.kinds != kObject) return false;
    const auto lacks = [&](std::string_view name) {
        Parts parts = tree_.none();
        member_parts(parts, way, name);
        count_work(parts.size());
        for (const Part &part : parts)
            if (part.is_false()) return true;
        return depth > 0 && parts.size() > 1 && exclude_each_other(parts, depth - 1);
    };
    for (const Part &part : way.held) {
        const List *const required = tree_.find_names(part, "required");
        for (size_t i = 0; required && i < required->size; i++)
            if (lacks(required->items[i].text->view())) return true;
    }
    for (const Fact &fact : way.facts)
        if (fact.kind == FactKind::require && lacks(fact.text)) return true;
    return false;
}

bool SchemaWays::exclude_each_other(const Parts &parts, unsigned depth) {
    if (nesting_ >= kMostNesting) return false;
    nesting_++;
    Vector<Way> ways{HostAllocator<Way>(host_)};
    expand(ways, parts);
    const bool out =
        std::all_of(ways.begin(), ways.end(), [&](const Way &way) { return is_empty(way, depth); });
    nesting_--;
    return out;
}

bool SchemaWays::are_apart(const Part &a, const Part &b) {
    const bool kept = a.is_dict() && b.is_dict() && !tree_.has_dynamic();
    if (kept) {
        const auto found = apart_.find({a.dict(), b.dict()});
        if (found != apart_.end()) return found->second;
    }
    Parts pair = tree_.none();
    tree_.add(pair, a);
    tree_.add(pair, b);
    const bool out = exclude_each_other(pair, 1);
    if (kept) apart_.emplace(Pair(a.dict(), b.dict()), out);
    return out;
}

// Is there unevaluated* in what is applied to the same value?
bool SchemaWays::reaches_unevaluated(const Parts &parts) {
    Parts todo(parts);
    std::set<const Dict *, std::less<const Dict *>, HostAllocator<const Dict *>> seen{
        HostAllocator<const Dict *>(host_)};
    const auto visit = [&](const Part &of, const Value *value, const char *key) {
        if (value && value->is(Kind::dict)) todo.push_back(tree_.enter(of, *value, key));
    };
    while (!todo.empty()) {
        const Part part = todo.back();
        todo.pop_back();
        count_work(1);
        if (!part.is_dict() || !seen.insert(part.dict()).second) continue;
        if (tree_.find(part, "unevaluatedProperties") || tree_.find(part, "unevaluatedItems"))
            return true;
        for (const bool dynamic : {false, true})
            if (const Value *const ref = tree_.find(part, dynamic ? "$dynamicRef" : "$ref"))
                todo.push_back(tree_.resolve(part, *ref, dynamic));
        for (const char *const key : {"allOf", "anyOf", "oneOf"})
            if (const List *const list = tree_.find_list(part, key))
                for (size_t i = 0; i < list->size; i++) visit(part, &list->items[i], key);
        for (const char *const key : {"if", "then", "else", "not"})
            visit(part, tree_.find(part, key), key);
        if (const Dict *const schemas = tree_.find_dict(part, "dependentSchemas"))
            for (size_t i = 0; i < schemas->size; i++)
                visit(part, &schemas->entries[i]->value, "dependentSchemas");
    }
    return false;
}

} // namespace ggufx::grammar
