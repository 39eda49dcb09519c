// Compilation of statements, see compiler.hpp. Open blocks are in a list, so they do not use the
// thread's stack.
// SPDX-License-Identifier: MIT
#include "chat/compiler.hpp"

#include <stdio.h>
#include <utility>

namespace ggufx::chat {

TemplateCompiler::Block &TemplateCompiler::open(BlockKind kind, size_t at) {
    if (blocks_.size() == kMostBlocks) {
        refuse_at(at, Status::limit, "more than %zu blocks within each other", kMostBlocks);
    }
    blocks_.push_back(Block{.kind = kind, .at = static_cast<uint32_t>(at), .saved = no_code()});
    return blocks_.back();
}

void TemplateCompiler::run() {
    advance();
    for (;;) {
        const size_t at = token_.at;
        if (is(Tok::end)) break;
        if (is(Tok::data)) {
            emit(Op::text, at, text_constant(token_.text));
            advance();
        } else if (accept(Tok::variable_begin)) {
            tuple(true, false);
            if (!is(Tok::variable_end)) refuse("'}}' is expected here");
            emit(Op::print, at);
            advance();
        } else {
            expect(Tok::block_begin, "'{%'");
            statement();
            if (!is(Tok::block_end)) refuse("'%%}' is expected here");
            advance();
        }
    }
    if (!blocks_.empty())
        refuse_at(blocks_.back().at, Status::malformed, "a block that does not end");
    emit(Op::halt, token_.at);
}

void TemplateCompiler::statement() {
    const size_t at = token_.at;
    const std::string_view tag = expect_name("the name of a statement");
    if (tag == "set") return set();
    if (tag == "if") return condition_begin();
    if (tag == "elif") return condition_middle(true);
    if (tag == "for") return loop_begin();
    if (tag == "macro") return macro_begin();
    if (tag == "call") return call_begin();
    if (tag == "filter") return filter_begin();
    if (tag == "with") return with_begin();
    if (tag == "break" || tag == "continue") return jump_of_loop(tag == "break");
    if (tag == "generation") return (void)open(BlockKind::generation, at);
    if (tag == "else") {
        const bool loop = !blocks_.empty() && blocks_.back().kind == BlockKind::loop;
        return loop ? loop_else() : condition_middle(false);
    }
    if (tag.substr(0, 3) == "end") return end(tag.substr(3));
    static const char *const known[] = {"include", "import", "from",  "extends",
                                        "block",   "do",     "trans", "autoescape"};
    for (const char *const name : known)
        if (tag == name) refuse_at(at, Status::unsupported, "'%s' is not supported", name);
    refuse_at(at, Status::malformed, "unknown statement '%s'", Quoted(tag).c_str());
}

void TemplateCompiler::end(std::string_view tag) {
    static const char *const names[] = {"if",  "for",    "macro", "call",
                                        "set", "filter", "with",  "generation"};
    const std::string_view wanted =
        blocks_.empty() ? "" : names[static_cast<size_t>(blocks_.back().kind)];
    if (tag != wanted || blocks_.empty())
        refuse("'end%s' where no such block is open", Quoted(tag).c_str());
    Block block = std::move(blocks_.back());
    blocks_.pop_back();
    switch (block.kind) {
    case BlockKind::condition:
        if (!block.has_else) patch(block.open);
        return patch_chain(block.chain);
    case BlockKind::loop:
        return loop_end(block);
    case BlockKind::macro:
        if (is(Tok::name)) advance(); // the name after endmacro is ignored
        return macro_end(block);
    case BlockKind::call:
        return call_end(block);
    case BlockKind::set:
    case BlockKind::filter:
        return set_end(block);
    case BlockKind::with:
        emit(Op::scope_end, block.at);
        return;
    case BlockKind::generation:
        return;
    }
}

// ---- targets: x; x, y; (x, y), z; space.x ----

static Instruction make(Op op, size_t at, uint32_t index, size_t count = 0) {
    return {op, 0, static_cast<uint16_t>(count), index, 0, static_cast<uint32_t>(at)};
}

void TemplateCompiler::target_item(Vector<Instruction> &out, bool with_namespace) {
    const Nested nested(*this);
    const size_t at = token_.at;
    if (accept(Tok::lparen)) {
        target(out, false);
        return expect(Tok::rparen, "')'");
    }
    const std::string_view name = expect_name("the name of a variable");
    static const char *const constants[] = {"true", "True", "false", "False", "none", "None"};
    for (const char *const constant : constants)
        if (name == constant)
            refuse_at(at, Status::malformed, "a value cannot be assigned to '%s'", constant);
    if (with_namespace && accept(Tok::dot)) {
        const uint32_t attribute = text_constant(expect_name("the name of an attribute"));
        out.push_back(make(Op::load, at, variable(name)));
        out.push_back(make(Op::store_attribute, at, attribute));
    } else {
        out.push_back(make(Op::store, at, variable(name)));
    }
}

void TemplateCompiler::target(Vector<Instruction> &out, bool with_namespace) {
    const size_t at = token_.at, begin = out.size();
    size_t n = 0;
    bool several = false;
    out.push_back(make(Op::unpack, at, 0)); // removed again for a single name
    do {
        if (n > 0 && (is_name("in") || is(Tok::assign) || is(Tok::rparen))) break;
        target_item(out, with_namespace);
        if (++n > kMostArguments) refuse("more than %u names", kMostArguments);
        several = several || is(Tok::comma);
    } while (accept(Tok::comma));
    if (several)
        out[begin].count = static_cast<uint16_t>(n);
    else
        out.erase(out.begin() + static_cast<ptrdiff_t>(begin));
}

// ---- set, filter, with ----

void TemplateCompiler::set() {
    const size_t at = token_.at;
    Vector<Instruction> stores = no_code();
    target(stores, true);
    if (accept(Tok::assign)) {
        tuple(true, false);
        return paste(stores);
    }
    const uint32_t begin = here();
    filters();
    Block &block = open(BlockKind::set, at);
    cut(begin, block.saved);
    block.saved.insert(block.saved.end(), stores.begin(), stores.end());
    emit(Op::capture_begin, at);
}

void TemplateCompiler::filter_begin() {
    const size_t at = token_.at, begin = here();
    filter();
    while (accept(Tok::pipe)) filter();
    Block &block = open(BlockKind::filter, at);
    cut(static_cast<uint32_t>(begin), block.saved);
    block.saved.push_back(make(Op::print, at, 0));
    emit(Op::capture_begin, at);
}

void TemplateCompiler::set_end(Block &block) {
    emit(Op::capture_end, block.at);
    paste(block.saved);
}

void TemplateCompiler::with_begin() { // values are computed outside of the new scope
    const size_t at = token_.at;
    Vector<Instruction> stores = no_code();
    size_t n = 0;
    while (!is(Tok::block_end)) {
        if (n++ > 0) expect(Tok::comma, "','");
        Vector<Instruction> store = no_code();
        target_item(store, false);
        expect(Tok::assign, "'='");
        expression();
        stores.insert(stores.begin(), store.begin(), store.end()); // the last value is on top
        if (n > 64) refuse("more than 64 variables");
    }
    open(BlockKind::with, at);
    emit(Op::scope_begin, at);
    paste(stores);
}

// ---- if ----

void TemplateCompiler::condition_begin() {
    const size_t at = token_.at;
    tuple(false, false);
    Block &block = open(BlockKind::condition, at);
    block.open = emit(Op::jump_false, at);
}

void TemplateCompiler::condition_middle(bool with_condition) {
    const size_t at = token_.at;
    const bool fits =
        !blocks_.empty() && blocks_.back().kind == BlockKind::condition && !blocks_.back().has_else;
    if (!fits) refuse("'%s' where no 'if' is open", with_condition ? "elif" : "else");
    const uint32_t over = emit(Op::jump, at);
    program_.code[over].jump = static_cast<int32_t>(blocks_.back().chain);
    blocks_.back().chain = over;
    patch(blocks_.back().open);
    blocks_.back().has_else = !with_condition;
    if (!with_condition) return;
    tuple(false, false);
    blocks_.back().open = emit(Op::jump_false, at);
}

// ---- for ----

// Code of a loop: iterable, loop_begin, [next] loop_next, stores, body, jump to next, [end]
// loop_end, else. A recursive loop is a macro around this code.
void TemplateCompiler::loop_begin() {
    const size_t at = token_.at;
    Vector<Instruction> stores = no_code();
    target(stores, false);
    if (!accept_name("in")) refuse("'in' is expected here");
    tuple(false, true);
    const uint32_t condition = here();
    Vector<Instruction> test = no_code();
    const bool filtered = accept_name("if");
    if (filtered) {
        expression();
        cut(condition, test);
    }
    Block &block = open(BlockKind::loop, at);
    if (accept_name("recursive")) {
        MacroCode code;
        code.name = name_text("loop");
        block.macro = static_cast<uint32_t>(program_.macros.size());
        program_.macros.push_back(code);
        block.recursive = true;
        block.outer = emit(Op::macro, at, block.macro);
        program_.macros[block.macro].body = here();
        emit(Op::load_iterable, at);
    }
    if (filtered) {
        emit(Op::loop_begin, at);
        const uint32_t next = emit(Op::loop_next, at);
        paste(stores);
        paste(test);
        emit(Op::loop_keep, at);
        jump_back(at, next);
        patch(next);
        emit(Op::loop_kept, at);
    }
    emit(Op::loop_begin, at, 0, 0, block.recursive);
    block.open = emit(Op::loop_next, at, variable("loop"), 0, 1);
    paste(stores);
}

void TemplateCompiler::loop_else() {
    Block &block = blocks_.back();
    if (block.has_else) refuse("a second 'else'");
    block.has_else = true;
    jump_back(token_.at, block.open);
    patch(block.open);
    patch_chain(block.chain);
    block.chain = emit(Op::loop_end, block.at);
    program_.code[block.chain].jump = static_cast<int32_t>(kNone32);
}

void TemplateCompiler::loop_end(Block &block) {
    if (!block.has_else) {
        jump_back(token_.at, block.open);
        patch(block.open);
        patch_chain(block.chain);
        emit(Op::loop_end, block.at);
        program_.code.back().jump = 1;
    } else {
        patch_chain(block.chain);
    }
    if (!block.recursive) return;
    emit(Op::give_back, block.at);
    patch(block.outer);
    emit(Op::recurse, block.at);
    emit(Op::print, block.at);
}

void TemplateCompiler::jump_of_loop(bool leave) {
    size_t i = blocks_.size();
    const auto passed = [&](const Block &b) { // a loop in its else part has ended
        return b.kind == BlockKind::loop ? b.has_else
                                         : b.kind != BlockKind::macro && b.kind != BlockKind::call;
    };
    while (i > 0 && passed(blocks_[i - 1])) i--;
    if (i == 0 || blocks_[i - 1].kind != BlockKind::loop)
        refuse("'%s' outside of a loop", leave ? "break" : "continue");
    Block &loop = blocks_[i - 1];
    if (!leave) return jump_back(token_.at, loop.open);
    const uint32_t jump = emit(Op::jump, token_.at);
    program_.code[jump].jump = static_cast<int32_t>(loop.chain);
    loop.chain = jump;
}

// ---- macro, call ----

void TemplateCompiler::signature(uint32_t macro) {
    program_.macros[macro].first_parameter = static_cast<uint32_t>(program_.parameters.size());
    Vector<uint32_t> own{HostAllocator<uint32_t>(program_.host.get())};
    bool defaults = false;
    while (!accept(Tok::rparen)) {
        if (!own.empty()) expect(Tok::comma, "','");
        if (own.size() > 250) refuse("more than 250 parameters");
        const size_t at = token_.at;
        const uint32_t name = variable(expect_name("the name of a parameter"));
        for (const uint32_t other : own)
            if (other == name) refuse("two parameters with one name");
        if (accept(Tok::assign)) {
            defaults = true;
            const uint32_t given = emit(Op::argument, at, name, own.size());
            expression();
            emit(Op::store, at, name);
            patch(given);
        } else if (defaults) {
            refuse("a parameter without a default after one with a default");
        }
        own.push_back(name);
    }
    // Defaults contain no macros, so the parameters are contiguous.
    program_.macros[macro].first_parameter = static_cast<uint32_t>(program_.parameters.size());
    program_.macros[macro].n_parameters = static_cast<uint32_t>(own.size());
    program_.parameters.insert(program_.parameters.end(), own.begin(), own.end());
}

void TemplateCompiler::macro_begin() {
    const size_t at = token_.at;
    const std::string_view name = expect_name("the name of a macro");
    MacroCode code;
    code.name = name_text(name);
    const auto index = static_cast<uint32_t>(program_.macros.size());
    program_.macros.push_back(code);
    Block &block = open(BlockKind::macro, at);
    block.macro = index;
    block.open = emit(Op::macro, at, index);
    block.saved.push_back(make(Op::store, at, variable(name)));
    program_.macros[index].body = here();
    expect(Tok::lparen, "'('");
    signature(index);
}

void TemplateCompiler::macro_end(Block &block) {
    emit(Op::give_back, block.at);
    patch(block.open);
    paste(block.saved);
}

// `{% call(x) f(a) %}body{% endcall %}` is f(a, caller=macro of body).
void TemplateCompiler::call_begin() {
    const size_t at = token_.at;
    MacroCode code;
    code.name = name_text("caller");
    const auto index = static_cast<uint32_t>(program_.macros.size());
    program_.macros.push_back(code);
    const uint32_t begin = here();
    Vector<Instruction> defaults = no_code();
    if (accept(Tok::lparen)) signature(index);
    cut(begin, defaults);
    if (!is(Tok::name)) refuse("a call is expected here");
    name();
    postfix(); // no operator with a jump over its end
    const Instruction call = program_.code.empty() ? Instruction{} : program_.code.back();
    if (here() == begin || call.op != Op::call) refuse("a call is expected here");
    program_.code.pop_back();
    Block &block = open(BlockKind::call, at);
    block.macro = index;
    block.call = call;
    block.open = emit(Op::macro, at, index);
    program_.macros[index].body = here();
    paste(defaults);
}

void TemplateCompiler::call_end(Block &block) {
    emit(Op::give_back, block.at);
    patch(block.open);
    const size_t first = pending_names_.size();
    if (block.call.index != kNoNames) {
        const Names names = program_.names[block.call.index];
        for (uint32_t i = 0; i < names.count; i++)
            pending_names_.push_back(program_.name_texts[names.first + i]);
    }
    pending_names_.push_back(borrow_text(program_.meter, "caller", false));
    block.call.index = names_of(first);
    program_.code.push_back(block.call);
    emit(Op::print, block.at);
}

} // namespace ggufx::chat
