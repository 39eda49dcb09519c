// JSON syntax as nodes of a grammar: white space, values of any kind, characters of strings.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/syntax.hpp"

#include <map>

namespace ggufx::grammar {

// White space between values and punctuation.
enum class WhiteSpace : uint8_t {
    limited, // a space, or a line break and up to 20 spaces or tabs; none before a colon
    none,
    any, // as in RFC 8259
};

class JsonText {
public:
    // any_digits: numbers may have any number of digits.
    JsonText(Syntax &syntax, WhiteSpace white_space, bool any_digits);

    Node space() { return syntax_.rule(space_); } // optional white space
    Node any_value() { return syntax_.rule(value_); }
    Node any_object() { return syntax_.rule(object_); }
    Node any_array() { return syntax_.rule(array_); }
    Node any_string() { return syntax_.rule(string_); }
    Node any_number() { return syntax_.rule(number_); }
    Node string(uint32_t min, uint32_t max); // min .. max characters, each in any spelling

    // One character of sorted ranges. Characters that some programs escape may be escaped:
    // controls, quote, slash, backslash, and all beyond ASCII.
    Node character(const CharRange *ranges, size_t n);
    Node any_text() { return syntax_.rule(plain_text_); } // any number of any characters
    Node quoted(std::string_view text); // `text`, which is UTF-8, as a JSON string
    Node in_quotes(Node text) { return syntax_.sequence({sign('"'), text, sign('"')}); }
    // first (, more){min, max}, of items
    Node list(Node first, Node more, uint32_t min, uint32_t max);
    Node between(char open, Node inside, char close);
    // White space is one rule: it follows the opening bracket, each item, and each sign between
    // items.
    Node item(Node value) { return syntax_.sequence({value, space()}); }
    Node comma();
    Node colon();

private:
    Node sign(char c);
    void add_short_escapes(Vector<Node> &out, CharRange r);
    void add_escapes(Vector<Node> &out, CharRange r);
    Node hex_digit(uint32_t first, uint32_t last);
    Node hex(uint32_t first, uint32_t last, unsigned n_digits);
    Node escaped(CharRange r);
    Node escaped_pair(CharRange high, CharRange low);
    Node new_character(const CharRange *ranges, size_t n);
    uint32_t define(const char *name, Node body);

    using Ranges = Vector<CharRange>;
    struct Less {
        bool operator()(const Ranges &a, const Ranges &b) const;
    };
    Syntax &syntax_;
    WhiteSpace white_space_;
    uint32_t space_, character_, control_, beyond_, plain_text_, string_, number_, value_, object_,
        array_;
    // large sets, cached
    std::map<Ranges, Node, Less, HostAllocator<std::pair<const Ranges, Node>>> sets_;
};

} // namespace ggufx::grammar
