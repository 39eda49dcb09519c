// Negated schemas: each keyword is replaced by its opposite, in a path of its own.
// SPDX-License-Identifier: MIT
#include "grammar/numbers.hpp"
#include "grammar/schema_path.hpp"

namespace ggufx::grammar {

using chat::Dict;
using chat::Kind;
using chat::List;
using chat::Value;

// Adds a path for each condition of a schema, in which that condition is violated.
class SchemaAlternatives::Violations {
public:
    Violations(SchemaAlternatives &alternatives, Paths &out, const Path &path,
               const Subschema &part)
        : alternatives_(alternatives), tree_(alternatives.tree_), out_(out), path_(path),
          part_(part) {}

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
                tree_.refuse(part_.location, Status::unsupported, "'not' of '%s'", key);
    }

private:
    // Adds a path for values of these kinds; null if there are none.
    Path *alternative(uint32_t kinds) {
        if (!(path_.alternative.kinds & kinds)) return nullptr;
        Path &out = alternatives_.branch(out_, path_);
        out.alternative.kinds &= kinds;
        return &out;
    }
    Subschema schema(const char *key) {
        const Value *const value = tree_.find(part_, key);
        return value ? tree_.enter(part_, *value, key)
                     : Subschema{Value::of(true), part_.location, nullptr, false};
    }
    Subschema not_it(const Subschema &part) const { return tree_.negate(part); }
    void fact(uint32_t kinds, FactKind kind, uint32_t n, std::string_view text = {}) {
        if (Path *const path = alternative(kinds)) path->add_fact(kind, n, text, nothing());
    }
    Subschema nothing() const { return {Value::of(true), part_.location, nullptr, false}; }
    std::string_view number(const Value &value, const char *key) const {
        if (!value.is(Kind::written))
            tree_.refuse(part_.location, Status::malformed, "'%s' is not a number", key);
        return value.text->view();
    }
    std::string_view text(const Value &value, const char *key) const {
        if (!value.is(Kind::string))
            tree_.refuse(part_.location, Status::malformed, "'%s' is not a string", key);
        return value.text->view();
    }

