// Arithmetic and comparison: see operators.hpp.
// SPDX-License-Identifier: MIT
#include "chat/operators.hpp"

#include "base/math.hpp"

#include <math.h>

namespace ggufx::chat {

// Power of floats. Small integer exponents use multiplication, which is exact if the result is
// representable; libm does not influence the bits.
double real_power(double base, double exponent) {
    if (exponent == 0 || base == 1) return 1;
    const bool whole = floor(exponent) == exponent;
    const bool odd = whole && fabs(exponent) < 0x1p53 && fmod(exponent, 2) != 0;
    if (whole && fabs(exponent) <= 64) {
        double out = 1, factor = base;
        for (auto n = static_cast<unsigned>(fabs(exponent)); n > 0; n >>= 1) {
            if (n & 1) out *= factor;
            factor *= factor;
        }
        return exponent < 0 ? 1 / out : out;
    }
    if (exponent == 0.5 && base >= 0) return sqrt(base);
    const double size = fabs(base);
    if (isinf(exponent) && size == 1) return 1;
    double out = 0;
    if (size == 0 || isinf(size) || isinf(exponent))
        out = (size > 1) == (exponent > 0) ? static_cast<double>(INFINITY) : 0;
    else
        out = pow_f64(size, exponent);
    if (base < 0 && !whole) return isinf(base) ? out : static_cast<double>(NAN);
    return base < 0 && odd ? -out : out;
}

namespace {

const char *sign_of(Op op) {
    switch (op) {
    case Op::add:
        return "+";
    case Op::sub:
        return "-";
    case Op::mul:
        return "*";
    case Op::div:
        return "/";
    case Op::floordiv:
        return "//";
    case Op::mod:
        return "%";
    default:
        return "**";
    }
}

[[noreturn]] void refuse(Op op, const Value &a, const Value &b) {
    if (a.is(Kind::undefined)) fail_undefined(a);
    if (b.is(Kind::undefined)) fail_undefined(b);
    fail(Status::value, {}, "unsupported operand type(s) for %s: '%s' and '%s'", sign_of(op),
         type_name(a), type_name(b));
}

[[noreturn]] void too_large() {
    fail(Status::limit, {}, "an integer beyond 64 bits");
}

int64_t power(int64_t base, int64_t exponent) {
    int64_t out = 1;
    while (exponent > 0) {
        if ((exponent & 1) && __builtin_mul_overflow(out, base, &out)) too_large();
        exponent >>= 1;
        if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) too_large();
    }
    return out;
}

int64_t floor_div(int64_t a, int64_t b) {
    if (b == 0) fail(Status::value, {}, "division by zero");
    if (b == -1) {
        if (a == INT64_MIN) too_large();
        return -a;
    }
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

double modulo(double a, double b) {
    if (b == 0) fail(Status::value, {}, "float modulo");
    const double r = fmod(a, b);
    if (r == 0) return copysign(0.0, b);
    return (r < 0) != (b < 0) ? r + b : r;
}

double floor_div(double a, double b) {
    if (b == 0) fail(Status::value, {}, "float floor division by zero");
    const double r = fmod(a, b);
    double q = (a - r) / b;
    if (r != 0 && (b < 0) != (r < 0)) q -= 1;
    if (q == 0) return copysign(0.0, a / b);
    const double whole = floor(q);
    return q - whole > 0.5 ? whole + 1 : whole;
}

Value whole_arithmetic(Op op, int64_t a, int64_t b, bool user) {
    int64_t out = 0;
    bool overflow = false;
    switch (op) {
    case Op::add:
        overflow = __builtin_add_overflow(a, b, &out);
        break;
    case Op::sub:
        overflow = __builtin_sub_overflow(a, b, &out);
        break;
    case Op::mul:
        overflow = __builtin_mul_overflow(a, b, &out);
        break;
    case Op::div:
        if (b == 0) fail(Status::value, {}, "division by zero");
        return Value::of(static_cast<double>(a) / static_cast<double>(b), user);
    case Op::floordiv:
        out = floor_div(a, b);
        break;
    case Op::mod:
        if (b == 0) fail(Status::value, {}, "integer division or modulo by zero");
        out = b == -1 ? 0 : a % b;
        if (out != 0 && (out < 0) != (b < 0)) out += b;
        break;
    default:
        if (b < 0 && a == 0) fail(Status::value, {}, "0.0 cannot be raised to a negative power");
        if (b < 0)
            return Value::of(real_power(static_cast<double>(a), static_cast<double>(b)), user);
        out = power(a, b);
    }
    if (overflow) too_large();
    return Value::of(out, user);
}

Value real_arithmetic(Op op, double a, double b, bool user) {
    switch (op) {
    case Op::add:
        return Value::of(a + b, user);
    case Op::sub:
        return Value::of(a - b, user);
    case Op::mul:
        return Value::of(a * b, user);
    case Op::div:
        if (b == 0) fail(Status::value, {}, "float division by zero");
        return Value::of(a / b, user);
    case Op::floordiv:
        return Value::of(floor_div(a, b), user);
    case Op::mod:
        return Value::of(modulo(a, b), user);
    default: {
        if (a == 0 && b < 0) fail(Status::value, {}, "0.0 cannot be raised to a negative power");
        if (a < 0 && floor(b) != b && isfinite(b))
            fail(Status::unsupported, {}, "a complex number");
        const double out = real_power(a, b);
        if (isinf(out) && isfinite(a) && isfinite(b)) fail(Status::value, {}, "a result too large");
        return Value::of(out, user);
    }
    }
}

Value joined_lists(Environment &env, const Value &a, const Value &b) {
    const List &x = *a.list, &y = *b.list;
    env.meter.charge(x.size + y.size);
    List *const out = make_list(env.meter, x.size + y.size);
    out->user = x.user && y.user;
    for (size_t i = 0; i < x.size; i++) append(env.meter, out, x.items[i]);
    for (size_t i = 0; i < y.size; i++) append(env.meter, out, y.items[i]);
    return Value::of(out, a.kind);
}

Value repeated(Environment &env, const Value &what, int64_t times) {
    const uint64_t n = times < 0 ? 0 : static_cast<uint64_t>(times);
    if (what.is(Kind::string)) {
        const uint64_t size = what.text->size;
        if (n > 0 && size > env.meter.limits().memory_bytes / n)
            fail(Status::limit, {.limit = env.meter.limits().memory_bytes},
                 "a string repeated to more than %" PRIu64 " bytes",
                 env.meter.limits().memory_bytes);
        env.meter.charge(size == 0 ? 0 : n);
        TextBuilder out(env.meter);
        for (uint64_t i = 0; i < n && size > 0; i++) out.add(*what.text);
        return Value::of(with_markup(env.meter, *out.finish(), what.text->markup));
    }
    if (n > 0 && what.list->size > env.meter.limits().memory_bytes / sizeof(Value) / n)
        fail(Status::limit, {.limit = env.meter.limits().memory_bytes},
             "a list repeated to more than %" PRIu64 " bytes", env.meter.limits().memory_bytes);
    env.meter.charge(what.list->size * n);
    List *const out = make_list(env.meter, what.list->size * n);
    out->user = what.list->user;
    for (uint64_t i = 0; i < n && what.list->size > 0; i++)
        for (size_t k = 0; k < what.list->size; k++) append(env.meter, out, what.list->items[k]);
    return Value::of(out, what.kind);
}

bool repeats(const Value &value) {
    return value.is(Kind::string) || value.is_sequence();
}

} // namespace

Value arithmetic(Environment &env, Op op, const Value &a, const Value &b) {
    if (a.is_number() && b.is_number()) {
        const bool user = a.user || b.user;
        if (a.is_whole() && b.is_whole()) return whole_arithmetic(op, a.whole(), b.whole(), user);
        return real_arithmetic(op, a.number(), b.number(), user);
    }
    if (op == Op::add) {
        if (a.is(Kind::string) && b.is(Kind::string)) {
            if (!a.text->markup && !b.text->markup)
                return Value::of(join(env.meter, *a.text, *b.text));
            const Text *const out =
                join(env.meter, *escaped(env.meter, *a.text), *escaped(env.meter, *b.text));
            return Value::of(with_markup(env.meter, *out, true));
        }
        if (a.is_sequence() && a.kind == b.kind) return joined_lists(env, a, b);
        if (a.is(Kind::string) && !b.is(Kind::undefined))
            fail(Status::value, {}, "can only concatenate str (not \"%s\") to str", type_name(b));
    }
    if (op == Op::mul && repeats(a) && b.is_whole()) return repeated(env, a, b.whole());
    if (op == Op::mul && repeats(b) && a.is_whole()) return repeated(env, b, a.whole());
    if (op == Op::mod && a.is(Kind::string))
        return Value::of(
            with_markup(env.meter, *format_percent(env.meter, *a.text, b), a.text->markup));
    refuse(op, a, b);
}

Value negated(const Value &value, bool minus) {
    if (value.is(Kind::undefined)) fail_undefined(value);
    if (!value.is_number()) {
        fail(Status::value, {}, "bad operand type for unary %c: '%s'", minus ? '-' : '+',
             type_name(value));
    }
    if (value.is(Kind::real)) return Value::of(minus ? -value.real : value.real, value.user);
    if (minus && value.whole() == INT64_MIN) too_large();
    return Value::of(minus ? -value.whole() : value.whole(), value.user);
}

bool compared(Environment &env, Comparison which, const Value &a, const Value &b) {
    switch (which) {
    case Comparison::eq:
        return equal(env.meter, a, b);
    case Comparison::ne:
        return !equal(env.meter, a, b);
    case Comparison::lt:
        return compare(env.meter, a, b, "<") == -1;
    case Comparison::le: {
        const int order = compare(env.meter, a, b, "<=");
        return order == -1 || order == 0;
    }
    case Comparison::gt:
        return compare(env.meter, a, b, ">") == 1;
    case Comparison::ge: {
        const int order = compare(env.meter, a, b, ">=");
        return order == 1 || order == 0;
    }
    case Comparison::in:
        return contains(env.meter, b, a);
    case Comparison::not_in:
        return !contains(env.meter, b, a);
    }
    return false;
}

} // namespace ggufx::chat
