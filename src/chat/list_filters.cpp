// Filters for lists and dicts.
// SPDX-License-Identifier: MIT
#include "chat/filters.hpp"
#include "chat/native.hpp"
#include "chat/operators.hpp"
#include "chat/sort.hpp"

#include <string.h>

namespace ggufx::chat {

namespace {

const List &walk(Environment &env, const Value &value) {
    const List &items = *items_of(env.meter, value);
    env.meter.charge(items.size);
    return items;
}

Value fallback(Environment &env, const Value *a) {
    const bool empty = a[0].is(Kind::undefined) || (given(a[2]) && truth(a[2]) && !truth(a[0]));
    if (!empty) return a[0];
    return given(a[1]) ? a[1] : text_value(env.meter, "");
}

Value list(Environment &env, const Value *a) {
    const List &items = walk(env, a[0]);
    List *const out = make_list(env.meter, items.size);
    out->user = items.user;
    for (size_t i = 0; i < items.size; i++) append(env.meter, out, items.items[i]);
    return Value::of(out);
}

Value items(Environment &env, const Value *a) {
    if (a[0].is(Kind::undefined)) return iterator_of(env, make_list(env.meter));
    if (!a[0].is(Kind::dict))
        fail(Status::value, {}, "Can only get item pairs from a mapping, not %s", type_name(a[0]));
    const Native *const method = find_method(a[0], "items");
    return iterator_of(env, method->fixed(env, a).view->items);
}

Value attribute(Environment &env, const Value *a) {
    const Text &name = text_argument(a[1], "attribute name"); // items of a dict are not attributes
    if (a[0].is(Kind::dict) && !find_method(a[0], name.view())) return Value::undefined(&name);
    return get_attribute(env, a[0], &name);
}

Value first(Environment &env, const Value *a) {
    if (a[0].is(Kind::string) && a[0].text->size > 0)
        return Value::of(part(env.meter, *a[0].text, 0, step(a[0].text->view(), 0)));
    if (a[0].is(Kind::iterator)) {
        Iterator &it = *a[0].iterator;
        if (it.at < it.items->size) return it.items->items[it.at++];
    } else {
        const List &items = walk(env, a[0]);
        if (items.size > 0) return items.items[0];
    }
    return make_refused(env.meter, "No first item, sequence was empty.");
}

Value last(Environment &env, const Value *a) {
    if (a[0].is(Kind::string) && a[0].text->size > 0) {
        const Text &text = *a[0].text;
        return Value::of(
            part(env.meter, text, text.size - step_back(text.view(), text.size), text.size));
    }
    if (a[0].is(Kind::iterator)) fail(Status::value, {}, "'generator' object is not reversible");
    const List &items = walk(env, a[0]);
    if (items.size > 0) return items.items[items.size - 1];
    return make_refused(env.meter, "No last item, sequence was empty.");
}

Value reverse(Environment &env, const Value *a) {
    if (a[0].is(Kind::string)) { // keeps markup
        const Value bounds[3] = {Value::none(), Value::none(), Value::of(int64_t{-1})};
        return get_slice(env, a[0], bounds);
    }
    const List &items = walk(env, a[0]);
    List *const out = make_list(env.meter, items.size);
    for (size_t i = items.size; i > 0; i--) append(env.meter, out, items.items[i - 1]);
    if (a[0].is(Kind::iterator)) return Value::of(out);
    return iterator_of(env, out, a[0].is(Kind::list) ? "list_reverseiterator" : "reversed");
}

Value join_items(Environment &env, const Value *a) {
    const List &items = walk(env, a[0]);
    const Text *const by = given(a[1]) ? str(env.meter, a[1]) : nullptr;
    TextBuilder out(env.meter);
    for (size_t i = 0; i < items.size; i++) {
        if (i > 0 && by) out.add(*by);
        const bool path = given(a[2]) && !a[2].is(Kind::none);
        write_str(env.meter, out, path ? get_path(env, items.items[i], a[2]) : items.items[i]);
    }
    return Value::of(out.finish());
}

Value sum(Environment &env, const Value *a) {
    const List &items = walk(env, a[0]);
    Value out = given(a[2]) ? a[2] : Value::of(int64_t{0});
    if (out.is(Kind::string)) fail(Status::value, {}, "sum() can't sum strings");
    for (size_t i = 0; i < items.size; i++) {
        const bool path = given(a[1]) && !a[1].is(Kind::none);
        const Value item = path ? get_path(env, items.items[i], a[1]) : items.items[i];
        out = arithmetic(env, Op::add, out, item);
    }
    return out;
}

// ---- order ----

Value without_case(Environment &env, const Value &value) {
    if (!value.is(Kind::string)) return value;
    return Value::of(with_case(env.meter, *value.text, Casing::lower));
}

// Sort key of an item: itself, an attribute, or several ("age,name").
Value key_of(Environment &env, const Value &item, const Value &path, bool sensitive) {
    if (!given(path) || path.is(Kind::none)) return sensitive ? item : without_case(env, item);
    const bool several =
        path.is(Kind::string) && path.text->view().find(',') != std::string_view::npos;
    if (!several) {
        const Value value = get_path(env, item, path);
        return sensitive ? value : without_case(env, value);
    }
    List *const out = make_list(env.meter);
    const Value by[3] = {path, text_value(env.meter, ","), Value()};
    const List &paths = *find_method(path, "split")->fixed(env, by).list;
    for (size_t i = 0; i < paths.size; i++) {
        const Value value = get_path(env, item, paths.items[i]);
        append(env.meter, out, sensitive ? value : without_case(env, value));
    }
    return Value::of(out);
}

struct Keyed {
    Value key, item;
};

Keyed *keyed(Environment &env, const List &items, const Value &path, bool sensitive) {
    Keyed *const out = env.meter.array<Keyed>(items.size);
    for (size_t i = 0; i < items.size; i++)
        out[i] = {key_of(env, items.items[i], path, sensitive), items.items[i]};
    return out;
}

// `lists`: compares keys like items of lists, which may be equal without having an order.
void sort_keyed(Environment &env, Keyed *rows, size_t n, bool down, bool lists = false) {
    merge_sort(env.meter, rows, n, [&](const Keyed &a, const Keyed &b) {
        if (lists && equal(env.meter, a.key, b.key)) return false;
        return down ? compare(env.meter, b.key, a.key, "<") == -1
                    : compare(env.meter, a.key, b.key, "<") == -1;
    });
}

Value sort(Environment &env, const Value *a) {
    const List &items = walk(env, a[0]);
    Keyed *const rows = keyed(env, items, a[3], given(a[2]) && truth(a[2]));
    sort_keyed(env, rows, items.size, given(a[1]) && truth(a[1]), true);
    List *const out = make_list(env.meter, items.size);
    out->user = items.user;
    for (size_t i = 0; i < items.size; i++) append(env.meter, out, rows[i].item);
    return Value::of(out);
}

Value dictsort(Environment &env, const Value *a) {
    if (a[0].is(Kind::undefined)) fail_undefined(a[0]);
    if (!a[0].is(Kind::dict)) fail(Status::value, {}, "dictsort of %s", type_name(a[0]));
    const std::string_view by = given(a[2]) ? text_argument(a[2], "by").view() : "key";
    if (by != "key" && by != "value")
        fail(Status::value, {}, "You can only sort by either \"key\" or \"value\"");
    const List &pairs = *find_method(a[0], "items")->fixed(env, a).view->items;
    Keyed *const rows =
        keyed(env, pairs, Value::of(int64_t{by == "value"}), given(a[1]) && truth(a[1]));
    sort_keyed(env, rows, pairs.size, given(a[3]) && truth(a[3]));
    List *const out = make_list(env.meter, pairs.size);
    for (size_t i = 0; i < pairs.size; i++) append(env.meter, out, rows[i].item);
    return Value::of(out);
}

template <int Sign> Value extreme(Environment &env, const Value *a) {
    const List &items = walk(env, a[0]);
    if (items.size == 0) return make_refused(env.meter, "No aggregated item, sequence was empty.");
    const Keyed *const rows = keyed(env, items, a[2], given(a[1]) && truth(a[1]));
    size_t best = 0;
    for (size_t i = 1; i < items.size; i++)
        if (compare(env.meter, rows[i].key, rows[best].key, Sign < 0 ? "<" : ">") == Sign) best = i;
    return items.items[best];
}

Value unique(Environment &env, const Value *a) {
    const List &items = walk(env, a[0]);
    const Keyed *const rows = keyed(env, items, a[2], given(a[1]) && truth(a[1]));
    Dict *const seen = make_dict(env.meter);
    List *const out = make_list(env.meter);
    for (size_t i = 0; i < items.size; i++) {
        if (lookup(env.meter, *seen, rows[i].key)) continue;
        assign(env.meter, seen, rows[i].key, Value::none());
        append(env.meter, out, rows[i].item);
    }
    return iterator_of(env, out);
}

Value groupby(Environment &env, const Value *a) {
    const List &items = walk(env, a[0]);
    const bool sensitive = given(a[3]) && truth(a[3]);
    Keyed *const rows = env.meter.array<Keyed>(items.size);
    const auto key = [&](const Value &item) {
        const Value found = get_path(env, item, a[1]);
        return found.is(Kind::undefined) && given(a[2]) && !a[2].is(Kind::none) ? a[2] : found;
    };
    for (size_t i = 0; i < items.size; i++) {
        const Value k = key(items.items[i]);
        rows[i] = {sensitive ? k : without_case(env, k), items.items[i]};
    }
    sort_keyed(env, rows, items.size, false);
    List *const out = make_list(env.meter);
    for (size_t i = 0; i < items.size;) {
        List *const group = make_list(env.meter);
        size_t end = i;
        while (end < items.size && equal(env.meter, rows[end].key, rows[i].key))
            append(env.meter, group, rows[end++].item);
        List *const pair = make_list(env.meter, 2);
        append(env.meter, pair, key(rows[i].item));
        append(env.meter, pair, Value::of(group));
        append(env.meter, out, Value::of(pair, Kind::tuple));
        i = end;
    }
    return Value::of(out);
}

// ---- slicing ----

Value batch(Environment &env, const Value *a) {
    const List &items = walk(env, a[0]);
    const int64_t n = whole_argument(a[1], 0, "linecount");
    const bool fills = given(a[2]) && !a[2].is(Kind::none);
    List *const out = make_list(env.meter);
    List *row = nullptr;
    for (size_t i = 0; i < items.size; i++) {
        if (!row || static_cast<int64_t>(row->size) == n) {
            row = make_list(env.meter);
            append(env.meter, out, Value::of(row));
        }
        append(env.meter, row, items.items[i]);
    }
    while (row && fills && static_cast<int64_t>(row->size) < n) {
        env.meter.charge(1);
        append(env.meter, row, a[2]);
    }
    return iterator_of(env, out);
}

Value slices(Environment &env, const Value *a) {
    const List &items = walk(env, a[0]);
    const int64_t n = whole_argument(a[1], 0, "slices");
    const bool fills = given(a[2]) && !a[2].is(Kind::none);
    if (n == 0) fail(Status::value, {}, "division by zero");
    List *const out = make_list(env.meter);
    const auto size = static_cast<int64_t>(items.size);
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        env.meter.charge(1);
        List *const row = make_list(env.meter);
        for (int64_t k = size / n + (i < size % n); k > 0; k--)
            append(env.meter, row, items.items[at++]);
        if (fills && i >= size % n) append(env.meter, row, a[2]);
        append(env.meter, out, Value::of(row));
    }
    return iterator_of(env, out);
}

// ---- map, select, reject ----

const Value *named(const Arguments &arguments, std::string_view name) {
    for (size_t i = 0; i < arguments.n_named; i++)
        if (arguments.names[i]->view() == name) return &arguments.named[i];
    return nullptr;
}

const Native &named_native(const Value &name, bool test) {
    const Text &text = text_argument(name, test ? "the name of a test" : "the name of a filter");
    const size_t which = test ? find_test(text.view()) : find_filter(text.view());
    if (which == kNoFilter) {
        fail(Status::value, {}, "no %s named '%s'", test ? "test" : "filter",
             Quoted(text.data, text.size).c_str());
    }
    const Native &native = test ? test_at(which) : filter_at(which);
    return native;
}

// A filter that applies a filter can apply itself: limits the depth.
class Level {
public:
    Level(Environment &env) : env_(env) {
        if (++env.depth > 8)
            fail(Status::limit, {.limit = 8}, "filters within filters deeper than 8");
    }
    ~Level() { env_.depth--; }

private:
    Environment &env_;
};

Value map(Environment &env, const Value &value, const Arguments &arguments) {
    const Level level(env);
    if (!truth(value)) return iterator_of(env, make_list(env.meter));
    const List &items = walk(env, value);
    List *const out = make_list(env.meter, items.size);
    const Value *const path = named(arguments, "attribute"), *const other =
                                                                 named(arguments, "default");
    if (arguments.n_positional == 0 && path) {
        if (arguments.n_named > (other ? 2u : 1u))
            fail(Status::value, {}, "map: an unexpected keyword argument");
        for (size_t i = 0; i < items.size; i++) {
            const Value found = get_path(env, items.items[i], *path);
            const bool absent = found.is(Kind::undefined) && other && !other->is(Kind::none);
            append(env.meter, out, absent ? *other : found);
        }
        return iterator_of(env, out);
    }
    if (arguments.n_positional == 0) fail(Status::value, {}, "map requires a filter argument");
    const Native &filter = named_native(arguments.positional[0], false);
    Arguments rest = arguments;
    rest.positional++;
    rest.n_positional--;
    for (size_t i = 0; i < items.size; i++)
        append(env.meter, out, invoke(env, filter, items.items[i], rest));
    return iterator_of(env, out);
}

template <bool Keep, bool Attribute>
Value choose(Environment &env, const Value &value, const Arguments &arguments) {
    const Level level(env);
    if (!truth(value)) return iterator_of(env, make_list(env.meter));
    const List &items = walk(env, value);
    List *const out = make_list(env.meter);
    Arguments rest = arguments;
    const Value *path = nullptr;
    if (Attribute) {
        if (rest.n_positional == 0) fail(Status::value, {}, "Missing parameter for attribute name");
        path = rest.positional++;
        rest.n_positional--;
    }
    const Native *test = nullptr;
    if (rest.n_positional > 0) {
        test = &named_native(*rest.positional, true);
        rest.positional++;
        rest.n_positional--;
    }
    for (size_t i = 0; i < items.size; i++) {
        const Value tested = path ? get_path(env, items.items[i], *path) : items.items[i];
        const bool holds = truth(test ? invoke(env, *test, tested, rest) : tested);
        if (holds == Keep) append(env.meter, out, items.items[i]);
    }
    return iterator_of(env, out);
}

const Native kListFilterRows[] = {
    {"default", fallback, 0, {"default_value", "boolean"}, nullptr},
    {"d", fallback, 0, {"default_value", "boolean"}, nullptr},
    {"list", list, 0, {}, nullptr},
    {"items", items, 0, {}, nullptr},
    {"attr", attribute, 1, {"name"}, nullptr},
    {"first", first, 0, {}, nullptr},
    {"last", last, 0, {}, nullptr},
    {"reverse", reverse, 0, {}, nullptr},
    {"join", join_items, 0, {"d", "attribute"}, nullptr},
    {"sum", sum, 0, {"attribute", "start"}, nullptr},
    {"sort", sort, 0, {"reverse", "case_sensitive", "attribute"}, nullptr},
    {"dictsort", dictsort, 0, {"case_sensitive", "by", "reverse"}, nullptr},
    {"min", extreme<-1>, 0, {"case_sensitive", "attribute"}, nullptr},
    {"max", extreme<1>, 0, {"case_sensitive", "attribute"}, nullptr},
    {"unique", unique, 0, {"case_sensitive", "attribute"}, nullptr},
    {"groupby", groupby, 1, {"attribute", "default", "case_sensitive"}, nullptr},
    {"batch", batch, 1, {"linecount", "fill_with"}, nullptr},
    {"slice", slices, 1, {"slices", "fill_with"}, nullptr},
    {"map", nullptr, 0, {}, map},
    {"select", nullptr, 0, {}, choose<true, false>},
    {"reject", nullptr, 0, {}, choose<false, false>},
    {"selectattr", nullptr, 0, {}, choose<true, true>},
    {"rejectattr", nullptr, 0, {}, choose<false, true>},
};

} // namespace

const Natives kListFilters = {kListFilterRows, sizeof kListFilterRows / sizeof *kListFilterRows};

} // namespace ggufx::chat
