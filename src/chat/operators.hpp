// Arithmetic of Python with 64-bit integers; overflow is an error.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/native.hpp"
#include "chat/program.hpp"

namespace ggufx::chat {

Value arithmetic(Environment &env, Op op, const Value &a, const Value &b);
double real_power(double base, double exponent); // NaN if the result is not real
Value negated(const Value &value, bool minus);   // minus, or unary plus
bool compared(Environment &env, Comparison which, const Value &a, const Value &b);

} // namespace ggufx::chat
