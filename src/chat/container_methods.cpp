// Methods of lists, tuples and dicts. Methods that modify a list or dict change the rendering's own
// copy of the conversation.
// SPDX-License-Identifier: MIT
#include "chat/native.hpp"

#include <string.h>

namespace ggufx::chat {

namespace {

// ---- lists ----

Value list_append(Environment &env, const Value *a) {
    append(env.meter, a[0].list, a[1]);
    return Value::none();
}

Value list_extend(Environment &env, const Value *a) {
    const List items = *items_of(env.meter, a[1]);
    env.meter.charge(items.size);
    for (size_t i = 0; i < items.size; i++) append(env.meter, a[0].list, items.items[i]);
    return Value::none();
}

// Converts a negative index, which counts from the end.
int64_t wrapped(int64_t index, size_t size) {
    return index < 0 ? index + static_cast<int64_t>(size) : index;
}

Value list_insert(Environment &env, const Value *a) {
    List &list = *a[0].list;
    const auto n = static_cast<int64_t>(list.size);
    int64_t at = wrapped(whole_argument(a[1], 0, "index"), list.size);
    at = at < 0 ? 0 : at > n ? n : at;
    env.meter.charge(list.size);
    append(env.meter, &list, a[2]);
    for (int64_t i = n; i > at; i--) list.items[i] = list.items[i - 1];
    list.items[at] = a[2];
    return Value::none();
}

Value list_pop(Environment &env, const Value *a) {
    List &list = *a[0].list;
    const int64_t at = wrapped(whole_argument(a[1], -1, "index"), list.size);
    if (list.size == 0) fail(Status::value, {}, "pop from empty list");
    if (at < 0 || at >= static_cast<int64_t>(list.size))
        fail(Status::value, {}, "pop index out of range");
    env.meter.charge(list.size - static_cast<size_t>(at));
    const Value out = list.items[at];
    for (auto i = static_cast<size_t>(at); i + 1 < list.size; i++)
        list.items[i] = list.items[i + 1];
    list.size--;
    return out;
}

size_t position(Environment &env, const Value *a) {
    for (size_t i = 0; i < a[0].list->size; i++)
        if (equal(env.meter, a[0].list->items[i], a[1])) return i;
    return SIZE_MAX;
}

Value list_index(Environment &env, const Value *a) {
    const size_t at = position(env, a);
    if (at == SIZE_MAX) fail(Status::value, {}, "the value is not in the list");
    return Value::of(static_cast<int64_t>(at));
}

Value list_count(Environment &env, const Value *a) {
    int64_t n = 0;
    for (size_t i = 0; i < a[0].list->size; i++) n += equal(env.meter, a[0].list->items[i], a[1]);
    return Value::of(n);
}

Value list_remove(Environment &env, const Value *a) {
    const size_t at = position(env, a);
    if (at == SIZE_MAX) fail(Status::value, {}, "list.remove(x): x not in list");
    const Value index[2] = {a[0], Value::of(static_cast<int64_t>(at))};
    (void)list_pop(env, index);
    return Value::none();
}

Value list_reverse(Environment &env, const Value *a) {
    List &list = *a[0].list;
    env.meter.charge(list.size);
    for (size_t i = 0; i < list.size / 2; i++) {
        const Value other = list.items[list.size - 1 - i];
        list.items[list.size - 1 - i] = list.items[i];
        list.items[i] = other;
    }
    return Value::none();
}

Value list_copy(Environment &env, const Value *a) {
    env.meter.charge(a[0].list->size);
    List *const out = make_list(env.meter, a[0].list->size);
    out->user = a[0].list->user;
    for (size_t i = 0; i < a[0].list->size; i++) append(env.meter, out, a[0].list->items[i]);
    return Value::of(out);
}

Value list_clear(Environment &, const Value *a) {
    a[0].list->size = 0;
    return Value::none();
}

const Native kListRows[] = {
    {"append", list_append, 1, {"object"}, nullptr},
    {"extend", list_extend, 1, {"iterable"}, nullptr},
    {"insert", list_insert, 2, {"index", "object"}, nullptr},
    {"pop", list_pop, 0, {"index"}, nullptr},
    {"index", list_index, 1, {"value"}, nullptr},
    {"count", list_count, 1, {"value"}, nullptr},
    {"remove", list_remove, 1, {"value"}, nullptr},
    {"reverse", list_reverse, 0, {}, nullptr},
    {"copy", list_copy, 0, {}, nullptr},
    {"clear", list_clear, 0, {}, nullptr},
};

const Native kTupleRows[] = {
    {"index", list_index, 1, {"value"}, nullptr},
    {"count", list_count, 1, {"value"}, nullptr},
};

// ---- dicts ----

Value dict_get(Environment &env, const Value *a) {
    const Value *const found = lookup(env.meter, *a[0].dict, a[1]);
    if (found) return *found;
    return given(a[2]) ? a[2] : Value::none();
}

Value view_of(Environment &env, List *items, const char *type) {
    return Value::of(env.meter.make<View>(View{items, type}));
}

Value dict_items(Environment &env, const Value *a) {
    const Dict &dict = *a[0].dict;
    env.meter.charge(dict.size);
    List *const out = make_list(env.meter, dict.size);
    for (size_t i = 0; i < dict.size; i++) {
        List *const pair = make_list(env.meter, 2);
        pair->user = dict.user;
        append(env.meter, pair, dict.entries[i]->key);
        append(env.meter, pair, dict.entries[i]->value);
        append(env.meter, out, Value::of(pair, Kind::tuple));
    }
    return view_of(env, out, "dict_items");
}

Value dict_keys(Environment &env, const Value *a) {
    return view_of(env, const_cast<List *>(items_of(env.meter, a[0])), "dict_keys");
}

Value dict_values(Environment &env, const Value *a) {
    const Dict &dict = *a[0].dict;
    env.meter.charge(dict.size);
    List *const out = make_list(env.meter, dict.size);
    for (size_t i = 0; i < dict.size; i++) append(env.meter, out, dict.entries[i]->value);
    return view_of(env, out, "dict_values");
}

Value dict_pop(Environment &env, const Value *a) {
    const Value *const found = lookup(env.meter, *a[0].dict, a[1]);
    if (!found && given(a[2])) return a[2];
    if (!found) fail(Status::value, {}, "pop(): the key is not in the dict");
    const Value out = *found;
    (void)remove(env.meter, a[0].dict, a[1]);
    return out;
}

Value dict_setdefault(Environment &env, const Value *a) {
    if (const Value *const found = lookup(env.meter, *a[0].dict, a[1])) return *found;
    const Value value = given(a[2]) ? a[2] : Value::none();
    assign(env.meter, a[0].dict, a[1], value);
    return value;
}

void merge(Environment &env, Dict *dict, const Value &other) {
    if (!other.is(Kind::dict))
        fail(Status::value, {}, "update() takes a dict, not %s", type_name(other));
    const Dict from = *other.dict;
    env.meter.charge(from.size);
    for (size_t i = 0; i < from.size; i++)
        assign(env.meter, dict, from.entries[i]->key, from.entries[i]->value);
}

Value dict_update(Environment &env, const Value &self, const Arguments &arguments) {
    for (size_t i = 0; i < arguments.n_positional; i++)
        merge(env, self.dict, arguments.positional[i]);
    for (size_t i = 0; i < arguments.n_named; i++)
        assign(env.meter, self.dict, Value::of(arguments.names[i]), arguments.named[i]);
    return Value::none();
}

Value dict_copy(Environment &env, const Value *a) {
    Dict *const out = make_dict(env.meter);
    out->user = a[0].dict->user;
    merge(env, out, a[0]);
    return Value::of(out);
}

Value dict_clear(Environment &, const Value *a) {
    *a[0].dict = Dict{.user = a[0].dict->user};
    return Value::none();
}

const Native kDictRows[] = {
    {"get", dict_get, 1, {"key", "default"}, nullptr},
    {"items", dict_items, 0, {}, nullptr},
    {"keys", dict_keys, 0, {}, nullptr},
    {"values", dict_values, 0, {}, nullptr},
    {"pop", dict_pop, 1, {"key", "default"}, nullptr},
    {"setdefault", dict_setdefault, 1, {"key", "default"}, nullptr},
    {"update", nullptr, 0, {}, dict_update},
    {"copy", dict_copy, 0, {}, nullptr},
    {"clear", dict_clear, 0, {}, nullptr},
};

} // namespace

const Natives kListMethods = {kListRows, sizeof kListRows / sizeof *kListRows};
const Natives kTupleMethods = {kTupleRows, sizeof kTupleRows / sizeof *kTupleRows};
const Natives kDictMethods = {kDictRows, sizeof kDictRows / sizeof *kDictRows};

} // namespace ggufx::chat
