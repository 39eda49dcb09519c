// Global functions of templates.
// SPDX-License-Identifier: MIT
#include "chat/native.hpp"

namespace ggufx::chat {

namespace {

constexpr uint64_t kLongestRange = 100000; // items, as in jinja2's sandbox

Value make_range(Environment &env, const Value &, const Arguments &arguments) {
    const size_t n = arguments.n_positional;
    if (arguments.n_named > 0 || n < 1 || n > 3)
        fail(Status::value, {}, "range() takes 1 to 3 positional arguments");
    int64_t values[3] = {0, 0, 1};
    for (size_t i = 0; i < n; i++) {
        if (!arguments.positional[i].is_whole()) {
            if (arguments.positional[i].is(Kind::undefined))
                fail_undefined(arguments.positional[i]);
            fail(Status::value, {}, "'%s' object cannot be interpreted as an integer",
                 type_name(arguments.positional[i]));
        }
        values[n == 1 ? 1 : i] = arguments.positional[i].whole();
    }
    const int64_t start = values[0], stop = values[1], step = values[2];
    if (step == 0) fail(Status::value, {}, "range() arg 3 must not be zero");
    const bool up = step > 0;
    const uint64_t stride = up ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
    const uint64_t distance = up ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                 : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
    const uint64_t count = (up ? stop <= start : stop >= start) ? 0 : (distance - 1) / stride + 1;
    if (count > kLongestRange)
        fail(Status::limit, {.limit = kLongestRange}, "a range of more than %" PRIu64 " items",
             kLongestRange);
    return Value::of(env.meter.make<RangeValue>(RangeValue{start, stop, step, count}));
}

void take_named(Environment &env, Dict *dict, const Arguments &arguments) {
    for (size_t i = 0; i < arguments.n_named; i++)
        assign(env.meter, dict, Value::of(arguments.names[i]), arguments.named[i]);
}

void take_pairs(Environment &env, Dict *dict, const Value &from) {
    if (from.is(Kind::dict) || from.is(Kind::space)) {
        const Dict all = *from.dict;
        env.meter.charge(all.size);
        for (size_t i = 0; i < all.size; i++)
            assign(env.meter, dict, all.entries[i]->key, all.entries[i]->value);
        return;
    }
    const List &pairs = *items_of(env.meter, from);
    for (size_t i = 0; i < pairs.size; i++) {
        const List &pair = *items_of(env.meter, pairs.items[i]);
        if (pair.size != 2) fail(Status::value, {}, "an element of a dict is not a pair");
        assign(env.meter, dict, pair.items[0], pair.items[1]);
    }
}

Value make_dict_value(Environment &env, const Value &, const Arguments &arguments) {
    Dict *const dict = make_dict(env.meter);
    if (arguments.n_positional > 1) fail(Status::value, {}, "dict() takes at most 1 argument");
    if (arguments.n_positional == 1) take_pairs(env, dict, arguments.positional[0]);
    take_named(env, dict, arguments);
    return Value::of(dict);
}

Value make_namespace(Environment &env, const Value &self, const Arguments &arguments) {
    Value out = make_dict_value(env, self, arguments);
    out.kind = Kind::space;
    return out;
}

Value raise(Environment &env, const Value *a) {
    const Text &text = *str(env.meter, a[1]);
    char message[256];
    const size_t n = text.size < sizeof message - 1 ? text.size : sizeof message - 1;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        message[kept++] = static_cast<uint8_t>(text.data[i]) < 32 ? ' ' : text.data[i];
    message[kept] = 0;
    while (kept > 0 && kept == n && n < text.size &&
           (static_cast<uint8_t>(text.data[kept]) & 0xc0) == 0x80)
        message[--kept] = 0; // cut at a character boundary
    fail(Status::mismatch, {}, "the template refuses the conversation: %s", message);
}

Value now(Environment &env, const Value *a) {
    return Value::of(format_time(env, text_argument(a[1], "strftime_now() argument")));
}

const Native kFunctionRows[] = {
    {"range", nullptr, 0, {}, make_range},
    {"dict", nullptr, 0, {}, make_dict_value},
    {"namespace", nullptr, 0, {}, make_namespace},
    {"raise_exception", raise, 1, {"message"}, nullptr},
    {"strftime_now", now, 1, {"format"}, nullptr},
};

} // namespace

const Natives kFunctions = {kFunctionRows, sizeof kFunctionRows / sizeof *kFunctionRows};

} // namespace ggufx::chat
