// Calls of macros, methods, functions, filters and tests: see machine.hpp.
// SPDX-License-Identifier: MIT
#include "chat/machine.hpp"

#include "chat/operators.hpp"

namespace ggufx::chat {

// Arguments on top of the stack: positional ones, then the named ones.
Arguments TemplateMachine::arguments(const Instruction &in, size_t n_positional) {
    Names names;
    if (in.index != kNoNames) names = program_.names[in.index];
    const Value *const values = top(n_positional + names.count);
    return {values, n_positional, program_.name_texts.data() + names.first, values + n_positional,
            names.count};
}

void TemplateMachine::step_calls(const Instruction &in) {
    switch (in.op) {
    case Op::call:
        return call(in);
    case Op::call_spread:
        return call_spread(in);
    case Op::filter:
        return filter(in, false);
    case Op::test:
        return filter(in, true);
    case Op::unpack:
        return unpack(in.count);
    default: {
        const Text &name = *program_.constants[in.index].text;
        fail(Status::value, {}, "no %s named '%s'", in.op == Op::unknown_test ? "test" : "filter",
             Quoted(name.data, name.size).c_str());
    }
    }
}

void TemplateMachine::filter(const Instruction &in, bool test) {
    const Arguments passed = arguments(in, in.count);
    const size_t n = passed.n_positional + passed.n_named + 1;
    const Value out = invoke(env_, test ? test_at(in.flag) : filter_at(in.flag), *top(n), passed);
    drop(n);
    push(out);
}

void TemplateMachine::call(const Instruction &in) {
    const Arguments passed = arguments(in, in.count);
    const size_t n = passed.n_positional + passed.n_named + 1;
    call_value(*top(n), passed, n);
}

void TemplateMachine::call_spread(const Instruction &in) {
    Arguments passed = arguments(in, 2);
    const size_t n = 3 + passed.n_named;
    List *const all = make_list(meter_);
    for (size_t part = 0; part < 2; part++) {
        const List &items = *items_of(meter_, passed.positional[part]);
        meter_.charge(items.size);
        for (size_t i = 0; i < items.size; i++) append(meter_, all, items.items[i]);
    }
    passed.positional = all->items;
    passed.n_positional = all->size;
    call_value(*top(n), passed, n);
}

// Calls a value and drops n_stack values, including the callee.
void TemplateMachine::call_value(const Value &callee, const Arguments &passed, size_t n_stack) {
    switch (callee.kind) {
    case Kind::macro:
        return call_macro(callee.macro, passed, n_stack);
    case Kind::method:
        return call_method(*callee.method, passed, n_stack);
    case Kind::function: {
        const Value out = invoke(env_, kFunctions.rows[callee.function], Value(), passed);
        drop(n_stack);
        return push(out);
    }
    case Kind::loop:
        if (!callee.loop->recurse)
            fail(Status::value, {}, "The loop must have the 'recursive' marker to be called");
        if (passed.n_positional != 1 || passed.n_named != 0)
            fail(Status::value, {}, "loop() takes 1 argument");
        return recurse(callee.loop->recurse, passed.positional[0], callee.loop->depth0 + 1,
                       n_stack);
    case Kind::undefined:
        fail_undefined(callee);
    default:
        fail(Status::value, {}, "'%s' object is not callable", type_name(callee));
    }
}

// Methods of `safe` text return `safe` text and escape their arguments. Methods that only inspect
// the text work as for other texts.
Value TemplateMachine::call_markup(const Native &native, const Value &self,
                                   const Arguments &passed) {
    const std::string_view name = native.name;
    const bool looks = name.substr(0, 2) == "is" || name == "split" || name == "rsplit" ||
                       name == "startswith" || name == "endswith" || name == "count" ||
                       name.find("find") != name.npos || name.find("index") != name.npos;
    if (looks || name == "format" || name == "splitlines") {
        Value out = invoke(env_, native, self, passed);
        if (out.is(Kind::string)) out.text = with_markup(meter_, *out.text, true);
        return out;
    }
    const auto safe = [&](const Value &value) {
        return value.is(Kind::string) ? Value::of(escaped(meter_, *value.text)) : value;
    };
    List *const values = make_list(meter_);
    for (size_t i = 0; i < passed.n_positional + passed.n_named; i++) {
        const Value &value =
            i < passed.n_positional ? passed.positional[i] : passed.named[i - passed.n_positional];
        if (name != "join") {
            append(meter_, values, safe(value));
            continue;
        }
        const List &items = *items_of(meter_, value);
        List *const inner = make_list(meter_);
        for (size_t k = 0; k < items.size; k++) append(meter_, inner, safe(items.items[k]));
        append(meter_, values, Value::of(inner));
    }
    Value out = invoke(env_, native, self,
                       {values->items, passed.n_positional, passed.names,
                        values->items + passed.n_positional, passed.n_named});
    if (out.is(Kind::string)) out.text = with_markup(meter_, *out.text, true);
    return out;
}

void TemplateMachine::call_method(const Method &method, const Arguments &passed, size_t n_stack) {
    const Value &self = method.self;
    Value out;
    if (self.is(Kind::loop)) {
        if (passed.n_named > 0) fail(Status::value, {}, "an unexpected keyword argument");
        if (method.index == 0) {
            if (passed.n_positional == 0) fail(Status::value, {}, "no items for cycling given");
            out = passed.positional[self.loop->index0 % passed.n_positional];
        } else {
            List *const seen = make_list(meter_, passed.n_positional);
            for (size_t i = 0; i < passed.n_positional; i++)
                append(meter_, seen, passed.positional[i]);
            const Value now = Value::of(seen, Kind::tuple);
            out = Value::of(!equal(meter_, self.loop->changed, now));
            self.loop->changed = now;
        }
    } else {
        const Natives &natives = self.is(Kind::string)  ? kTextMethods
                                 : self.is(Kind::list)  ? kListMethods
                                 : self.is(Kind::tuple) ? kTupleMethods
                                                        : kDictMethods;
        const bool markup = self.is(Kind::string) && self.text->markup;
        out = markup ? call_markup(natives.rows[method.index], self, passed)
                     : invoke(env_, natives.rows[method.index], self, passed);
    }
    drop(n_stack);
    push(out);
}

// ---- macros ----

void TemplateMachine::enter(Frame frame) {
    if (frames_.size() >= kDeepestCalls) {
        fail(Status::limit, {.limit = kDeepestCalls}, "macros that call each other deeper than %u",
             static_cast<unsigned>(kDeepestCalls));
    }
    frame.back = pc_;
    frame.scope = scope_;
    captures_.emplace_back(meter_);
    frames_.push_back(frame);
    pc_ = frame.macro->code->body;
}

void TemplateMachine::recurse(Macro *macro, const Value &iterable, size_t depth0, size_t n_stack) {
    Frame frame{};
    frame.macro = macro;
    frame.iterable = iterable;
    frame.depth0 = depth0;
    enter(frame);
    drop(n_stack);
    scope_ = new_scope(macro->scope);
}

void TemplateMachine::call_macro(Macro *macro, const Arguments &passed, size_t n_stack) {
    Frame frame{};
    frame.macro = macro;
    enter(frame);
    scope_ = new_scope(macro->scope);
    bind(frames_.back(), *macro, passed);
    drop(n_stack);
}

// Binds the arguments of a call to variables. Code for the defaults of missing arguments is at the
// start of the macro.
void TemplateMachine::bind(Frame &frame, const Macro &macro, const Arguments &passed) {
    const MacroCode &code = *macro.code;
    const uint32_t *const parameters = program_.parameters.data() + code.first_parameter;
    const auto mark = [&](size_t i) {
        (i < 64 ? frame.given : frame.given_more[i / 64 - 1]) |= uint64_t{1} << (i % 64);
    };
    const auto marked = [&](size_t i) {
        return (i < 64 ? frame.given : frame.given_more[i / 64 - 1]) >> (i % 64) & 1;
    };
    List *const more = make_list(meter_);
    for (size_t i = 0; i < passed.n_positional; i++) {
        if (i >= code.n_parameters) {
            append(meter_, more, passed.positional[i]);
        } else {
            store(parameters[i], passed.positional[i]);
            mark(i);
        }
    }
    Dict *const named = make_dict(meter_);
    Value caller = make_undefined(meter_, "caller");
    for (size_t k = 0; k < passed.n_named; k++) {
        size_t i = 0;
        meter_.charge_items(1 + code.n_parameters);
        while (i < code.n_parameters &&
               program_.variables[parameters[i]]->view() != passed.names[k]->view())
            i++;
        if (i < code.n_parameters && !marked(i)) {
            store(parameters[i], passed.named[k]);
            mark(i);
        } else if (passed.names[k]->view() == "caller" && code.uses_caller) {
            caller = passed.named[k];
        } else {
            assign(meter_, named, Value::of(passed.names[k]), passed.named[k]);
        }
    }
    const Quoted name(code.name->data, code.name->size);
    if (more->size > 0 && !code.uses_varargs)
        fail(Status::value, {}, "macro '%s' takes not more than %u argument(s)", name.c_str(),
             code.n_parameters);
    if (named->size > 0 && !code.uses_kwargs) {
        const Text &unknown = *named->entries[0]->key.text;
        fail(Status::value, {}, "macro '%s' takes no keyword argument '%s'", name.c_str(),
             Quoted(unknown.data, unknown.size).c_str());
    }
    for (size_t i = 0; i < code.n_parameters; i++)
        if (!marked(i)) store(parameters[i], Value::undefined(program_.variables[parameters[i]]));
    for (size_t i = 0; i < program_.special_variables.size(); i++) {
        const uint32_t variable = program_.special_variables[i];
        if (variable == kNoNames) continue;
        if (i == 0 && code.uses_caller) store(variable, caller);
        if (i == 1 && code.uses_varargs) store(variable, Value::of(more, Kind::tuple));
        if (i == 2 && code.uses_kwargs) store(variable, Value::of(named));
    }
}

void TemplateMachine::give_back() {
    const Text *const text = captures_.back().finish();
    captures_.pop_back();
    pc_ = frames_.back().back;
    scope_ = frames_.back().scope;
    frames_.pop_back();
    push(Value::of(text));
}

} // namespace ggufx::chat
