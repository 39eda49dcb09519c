// Tokens and instructions of the template compiler, see compiler.hpp.
// SPDX-License-Identifier: MIT
#include "chat/compiler.hpp"

#include "base/utf8.hpp"

#include <stdio.h>
#include <string.h>

namespace ggufx::chat {

TemplateCompiler::TemplateCompiler(TemplateProgram &program, std::string_view source)
    : program_(program), lexer_(program.meter, source), variable_index_(program.host.get()),
      blocks_(HostAllocator<Block>(program.host.get())),
      pending_names_(HostAllocator<const Text *>(program.host.get())) {
    ahead_ = lexer_.next();
}

void TemplateCompiler::refuse_at(size_t at, Status status, const char *format, ...) {
    char text[300];
    va_list args;
    va_start(args, format);
    print_text_v(text, sizeof text, format, args);
    va_end(args);
    fail_at(program_.source, at, status, "%s", text);
}

void TemplateCompiler::refuse(const char *format, ...) {
    char text[300];
    va_list args;
    va_start(args, format);
    print_text_v(text, sizeof text, format, args);
    va_end(args);
    fail_at(program_.source, token_.at, Status::malformed, "%s", text);
}

// ---- tokens ----

void TemplateCompiler::advance() {
    token_ = ahead_;
    if (!is(Tok::end)) ahead_ = lexer_.next();
}

bool TemplateCompiler::accept(Tok type) {
    if (!is(type)) return false;
    advance();
    return true;
}

bool TemplateCompiler::accept_name(std::string_view name) {
    if (!is_name(name)) return false;
    advance();
    return true;
}

void TemplateCompiler::expect(Tok type, const char *what) {
    if (!accept(type)) refuse("%s is expected here", what);
}

std::string_view TemplateCompiler::expect_name(const char *what) {
    if (!is(Tok::name)) refuse("%s is expected here", what);
    const std::string_view text = token_.text;
    advance();
    return text;
}

// ---- code ----

uint32_t TemplateCompiler::emit(Op op, size_t at, uint32_t index, size_t count, unsigned flag) {
    program_.code.push_back({op, static_cast<uint8_t>(flag), static_cast<uint16_t>(count), index, 0,
                             static_cast<uint32_t>(at)});
    return here() - 1;
}

void TemplateCompiler::patch(uint32_t from) {
    program_.code[from].jump = static_cast<int32_t>(here() - from);
}

void TemplateCompiler::patch_chain(uint32_t chain) {
    while (chain != kNone32) {
        const auto before = static_cast<uint32_t>(program_.code[chain].jump);
        patch(chain);
        chain = before;
    }
}

void TemplateCompiler::jump_back(size_t at, uint32_t to) {
    const uint32_t from = emit(Op::jump, at);
    program_.code[from].jump = static_cast<int32_t>(to) - static_cast<int32_t>(from);
}

void TemplateCompiler::cut(uint32_t from, Vector<Instruction> &out) {
    const auto begin = program_.code.begin() + from;
    out.insert(out.end(), begin, program_.code.end());
    program_.code.erase(begin, program_.code.end());
}

void TemplateCompiler::paste(const Vector<Instruction> &saved) {
    program_.code.insert(program_.code.end(), saved.begin(), saved.end());
}

uint32_t TemplateCompiler::constant(const Value &value) {
    program_.constants.push_back(value);
    return static_cast<uint32_t>(program_.constants.size() - 1);
}

// Counts characters at compile time, so that rendering never writes to the program.
void TemplateCompiler::count_text(const Text *text) {
    (void)count_chars(program_.meter, *text);
    const_cast<Text *>(text)->room = nullptr; // nor grows strings in its memory
}

uint32_t TemplateCompiler::text_constant(std::string_view text) {
    const Text *const kept = borrow_text(program_.meter, text, false);
    count_text(kept);
    return constant(Value::of(kept));
}

const Text *TemplateCompiler::name_text(std::string_view name) {
    const Text *const text = borrow_text(program_.meter, name, false);
    count_text(text);
    return text;
}

uint32_t TemplateCompiler::variable(std::string_view name) {
    const auto name_of = [this](uint32_t i) { return program_.variables[i]->view(); };
    if (const uint32_t *const found = variable_index_.find(name, name_of)) return *found;
    const auto index = static_cast<uint32_t>(program_.variables.size());
    program_.variables.push_back(name_text(name));
    variable_index_.insert(index, name_of);
    return index;
}

uint32_t TemplateCompiler::names_of(size_t first) {
    if (pending_names_.size() == first) return kNoNames;
    Names names;
    names.first = static_cast<uint32_t>(program_.name_texts.size());
    names.count = static_cast<uint32_t>(pending_names_.size() - first);
    for (size_t i = first; i < pending_names_.size(); i++) {
        for (size_t k = first; k < i; k++)
            if (pending_names_[k]->view() == pending_names_[i]->view())
                refuse("an argument that is given twice");
        program_.name_texts.push_back(pending_names_[i]);
    }
    pending_names_.resize(first);
    program_.names.push_back(names);
    return static_cast<uint32_t>(program_.names.size() - 1);
}

void compile(TemplateProgram &program, std::string_view source) {
    if (source.size() > kLargestTemplate) {
        fail(Status::limit, {.value = source.size(), .limit = kLargestTemplate},
             "a template of %" PRIu64 " bytes, the largest has %" PRIu64,
             static_cast<uint64_t>(source.size()), static_cast<uint64_t>(kLargestTemplate));
    }
    const size_t bad = first_invalid(source);
    if (bad < source.size()) {
        fail(Status::malformed, {bad},
             "the template has a byte that is not valid UTF-8 at %" PRIu64,
             static_cast<uint64_t>(bad));
    }
    program.source = make_text(program.meter, source, false)->view();
    TemplateCompiler(program, program.source).run();
}

} // namespace ggufx::chat
