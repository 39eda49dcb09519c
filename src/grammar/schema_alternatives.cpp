// Expansion of schemas into alternatives: choices, and branches that exclude each other. See
// schema_alternatives.hpp.
// SPDX-License-Identifier: MIT
#include "grammar/schema_path.hpp"

#include "grammar/formats.hpp"
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
constexpr uint64_t kMostCopied = 1 << 22; // copied parts of paths, per schema
constexpr unsigned kMostNesting = 4;      // oneOf within oneOf whose branches are compared

} // namespace

SchemaAlternatives::SchemaAlternatives(SchemaTree &tree, bool formats)
    : tree_(tree), host_(tree.host()), formats_(formats),
      constants_(HostAllocator<std::pair<const Dict *const, const List *>>(host_)),
      apart_(HostAllocator<std::pair<const Pair, bool>>(host_)) {}

bool SchemaAlternatives::asserts_format(const Subschema &part, std::string_view name) {
    if (!formats_) return false;
    if (is_unknown_format(name))
        tree_.refuse(part.location, Status::unsupported, "the format '%s' is not supported",
                     Quoted(name).c_str());
    return format_pattern(name) != nullptr;
}

void SchemaAlternatives::count_work(uint64_t n) {
    work_ += n;
    tree_.work().add_steps(n);
    if (work_ > kMostCopied)
        fail(Status::limit, {.limit = kMostCopied}, "the schema has too many alternatives");
}

static void require_few(size_t n_ways) {
    if (n_ways > kMostWays)
        fail(Status::limit, {.limit = kMostWays}, "the schema has over %zu alternatives",
             kMostWays);
}

void SchemaAlternatives::expand(Vector<Alternative> &out, const Subschemas &parts) {
    const bool outer_exact = exact_;
    exact_ = tree_.has_unevaluated() && reaches_unevaluated(parts);
    Vector<Path> paths{HostAllocator<Path>(host_)};
    paths.emplace_back(host_);
    for (const Subschema &part : parts) paths.back().add(part, kNobody);
    while (!paths.empty()) {
        Path path = std::move(paths.back());
        paths.pop_back();
        open_all(path);
        if (path.dead || path.alternative.kinds == 0) continue;
        // Contradictory choices are dropped here: all later choices would multiply them.
        if (nesting_ == 0 && path.next_task > 0 && is_empty(path.alternative, 1)) continue;
        if (path.next_task == path.tasks.size()) {
            out.push_back(std::move(path.alternative));
        } else {
            const Task task = path.tasks[path.next_task++];
            const size_t before = paths.size();
            note_width(task, before + out.size());
            choose(paths, path, task);
            std::reverse(paths.begin() + static_cast<ptrdiff_t>(before), paths.end());
        }
        require_few(paths.size() + out.size());
    }
    exact_ = outer_exact;
}

// Notes the keyword of a choice if there were never more alternatives before.
void SchemaAlternatives::note_width(const Task &task, size_t n) {
    const SchemaLocation *location = task.part.location;
    if (n <= widest_.n) return;
    std::string_view keyword = "not";
    switch (task.kind) {
    case TaskKind::any_of:
    case TaskKind::maybe:
        keyword = "anyOf";
        break;
    case TaskKind::one_of:
        keyword = "oneOf";
        break;
    case TaskKind::condition:
        keyword = "if";
        break;
    case TaskKind::required:
        keyword = "dependentRequired";
        break;
    case TaskKind::schemas:
        keyword = "dependentSchemas";
        break;
    case TaskKind::values:
        keyword = "enum";
        break;
    case TaskKind::violate: // the keyword that led to the negated schema
        if (location) keyword = location->key, location = location->above;
        break;
    }
    widest_ = {n, location, keyword};
}

// ---- schemas that hold, schemas that do not ----

void SchemaAlternatives::open_all(Path &path) {
    for (size_t i = 0; i < path.open.size() && !path.dead; i++) {
        const Open open = path.open[i];
        if (open.part.is_false()) path.dead = true;
        if (!open.part.is_dict()) continue;
        open.part.negated ? deny(path, open.part) : hold(path, open.part, open.above);
    }
    path.open.clear();
}

