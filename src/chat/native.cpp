// Argument binding, attributes and items: see native.hpp.
// SPDX-License-Identifier: MIT
#include "chat/native.hpp"

#include "chat/filters.hpp"

#include <string.h>

namespace ggufx::chat {

bool given(const Value &value) {
    return !value.is(Kind::missing);
}

static size_t count_parameters(const Native &native) {
    size_t n = 0;
    while (n < kMostParameters && native.parameters[n]) n++;
    return n;
}

Value invoke(Environment &env, const Native &native, const Value &self,
             const Arguments &arguments) {
    env.meter.charge_items(2 + arguments.n_named);
    if (native.open) return native.open(env, self, arguments);
    const size_t n = count_parameters(native);
    Value a[kMostParameters + 1];
    a[0] = self;
    if (arguments.n_positional > n) {
        fail(Status::value, {}, "%s() takes at most %u arguments, %u were given", native.name,
             static_cast<unsigned>(n), static_cast<unsigned>(arguments.n_positional));
    }
    for (size_t i = 0; i < arguments.n_positional; i++) a[i + 1] = arguments.positional[i];
    for (size_t k = 0; k < arguments.n_named; k++) {
        const Text &name = *arguments.names[k];
        size_t i = 0;
        while (i < n && name.view() != native.parameters[i]) i++;
        if (i == n || given(a[i + 1])) {
            fail(Status::value, {}, "%s() got %s argument '%s'", native.name,
                 i == n ? "an unexpected keyword" : "several values for its",
                 Quoted(name.data, name.size).c_str());
        }
        a[i + 1] = arguments.named[k];
    }
    for (size_t i = 0; i < native.n_required; i++)
        if (!given(a[i + 1]))
            fail(Status::value, {}, "%s() has no argument '%s'", native.name, native.parameters[i]);
    return native.fixed(env, a);
}

int64_t whole_argument(const Value &value, int64_t otherwise, const char *what) {
    if (!given(value) || value.is(Kind::none)) return otherwise;
    if (value.is_whole()) return value.whole();
    if (value.is(Kind::undefined)) fail_undefined(value);
    fail(Status::value, {}, "%s: an integer is required, not %s", what, type_name(value));
}

const Text &text_argument(const Value &value, const char *what) {
    if (value.is(Kind::string)) return *value.text;
    if (value.is(Kind::undefined)) fail_undefined(value);
    fail(Status::value, {}, "%s must be str, not %s", what, type_name(value));
}

Value iterator_of(Environment &env, List *items, const char *type) {
    return Value::of(env.meter.make<Iterator>(Iterator{items, 0, type}));
}

// ---- tables ----

static size_t find_row(const Natives &natives, std::string_view name) {
    for (size_t i = 0; i < natives.count; i++)
        if (name == natives.rows[i].name) return i;
    return SIZE_MAX;
}

size_t find_filter(std::string_view name) {
    const size_t text = find_row(kTextFilters, name);
    if (text != SIZE_MAX) return text;
    const size_t list = find_row(kListFilters, name);
    return list == SIZE_MAX ? kNoFilter : kTextFilters.count + list;
}

const Native &filter_at(size_t index) {
    if (index < kTextFilters.count) return kTextFilters.rows[index];
    return kListFilters.rows[index - kTextFilters.count];
}

size_t find_test(std::string_view name) {
    const size_t row = find_row(kTests, name);
    return row == SIZE_MAX ? kNoFilter : row;
}

const Native &test_at(size_t index) {
    return kTests.rows[index];
}

const Native *find_method(const Value &self, std::string_view name) {
    const Natives *natives = nullptr;
    if (self.is(Kind::string)) natives = &kTextMethods;
    if (self.is(Kind::list)) natives = &kListMethods;
    if (self.is(Kind::tuple)) natives = &kTupleMethods;
    if (self.is(Kind::dict)) natives = &kDictMethods;
    if (!natives) return nullptr;
    const size_t row = find_row(*natives, name);
    return row == SIZE_MAX ? nullptr : &natives->rows[row];
}

const Native *find_function(const Environment &env, std::string_view name, uint32_t &index) {
    const size_t row = find_row(kFunctions, name);
    if (row == SIZE_MAX || (name == "strftime_now" && !env.has_clock)) return nullptr;
    index = static_cast<uint32_t>(row);
    return &kFunctions.rows[row];
}

// ---- attributes and items ----

static Value loop_attribute(Environment &env, const Value &object, std::string_view name) {
    const Loop &loop = *object.loop;
    const auto n = static_cast<int64_t>(loop.items->size), at = static_cast<int64_t>(loop.index0);
    if (name == "index") return Value::of(at + 1);
    if (name == "index0") return Value::of(at);
    if (name == "first") return Value::of(at == 0);
    if (name == "last") return Value::of(at + 1 >= n);
    if (name == "length") return Value::of(n);
    if (name == "revindex") return Value::of(n - at);
    if (name == "revindex0") return Value::of(n - at - 1);
    if (name == "depth") return Value::of(static_cast<int64_t>(loop.depth0) + 1);
    if (name == "depth0") return Value::of(static_cast<int64_t>(loop.depth0));
    if (name == "previtem")
        return at > 0 ? loop.items->items[at - 1]
                      : make_refused(env.meter, "there is no previous item");
    if (name == "nextitem")
        return at + 1 < n ? loop.items->items[at + 1]
                          : make_refused(env.meter, "there is no next item");
    return Value();
}

static Value method_of(Environment &env, const Value &object, const Native *native,
                       const Native *first) {
    return Value::of(env.meter.make<Method>(Method{object, static_cast<uint32_t>(native - first)}));
}

static const Native *first_method(const Value &self) {
    return self.is(Kind::string)  ? kTextMethods.rows
           : self.is(Kind::list)  ? kListMethods.rows
           : self.is(Kind::tuple) ? kTupleMethods.rows
                                  : kDictMethods.rows;
}

Value get_attribute(Environment &env, const Value &object, const Text *name) {
    env.meter.charge(1); // some dozen names are compared
    if (object.is(Kind::undefined)) fail_undefined(object);
    if (const Native *const native = find_method(object, name->view()))
        return method_of(env, object, native, first_method(object));
    if (object.is(Kind::loop)) {
        const Value out = loop_attribute(env, object, name->view());
        if (given(out)) return out;
        const bool cycle = name->view() == "cycle";
        if (cycle || name->view() == "changed")
            return Value::of(env.meter.make<Method>(Method{object, cycle ? 0u : 1u}));
    }
    if (object.is(Kind::macro) && name->view() == "name") return Value();
    if (object.is(Kind::dict) || object.is(Kind::space))
        if (const Value *const found = lookup(env.meter, *object.dict, name->view())) return *found;
    return Value::undefined(name);
}

// Resolves an index of a sequence; SIZE_MAX if it is out of range.
static size_t index_in(int64_t index, size_t n) {
    const auto size = static_cast<int64_t>(n);
    if (index < 0) index += size;
    return index < 0 || index >= size ? SIZE_MAX : static_cast<size_t>(index);
}

static Value text_item(Environment &env, const Text &text, int64_t index) {
    const size_t i = index_in(index, count_chars(env.meter, text));
    if (i == SIZE_MAX) return make_refused(env.meter, "str object has no such element");
    const size_t begin = byte_of(env.meter, text, i);
    return Value::of(part(env.meter, text, begin, begin + step(text.view(), begin)));
}

Value get_item(Environment &env, const Value &object, const Value &key) {
    if (object.is(Kind::undefined)) fail_undefined(object);
    if (object.is(Kind::dict)) {
        const bool hashable = !key.is(Kind::list) && !key.is(Kind::dict);
        if (const Value *const found = hashable ? lookup(env.meter, *object.dict, key) : nullptr)
            return *found;
    } else if (key.is_whole() && object.is_sequence()) {
        const size_t i = index_in(key.whole(), object.list->size);
        if (i != SIZE_MAX) return object.list->items[i];
        return make_refused(env.meter, "list object has no such element");
    } else if (key.is_whole() && object.is(Kind::string)) {
        return text_item(env, *object.text, key.whole());
    } else if (key.is_whole() && object.is(Kind::range)) {
        const size_t i = index_in(key.whole(), static_cast<size_t>(object.range->size));
        if (i != SIZE_MAX)
            return Value::of(object.range->start + static_cast<int64_t>(i) * object.range->step);
    }
    if (key.is(Kind::string)) {
        if (object.is(Kind::dict)) {
            const Native *const native = find_method(object, key.text->view());
            if (native) return method_of(env, object, native, first_method(object));
            return Value::undefined(key.text);
        }
        return get_attribute(env, object, key.text);
    }
    return make_refused(env.meter, "an object has no such element");
}

Value get_path(Environment &env, const Value &object, const Value &path) {
    if (!path.is(Kind::string)) return get_item(env, object, path);
    const std::string_view s = path.text->view();
    env.meter.charge_chars(s.size());
    Value at = object;
    for (size_t begin = 0;;) {
        env.meter.charge(1);
        const size_t dot = s.find('.', begin), end = dot == s.npos ? s.size() : dot;
        const std::string_view name = s.substr(begin, end - begin);
        int64_t index = 0;
        bool digits = !name.empty() && name.size() < 18;
        for (const char c : name) {
            digits = digits && c >= '0' && c <= '9';
            if (digits) index = 10 * index + (c - '0');
        }
        const Value key =
            digits ? Value::of(index) : Value::of(part(env.meter, *path.text, begin, end));
        at = get_item(env, at, key);
        if (dot == s.npos) return at;
        begin = dot + 1;
    }
}

// ---- slices, as Python's slice.indices ----

namespace {
struct Walk {
    int64_t start, stop, step;
    size_t count;
};
} // namespace

static Walk walk_of(const Value *bounds, size_t n) {
    const auto size = static_cast<int64_t>(n);
    const int64_t step = whole_argument(bounds[2], 1, "slice");
    if (step == 0) fail(Status::value, {}, "slice step cannot be zero");
    const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
    const auto bound = [&](const Value &value, int64_t otherwise) {
        int64_t at = whole_argument(value, otherwise, "slice");
        if (!given(value) || value.is(Kind::none)) return otherwise;
        if (at < 0) at = at < -size ? low : at + size;
        return at < low ? low : at > high ? high : at;
    };
    const int64_t start = bound(bounds[0], step < 0 ? high : low);
    const int64_t stop = bound(bounds[1], step < 0 ? low : high);
    const int64_t distance = step > 0 ? stop - start : start - stop;
    if (distance <= 0) return {start, stop, step, 0};
    const uint64_t stride =
        step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
    return {start, stop, step,
            static_cast<size_t>((static_cast<uint64_t>(distance) - 1) / stride + 1)};
}

static Value slice_text(Environment &env, const Text &text, const Value *bounds) {
    const Walk walk = walk_of(bounds, count_chars(env.meter, text));
    if (walk.count == 0) return Value::of(part(env.meter, text, 0, 0));
    if (walk.step == 1) {
        const size_t begin = byte_of(env.meter, text, static_cast<size_t>(walk.start));
        const size_t end = byte_of(env.meter, text, static_cast<size_t>(walk.start) + walk.count);
        return Value::of(part(env.meter, text, begin, end));
    }
    const List *const chars = items_of(env.meter, Value::of(&text));
    TextBuilder out(env.meter);
    for (size_t k = 0; k < walk.count; k++)
        out.add(*chars->items[walk.start + static_cast<int64_t>(k) * walk.step].text);
    return Value::of(out.finish());
}

Value get_slice(Environment &env, const Value &object, const Value *bounds) {
    if (object.is(Kind::string)) return slice_text(env, *object.text, bounds);
    if (object.is(Kind::undefined)) fail_undefined(object);
    if (object.is(Kind::range)) {
        const RangeValue &of = *object.range;
        const Walk walk = walk_of(bounds, of.size);
        Value out = object;
        int64_t start, stop, step;
        const auto at = [&](int64_t index, int64_t *to) {
            return __builtin_mul_overflow(index, of.step, to) ||
                   __builtin_add_overflow(of.start, *to, to);
        };
        if (at(walk.start, &start) || at(walk.stop, &stop) ||
            __builtin_mul_overflow(of.step, walk.step, &step))
            fail(Status::limit, {}, "an integer beyond 64 bits");
        out.range = env.meter.make<RangeValue>(RangeValue{start, stop, step, walk.count});
        return out;
    }
    if (!object.is_sequence())
        fail(Status::value, {}, "'%s' object cannot be sliced", type_name(object));
    const List &from = *items_of(env.meter, object);
    const Walk walk = walk_of(bounds, from.size);
    env.meter.charge(walk.count);
    List *const out = make_list(env.meter, walk.count);
    out->user = from.user;
    for (size_t k = 0; k < walk.count; k++)
        append(env.meter, out, from.items[walk.start + static_cast<int64_t>(k) * walk.step]);
    return Value::of(out, object.is(Kind::tuple) ? Kind::tuple : Kind::list);
}

} // namespace ggufx::chat
