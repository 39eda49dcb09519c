// Built-in filters, tests, methods and functions of templates, as rows of tables.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/print.hpp"
#include "chat/value.hpp"

namespace ggufx::chat {

struct Environment {
    Meter &meter;
    bool has_clock = false;
    int64_t clock = 0;       // seconds since 1970-01-01 00:00, as visible to the template
    unsigned depth = 0;      // nesting of filters that apply filters
    bool is_lenient = false; // JSON of an iterator is the JSON of its items, as in llama.cpp
};

constexpr size_t kMostParameters = 6;

// Built-in function. `fixed` gets the subject (of filters, tests and methods) in a[0] and one value
// per parameter after it, `missing` for those that were not passed. `open` gets the arguments as
// passed.
struct Native {
    const char *name;
    Value (*fixed)(Environment &env, const Value *a);
    uint8_t n_required; // number of required parameters
    const char *parameters[kMostParameters];
    Value (*open)(Environment &env, const Value &self, const Arguments &arguments);
};

Value invoke(Environment &env, const Native &native, const Value &self, const Arguments &arguments);

struct Natives {
    const Native *rows;
    size_t count;
};
extern const Natives kTextFilters, kListFilters, kTests, kFunctions;
extern const Natives kTextMethods, kListMethods, kTupleMethods, kDictMethods;

const Native &filter_at(size_t index);
const Native &test_at(size_t index);
// Returns the method of a value, or null.
const Native *find_method(const Value &self, std::string_view name);
const Native *find_function(const Environment &env, std::string_view name, uint32_t &index);

// Attribute and item access as in Jinja: `a.b` prefers a method, `a['b']` an item.
Value get_attribute(Environment &env, const Value &object, const Text *name);
Value get_item(Environment &env, const Value &object, const Value &key);
Value get_slice(Environment &env, const Value &object, const Value *bounds); // start, stop, step
Value get_path(Environment &env, const Value &object, const Value &path);    // "a.b.0"

// Argument conversion.
int64_t whole_argument(const Value &value, int64_t otherwise, const char *what);
bool given(const Value &value);
const Text &text_argument(const Value &value, const char *what); // must be a string
Value iterator_of(Environment &env, List *items, const char *type = "generator");

// Case conversions for upper, lower, title, capitalize and swapcase.
enum class Casing { upper, lower, title, capitalize, swap };
const Text *with_case(Meter &meter, const Text &text, Casing casing);
const Text *strip(Meter &meter, const Text &text, const Value &chars, bool left, bool right);
const Text *replace(Meter &meter, const Text &text, const Text &from, const Text &to, int64_t most);
List *split_lines(Meter &meter, const Text &text, bool keep_ends);

const Text *format_time(Environment &env, const Text &format);

} // namespace ggufx::chat
