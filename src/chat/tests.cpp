// Tests, which follow `is`.
// SPDX-License-Identifier: MIT
#include "chat/filters.hpp"
#include "chat/native.hpp"
#include "chat/operators.hpp"

namespace ggufx::chat {

namespace {

template <Kind K> Value kind(Environment &, const Value *a) {
    return Value::of(a[0].is(K));
}
Value defined(Environment &, const Value *a) {
    return Value::of(!a[0].is(Kind::undefined));
}
template <bool Wanted> Value literal(Environment &, const Value *a) {
    return Value::of(a[0].is(Kind::boolean) && a[0].truth == Wanted);
}
Value number(Environment &, const Value *a) {
    return Value::of(a[0].is_number());
}
Value sequence(Environment &, const Value *a) {
    const bool view = a[0].is(Kind::view) || a[0].is(Kind::loop);
    return Value::of(has_length(a[0]) && !view);
}
Value iterable(Environment &, const Value *a) {
    return Value::of(is_iterable(a[0]));
}
Value callable(Environment &, const Value *a) {
    return Value::of(a[0].is(Kind::macro) || a[0].is(Kind::method) || a[0].is(Kind::function) ||
                     a[0].is(Kind::undefined) || a[0].is(Kind::loop));
}

template <Comparison C> Value comparison(Environment &env, const Value *a) {
    return Value::of(compared(env, C, a[0], a[1]));
}

Value remainder(Environment &env, const Value &value, const Value &by, int64_t wanted) {
    const Value rest = arithmetic(env, Op::mod, value, by);
    return Value::of(equal(env.meter, rest, Value::of(wanted)));
}
Value odd(Environment &env, const Value *a) {
    return remainder(env, a[0], Value::of(int64_t{2}), 1);
}
Value even(Environment &env, const Value *a) {
    return remainder(env, a[0], Value::of(int64_t{2}), 0);
}
Value divisible(Environment &env, const Value *a) {
    return remainder(env, a[0], a[1], 0);
}

template <bool Upper> Value is_in_case(Environment &env, const Value *a) {
    const Value text = Value::of(str(env.meter, a[0]));
    return find_method(text, Upper ? "isupper" : "islower")->fixed(env, &text);
}

Value same(Environment &env, const Value *a) {
    if (a[0].kind != a[1].kind) return Value::of(false);
    switch (a[0].kind) {
    case Kind::list:
    case Kind::tuple:
    case Kind::dict:
        return Value::of(a[0].list == a[1].list);
    case Kind::string:
        return Value::of(a[0].text == a[1].text || equal(env.meter, a[0], a[1]));
    default:
        return Value::of(equal(env.meter, a[0], a[1]));
    }
}

Value is_filter(Environment &, const Value *a) {
    return Value::of(a[0].is(Kind::string) && find_filter(a[0].text->view()) != kNoFilter);
}
Value is_test(Environment &, const Value *a) {
    return Value::of(a[0].is(Kind::string) && find_test(a[0].text->view()) != kNoFilter);
}
Value is_escaped(Environment &, const Value *a) {
    return Value::of(a[0].is(Kind::string) && a[0].text->markup);
}

const Native kTestRows[] = {
    {"defined", defined, 0, {}, nullptr},
    {"undefined", kind<Kind::undefined>, 0, {}, nullptr},
    {"none", kind<Kind::none>, 0, {}, nullptr},
    {"boolean", kind<Kind::boolean>, 0, {}, nullptr},
    {"true", literal<true>, 0, {}, nullptr},
    {"false", literal<false>, 0, {}, nullptr},
    {"integer", kind<Kind::integer>, 0, {}, nullptr},
    {"float", kind<Kind::real>, 0, {}, nullptr},
    {"number", number, 0, {}, nullptr},
    {"string", kind<Kind::string>, 0, {}, nullptr},
    {"mapping", kind<Kind::dict>, 0, {}, nullptr},
    {"sequence", sequence, 0, {}, nullptr},
    {"iterable", iterable, 0, {}, nullptr},
    {"callable", callable, 0, {}, nullptr},
    {"odd", odd, 0, {}, nullptr},
    {"even", even, 0, {}, nullptr},
    {"divisibleby", divisible, 1, {"num"}, nullptr},
    {"lower", is_in_case<false>, 0, {}, nullptr},
    {"upper", is_in_case<true>, 0, {}, nullptr},
    {"sameas", same, 1, {"other"}, nullptr},
    {"escaped", is_escaped, 0, {}, nullptr},
    {"in", comparison<Comparison::in>, 1, {"seq"}, nullptr},
    {"eq", comparison<Comparison::eq>, 1, {"other"}, nullptr},
    {"equalto", comparison<Comparison::eq>, 1, {"other"}, nullptr},
    {"==", comparison<Comparison::eq>, 1, {"other"}, nullptr},
    {"ne", comparison<Comparison::ne>, 1, {"other"}, nullptr},
    {"!=", comparison<Comparison::ne>, 1, {"other"}, nullptr},
    {"lt", comparison<Comparison::lt>, 1, {"other"}, nullptr},
    {"lessthan", comparison<Comparison::lt>, 1, {"other"}, nullptr},
    {"<", comparison<Comparison::lt>, 1, {"other"}, nullptr},
    {"le", comparison<Comparison::le>, 1, {"other"}, nullptr},
    {"<=", comparison<Comparison::le>, 1, {"other"}, nullptr},
    {"gt", comparison<Comparison::gt>, 1, {"other"}, nullptr},
    {"greaterthan", comparison<Comparison::gt>, 1, {"other"}, nullptr},
    {">", comparison<Comparison::gt>, 1, {"other"}, nullptr},
    {"ge", comparison<Comparison::ge>, 1, {"other"}, nullptr},
    {">=", comparison<Comparison::ge>, 1, {"other"}, nullptr},
    {"filter", is_filter, 0, {}, nullptr},
    {"test", is_test, 0, {}, nullptr},
};

} // namespace

const Natives kTests = {kTestRows, sizeof kTestRows / sizeof *kTestRows};

} // namespace ggufx::chat
