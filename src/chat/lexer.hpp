// Lexer of chat templates. White space rules: trim_blocks and lstrip_blocks are on, one newline at
// the end of the source is dropped, \r\n counts as \n.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/text.hpp"

namespace ggufx::chat {

enum class Tok : uint8_t {
    end,
    data,
    variable_begin,
    variable_end,
    block_begin,
    block_end,
    name,
    string,
    integer,
    real,
    add,
    sub,
    mul,
    div,
    floordiv,
    mod,
    pow,
    tilde,
    lbracket,
    rbracket,
    lparen,
    rparen,
    lbrace,
    rbrace,
    eq,
    ne,
    gt,
    ge,
    lt,
    le,
    assign,
    dot,
    colon,
    pipe,
    comma,
    semicolon,
};

struct Token {
    Tok type = Tok::end;
    uint32_t at = 0;       // byte of the source
    std::string_view text; // as written; for data, the printed text
    const Text *string = nullptr;
    int64_t integer = 0;
    double real = 0;
};

struct SourcePosition {
    uint64_t offset;       // in the original source
    uint64_t line, column; // from 1; columns are characters
};
SourcePosition place_of(std::string_view given, size_t at); // at: byte of the normalized source

// Throws `status` with line and column.
[[noreturn]] void fail_at(std::string_view given, size_t at, Status status, const char *format, ...)
    GGUFX_PRINTF(4, 5);

class Lexer {
public:
    Lexer(Meter &meter, std::string_view source);
    Token next();

private:
    enum class Mode : uint8_t { root, variable, block };
    bool root(Token &token);
    size_t find_tag(size_t from) const;
    size_t data_end(size_t begin, size_t tag, char sign) const;
    bool raw_begin(size_t tag, size_t &after) const;
    void comment(size_t tag);
    void raw(size_t tag, Token &token);
    void skip_space();
    void close(size_t begin, size_t n, bool strip, bool trim);
    bool tag_end(Token &token);
    void balance(char c);
    Token inside();
    void name(Token &token);
    void number(Token &token);
    void string(Token &token);
    size_t escape(TextBuilder &out, std::string_view body, size_t i, size_t at);
    void op(Token &token);
    [[noreturn]] void refuse(size_t at, const char *format, ...) const GGUFX_PRINTF(3, 4);

    Meter &meter_;
    std::string_view given_;
    std::string_view s_;
    size_t i_ = 0;
    Mode mode_ = Mode::root;
    bool line_starting_ = true;
    bool has_pending_ = false;
    Token pending_;
    char *brackets_; // closing brackets of the open ones
    size_t n_brackets_ = 0;
    static constexpr size_t kMostBrackets = 256;
};

} // namespace ggufx::chat
