// One-pass compiler from tokens to a program. Expressions use precedence climbing with a depth
// limit and statements a list of open blocks, so templates cannot overflow the stack.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/lexer.hpp"
#include "chat/program.hpp"

namespace ggufx::chat {

class TemplateCompiler {
public:
    TemplateCompiler(TemplateProgram &program, std::string_view source);
    void run();

private:
    enum class BlockKind : uint8_t { condition, loop, macro, call, set, filter, with, generation };
    struct Block {
        BlockKind kind;
        bool has_else = false;
        bool recursive = false;
        uint32_t at = 0;           // byte of the tag
        uint32_t open = 0;         // jump of a false condition, loop_next, or the macro instruction
        uint32_t chain = kNone32;  // linked list of jumps to the end, each with the previous one
        uint32_t outer = 0;        // macro instruction of a recursive loop
        Vector<Instruction> saved; // filters and stores after a body
        Instruction call{};        // instruction of a call block
        uint32_t macro = 0;
    };
    static constexpr uint32_t kNone32 = UINT32_MAX;
    static constexpr size_t kMostBlocks = 100;
    static constexpr unsigned kDeepestExpression = 40;

    // tokens
    void advance();
    bool is(Tok type) const { return token_.type == type; }
    bool is_name(std::string_view name) const { return is(Tok::name) && token_.text == name; }
    bool accept(Tok type);
    bool accept_name(std::string_view name);
    void expect(Tok type, const char *what);
    std::string_view expect_name(const char *what);
    [[noreturn]] void refuse(const char *format, ...) GGUFX_PRINTF(2, 3);
    [[noreturn]] void refuse_at(size_t at, Status status, const char *format, ...)
        GGUFX_PRINTF(4, 5);

    // code
    uint32_t emit(Op op, size_t at, uint32_t index = 0, size_t count = 0, unsigned flag = 0);
    uint32_t here() const { return static_cast<uint32_t>(program_.code.size()); }
    void patch(uint32_t from); // jump to here
    void patch_chain(uint32_t chain);
    void jump_back(size_t at, uint32_t to);
    void cut(uint32_t from, Vector<Instruction> &out); // moves the code from there to `out`
    void paste(const Vector<Instruction> &saved);
    uint32_t constant(const Value &value);
    uint32_t text_constant(std::string_view text); // borrows text of the source
    const Text *name_text(std::string_view name);
    uint32_t variable(std::string_view name);
    uint32_t names_of(size_t first); // pending names from there on
    void count_text(const Text *text);

    // expressions
    void expression(bool with_condition = true);
    void condition(uint32_t begin);
    void binary(unsigned least);
    bool operation(unsigned least);
    void comparison(size_t at);
    void arithmetic(Op op, unsigned level);
    void unary(bool with_filter = true);
    void primary();
    void name();
    void literal_string();
    void parenthesized();
    void list();
    void dict();
    void postfix();
    void subscript();
    void filters();
    void filter();
    void test();
    struct Passed {
        size_t count = 0;
        uint32_t names = kNoNames;
        unsigned spread = 0;
    };
    Passed arguments();
    void spread_argument(Passed &passed, size_t at);
    void named_argument();
    void call();
    void tuple(bool with_condition, bool to_recursive);
    bool tuple_ends(bool to_recursive) const;

    // statements
    void statement();
    void set();
    void set_end(Block &block);
    void condition_begin();
    void condition_middle(bool with_condition);
    void loop_begin();
    void loop_filter(const Vector<Instruction> &target, size_t at);
    void loop_else();
    void loop_end(Block &block);
    void jump_of_loop(bool leave);
    void macro_begin();
    void macro_end(Block &block);
    void signature(uint32_t macro);
    void call_begin();
    void call_end(Block &block);
    void filter_begin();
    void with_begin();
    void end(std::string_view tag);
    void target(Vector<Instruction> &out, bool with_namespace);
    void target_item(Vector<Instruction> &out, bool with_namespace);
    Block &open(BlockKind kind, size_t at);
    Vector<Instruction> no_code() const {
        return Vector<Instruction>(HostAllocator<Instruction>(program_.host.get()));
    }

    class Nested { // limits the recursion depth
    public:
        explicit Nested(TemplateCompiler &c);
        ~Nested() { c_.depth_--; }

    private:
        TemplateCompiler &c_;
    };

    TemplateProgram &program_;
    Lexer lexer_;
    Token token_, ahead_;
    TextIndex<uint32_t> variable_index_;
    Vector<Block> blocks_;
    Vector<const Text *> pending_names_;
    unsigned depth_ = 0;
};

} // namespace ggufx::chat
