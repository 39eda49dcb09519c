// Compilation of expressions, see compiler.hpp. Grammar and precedence are Jinja's: `or`, `and`,
// `not`, comparisons, + -, ~, * / // %, **, signs; tests and filters bind to the operand before
// them.
// SPDX-License-Identifier: MIT
#include "chat/compiler.hpp"
#include "chat/filters.hpp"

#include <algorithm>

namespace ggufx::chat {

TemplateCompiler::Nested::Nested(TemplateCompiler &c) : c_(c) {
    if (++c.depth_ > kDeepestExpression) {
        c.depth_--; // the destructor does not run after a throw
        c.refuse_at(c.token_.at, Status::limit, "an expression nested deeper than %u levels",
                    kDeepestExpression);
    }
}

void TemplateCompiler::expression(bool with_condition) {
    const Nested nested(*this);
    const uint32_t begin = here();
    binary(0);
    while (with_condition && is_name("if")) condition(begin);
}

// `a if b else c`: moves the code of a, which is already emitted, after that of b.
void TemplateCompiler::condition(uint32_t begin) {
    const size_t at = token_.at;
    advance();
    const uint32_t middle = here();
    binary(0);
    const uint32_t n_condition = here() - middle + 1;
    emit(Op::jump_false, at);
    const auto code = program_.code.begin();
    std::rotate(code + begin, code + middle, program_.code.end());
    const uint32_t test = begin + n_condition - 1;
    const uint32_t over = emit(Op::jump, at);
    patch(test);
    if (accept_name("else"))
        expression();
    else
        emit(Op::undefined, at);
    patch(over);
}

void TemplateCompiler::binary(unsigned least) {
    if (least <= 2 && is_name("not")) {
        const Nested nested(*this);
        const size_t at = token_.at;
        advance();
        binary(2);
        emit(Op::logical_not, at);
    } else {
        unary();
    }
    while (operation(least)) {}
}

// Parses one operator and its right side, if the operator binds at least as tightly as `least`.
bool TemplateCompiler::operation(unsigned least) {
    const size_t at = token_.at;
    if (is(Tok::name)) {
        const bool either = token_.text == "or", both = token_.text == "and";
        if ((either && least <= 0) || (both && least <= 1)) {
            advance();
            const uint32_t over = emit(both ? Op::jump_or_pop_false : Op::jump_or_pop_true, at);
            binary(both ? 2 : 1);
            patch(over);
            return true;
        }
        const bool contained =
            token_.text == "in" ||
            (token_.text == "not" && ahead_.type == Tok::name && ahead_.text == "in");
        if (!contained || least > 3) return false;
        comparison(at);
        return true;
    }
    switch (token_.type) {
    case Tok::eq:
    case Tok::ne:
    case Tok::lt:
    case Tok::le:
    case Tok::gt:
    case Tok::ge:
        if (least > 3) return false;
        comparison(at);
        return true;
    case Tok::add:
    case Tok::sub:
        if (least > 4) return false;
        arithmetic(is(Tok::add) ? Op::add : Op::sub, 5);
        return true;
    case Tok::tilde: {
        if (least > 5) return false;
        size_t n = 1;
        while (accept(Tok::tilde)) {
            binary(6);
            if (++n > kMostItems) refuse("more than %u texts joined", kMostItems);
        }
        emit(Op::concat, at, 0, n);
        return true;
    }
    case Tok::mul:
    case Tok::div:
    case Tok::floordiv:
    case Tok::mod:
        if (least > 6) return false;
        arithmetic(is(Tok::mul)        ? Op::mul
                   : is(Tok::div)      ? Op::div
                   : is(Tok::floordiv) ? Op::floordiv
                                       : Op::mod,
                   7);
        return true;
    case Tok::pow:
        arithmetic(Op::pow, 8);
        return true;
    default:
        return false;
    }
}

void TemplateCompiler::arithmetic(Op op, unsigned level) {
    const size_t at = token_.at;
    advance();
    if (level == 8)
        unary(); // ** takes signed operands and associates to the left
    else
        binary(level);
    emit(op, at);
}

// `a < b <= c`: evaluates each side once, and stops at the first false comparison.
void TemplateCompiler::comparison(size_t at) {
    uint32_t chain = kNone32;
    for (;;) {
        Comparison which;
        switch (token_.type) {
        case Tok::eq:
            which = Comparison::eq;
            break;
        case Tok::ne:
            which = Comparison::ne;
            break;
        case Tok::lt:
            which = Comparison::lt;
            break;
        case Tok::le:
            which = Comparison::le;
            break;
        case Tok::gt:
            which = Comparison::gt;
            break;
        case Tok::ge:
            which = Comparison::ge;
            break;
        default:
            which = is_name("not") ? Comparison::not_in : Comparison::in;
        }
        if (which == Comparison::not_in) advance();
        advance();
        binary(4);
        const bool inner = is(Tok::eq) || is(Tok::ne) || is(Tok::lt) || is(Tok::le) ||
                           is(Tok::gt) || is(Tok::ge) || is_name("in") ||
                           (is_name("not") && ahead_.type == Tok::name && ahead_.text == "in");
        const uint32_t i =
            emit(inner ? Op::chain : Op::compare, at, 0, 0, static_cast<unsigned>(which));
        if (!inner) break;
        program_.code[i].jump = static_cast<int32_t>(chain);
        chain = i;
    }
    patch_chain(chain);
}

void TemplateCompiler::unary(bool with_filter) {
    if (is(Tok::sub) || is(Tok::add)) {
        const Nested nested(*this);
        const Op op = is(Tok::sub) ? Op::negate : Op::plus;
        const size_t at = token_.at;
        advance();
        unary(false);
        emit(op, at);
    } else {
        primary();
    }
    postfix();
    if (with_filter) filters();
}

void TemplateCompiler::primary() {
    const size_t at = token_.at;
    switch (token_.type) {
    case Tok::name:
        return name();
    case Tok::string:
        return literal_string();
    case Tok::integer:
        emit(Op::constant, at, constant(Value::of(token_.integer)));
        return advance();
    case Tok::real:
        emit(Op::constant, at, constant(Value::of(token_.real)));
        return advance();
    case Tok::lparen:
        return parenthesized();
    case Tok::lbracket:
        return list();
    case Tok::lbrace:
        return dict();
    default:
        refuse("an expression is expected here");
    }
}

void TemplateCompiler::name() {
    const size_t at = token_.at;
    const std::string_view text = token_.text;
    if (text == "true" || text == "True" || text == "false" || text == "False")
        emit(Op::constant, at, constant(Value::of((text[0] | 32) == 't')));
    else if (text == "none" || text == "None")
        emit(Op::constant, at, constant(Value::none()));
    else
        emit(Op::load, at, variable(text));
    for (Block &block : blocks_) {
        if (block.kind != BlockKind::macro && block.kind != BlockKind::call) continue;
        MacroCode &macro = program_.macros[block.macro];
        macro.uses_caller = macro.uses_caller || text == "caller";
        macro.uses_varargs = macro.uses_varargs || text == "varargs";
        macro.uses_kwargs = macro.uses_kwargs || text == "kwargs";
    }
    static const char *const special[] = {"caller", "varargs", "kwargs"};
    for (size_t i = 0; i < 3; i++)
        if (text == special[i]) program_.special_variables[i] = variable(text);
    advance();
}

void TemplateCompiler::literal_string() { // adjacent strings are joined
    const size_t at = token_.at;
    const Text *text = token_.string;
    advance();
    if (is(Tok::string)) {
        TextBuilder all(program_.meter);
        all.add(*text);
        for (; is(Tok::string); advance()) all.add(*token_.string);
        text = all.finish();
    }
    count_text(text);
    emit(Op::constant, at, constant(Value::of(text)));
}

void TemplateCompiler::parenthesized() {
    const size_t at = token_.at;
    advance();
    if (accept(Tok::rparen)) {
        emit(Op::tuple, at);
        return;
    }
    tuple(true, false);
    expect(Tok::rparen, "')'");
}

bool TemplateCompiler::tuple_ends(bool to_recursive) const {
    return is(Tok::variable_end) || is(Tok::block_end) || is(Tok::rparen) ||
           (to_recursive && is_name("recursive"));
}

// Parses one expression, or several with commas as a tuple.
void TemplateCompiler::tuple(bool with_condition, bool to_recursive) {
    const size_t at = token_.at;
    size_t n = 0;
    bool comma = false;
    for (;; n++) {
        if (n > 0 && tuple_ends(to_recursive)) break;
        if (n >= kMostItems) refuse("a tuple of more than %u items", kMostItems);
        if (with_condition)
            expression();
        else
            expression(false);
        if (!accept(Tok::comma)) {
            n++;
            break;
        }
        comma = true;
    }
    if (comma) emit(Op::tuple, at, 0, n);
}

void TemplateCompiler::list() {
    const size_t at = token_.at;
    size_t n = 0;
    advance();
    while (!is(Tok::rbracket)) {
        if (n > 0) expect(Tok::comma, "','");
        if (is(Tok::rbracket)) break;
        expression();
        if (++n > kMostItems) refuse("a list of more than %u items", kMostItems);
    }
    advance();
    emit(Op::list, at, 0, n);
}

void TemplateCompiler::dict() {
    const size_t at = token_.at;
    size_t n = 0;
    advance();
    while (!is(Tok::rbrace)) {
        if (n > 0) expect(Tok::comma, "','");
        if (is(Tok::rbrace)) break;
        expression();
        expect(Tok::colon, "':'");
        expression();
        if (++n > kMostItems) refuse("a dict of more than %u items", kMostItems);
    }
    advance();
    emit(Op::dict, at, 0, n);
}

void TemplateCompiler::postfix() {
    for (;;) {
        const size_t at = token_.at;
        if (is(Tok::dot)) {
            advance();
            if (is(Tok::integer)) {
                emit(Op::constant, at, constant(Value::of(token_.integer)));
                emit(Op::item, at);
                advance();
            } else {
                emit(Op::attribute, at, text_constant(expect_name("a name or number after '.'")));
            }
        } else if (is(Tok::lbracket)) {
            subscript();
        } else if (is(Tok::lparen)) {
            call();
        } else {
            return;
        }
    }
}

void TemplateCompiler::subscript() {
    const size_t at = token_.at;
    advance();
    if (accept(Tok::rbracket)) { // the index is the empty tuple, as in jinja2
        emit(Op::tuple, at);
        emit(Op::item, at);
        return;
    }
    size_t n = 0;
    bool sliced = false;
    const auto none = [&] { emit(Op::constant, at, constant(Value::none())); };
    for (; n < 3; n++) {
        if (is(Tok::colon) || is(Tok::rbracket)) {
            none();
        } else {
            expression();
        }
        if (is(Tok::colon) && n < 2) {
            sliced = true;
            advance();
        } else {
            n++;
            break;
        }
    }
    size_t items = 1;
    if (!sliced && is(Tok::comma)) {
        while (accept(Tok::comma)) {
            if (++items > kMostItems) refuse("an index of more than %u items", kMostItems);
            expression();
        }
        emit(Op::tuple, at, 0, items);
    }
    expect(Tok::rbracket, "']'");
    for (; sliced && n < 3; n++) none();
    emit(sliced ? Op::slice : Op::item, at);
}

// ---- calls ----

void TemplateCompiler::named_argument() {
    const Text *const text = borrow_text(program_.meter, token_.text, false);
    advance();
    advance(); // '='
    expression();
    pending_names_.push_back(text);
}

// `*list`: packs the positional arguments before it into a list. `**dict` is refused.
void TemplateCompiler::spread_argument(Passed &passed, size_t at) {
    const bool many = is(Tok::pow);
    advance();
    if (many) refuse("'**' in a call, which is not supported");
    if (passed.spread) refuse("a second '*' in a call");
    emit(Op::list, at, 0, passed.count);
    expression();
    passed.spread = 1;
}

TemplateCompiler::Passed TemplateCompiler::arguments() {
    Passed passed;
    const size_t at = token_.at, first = pending_names_.size();
    expect(Tok::lparen, "'('");
    bool any = false;
    while (!is(Tok::rparen)) {
        if (any) expect(Tok::comma, "','");
        if (is(Tok::rparen)) break;
        any = true;
        const bool named = is(Tok::name) && ahead_.type == Tok::assign;
        if (named) {
            named_argument();
        } else if (is(Tok::mul) || is(Tok::pow)) {
            if (pending_names_.size() > first) refuse("'*' after a named argument");
            spread_argument(passed, at);
        } else {
            if (pending_names_.size() > first || passed.spread)
                refuse("a positional argument after a named one");
            expression();
            passed.count++;
        }
        if (passed.count + pending_names_.size() - first > kMostArguments)
            refuse("a call with more than %u arguments", kMostArguments);
    }
    advance();
    passed.names = names_of(first);
    return passed;
}

void TemplateCompiler::call() {
    const size_t at = token_.at;
    const Passed passed = arguments();
    emit(passed.spread ? Op::call_spread : Op::call, at, passed.names, passed.count, passed.spread);
}

void TemplateCompiler::filters() {
    for (;;) {
        if (is(Tok::pipe)) {
            advance();
            filter();
        } else if (is_name("is")) {
            test();
        } else if (is(Tok::lparen)) {
            call();
        } else {
            return;
        }
    }
}

// After the sign; the filtered value is on the stack.
void TemplateCompiler::filter() {
    const size_t at = token_.at;
    std::string_view name = expect_name("the name of a filter");
    if (is(Tok::dot)) refuse("a filter with a dot in its name");
    Passed passed;
    if (is(Tok::lparen)) passed = arguments();
    if (passed.spread) refuse("'*' among the arguments of a filter");
    const size_t which = find_filter(name);
    if (which < kNoFilter)
        emit(Op::filter, at, passed.names, passed.count, static_cast<unsigned>(which));
    else
        emit(Op::unknown_filter, at, text_constant(name));
}

void TemplateCompiler::test() {
    const size_t at = token_.at;
    advance();
    const bool negated = accept_name("not");
    const std::string_view name = expect_name("the name of a test");
    Passed passed;
    const bool argument = is(Tok::name) || is(Tok::string) || is(Tok::integer) || is(Tok::real) ||
                          is(Tok::lbracket) || is(Tok::lbrace);
    const bool follows = is_name("else") || is_name("or") || is_name("and") || is_name("if") ||
                         is_name("is") || is_name("in") || is_name("not") || is_name("recursive");
    if (is(Tok::lparen)) {
        passed = arguments();
    } else if (argument && !follows) {
        const Nested nested(*this);
        primary();
        postfix();
        passed.count = 1;
    }
    if (passed.spread) refuse("'*' among the arguments of a test");
    if (is_name("is")) refuse("tests cannot be chained");
    const size_t which = find_test(name);
    if (which < kNoFilter)
        emit(Op::test, at, passed.names, passed.count, static_cast<unsigned>(which));
    else
        emit(Op::unknown_test, at, text_constant(name));
    if (negated) emit(Op::logical_not, at);
}

} // namespace ggufx::chat
