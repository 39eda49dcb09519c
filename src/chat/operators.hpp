// Arithmetic of Python, with 64-bit integers: what does not fit is an error.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/native.hpp"
#include "chat/program.hpp"

namespace ggufx::chat {

Value arithmetic(Environment &env, Op op, const Value &a, const Value &b);
double real_power(double base, double exponent); // NaN where it is no real number
Value negated(const Value &value, bool minus);   // or with a plus
bool compared(Environment &env, Comparison which, const Value &a, const Value &b);

} // namespace ggufx::chat