    void add_types() {
        if (tree_.find(part_, "type")) alternative(kAllKinds & ~tree_.types(part_));
    }
    void add_choices() {
        const List *const values = alternatives_.choices(part_);
        Path *const path = values ? alternative(kAllKinds) : nullptr;
        for (size_t i = 0; path && i < values->size; i++) {
            const Value &value = values->items[i];
            if (tree_.kind_of(value) & kDeepKinds)
                path->add(not_it(tree_.constant(value, part_)), kNobody);
            else
                path->alternative.facts.push_back(
                    {FactKind::value_not, 0, 0, {}, nothing(), nullptr, &value});
        }
    }
    void add_numbers() {
        using Order = NumberFacts::Order;
        static constexpr struct {
            const char *key;
            uint32_t order; // orders of a number that violate it
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
    // Fewer than the minimum, more than the maximum.
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
            if (alternatives_.asserts_format(part_, text(*value, "format")))
                fact(kString, FactKind::format_not, 0, text(*value, "format"));
    }
    void add_arrays() {
        add_counts(kArray, "minItems", "maxItems", FactKind::min_items, FactKind::max_items);
        const List *const prefix = tree_.find_list(part_, "prefixItems");
        const auto n_prefix = static_cast<uint32_t>(prefix ? prefix->size : 0);
        for (uint32_t i = 0; i < n_prefix; i++) {
            const Subschema item = tree_.enter(part_, prefix->items[i], "prefixItems");
            Path *const path = item.is_true() ? nullptr : alternative(kArray);
            if (!path) continue;
            path->add_fact(FactKind::item, i, {}, not_it(item));
            path->add_fact(FactKind::min_items, i + 1, {}, nothing());
        }
        const Subschema items = schema("items"), contains = schema("contains");
        Path *path = items.is_true() ? nullptr : alternative(kArray);
        if (path) path->add_fact(FactKind::some_item, n_prefix, {}, not_it(items));
        if (tree_.find(part_, "contains")) {
            const uint32_t min = tree_.find_count(part_, "minContains", 1);
            const uint32_t max = tree_.find_count(part_, "maxContains", kMany);
            if (min > 0 && (path = alternative(kArray)))
                path->alternative.facts.push_back(
                    {FactKind::contains, 0, min - 1, {}, contains, nullptr, nullptr});
            if (max < kMany && (path = alternative(kArray)))
                path->alternative.facts.push_back(
                    {FactKind::contains, max + 1, kMany, {}, contains, nullptr, nullptr});
        }
        const Value *const unique = tree_.find(part_, "uniqueItems");
        if (unique && unique->is(Kind::boolean) && unique->truth &&
            path_.alternative.kinds & kArray)
            tree_.refuse(part_.location, Status::unsupported, "'not' of 'uniqueItems'");
    }
    void add_objects() {
        add_counts(kObject, "minProperties", "maxProperties", FactKind::min_members,
                   FactKind::max_members);
        const List *const required = tree_.find_names(part_, "required");
        for (size_t i = 0; required && i < required->size; i++)
            if (Path *const path = alternative(kObject))
                path->add_fact(FactKind::member, 0, required->items[i].text->view(),
                               tree_.never(part_.location));
        if (const Dict *const lists = tree_.find_dict(part_, "dependentRequired")) {
            for (size_t i = 0; i < lists->size; i++) {
                const chat::Entry &entry = *lists->entries[i];
                const List &names = *tree_.names_of(part_, entry.value, "dependentRequired");
                for (size_t k = 0; k < names.size; k++) {
                    Path *const path = alternative(kObject);
                    if (!path) continue;
                    path->add_fact(FactKind::require, 0, entry.key.text->view(), nothing());
                    path->add_fact(FactKind::member, 0, names.items[k].text->view(),
                                   tree_.never(part_.location));
                }
            }
        }
        if (const Dict *const schemas = tree_.find_dict(part_, "dependentSchemas")) {
            for (size_t i = 0; i < schemas->size; i++) {
                const std::string_view name = schemas->entries[i]->key.text->view();
                const Subschema of =
                    tree_.enter(part_, schemas->entries[i]->value, "dependentSchemas", name);
                Path *const path = of.is_true() ? nullptr : alternative(kObject);
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
                const Subschema of =
                    tree_.enter(part_, properties->entries[i]->value, "properties", name);
                Path *const path = of.is_true() ? nullptr : alternative(kObject);
                if (!path) continue;
                path->add_fact(FactKind::require, 0, name, nothing());
                path->add_fact(FactKind::member, 0, name, not_it(of));
            }
        }
        if (const Dict *const patterns = tree_.find_dict(part_, "patternProperties")) {
            for (size_t i = 0; i < patterns->size; i++) {
                const std::string_view pattern = patterns->entries[i]->key.text->view();
                const Subschema of =
                    tree_.enter(part_, patterns->entries[i]->value, "patternProperties", pattern);
                Path *const path = of.is_true() ? nullptr : alternative(kObject);
                if (path) path->add_fact(FactKind::some_matching, 0, pattern, not_it(of));
            }
        }
        const Subschema others = schema("additionalProperties"), names = schema("propertyNames");
        if (Path *const path = others.is_true() ? nullptr : alternative(kObject)) {
            path->add_fact(FactKind::some_member, 0, {}, not_it(others));
            path->alternative.facts.back().owner = tree_.meter().make<Subschema>(part_);
        }
        if (Path *const path = names.is_true() ? nullptr : alternative(kObject))
            path->add_fact(FactKind::some_name, 0, {}, not_it(names));
    }
    void add_combinations() {
        const auto one = [&](const Subschema &part) {
            if (part.is_true()) return;
            if (Path *const path = alternative(kAllKinds)) path->add(not_it(part), kNobody);
        };
        for (const bool dynamic : {false, true})
            if (const Value *const ref = tree_.find(part_, dynamic ? "$dynamicRef" : "$ref"))
                one(tree_.resolve(part_, *ref, dynamic));
        if (const List *const all = tree_.find_list(part_, "allOf"))
            for (size_t i = 0; i < all->size; i++) one(tree_.enter(part_, all->items[i], "allOf"));
        if (const Value *const value = tree_.find(part_, "not")) {
            const Subschema of = tree_.enter(part_, *value, "not");
            if (Path *const path = of.is_false() ? nullptr : alternative(kAllKinds))
                path->add(of, kNobody);
        }
        for (const char *const key : {"anyOf", "oneOf"}) {
            const List *const list = tree_.find_list(part_, key);
            Path *const path = list ? alternative(kAllKinds) : nullptr;
            for (size_t i = 0; path && i < list->size; i++)
                path->add(not_it(tree_.enter(part_, list->items[i], key)), kNobody);
        }
        if (const List *const list = tree_.find_list(part_, "oneOf")) { // two branches hold
            for (size_t i = 0; i < list->size; i++) {
                for (size_t k = 0; k < i; k++) {
                    Path *const path = alternative(kAllKinds);
                    if (!path) continue;
                    for (const size_t at : {k, i})
                        path->add(tree_.enter(part_, list->items[at], "oneOf"), kNobody);
                }
            }
        }
        const bool chooses = tree_.find(part_, "then") || tree_.find(part_, "else");
        if (!tree_.find(part_, "if") || !chooses) return;
        const Subschema condition = schema("if");
        for (const bool holds : {true, false}) {
            const Subschema then = schema(holds ? "then" : "else");
            Path *const path = then.is_true() ? nullptr : alternative(kAllKinds);
            if (!path) continue;
            path->add(holds ? condition : not_it(condition), kNobody);
            path->add(not_it(then), kNobody);
        }
    }

    SchemaAlternatives &alternatives_;
    SchemaTree &tree_;
    Paths &out_;
    const Path &path_;
    const Subschema &part_;
};

void SchemaAlternatives::violate(Paths &out, const Path &path, const Subschema &part) {
    Violations(*this, out, path, part).add_all();
}

} // namespace ggufx::grammar