void SchemaAlternatives::hold(Path &path, const Subschema &part, uint32_t above) {
    Alternative &alternative = path.alternative;
    count_work(1 + (alternative.held.size() + path.denied.size()) / 64);
    const auto is_same = [&](const Subschema &other) { return other.same_schema(part); };
    const auto there = std::find_if(alternative.held.begin(), alternative.held.end(), is_same);
    const auto number = static_cast<uint32_t>(there - alternative.held.begin());
    if (above != kNobody) alternative.links.push_back({number, above});
    if (there != alternative.held.end()) return;
    if (std::any_of(path.denied.begin(), path.denied.end(), is_same)) {
        path.dead = true;
        return;
    }
    alternative.held.push_back(part);
    alternative.kinds &= tree_.types(part);
    const auto task = [&](TaskKind kind, uint32_t from) {
        path.tasks.push_back({kind, part, number, from});
    };
    if (const List *const values = choices(part)) {
        uint32_t kinds = 0;
        for (size_t i = 0; i < values->size; i++) kinds |= tree_.kind_of(values->items[i]);
        alternative.kinds &= kinds;
        if (alternative.kinds & kDeepKinds) task(TaskKind::values, 0);
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

void SchemaAlternatives::deny(Path &path, const Subschema &part) {
    count_work(1 + (path.alternative.held.size() + path.denied.size()) / 64);
    const auto is_same = [&](const Subschema &other) { return other.same_schema(part); };
    if (std::any_of(path.denied.begin(), path.denied.end(), is_same)) return;
    path.denied.push_back(part);
    if (std::any_of(path.alternative.held.begin(), path.alternative.held.end(), is_same))
        path.dead = true;
    path.tasks.push_back({TaskKind::violate, part, kNobody, 0});
}

const List *SchemaAlternatives::choices(const Subschema &part) {
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

SchemaAlternatives::Path &SchemaAlternatives::branch(Paths &out, const Path &path) {
    count_work(1 + path.size());
    require_few(out.size() + 1);
    return out.emplace_back(path);
}

void SchemaAlternatives::choose(Paths &out, const Path &path, const Task &task) {
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

static void require_branches(SchemaTree &tree, const Subschema &part, const List &list,
                             const char *word) {
    if (list.size == 0) tree.refuse(part.location, Status::malformed, "'%s' is empty", word);
}

// If it matters which branches hold: each in turn is the first that holds. Those before it do not
// hold, those after it may.
void SchemaAlternatives::choose_any(Paths &out, const Path &path, const Task &task) {
    const List &list = *tree_.find_list(task.part, "anyOf");
    require_branches(tree_, task.part, list, "anyOf");
    const auto schema = [&](size_t i) { return tree_.enter(task.part, list.items[i], "anyOf"); };
    for (size_t i = 0; i < list.size; i++) {
        const Subschema holds = schema(i);
        if (holds.is_false()) continue;
        if (exact_) count_work(list.size);
        Path &one = branch(out, path);
        one.add(holds, task.above);
        if (!exact_) {
            if (holds.is_true()) return; // it allows all that others allow
            continue;
        }
        for (size_t k = 0; k < i; k++) one.add(tree_.negate(schema(k)), kNobody);
        for (size_t k = i + 1; k < list.size; k++)
            one.tasks.push_back({TaskKind::maybe, schema(k), task.above, 0});
    }
}

void SchemaAlternatives::choose_one(Paths &out, const Path &path, const Task &task) {
    const List &list = *tree_.find_list(task.part, "oneOf");
    require_branches(tree_, task.part, list, "oneOf");
    require_few(list.size);
    Subschemas branches = tree_.none();
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

void SchemaAlternatives::choose_condition(Paths &out, const Path &path, const Task &task) {
    const Subschema condition = tree_.enter(task.part, *tree_.find(task.part, "if"), "if");
    for (const bool holds : {true, false}) {
        const char *const key = holds ? "then" : "else";
        Path &one = branch(out, path);
        one.add(holds ? condition : tree_.negate(condition), holds ? task.above : kNobody);
        if (const Value *const schema = tree_.find(task.part, key))
            one.add(tree_.enter(task.part, *schema, key), task.above);
    }
}

// Alternatives: a member is absent; or it is present, and so are others, or a schema holds.
void SchemaAlternatives::choose_dependent(Paths &out, const Path &path, const Task &task) {
    const bool list = task.kind == TaskKind::required;
    const char *const key = list ? "dependentRequired" : "dependentSchemas";
    const chat::Entry &entry = *tree_.find_dict(task.part, key)->entries[task.from];
    const std::string_view name = entry.key.text->view();
    const List *const names = list ? tree_.names_of(task.part, entry.value, key) : nullptr;
    const Subschema schema = list ? Subschema{Value::of(true), nullptr, nullptr, false}
                                  : tree_.enter(task.part, entry.value, key, name);
    Path &absent = branch(out, path);
    if (!(path.alternative.kinds & kObject)) return;
    absent.add_fact(FactKind::member, 0, name, tree_.never(task.part.location));
    Path &present = branch(out, path);
    present.alternative.kinds &= kObject;
    present.add_fact(FactKind::require, 0, name, schema);
    for (size_t i = 0; names && i < names->size; i++)
        present.add_fact(FactKind::require, 0, names->items[i].text->view(), schema);
    if (!list) present.add(schema, task.above);
}

// Each enumerated array or object is a schema; simple values stay a list.
void SchemaAlternatives::choose_value(Paths &out, const Path &path, const Task &task) {
    const List &values = *choices(task.part);
    if (path.alternative.kinds & ~kDeepKinds) branch(out, path).alternative.kinds &= ~kDeepKinds;
    for (size_t i = 0; i < values.size; i++) {
        const Value &value = values.items[i];
        const uint32_t kind = tree_.kind_of(value);
        if (!(kind & kDeepKinds & path.alternative.kinds)) continue;
        if (path.alternative.constant && !tree_.same(*path.alternative.constant, value)) continue;
        Path &one = branch(out, path);
        one.alternative.kinds &= kind;
        one.alternative.constant = &value;
        one.add(tree_.constant(value, task.part), kNobody);
    }
}

// ---- mutual exclusion ----

void SchemaAlternatives::member_parts(Subschemas &out, const Alternative &alternative,
                                      std::string_view name) {
    count_work(1 + (alternative.held.size() + alternative.facts.size()) / 16);
    for (const Subschema &part : alternative.held) {
        const Dict *const properties = tree_.find_dict(part, "properties");
        const Value *const own =
            properties ? chat::lookup(tree_.meter(), *properties, name) : nullptr;
        const Value *const others = tree_.find(part, "additionalProperties");
        if (own)
            tree_.add(out, tree_.enter(part, *own, "properties", name));
        else if (others && !tree_.find(part, "patternProperties"))
            tree_.add(out, tree_.enter(part, *others, "additionalProperties"));
    }
    for (const Fact &fact : alternative.facts)
        if (fact.kind == FactKind::member && fact.text == name) tree_.add(out, fact.part);
}

bool SchemaAlternatives::is_empty(const Alternative &alternative, unsigned depth) {
    if (alternative.kinds == 0) return true;
    // Look for a simple value that is in all lists.
    const List *first = nullptr;
    for (const Subschema &part : alternative.held)
        if (!first) first = choices(part);
    if (first && !(alternative.kinds & kDeepKinds)) {
        bool found = false;
        for (size_t i = 0; i < first->size && !found; i++) {
            const Value &value = first->items[i];
            found = (tree_.kind_of(value) & alternative.kinds) != 0;
            for (const Subschema &part : alternative.held) {
                const List *const list = found ? choices(part) : nullptr;
                if (!list) continue;
                found = std::any_of(list->items, list->items + list->size,
                                    [&](const Value &other) { return tree_.same(value, other); });
                count_work(list->size);
            }
            count_work(alternative.facts.size() / 4);
            for (const Fact &fact : alternative.facts)
                if (found && fact.kind == FactKind::value_not)
                    found = !tree_.same(value, *fact.value);
        }
        if (!found) return true;
    }
    if (alternative.kinds != kObject) return false;
    const auto lacks = [&](std::string_view name) {
        Subschemas parts = tree_.none();
        member_parts(parts, alternative, name);
        count_work(parts.size());
        for (const Subschema &part : parts)
            if (part.is_false()) return true;
        return depth > 0 && parts.size() > 1 && exclude_each_other(parts, depth - 1);
    };
    for (const Subschema &part : alternative.held) {
        const List *const required = tree_.find_names(part, "required");
        for (size_t i = 0; required && i < required->size; i++)
            if (lacks(required->items[i].text->view())) return true;
    }
    for (const Fact &fact : alternative.facts)
        if (fact.kind == FactKind::require && lacks(fact.text)) return true;
    return false;
}

bool SchemaAlternatives::exclude_each_other(const Subschemas &parts, unsigned depth) {
    if (nesting_ >= kMostNesting) return false;
    nesting_++;
    Vector<Alternative> alternatives{HostAllocator<Alternative>(host_)};
    expand(alternatives, parts);
    const bool out =
        std::all_of(alternatives.begin(), alternatives.end(),
                    [&](const Alternative &alternative) { return is_empty(alternative, depth); });
    nesting_--;
    return out;
}

bool SchemaAlternatives::are_apart(const Subschema &a, const Subschema &b) {
    const bool kept = a.is_dict() && b.is_dict() && !tree_.has_dynamic();
    if (kept) {
        const auto found = apart_.find({a.dict(), b.dict()});
        if (found != apart_.end()) return found->second;
    }
    Subschemas pair = tree_.none();
    tree_.add(pair, a);
    tree_.add(pair, b);
    const bool out = exclude_each_other(pair, 1);
    if (kept) apart_.emplace(Pair(a.dict(), b.dict()), out);
    return out;
}

// Returns whether a schema applied to the same value has unevaluated*.
bool SchemaAlternatives::reaches_unevaluated(const Subschemas &parts) {
    Subschemas todo(parts);
    std::set<const Dict *, std::less<const Dict *>, HostAllocator<const Dict *>> seen{
        HostAllocator<const Dict *>(host_)};
    const auto visit = [&](const Subschema &of, const Value *value, const char *key) {
        if (value && value->is(Kind::dict)) todo.push_back(tree_.enter(of, *value, key));
    };
    while (!todo.empty()) {
        const Subschema part = todo.back();
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
