// Values with the semantics of Python: see value.hpp.
// SPDX-License-Identifier: MIT
#include "chat/value.hpp"

#include <math.h>
#include <string.h>

namespace ggufx::chat {

// ---- containers ----

List *make_list(Meter &meter, size_t capacity) {
    List *const list = meter.make<List>();
    list->items = meter.array<Value>(capacity);
    list->capacity = capacity;
    return list;
}

template <class T> static void grow(Meter &meter, T *&items, size_t size, size_t &capacity) {
    const size_t more = capacity < 4 ? 4 : 2 * capacity;
    T *const larger = meter.array<T>(more);
    meter.charge(size);
    // NOLINTNEXTLINE(bugprone-sizeof-expression): the items may be pointers
    if (size > 0) memcpy(static_cast<void *>(larger), items, size * sizeof(T));
    items = larger;
    capacity = more;
}

void append(Meter &meter, List *list, const Value &value) {
    meter.charge_items(1);
    if (list->size == list->capacity) grow(meter, list->items, list->size, list->capacity);
    list->items[list->size++] = value;
}

Dict *make_dict(Meter &meter) {
    return meter.make<Dict>();
}

static std::string_view key_text(const Entry *entry) {
    return entry->key.text->view();
}

constexpr size_t kScanned = 8; // dicts up to this size are searched linearly

static Entry *find_text(Meter &meter, const Dict &dict, std::string_view key) {
    meter.charge_bytes(key.size());
    if (dict.index) {
        const Entry *const *const found = dict.index->index.find(key, key_text);
        return found ? const_cast<Entry *>(*found) : nullptr;
    }
    for (size_t i = 0; i < dict.size; i++) {
        Entry *const entry = dict.entries[i];
        if (entry->key.is(Kind::string) && entry->key.text->view() == key) return entry;
    }
    return nullptr;
}

static Entry *find_entry(Meter &meter, const Dict &dict, const Value &key) {
    if (key.is(Kind::string)) return find_text(meter, dict, key.text->view());
    if (key.is(Kind::list) || key.is(Kind::dict)) {
        fail(Status::value, {}, "unhashable type: '%s'", type_name(key));
    }
    meter.charge(dict.size);
    for (size_t i = 0; i < dict.size; i++)
        if (equal(meter, dict.entries[i]->key, key)) return dict.entries[i];
    return nullptr;
}

const Value *lookup(Meter &meter, const Dict &dict, const Value &key) {
    const Entry *const entry = find_entry(meter, dict, key);
    return entry ? &entry->value : nullptr;
}

const Value *lookup(Meter &meter, const Dict &dict, std::string_view key) {
    const Entry *const entry = find_text(meter, dict, key);
    return entry ? &entry->value : nullptr;
}

static void build_index(Meter &meter, Dict *dict) {
    dict->index = meter.make_owning<KeyIndex>();
    for (size_t i = 0; i < dict->size; i++)
        if (dict->entries[i]->key.is(Kind::string))
            dict->index->index.insert(dict->entries[i], key_text);
}

void assign(Meter &meter, Dict *dict, const Value &key, const Value &value) {
    if (Entry *const entry = find_entry(meter, *dict, key)) {
        entry->value = value;
        return;
    }
    if (dict->size == dict->capacity) grow(meter, dict->entries, dict->size, dict->capacity);
    dict->entries[dict->size] = meter.make<Entry>(Entry{key, value});
    dict->size++;
    if (dict->index && key.is(Kind::string)) {
        meter.reserve(64); // two slots of the index and their growth
        dict->index->index.insert(dict->entries[dict->size - 1], key_text);
    } else if (dict->size > kScanned && !dict->index) {
        meter.reserve(uint64_t{64} * 32);
        build_index(meter, dict);
    }
}

bool remove(Meter &meter, Dict *dict, const Value &key) {
    const Entry *const entry = find_entry(meter, *dict, key);
    if (!entry) return false;
    meter.charge(dict->size);
    if (dict->index && key.is(Kind::string)) dict->index->index.erase(key.text->view(), key_text);
    size_t kept = 0;
    for (size_t i = 0; i < dict->size; i++)
        if (dict->entries[i] != entry) dict->entries[kept++] = dict->entries[i];
    dict->size = kept;
    return true;
}

// ---- types and truth ----

const char *type_name(const Value &value) {
    switch (value.kind) {
    case Kind::missing:
    case Kind::undefined:
        return "Undefined";
    case Kind::none:
        return "NoneType";
    case Kind::boolean:
        return "bool";
    case Kind::integer:
        return "int";
    case Kind::real:
        return "float";
    case Kind::string:
        return "str";
    case Kind::list:
        return "list";
    case Kind::tuple:
        return "tuple";
    case Kind::dict:
        return "dict";
    case Kind::range:
        return "range";
    case Kind::view:
        return value.view->type;
    case Kind::iterator:
        return value.iterator->type;
    case Kind::space:
        return "Namespace";
    case Kind::macro:
        return "Macro";
    case Kind::method:
        return "builtin_function_or_method";
    case Kind::function:
        return "function";
    case Kind::loop:
        return "LoopContext";
    case Kind::written: // not in templates
        break;
    }
    return "object";
}

bool truth(const Value &value) {
    switch (value.kind) {
    case Kind::missing:
    case Kind::undefined:
    case Kind::none:
        return false;
    case Kind::boolean:
        return value.truth;
    case Kind::integer:
        return value.integer != 0;
    case Kind::real:
        return value.real != 0; // NaN is true
    case Kind::string:
        return value.text->size > 0;
    case Kind::list:
    case Kind::tuple:
        return value.list->size > 0;
    case Kind::dict:
        return value.dict->size > 0;
    case Kind::range:
        return value.range->size > 0;
    case Kind::view:
        return value.view->items->size > 0;
    case Kind::loop:
        return value.loop->items->size > 0;
    default:
        return true;
    }
}

void fail_undefined(const Value &value) {
    const Quoted name(value.text->data, value.text->size);
    if (value.refused) fail(Status::value, {}, "%s", name.c_str());
    fail(Status::value, {}, "'%s' is undefined", name.c_str());
}

Value make_undefined(Meter &meter, std::string_view name) {
    return Value::undefined(borrow_text(meter, name, false));
}

Value make_refused(Meter &meter, std::string_view reason) {
    Value out = make_undefined(meter, reason);
    out.refused = true;
    return out;
}

Value text_value(Meter &meter, std::string_view copied, bool user) {
    return Value::of(make_text(meter, copied, user));
}

// ---- comparison ----

// Exact even if binary64 cannot represent the integer.
static int compare_mixed(int64_t a, double b) {
    if (isnan(b)) return 2;
    if (b >= 0x1p63) return -1;
    if (b < -0x1p63) return 1;
    const double whole = trunc(b);
    const auto i = static_cast<int64_t>(whole);
    if (a != i) return a < i ? -1 : 1;
    return b > whole ? -1 : b < whole ? 1 : 0;
}

static int compare_numbers(const Value &a, const Value &b) {
    if (a.is_whole() && b.is_whole()) {
        return a.whole() < b.whole() ? -1 : a.whole() > b.whole() ? 1 : 0;
    }
    if (a.is_whole()) return compare_mixed(a.whole(), b.real);
    if (b.is_whole()) {
        const int reversed = compare_mixed(b.whole(), a.real);
        return reversed == 2 ? 2 : -reversed;
    }
    if (isnan(a.real) || isnan(b.real)) return 2;
    return a.real < b.real ? -1 : a.real > b.real ? 1 : 0;
}

static void check_depth(unsigned depth) {
    if (depth > kDeepest)
        fail(Status::limit, {.limit = kDeepest}, "values nested deeper than %u", kDeepest);
}

static bool equal_lists(Meter &meter, const List &a, const List &b, unsigned depth) {
    if (a.size != b.size) return false;
    for (size_t i = 0; i < a.size; i++)
        if (!equal(meter, a.items[i], b.items[i], depth + 1)) return false;
    return true;
}

static bool equal_dicts(Meter &meter, const Dict &a, const Dict &b, unsigned depth) {
    if (a.size != b.size) return false;
    for (size_t i = 0; i < a.size; i++) {
        const Value *const other = lookup(meter, b, a.entries[i]->key);
        if (!other || !equal(meter, a.entries[i]->value, *other, depth + 1)) return false;
    }
    return true;
}

bool equal(Meter &meter, const Value &a, const Value &b, unsigned depth) {
    meter.charge(1);
    check_depth(depth);
    if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
    if (a.kind != b.kind) return false;
    switch (a.kind) {
    case Kind::missing:
    case Kind::undefined:
    case Kind::none:
        return true;
    case Kind::string:
        if (a.text->size != b.text->size) return false;
        meter.charge_bytes(a.text->size);
        return a.text->view() == b.text->view();
    case Kind::list:
    case Kind::tuple:
        return a.list == b.list || equal_lists(meter, *a.list, *b.list, depth);
    case Kind::dict:
        return a.dict == b.dict || equal_dicts(meter, *a.dict, *b.dict, depth);
    case Kind::range:
        return a.range->size == b.range->size &&
               (a.range->size == 0 || (a.range->start == b.range->start &&
                                       (a.range->size == 1 || a.range->step == b.range->step)));
    case Kind::function:
        return a.function == b.function;
    default:
        return a.loop == b.loop; // the same object
    }
}

static int compare_texts(Meter &meter, const Text &a, const Text &b) {
    meter.charge_bytes(a.size < b.size ? a.size : b.size);
    const int order = a.view().compare(b.view()); // the order of UTF-8 bytes is that of code points
    return order < 0 ? -1 : order > 0 ? 1 : 0;
}

int compare(Meter &meter, const Value &a, const Value &b, const char *sign, unsigned depth) {
    meter.charge(1);
    check_depth(depth);
    if (a.is(Kind::undefined)) fail_undefined(a);
    if (b.is(Kind::undefined)) fail_undefined(b);
    if (a.is_number() && b.is_number()) return compare_numbers(a, b);
    if (a.is(Kind::string) && b.is(Kind::string)) return compare_texts(meter, *a.text, *b.text);
    if (a.is_sequence() && a.kind == b.kind) {
        const size_t n = a.list->size < b.list->size ? a.list->size : b.list->size;
        for (size_t i = 0; i < n; i++)
            if (!equal(meter, a.list->items[i], b.list->items[i], depth + 1))
                return compare(meter, a.list->items[i], b.list->items[i], sign, depth + 1);
        return a.list->size < b.list->size ? -1 : a.list->size > b.list->size ? 1 : 0;
    }
    fail(Status::value, {}, "'%s' not supported between instances of '%s' and '%s'", sign,
         type_name(a), type_name(b));
}

static bool contains_item(Meter &meter, const List &list, const Value &item) {
    for (size_t i = 0; i < list.size; i++)
        if (equal(meter, list.items[i], item)) return true;
    return false;
}

bool contains(Meter &meter, const Value &container, const Value &item) {
    switch (container.kind) {
    case Kind::string:
        if (!item.is(Kind::string)) {
            if (item.is(Kind::undefined)) fail_undefined(item);
            fail(Status::value, {}, "'in <string>' requires string as left operand, not %s",
                 type_name(item));
        }
        return find(meter, container.text->view(), item.text->view(), 0) != std::string_view::npos;
    case Kind::dict:
        return lookup(meter, *container.dict, item) != nullptr;
    case Kind::range:
        if (item.is_whole()) {
            const RangeValue &r = *container.range;
            const int64_t v = item.whole();
            const bool within =
                r.step > 0 ? v >= r.start && v < r.stop : v <= r.start && v > r.stop;
            return within && (v - r.start) % r.step == 0;
        }
        [[fallthrough]];
    default:
        if (!is_iterable(container)) {
            fail(Status::value, {}, "argument of type '%s' is not iterable", type_name(container));
        }
        return contains_item(meter, *items_of(meter, container), item);
    }
}

// ---- iteration ----

bool has_length(const Value &value) {
    switch (value.kind) {
    case Kind::undefined:
    case Kind::string:
    case Kind::list:
    case Kind::tuple:
    case Kind::dict:
    case Kind::range:
    case Kind::view:
    case Kind::loop:
        return true;
    default:
        return false;
    }
}

size_t length(Meter &meter, const Value &value) {
    switch (value.kind) {
    case Kind::undefined:
        return 0;
    case Kind::string:
        return count_chars(meter, *value.text);
    case Kind::list:
    case Kind::tuple:
        return value.list->size;
    case Kind::dict:
        return value.dict->size;
    case Kind::range:
        return static_cast<size_t>(value.range->size);
    case Kind::view:
        return value.view->items->size;
    case Kind::loop:
        return value.loop->items->size;
    default:
        fail(Status::value, {}, "object of type '%s' has no len()", type_name(value));
    }
}

bool is_iterable(const Value &value) {
    return (has_length(value) && !value.is(Kind::loop)) || value.is(Kind::iterator) ||
           value.is(Kind::loop);
}

static List *walk_text(Meter &meter, const Text &text) {
    List *const out = make_list(meter, count_chars(meter, text));
    for (size_t i = 0, n; i < text.size; i += n) {
        n = step(text.view(), i);
        append(meter, out, Value::of(with_markup(meter, *part(meter, text, i, i + n), false)));
    }
    return out;
}

static List *walk_iterator(Meter &meter, Iterator &iterator) {
    const List &all = *iterator.items;
    List *const out = make_list(meter);
    out->items = all.items + iterator.at;
    out->size = out->capacity = all.size - iterator.at;
    iterator.at = all.size;
    return out;
}

const List *items_of(Meter &meter, const Value &value) {
    switch (value.kind) {
    case Kind::undefined:
        return make_list(meter);
    case Kind::list:
    case Kind::tuple:
        return value.list;
    case Kind::string:
        meter.charge(value.text->size);
        return walk_text(meter, *value.text);
    case Kind::dict: {
        meter.charge(value.dict->size);
        List *const out = make_list(meter, value.dict->size);
        for (size_t i = 0; i < value.dict->size; i++)
            append(meter, out, value.dict->entries[i]->key);
        return out;
    }
    case Kind::range: {
        meter.charge(value.range->size);
        List *const out = make_list(meter, static_cast<size_t>(value.range->size));
        for (uint64_t i = 0; i < value.range->size; i++)
            append(meter, out,
                   Value::of(value.range->start + static_cast<int64_t>(i) * value.range->step));
        return out;
    }
    case Kind::view:
        return value.view->items;
    case Kind::iterator:
        return walk_iterator(meter, *value.iterator);
    default:
        fail(Status::value, {}, "'%s' object is not iterable", type_name(value));
    }
}

} // namespace ggufx::chat
