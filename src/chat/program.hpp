// A template as a program for machine.hpp: a list of instructions over a stack of values. Jumps are
// relative, so that a piece of code can be moved. Immutable once it is made.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/value.hpp"

#include <array>

namespace ggufx::chat {

enum class Op : uint8_t {
    text,            // print constant `index`
    constant,        // push it
    undefined,       // push an undefined value: an inline `if` without else that did not hold
    load,            // push variable `index`
    store,           // pop into it
    store_attribute, // pop a namespace and a value: constant `index` is the attribute
    pop,
    print, // pop
    attribute,
    item,  // [object, key] -> value
    slice, // [object, start, stop, step] -> value
    list,  // of `count`
    tuple,
    dict, // `count` pairs
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
    concat,  // `count` texts
    compare, // flag: a Comparison
    chain,   // [a, b] -> [b] when it holds, else false and jump
    jump,
    jump_false,        // pop
    jump_or_pop_false, // `and`: keep a false value and jump
    jump_or_pop_true,  // `or`
    call,              // [callee, positional, named]: `count` positional ones, names in `index`
    call_spread,       // [callee, list, dict] with flag 1: *list behind, 2: **dict behind
    filter,            // as call; flag: which
    test,
    unknown_filter, // constant `index` is its name
    unknown_test,
    unpack,     // pop, push `count` items, the first on top
    loop_begin, // pop what is walked; flag: a recursive one
    loop_next,  // push the next item, or jump; flag: `loop` is set
    loop_keep,  // pop a truth: the item is kept by the filter of a loop
    loop_kept,  // end: push what was kept
    loop_end,   // jump when there was an item
    scope_begin,
    scope_end,
    capture_begin,
    capture_end,   // push
    macro,         // push macro `index`, jump over its body
    argument,      // jump when argument `count` was given, else its default follows
    recurse,       // [iterable, macro] -> text
    load_iterable, // the argument of a recursive loop
    give_back,     // end of a macro
    halt,
};

enum class Comparison : uint8_t { eq, ne, lt, le, gt, ge, in, not_in };

struct Instruction {
    Op op;
    uint8_t flag = 0;
    uint16_t count = 0;
    uint32_t index = 0;
    int32_t jump = 0; // from this instruction
    uint32_t at = 0;  // byte of the source
};

struct MacroCode {
    const Text *name = nullptr;
    uint32_t first_parameter = 0; // in Program::parameters
    uint32_t n_parameters = 0;
    uint32_t body = 0; // instruction
    bool uses_varargs = false, uses_kwargs = false, uses_caller = false;
};

struct Scope;
// A macro as a value: its code and the variables around it.
struct Macro {
    const MacroCode *code;
    const Text *name;
    Scope *scope;
};

// Texts in a row: the names of arguments.
struct Names {
    uint32_t first = 0, count = 0;
};

constexpr uint32_t kNoNames = UINT32_MAX;
constexpr unsigned kMostArguments = 255; // of a call
constexpr unsigned kMostItems = 60000;   // of a literal

struct Program {
    Program(Ref<Host> owner, const Limits &limits)
        : host(std::move(owner)), meter(host.get(), limits),
          code(HostAllocator<Instruction>(host.get())), constants(HostAllocator<Value>(host.get())),
          variables(HostAllocator<const Text *>(host.get())),
          macros(HostAllocator<MacroCode>(host.get())),
          parameters(HostAllocator<uint32_t>(host.get())), names(HostAllocator<Names>(host.get())),
          name_texts(HostAllocator<const Text *>(host.get())) {}

    Ref<Host> host;
    Meter meter;             // of its texts
    std::string_view source; // as given
    Vector<Instruction> code;
    Vector<Value> constants;
    Vector<const Text *> variables; // names
    Vector<MacroCode> macros;
    Vector<uint32_t> parameters; // variables
    Vector<Names> names;
    Vector<const Text *> name_texts;
    // Variables that a macro finds: caller, varargs, kwargs; kNoNames where none reads them.
    std::array<uint32_t, 3> special_variables = {kNoNames, kNoNames, kNoNames};
};

constexpr size_t kLargestTemplate = 16 << 20; // bytes

// Throws MALFORMED, LIMIT, UNSUPPORTED with line and column, std::bad_alloc.
void compile(Program &program, std::string_view source);

} // namespace ggufx::chat
