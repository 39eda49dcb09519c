// How JSON is written: parts of a grammar for white space, values of any kind, characters of
// strings, whole numbers within bounds.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/syntax.hpp"

namespace ggufx::grammar {

class JsonText {
public:
    JsonText(Syntax &syntax, bool compact);

    Node space() { return syntax_.rule(space_); } // where there may be some
    Node any_value() { return syntax_.rule(value_); }
    Node any_object() { return syntax_.rule(object_); }
    Node any_array() { return syntax_.rule(array_); }
    Node any_string() { return syntax_.rule(string_); }
    Node any_number() { return syntax_.rule(number_); }
    Node any_integer() { return syntax_.rule(integer_); }
    Node string(uint32_t min, uint32_t max); // so many characters, written in any way

    // One character of sorted ranges in the one way that Python's json.dumps has.
    Node character(const Range *ranges, size_t n);
    Node any_text() { return syntax_.rule(plain_text_); } // any number of them
    // A text within quotes, so written; it is UTF-8.
    Node quoted(std::string_view text);
    // Whole numbers from low to high, where there are such bounds.
    Node integers(const int64_t *low, const int64_t *high);
    // first (, more){min, max}, with space
    Node list(Node first, Node more, uint32_t min, uint32_t max);
    Node between(char open, Node inside, char close);
    Node comma(); // with the space around it
    Node colon();

private:
    Node sign(char c);
    Node digits(uint64_t low, uint64_t high); // as many digits in both
    Node at_least(std::string_view digits);
    Node at_most(std::string_view digits);
    Node naturals(uint64_t low, const uint64_t *high);
    void add_escaped(Vector<Node> &out, uint32_t first, uint32_t last);
    uint32_t define(const char *name, Node body);

    Syntax &syntax_;
    uint32_t space_, character_, controls_, plain_text_, string_, integer_, number_, value_,
        object_, array_;
};

} // namespace ggufx::grammar
