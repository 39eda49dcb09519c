// Instructions for values, variables and loops: see machine.hpp.
// SPDX-License-Identifier: MIT
#include "chat/machine.hpp"

#include "chat/history.hpp"
#include "chat/lexer.hpp"
#include "chat/operators.hpp"

#include <string.h>

namespace ggufx::chat {

// ---- output ----

void Output::add(Meter &meter, const Text &piece, size_t begin, size_t end) {
    const uint64_t limit = meter.limits().output_bytes;
    if (begin == end) return;
    if (end - begin > limit - text.size()) {
        fail(Status::limit, {.limit = limit}, "more than %" PRIu64 " bytes of text", limit);
    }
    text.insert(text.end(), piece.data + begin, piece.data + end);
    const uint64_t user = piece.is_user(begin);
    if (runs.empty() || runs.back().user != user) {
        meter.reserve(sizeof(Run));
        runs.push_back({0, user});
    }
    runs.back().end = text.size();
}

void Output::add(Meter &meter, const Text &piece) {
    meter.charge_bytes(piece.size);
    if (!piece.mask) return add(meter, piece, 0, piece.size);
    for (size_t i = 0, end; i < piece.size; i = end) {
        for (end = i + 1; end < piece.size && piece.mask[end] == piece.mask[i];) end++;
        meter.charge_chars(2 + (end - i) / 4);
        add(meter, piece, i, end);
    }
}

// ---- the machine ----

TemplateMachine::TemplateMachine(const TemplateProgram &program, Meter &meter, Output &output)
    : program_(program), meter_(meter), env_{meter}, output_(output),
      stack_(HostAllocator<Value>(meter.host())), globals_(HostAllocator<Value>(meter.host())),
      loops_(HostAllocator<Loops>(meter.host())), frames_(HostAllocator<Frame>(meter.host())),
      captures_(HostAllocator<TextBuilder>(meter.host())), scope_(&root_) {
    meter.charge(program.variables.size());
    globals_.resize(program.variables.size());
}

bool TemplateMachine::set(std::string_view name, const Value &value) {
    bool is_there = false;
    meter_.charge_items(program_.variables.size());
    for (size_t i = 0; i < program_.variables.size(); i++) {
        if (program_.variables[i]->view() != name) continue;
        globals_[i] = value;
        is_there = true;
    }
    return is_there;
}

bool TemplateMachine::complete(const Value &tools) {
    constexpr std::string_view kDateAndTime = "%Y-%m-%d %H:%M:%S";
    env_.is_lenient = true;
    bool is_read = set("functions", Value::of(functions_text(meter_, tools)));
    if (!env_.has_clock) return is_read;
    const Text *const format = borrow_text(meter_, kDateAndTime, false);
    return set("datetime", Value::of(format_time(env_, *format))) || is_read;
}

void TemplateMachine::run() {
    stack_.reserve(64);
    running_ = true;
    const Instruction *in = nullptr;
    try {
        while (running_) {
            in = &program_.code[pc_++];
            meter_.charge(1);
            step(*in);
        }
    } catch (const Error &e) { // adds line and column
        fail_at(program_.source, in->at, static_cast<Status>(e.failure.status), "%s",
                e.failure.message);
    }
}

void TemplateMachine::push(const Value &value) {
    stack_.push_back(value);
}

Value TemplateMachine::pop() {
    const Value value = stack_.back();
    stack_.pop_back();
    return value;
}

Value *TemplateMachine::top(size_t n) {
    return stack_.data() + (stack_.size() - n);
}

void TemplateMachine::drop(size_t n) {
    stack_.resize(stack_.size() - n);
}

// ---- variables ----

Scope *TemplateMachine::new_scope(Scope *parent) {
    Scope *const scope = meter_.make<Scope>();
    *scope = {parent, nullptr, nullptr, 0, 0, false};
    return scope;
}

Value TemplateMachine::load(uint32_t variable) {
    for (const Scope *scope = scope_; scope != &root_; scope = scope->parent) {
        meter_.charge_items(1 + scope->size);
        for (uint32_t i = scope->size; i > 0; i--)
            if (scope->names[i - 1] == variable) return scope->values[i - 1];
    }
    return global(variable);
}

Value TemplateMachine::global(uint32_t variable) {
    if (given(globals_[variable])) return globals_[variable];
    const Text *const name = program_.variables[variable];
    Value out;
    if (find_function(env_, name->view(), out.function)) {
        out.kind = Kind::function;
        return out;
    }
    return Value::undefined(name);
}

void TemplateMachine::store(uint32_t variable, const Value &value) {
    if (scope_ == &root_) {
        globals_[variable] = value;
        return;
    }
    meter_.charge_items(1 + scope_->size);
    for (uint32_t i = 0; i < scope_->size; i++)
        if (scope_->names[i] == variable) return (void)(scope_->values[i] = value);
    if (scope_->size == scope_->capacity) {
        const uint32_t capacity = scope_->capacity ? 2 * scope_->capacity : 4;
        auto *const names = meter_.array<uint32_t>(capacity);
        Value *const values = meter_.array<Value>(capacity);
        for (uint32_t i = 0; i < scope_->size; i++) {
            names[i] = scope_->names[i];
            values[i] = scope_->values[i];
        }
        scope_->names = names;
        scope_->values = values;
        scope_->capacity = capacity;
    }
    scope_->names[scope_->size] = variable;
    scope_->values[scope_->size++] = value;
}

void TemplateMachine::store_attribute(const Instruction &in) {
    const Value space = pop(), value = pop();
    if (!space.is(Kind::space)) {
        if (space.is(Kind::undefined)) fail_undefined(space);
        fail(Status::value, {}, "cannot assign attribute on non-namespace object");
    }
    assign(meter_, space.dict, program_.constants[in.index], value);
}

// ---- printing ----

void TemplateMachine::print_text(const Text &text) {
    if (!captures_.empty()) return captures_.back().add(text);
    output_.add(meter_, text);
}

void TemplateMachine::print(const Value &value) {
    if (value.is(Kind::string)) return print_text(*value.text);
    print_text(*str(meter_, value));
}

// ---- instructions ----

void TemplateMachine::step(const Instruction &in) {
    switch (in.op) {
    case Op::text:
        return print_text(*program_.constants[in.index].text);
    case Op::constant:
        return push(program_.constants[in.index]);
    case Op::undefined:
        return push(make_refused(meter_, "the inline if-expression has no else section"));
    case Op::load:
        return push(load(in.index));
    case Op::store:
        return store(in.index, pop());
    case Op::store_attribute:
        return store_attribute(in);
    case Op::pop:
        return (void)pop();
    case Op::print:
        return print(pop());
    case Op::jump:
        return go(in);
    case Op::jump_false:
        if (!truth(pop())) go(in);
        return;
    case Op::jump_or_pop_false:
    case Op::jump_or_pop_true:
        if (truth(stack_.back()) == (in.op == Op::jump_or_pop_true)) return go(in);
        return (void)pop();
    case Op::halt:
        running_ = false;
        return;
    default:
        return in.op >= Op::loop_begin ? step_loops(in)
               : in.op >= Op::call     ? step_calls(in)
                                       : step_values(in);
    }
}

void TemplateMachine::step_values(const Instruction &in) {
    switch (in.op) {
    case Op::attribute:
        stack_.back() = get_attribute(env_, stack_.back(), program_.constants[in.index].text);
        return;
    case Op::item: {
        const Value key = pop();
        stack_.back() = get_item(env_, stack_.back(), key);
        return;
    }
    case Op::slice: {
        const Value out = get_slice(env_, *top(4), top(3));
        drop(4);
        return push(out);
    }
    case Op::list:
    case Op::tuple:
        return make_list_of(in);
    case Op::dict:
        return make_dict_of(in.count);
    case Op::negate:
    case Op::plus:
        stack_.back() = negated(stack_.back(), in.op == Op::negate);
        return;
    case Op::logical_not:
        stack_.back() = Value::of(!truth(stack_.back()));
        return;
    case Op::concat:
        return concat(in.count);
    case Op::compare: {
        const Value right = pop();
        stack_.back() =
            Value::of(compared(env_, static_cast<Comparison>(in.flag), stack_.back(), right));
        return;
    }
    case Op::chain: {
        const Value right = pop();
        if (compared(env_, static_cast<Comparison>(in.flag), stack_.back(), right)) {
            stack_.back() = right;
            return;
        }
        stack_.back() = Value::of(false);
        return go(in);
    }
    default: {
        const Value right = pop();
        stack_.back() = arithmetic(env_, in.op, stack_.back(), right);
    }
    }
}

void TemplateMachine::concat(size_t n) {
    const Value *const values = top(n);
    const Text *out = str(meter_, values[0]);
    for (size_t i = 1; i < n; i++) out = join(meter_, *out, *str(meter_, values[i]));
    drop(n);
    push(Value::of(with_markup(meter_, *out, false)));
}

void TemplateMachine::make_list_of(const Instruction &in) {
    List *const list = make_list(meter_, in.count);
    const Value *const values = top(in.count);
    for (size_t i = 0; i < in.count; i++) append(meter_, list, values[i]);
    drop(in.count);
    push(Value::of(list, in.op == Op::list ? Kind::list : Kind::tuple));
}

void TemplateMachine::make_dict_of(size_t n) {
    Dict *const dict = make_dict(meter_);
    const Value *const values = top(2 * n);
    for (size_t i = 0; i < n; i++) assign(meter_, dict, values[2 * i], values[2 * i + 1]);
    drop(2 * n);
    push(Value::of(dict));
}

void TemplateMachine::unpack(size_t n) {
    const Value value = pop();
    const List &items = *items_of(meter_, value);
    if (items.size != n) {
        fail(Status::value, {}, "%" PRIu64 " values to unpack, %" PRIu64 " are wanted",
             static_cast<uint64_t>(items.size), static_cast<uint64_t>(n));
    }
    for (size_t i = n; i > 0; i--) push(items.items[i - 1]);
}

// ---- loops ----

void TemplateMachine::step_loops(const Instruction &in) {
    switch (in.op) {
    case Op::loop_begin:
        return loop_begin(in);
    case Op::loop_next:
        return loop_next(in);
    case Op::loop_keep:
        if (truth(pop()))
            append(meter_, loops_.back().kept, loops_.back().items[loops_.back().at - 1]);
        return;
    case Op::loop_kept: {
        const Value kept = Value::of(loops_.back().kept);
        scope_ = loops_.back().outer;
        loops_.pop_back();
        return push(kept);
    }
    case Op::loop_end:
        return loop_end(in);
    case Op::scope_begin:
        scope_ = new_scope(scope_);
        return;
    case Op::scope_end:
        scope_ = scope_->parent;
        return;
    case Op::capture_begin:
        captures_.emplace_back(meter_);
        scope_ = new_scope(scope_);
        return;
    case Op::capture_end: {
        const Text *const text = captures_.back().finish();
        captures_.pop_back();
        scope_ = scope_->parent;
        return push(Value::of(text));
    }
    case Op::macro: {
        const MacroCode &code = program_.macros[in.index];
        Macro *const macro = meter_.make<Macro>(Macro{&code, code.name, scope_});
        for (Scope *s = scope_; s; s = s->parent) {
            meter_.charge_items(1);
            s->captured = true;
        }
        push(Value::of(macro));
        return go(in);
    }
    case Op::argument: {
        const Frame &frame = frames_.back();
        const uint64_t word = in.count < 64 ? frame.given : frame.given_more[in.count / 64 - 1];
        if (word >> (in.count % 64) & 1) go(in);
        return;
    }
    case Op::recurse: {
        const Value macro = pop(), iterable = pop();
        return recurse(macro.macro, iterable, 0, 0);
    }
    case Op::load_iterable:
        return push(frames_.back().iterable);
    default:
        return give_back();
    }
}

void TemplateMachine::loop_begin(const Instruction &in) {
    const List &items = *items_of(meter_, pop());
    Loop *const loop = meter_.make<Loop>();
    List *const kept = make_list(meter_);
    List *const seen = make_list(meter_); // snapshot: the list may change meanwhile
    seen->items = items.items;
    seen->size = seen->capacity = items.size;
    loop->items = seen;
    loop->recurse = nullptr;
    loop->depth0 = frames_.empty() || !in.flag ? 0 : frames_.back().depth0;
    if (in.flag) loop->recurse = frames_.back().macro;
    loops_.push_back({items.items, items.size, 0, loop, scope_, kept, captures_.size()});
    scope_ = new_scope(scope_);
}

void TemplateMachine::loop_next(const Instruction &in) {
    Loops &loops = loops_.back();
    while (captures_.size() > loops.captures) captures_.pop_back(); // `continue` left them
    if (loops.at == loops.size) return go(in);
    // The scope of the loop is the child of `outer` on the path to the current scope. If a macro or
    // a block in the loop has captured it, the next iteration gets a new one.
    Scope *scope = scope_;
    while (scope->parent != loops.outer) scope = scope->parent;
    if (scope->captured) scope = new_scope(loops.outer);
    scope->size = 0;
    scope_ = scope;
    loops.loop->index0 = loops.at;
    if (in.flag) store(in.index, Value::of(loops.loop));
    push(loops.items[loops.at++]);
}

void TemplateMachine::loop_end(const Instruction &in) {
    const Loops &loops = loops_.back();
    while (captures_.size() > loops.captures) captures_.pop_back();
    scope_ = loops.outer;
    const bool any = loops.at > 0;
    loops_.pop_back();
    if (any) go(in);
}

} // namespace ggufx::chat
