// Values printed as in Python: str(), repr(), numbers, and both kinds of string formatting.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/value.hpp"

namespace ggufx::chat {

size_t print_real(char out[40], double value); // repr(float)
// Writes digits with a sign; returns the number of bytes, at most 21.
size_t print_integer(char out[24], int64_t value);

const Text *str(Meter &meter, const Value &value);
void write_str(Meter &meter, TextBuilder &out, const Value &value);
void write_repr(Meter &meter, TextBuilder &out, const Value &value, unsigned depth = 0);

// "%s and %.2f" % values: a tuple, one value, or a dict for %(name)s.
const Text *format_percent(Meter &meter, const Text &format, const Value &values);

struct Arguments {
    const Value *positional;
    size_t n_positional;
    const Text *const *names; // names of the named arguments
    const Value *named;
    size_t n_named;
};
// "{} and {name:>8}".format(...)
const Text *format_braces(Meter &meter, const Text &format, const Arguments &arguments);

} // namespace ggufx::chat
