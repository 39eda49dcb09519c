// Parser of the notation of ECMA-262. \d and \w are ASCII. \s has two sets: spaces of both ECMA-262
// and Python, and spaces of either.
// SPDX-License-Identifier: MIT
#include "base/hex.hpp"
#include "base/unicode.hpp"
#include "chat/text.hpp"
#include "grammar/pattern.hpp"

#include <inttypes.h>

namespace ggufx::grammar {

namespace {

constexpr CharRange kDigits[] = {{'0', '9'}};
constexpr CharRange kWordRanges[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
constexpr CharRange kSpaces[] = {{'\t', '\r'},     {' ', ' '},       {0xa0, 0xa0},
                                 {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029},
                                 {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}};
// Spaces of ECMA-262 or Python.
constexpr CharRange kMaybeSpaces[] = {{'\t', '\r'},     {0x1c, ' '},      {0x85, 0x85},
                                      {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
                                      {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f},
                                      {0x3000, 0x3000}, {0xfeff, 0xfeff}};
constexpr CharRange kLineEnds[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

constexpr uint64_t bit(Category c) {
    return uint64_t{1} << static_cast<unsigned>(c);
}
constexpr uint64_t bits(Category first, Category last) { // a contiguous range
    return (bit(last) << 1) - bit(first);
}

struct CategoryName {
    std::string_view shorter, longer;
    uint64_t categories;
};
constexpr CategoryName kCategoryNames[] = {
    {"L", "Letter", bits(Category::Lu, Category::Lo)},
    {"LC", "Cased_Letter", bits(Category::Lu, Category::Ll)},
    {"Lu", "Uppercase_Letter", bit(Category::Lu)},
    {"Ll", "Lowercase_Letter", bit(Category::Ll)},
    {"Lt", "Titlecase_Letter", bit(Category::Lt)},
    {"Lm", "Modifier_Letter", bit(Category::Lm)},
    {"Lo", "Other_Letter", bit(Category::Lo)},
    {"M", "Mark", bits(Category::Mn, Category::Me)},
    {"Mn", "Nonspacing_Mark", bit(Category::Mn)},
    {"Mc", "Spacing_Mark", bit(Category::Mc)},
    {"Me", "Enclosing_Mark", bit(Category::Me)},
    {"N", "Number", bits(Category::Nd, Category::No)},
    {"Nd", "Decimal_Number", bit(Category::Nd)},
    {"Nl", "Letter_Number", bit(Category::Nl)},
    {"No", "Other_Number", bit(Category::No)},
    {"P", "Punctuation", bits(Category::Pc, Category::Po)},
    {"Pc", "Connector_Punctuation", bit(Category::Pc)},
    {"Pd", "Dash_Punctuation", bit(Category::Pd)},
    {"Ps", "Open_Punctuation", bit(Category::Ps)},
    {"Pe", "Close_Punctuation", bit(Category::Pe)},
    {"Pi", "Initial_Punctuation", bit(Category::Pi)},
    {"Pf", "Final_Punctuation", bit(Category::Pf)},
    {"Po", "Other_Punctuation", bit(Category::Po)},
    {"S", "Symbol", bits(Category::Sm, Category::So)},
    {"Sm", "Math_Symbol", bit(Category::Sm)},
    {"Sc", "Currency_Symbol", bit(Category::Sc)},
    {"Sk", "Modifier_Symbol", bit(Category::Sk)},
    {"So", "Other_Symbol", bit(Category::So)},
    {"Z", "Separator", bits(Category::Zs, Category::Zp)},
    {"Zs", "Space_Separator", bit(Category::Zs)},
    {"Zl", "Line_Separator", bit(Category::Zl)},
    {"Zp", "Paragraph_Separator", bit(Category::Zp)},
    {"C", "Other", bits(Category::Cn, Category::Cs)},
    {"Cc", "Control", bit(Category::Cc)},
    {"Cf", "Format", bit(Category::Cf)},
    {"Cn", "Unassigned", bit(Category::Cn)},
    {"Co", "Private_Use", bit(Category::Co)},
    {"Cs", "Surrogate", bit(Category::Cs)},
    {"digit", "digit", bit(Category::Nd)},
    {"punct", "punct", bits(Category::Pc, Category::Po)},
    {"Any", "Any", bits(Category::Cn, Category::Zp)},
};

using Ranges = Vector<CharRange>;

// A set of characters, and the larger set where programs differ.
struct Letters {
    explicit Letters(const Host *host)
        : smaller(HostAllocator<CharRange>(host)), larger(HostAllocator<CharRange>(host)) {}
    Ranges smaller, larger;

    void add(const CharRange *ranges, size_t n) {
        smaller.insert(smaller.end(), ranges, ranges + n);
        larger.insert(larger.end(), ranges, ranges + n);
    }
    template <size_t N> void add(const CharRange (&ranges)[N]) { add(ranges, N); }
    void add(uint32_t first, uint32_t last) {
        const CharRange one = {first, last};
        add(&one, 1);
    }
    template <size_t N> void add_others(const CharRange (&ranges)[N]) {
        negate_ranges(smaller, ranges, N);
        negate_ranges(larger, ranges, N);
    }
    void sort() {
        smaller.resize(merge_ranges(smaller.data(), smaller.size()));
        larger.resize(merge_ranges(larger.data(), larger.size()));
    }
    void negate() {
        Ranges less(smaller.get_allocator()), more(less);
        sort();
        negate_ranges(less, larger.data(), larger.size());
        negate_ranges(more, smaller.data(), smaller.size());
        smaller.swap(less);
        larger.swap(more);
    }
};

} // namespace

class PatternReader {
public:
    using Form = Pattern::Form;
    using Part = Pattern::Part;
    PatternReader(Pattern &out, const Host *host, CharacterSets &sets, std::string_view text)
        : out_(out), host_(host), sets_(sets), s_(text) {}

    void read() {
        out_.root_ = choice(0);
        if (i_ < s_.size()) refuse(Status::malformed, "a ')' that closes nothing");
    }

private:
    Vector<uint32_t> numbers() const { return Vector<uint32_t>(HostAllocator<uint32_t>(host_)); }
    char peek(size_t ahead = 0) const { return i_ + ahead < s_.size() ? s_[i_ + ahead] : '\0'; }
    bool at_end() const { return i_ >= s_.size(); }
    [[noreturn]] void refuse(Status status, const char *why) const {
        fail(status, {}, "%s: the pattern has %s at byte %" PRIu64, out_.what_, why,
             static_cast<uint64_t>(i_));
    }

    uint32_t add(const Part &part) {
        if (out_.parts_.size() >= kMostNodes)
            fail(Status::limit, {.limit = kMostNodes}, "%s: the pattern has over %" PRIu32 " parts",
                 out_.what_, kMostNodes);
        out_.parts_.push_back(part);
        return static_cast<uint32_t>(out_.parts_.size() - 1);
    }
    uint32_t add_set(Letters &letters) {
        letters.sort();
        Part part = {Form::set, false, false, false, 0, 0, 0, 0, 0, 0};
        const auto put = [&](uint32_t &first, uint32_t &n, const Ranges &ranges) {
            first = static_cast<uint32_t>(out_.ranges_.size());
            n = static_cast<uint32_t>(ranges.size());
            if (ranges.size() > INT32_MAX - out_.ranges_.size())
                fail(Status::limit, {}, "%s: the pattern has over 2^31 ranges", out_.what_);
            out_.ranges_.insert(out_.ranges_.end(), ranges.begin(), ranges.end());
        };
        put(part.first, part.n, letters.smaller);
        put(part.first_larger, part.n_larger, letters.larger);
        return add(part);
    }
    uint32_t add_group(Form form, const Vector<uint32_t> &children, uint32_t min, uint32_t max) {
        if (children.size() == 1 && (form == Form::sequence || form == Form::choice))
            return children[0];
        Part part = {form, false, false, form != Form::choice, 0, 0, 0, 0, min, max};
        part.first = static_cast<uint32_t>(out_.children_.size());
        part.n = static_cast<uint32_t>(children.size());
        for (const uint32_t child : children) {
            const Part &of = out_.parts_[child];
            part.asserts = part.asserts || of.asserts;
            part.has_begin = part.has_begin || of.has_begin;
            part.may_be_empty = form == Form::choice ? part.may_be_empty || of.may_be_empty
                                                     : part.may_be_empty && of.may_be_empty;
            out_.children_.push_back(child);
        }
        if (form == Form::repeat) part.may_be_empty = part.may_be_empty || min == 0;
        if (form == Form::look || form == Form::look_not) part.asserts = part.may_be_empty = true;
        return add(part);
    }
    uint32_t add_anchor(Form form) {
        i_++;
        return add({form, true, form == Form::begin, true, 0, 0, 0, 0, 0, 0});
    }

    // Recursive through item(), at most kPatternDepth deep.
    uint32_t choice(unsigned depth) {
        Vector<uint32_t> alternatives = numbers();
        for (;;) {
            alternatives.push_back(sequence(depth));
            if (peek() != '|' || at_end()) break;
            i_++;
        }
        return add_group(Form::choice, alternatives, 0, 0);
    }

    uint32_t sequence(unsigned depth) {
        Vector<uint32_t> parts = numbers();
        while (!at_end() && peek() != '|' && peek() != ')') {
            const bool first = parts.empty(), anchor = peek() == '^' || peek() == '$';
            if (anchor) {
                const bool begin = peek() == '^';
                parts.push_back(add_anchor(begin ? Form::begin : Form::end));
                const bool last = at_end() || peek() == '|' || peek() == ')';
                if (depth > 0 || (begin ? !first : !last)) out_.plain_ = false;
                if (!is_repetition()) continue;
                refuse(Status::unsupported, "an anchor that is repeated");
            }
            parts.push_back(repeated(item(depth)));
        }
        return add_group(Form::sequence, parts, 0, 0);
    }

    uint32_t item(unsigned depth) {
        const char c = peek();
        if (c == '(') return group(depth);
        if (c == '[') return char_class();
        if (c == '*' || c == '+' || c == '?' || is_repetition())
            refuse(Status::malformed, "a repetition of nothing");
        Letters letters(host_);
        if (c == '.') {
            i_++;
            letters.add_others(kLineEnds);
        } else if (!class_escape(letters)) {
            const uint32_t code = character(false);
            letters.add(code, code);
        }
        return add_set(letters);
    }

    uint32_t group(unsigned depth) {
        if (depth >= kPatternDepth) refuse(Status::limit, "groups nested too deep");
        Form look = Form::choice;
        i_++;
        if (peek() == '?') {
            const char c = peek(1);
            if (c == '=' || c == '!') {
                look = c == '=' ? Form::look : Form::look_not;
                out_.plain_ = false;
            } else if (c == '<' && peek(2) != '=' && peek(2) != '!') { // named group
                while (!at_end() && peek(1) != '>') i_++;
            } else if (c != ':') {
                refuse(Status::unsupported, "an unsupported group '(?'");
            }
            i_ += 2;
        }
        const uint32_t inside = choice(depth + 1);
        if (at_end() || peek() != ')') refuse(Status::malformed, "a group without its closing ')'");
        i_++;
        if (look == Form::choice) return inside;
        Vector<uint32_t> one = numbers();
        one.push_back(inside);
        return add_group(look, one, 0, 0);
    }

    // Returns whether {n}, {n,}, {n,m}, *, + or ? follows.
    bool is_repetition() const {
        if (at_end()) return false;
        if (peek() == '*' || peek() == '+' || peek() == '?') return true;
        if (peek() != '{') return false;
        size_t i = 1;
        const auto digits = [&] {
            const size_t begin = i;
            while (peek(i) >= '0' && peek(i) <= '9') i++;
            return i > begin;
        };
        if (!digits()) return false;
        if (peek(i) == ',') i++, digits();
        return peek(i) == '}';
    }

    uint32_t number() {
        uint64_t n = 0;
        for (; peek() >= '0' && peek() <= '9'; i_++) {
            n = n * 10 + static_cast<uint64_t>(peek() - '0');
            if (n >= kMany) refuse(Status::limit, "a repetition of 2^32 times or more");
        }
        return static_cast<uint32_t>(n);
    }

    uint32_t repeated(uint32_t part) {
        if (!is_repetition()) return part;
        const char c = peek();
        uint32_t min = c == '+', max = c == '?' ? 1 : kMany;
        i_++;
        if (c == '{') {
            min = max = number();
            if (peek() == ',') {
                i_++;
                max = peek() == '}' ? kMany : number();
            }
            i_++;
            if (max < min)
                refuse(Status::malformed, "a repetition whose maximum is below its minimum");
        }
        if (peek() == '?') i_++; // lazy: same strings
        if (is_repetition()) refuse(Status::malformed, "a repetition of a repetition");
        Vector<uint32_t> one = numbers();
        one.push_back(part);
        return add_group(Form::repeat, one, min, max);
    }

    // Reads \d and similar escapes; returns false if there is none.
    bool class_escape(Letters &out) {
        if (peek() != '\\') return false;
        const char c = peek(1);
        switch (c) {
        case 'd':
            out.add(kDigits);
            break;
        case 'D':
            out.add_others(kDigits);
            break;
        case 'w':
            out.add(kWordRanges);
            break;
        case 'W':
            out.add_others(kWordRanges);
            break;
        case 's':
        case 'S': {
            Letters spaces(host_);
            spaces.smaller.assign(std::begin(kSpaces), std::end(kSpaces));
            spaces.larger.assign(std::begin(kMaybeSpaces), std::end(kMaybeSpaces));
            if (c == 'S') spaces.negate();
            out.smaller.insert(out.smaller.end(), spaces.smaller.begin(), spaces.smaller.end());
            out.larger.insert(out.larger.end(), spaces.larger.begin(), spaces.larger.end());
            break;
        }
        case 'p':
        case 'P':
            return property(out, c == 'P');
        default:
            return false;
        }
        i_ += 2;
        return true;
    }

    // Reads \p{Letter}, \p{Lu}, \p{General_Category=Lu}.
    bool property(Letters &out, bool negated) {
        const size_t open = i_ + 2, close = s_.find('}', open);
        if (peek(2) != '{' || close == s_.npos) refuse(Status::malformed, "a property without {}");
        std::string_view name = s_.substr(open + 1, close - open - 1);
        for (const std::string_view prefix : {"General_Category=", "gc="})
            if (name.substr(0, prefix.size()) == prefix) name.remove_prefix(prefix.size());
        uint64_t categories = 0;
        for (const CategoryName &known : kCategoryNames)
            if (name == known.shorter || name == known.longer) categories = known.categories;
        if (name == "ASCII") {
            const CharRange ascii[] = {{0, 0x7f}};
            negated ? out.add_others(ascii) : out.add(ascii);
        } else if (categories == 0) {
            refuse(Status::unsupported, "a property that is not a general category");
        } else {
            const uint64_t all = bits(Category::Cn, Category::Zp);
            const Ranges &ranges = sets_.of(negated ? all & ~categories : categories);
            out.add(ranges.data(), ranges.size());
        }
        i_ = close + 1;
        return true;
    }

    uint32_t hex(unsigned digits) {
        uint32_t code = 0;
        for (unsigned k = 0; k < digits; k++, i_++) {
            const int digit = hex_value(peek());
            if (digit < 0) refuse(Status::malformed, "an escape without its digits");
            code = code << 4 | static_cast<uint32_t>(digit);
        }
        return code;
    }

    // Reads four digits, a surrogate pair, or {digits} after \u.
    uint32_t unicode() {
        uint32_t code = 0;
        if (peek() == '{') {
            i_++;
            if (peek() == '}') refuse(Status::malformed, "an escape without its digits");
            for (; peek() != '}'; i_++) {
                const int digit = hex_value(peek());
                if (digit < 0 || code > kLastCode)
                    refuse(Status::malformed, "an escape without its digits");
                code = code << 4 | static_cast<uint32_t>(digit);
            }
            i_++;
        } else {
            code = hex(4);
            if (code >= 0xd800 && code < 0xdc00 && peek() == '\\' && peek(1) == 'u') {
                i_ += 2;
                const uint32_t low = hex(4);
                if (low >= 0xdc00 && low < 0xe000)
                    return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            }
        }
        if (code > kLastCode || (code >= 0xd800 && code < 0xe000))
            refuse(Status::unsupported, "half a character");
        return code;
    }

    uint32_t character(bool in_class) {
        if (peek() != '\\') {
            const uint32_t code = chat::decode(s_, i_);
            i_ += chat::step(s_, i_);
            return code;
        }
        const char c = peek(1);
        if (i_ + 1 >= s_.size()) refuse(Status::malformed, "a '\\' at its end");
        i_ += 2;
        static const char from[] = "tnvfr", to[] = "\t\n\v\f\r";
        for (size_t k = 0; k < 5; k++)
            if (c == from[k]) return static_cast<uint8_t>(to[k]);
        if (c == 'x') return hex(2);
        if (c == 'u') return unicode();
        if (c == '0' && !(peek() >= '0' && peek() <= '9')) return 0;
        if (c == 'b' && in_class) return '\b';
        const auto is_letter = [](char x) {
            return (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z');
        };
        if (c == 'c' && is_letter(peek())) return static_cast<uint8_t>(s_[i_++]) & 31u;
        i_ -= 2;
        if (is_letter(c) || (c >= '0' && c <= '9'))
            refuse(Status::unsupported, "an escape that is not supported");
        i_++;
        const uint32_t code = chat::decode(s_, i_);
        i_ += chat::step(s_, i_);
        return code;
    }

    uint32_t char_class() {
        i_++;
        const bool negated = peek() == '^';
        if (negated) i_++;
        Letters letters(host_);
        while (at_end() || peek() != ']') {
            if (at_end()) refuse(Status::malformed, "a class without its closing ']'");
            if (class_escape(letters)) continue;
            const uint32_t first = character(true);
            uint32_t last = first;
            if (peek() == '-' && peek(1) != ']' && i_ + 1 < s_.size()) {
                i_++;
                Letters other(host_);
                if (class_escape(other))
                    refuse(Status::unsupported, "a range that ends in a class");
                last = character(true);
                if (last < first)
                    refuse(Status::malformed, "a range whose end is before its start");
            }
            letters.add(first, last);
        }
        i_++;
        if (negated) letters.negate();
        return add_set(letters);
    }

    Pattern &out_;
    const Host *host_;
    CharacterSets &sets_;
    std::string_view s_;
    size_t i_ = 0;
};

Pattern::Pattern(const Host *host, CharacterSets &sets, std::string_view text, const char *what)
    : what_(what), parts_(HostAllocator<Part>(host)), children_(HostAllocator<uint32_t>(host)),
      ranges_(HostAllocator<CharRange>(host)) {
    PatternReader(*this, host, sets, text).read();
}

} // namespace ggufx::grammar
