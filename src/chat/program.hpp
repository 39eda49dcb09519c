// Compiled template for machine.hpp: instructions of a stack machine. Jumps are relative, so code
// can be moved. Immutable after compile().
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/value.hpp"

#include <array>

namespace ggufx::chat {

enum class Op : uint8_t {
    text,            // print constant `index`
    constant,        // push it
    undefined,       // push undefined: an inline `if` without else and with a false condition
    load,            // push variable `index`
    store,           // pop into it
    store_attribute, // pop a namespace and a value: constant `index` is the attribute
    pop,
    print, // pop and print
    attribute,
    item,  // [object, key] -> value
    slice, // [object, start, stop, step] -> value
    list,  // takes `count` values
    tuple,
    dict, // takes `count` pairs
    negate,
    plus,
    logical_not,
    add,
    sub,
    mul,
    div,
    floordiv,
    mod,
    pow,
    concat,  // takes `count` texts
    compare, // flag: a Comparison
    chain,   // [a, b] -> [b] if the comparison is true, else [false] and jump
    jump,
    jump_false,        // pop
    jump_or_pop_false, // `and`: keep a false value and jump
    jump_or_pop_true,  // `or`
    call,              // [callee, `count` positional..., named...]; names in `index`
    call_spread,       // [callee, positional list, *iterable, named...]; flag is 1
    filter,            // as call; flag: index of the filter
    test,
    unknown_filter, // constant `index` is its name
    unknown_test,
    unpack,     // pop, push `count` items, the first on top
    loop_begin, // pop the iterable; flag: a recursive loop
    loop_next,  // push the next item, or jump; flag: `loop` is used
    loop_keep,  // pop a condition: the loop's filter keeps the item
    loop_kept,  // end of the filter: push the kept items
    loop_end,   // jump if there was an item
    scope_begin,
    scope_end,
    capture_begin,
    capture_end,   // push
    macro,         // push macro `index`, jump over its body
    argument,      // jump if argument `count` was passed, else its default follows
    recurse,       // [iterable, macro] -> text
    load_iterable, // push the argument of a recursive loop
    give_back,     // return from a macro
    halt,
};

enum class Comparison : uint8_t { eq, ne, lt, le, gt, ge, in, not_in };

struct Instruction {
    Op op;
    uint8_t flag = 0;
    uint16_t count = 0;
    uint32_t index = 0;
    int32_t jump = 0; // relative to this instruction
    uint32_t at = 0;  // byte of the source
};

struct MacroCode {
    const Text *name = nullptr;
    uint32_t first_parameter = 0; // in TemplateProgram::parameters
    uint32_t n_parameters = 0;
    uint32_t body = 0; // instruction
    bool uses_varargs = false, uses_kwargs = false, uses_caller = false;
};

struct Scope;
// Macro as a value: its code and the enclosing variables.
struct Macro {
    const MacroCode *code;
    const Text *name;
    Scope *scope;
};

// Range of TemplateProgram::name_texts: the names of arguments.
struct Names {
    uint32_t first = 0, count = 0;
};

constexpr uint32_t kNoNames = UINT32_MAX;
constexpr unsigned kMostArguments = 255; // per call
constexpr unsigned kMostItems = 60000;   // per literal

struct TemplateProgram {
    TemplateProgram(Ref<Host> owner, const Limits &limits)
        : host(std::move(owner)), meter(host.get(), limits),
          code(HostAllocator<Instruction>(host.get())), constants(HostAllocator<Value>(host.get())),
          variables(HostAllocator<const Text *>(host.get())),
          macros(HostAllocator<MacroCode>(host.get())),
          parameters(HostAllocator<uint32_t>(host.get())), names(HostAllocator<Names>(host.get())),
          name_texts(HostAllocator<const Text *>(host.get())) {}

    Ref<Host> host;
    Meter meter;             // memory of its texts
    std::string_view source; // original source
    Vector<Instruction> code;
    Vector<Value> constants;
    Vector<const Text *> variables; // names
    Vector<MacroCode> macros;
    Vector<uint32_t> parameters; // variables
    Vector<Names> names;
    Vector<const Text *> name_texts;
    // Special variables of macros: caller, varargs, kwargs; kNoNames if no code reads them.
    std::array<uint32_t, 3> special_variables = {kNoNames, kNoNames, kNoNames};
};

constexpr size_t kLargestTemplate = 16 << 20; // bytes

// Throws malformed, limit, unsupported with line and column, std::bad_alloc.
void compile(TemplateProgram &program, std::string_view source);

} // namespace ggufx::chat
