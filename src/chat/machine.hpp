// Stack machine that runs a template's program. Values are on its own stack and macro calls in a
// list of frames, so templates cannot overflow the thread's stack.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/native.hpp"
#include "chat/program.hpp"

namespace ggufx::chat {

struct Scope {
    Scope *parent;
    uint32_t *names; // variables
    Value *values;
    uint32_t size, capacity;
    bool captured; // by a macro: it must not change
};

// Run of bytes of one origin, up to `end`.
struct Run {
    uint64_t end;
    uint64_t user;
};

struct Output {
    explicit Output(const Host *host)
        : text(HostAllocator<char>(host)), runs(HostAllocator<Run>(host)) {}
    Vector<char> text;
    Vector<Run> runs;
    // Throws Error: limit, cancelled.
    void add(Meter &meter, const Text &piece);

private:
    void add(Meter &meter, const Text &piece, size_t begin, size_t end);
};

class TemplateMachine {
public:
    TemplateMachine(const TemplateProgram &program, Meter &meter, Output &output);
    void set_clock(int64_t seconds) {
        env_.has_clock = true;
        env_.clock = seconds;
    }
    // Sets a variable of the template; false if the template does not use it.
    bool set(std::string_view name, const Value &value);
    // For a further attempt: sets the variables that templates of other engines read instead of
    // `tools`. Returns false if the template reads none.
    bool complete(const Value &tools);
    // Throws, with line and column of the template: limit, value (the template fails with these
    // values), mismatch (the template refuses), unsupported, std::bad_alloc.
    void run();

private:
    static constexpr size_t kDeepestCalls = 200;

    struct Loops {
        const Value *items;
        size_t size, at;
        Loop *loop;
        Scope *outer;
        List *kept;
        size_t captures;
    };
    struct Frame {
        uint32_t back; // return address
        Scope *scope;
        uint64_t given; // bits of the parameters that were passed
        Value iterable; // argument of a recursive loop
        Macro *macro;
        size_t depth0;
        uint64_t given_more[3]; // parameters from 64 on
    };

    void step(const Instruction &in);
    void step_values(const Instruction &in);
    void step_calls(const Instruction &in);
    void step_loops(const Instruction &in);
    void push(const Value &value);
    Value pop();
    Value *top(size_t n); // the n topmost values
    void drop(size_t n);
    void go(const Instruction &in) {
        pc_ = static_cast<uint32_t>(&in - program_.code.data()) + static_cast<uint32_t>(in.jump);
    }

    Value load(uint32_t variable);
    void store(uint32_t variable, const Value &value);
    Value global(uint32_t variable);
    Scope *new_scope(Scope *parent);
    void print(const Value &value);
    void print_text(const Text &text);
    void concat(size_t n);
    void make_list_of(const Instruction &in);
    void make_dict_of(size_t n);
    void unpack(size_t n);
    void store_attribute(const Instruction &in);

    void loop_begin(const Instruction &in);
    void loop_next(const Instruction &in);
    void loop_end(const Instruction &in);

    Arguments arguments(const Instruction &in, size_t n_positional);
    void call(const Instruction &in);
    void call_spread(const Instruction &in);
    void call_value(const Value &callee, const Arguments &arguments, size_t n_stack);
    Value call_markup(const Native &native, const Value &self, const Arguments &arguments);
    void call_method(const Method &method, const Arguments &arguments, size_t n_stack);
    void call_macro(Macro *macro, const Arguments &arguments, size_t n_stack);
    void bind(Frame &frame, const Macro &macro, const Arguments &arguments);
    void recurse(Macro *macro, const Value &iterable, size_t depth0, size_t n_stack);
    void enter(Frame frame);
    void give_back();
    void filter(const Instruction &in, bool test);

    const TemplateProgram &program_;
    Meter &meter_;
    Environment env_;
    Output &output_;
    Vector<Value> stack_;
    Vector<Value> globals_; // by variable
    Vector<Loops> loops_;
    Vector<Frame> frames_;
    Vector<TextBuilder> captures_;
    Scope root_{};
    Scope *scope_ = nullptr;
    uint32_t pc_ = 0;
    bool running_ = false;
};

} // namespace ggufx::chat
