// Pre-tokenizers against the published patterns, run by PCRE2: on every text of up to four
// characters of a small alphabet, on long runs and pairs, on random texts.
// SPDX-License-Identifier: MIT
#include "base/utf8.hpp"
#include "test_step.h"
#include "tokenizer/pre_tokenizer.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>

#include <string>
#include <vector>

using namespace ggufx;
namespace pre = ggufx::model::pre;

namespace {

using Ends = std::vector<size_t>;

[[noreturn]] void stop(const char *what, int code) {
    PCRE2_UCHAR text[256] = "";
    pcre2_get_error_message(code, text, sizeof text);
    fprintf(stderr, "%s: %s\n", what, reinterpret_cast<const char *>(text));
    exit(1);
}

void replace_all(std::string &text, const std::string &what, const std::string &with) {
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
        text.replace(at, what.size(), with);
}

// Translates a pattern to PCRE2: its \s includes U+180E, and its \b ignores marks.
std::string translated(std::string pattern) {
    replace_all(pattern, "\\s", "\\p{White_Space}");
    replace_all(pattern, "\\S", "\\P{White_Space}");
    replace_all(pattern, "\\b", "(?![\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}])");
    // Models of deepseek-coder were made with llama.cpp's splits, where these ranges exclude white
    // space.
    if (pattern[0] == '[' && pattern.find("\u0800-\u4e00") != std::string::npos)
        pattern = "(?:(?!\\p{White_Space})" + pattern.substr(0, pattern.size() - 1) + ")+";
    return pattern;
}

class Regex {
public:
    explicit Regex(const std::string &pattern) {
        int code;
        size_t place;
        code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                              PCRE2_UTF | PCRE2_UCP, &code, &place, nullptr);
        if (!code_) stop(pattern.c_str(), code);
        pcre2_jit_compile(code_, PCRE2_JIT_COMPLETE); // optional, only for speed
        match_ = pcre2_match_data_create(1, nullptr);
    }
    Regex(Regex &&o) noexcept : code_(o.code_), match_(o.match_) {
        o.code_ = nullptr;
        o.match_ = nullptr;
    }
    Regex(const Regex &) = delete;
    ~Regex() {
        pcre2_match_data_free(match_);
        pcre2_code_free(code_);
    }
    // Finds the first match from `at`; returns false when there is none.
    bool find(std::string_view text, size_t at, size_t *begin, size_t *end) const {
        const int found = pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                      at, PCRE2_NO_UTF_CHECK, match_, nullptr);
        if (found == PCRE2_ERROR_NOMATCH) return false;
        if (found < 0) stop("match", found);
        *begin = pcre2_get_ovector_pointer(match_)[0];
        *end = pcre2_get_ovector_pointer(match_)[1];
        return true;
    }

private:
    pcre2_code *code_;
    pcre2_match_data *match_;
};

// The steps of tokenizer.json in sequence: matches, and the texts between them, are pieces.
class Published {
public:
    explicit Published(std::string_view steps) {
        for (size_t at = 0; at < steps.size(); at = steps.find('\0', at) + 1) {
            const std::string step(steps.data() + at);
            if (step[0] == 'S') regexes_.emplace_back(translated(step.substr(1)));
            if (step[0] == 'D') regexes_.emplace_back("\\p{N}");
            if (step[0] == 'G') {
                regexes_.emplace_back(translated("'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+|"
                                                 " ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"));
            }
        }
    }
    Ends split(std::string_view text) const {
        Ends pieces = {text.size()};
        for (const Regex &regex : regexes_) {
            Ends next;
            size_t start = 0;
            for (const size_t end : pieces) {
                cut(next, regex, text.substr(start, end - start), start);
                start = end;
            }
            pieces.swap(next);
        }
        return pieces;
    }
    size_t n_patterns() const { return regexes_.size(); }

private:
    static void cut(Ends &out, const Regex &regex, std::string_view piece, size_t start) {
        size_t done = 0, begin, end;
        while (done < piece.size() && regex.find(piece, done, &begin, &end)) {
            if (begin == end) stop("a match of nothing", 0);
            if (begin > done) out.push_back(start + begin);
            out.push_back(start + (done = end));
        }
        if (done < piece.size()) out.push_back(start + piece.size());
    }
    std::vector<Regex> regexes_;
};

Ends split(const Host *host, const pre::PreTokenizer &tokenizer, std::string_view text) {
    model::PlaceSet cuts(host);
    tokenizer.split(cuts, text);
    Ends out;
    for (size_t start = 0; start < text.size(); start = out.back()) out.push_back(cuts.next(start));
    return out;
}

// ---- texts ----

uint64_t g_state = 0x9e3779b97f4a7c15u;
uint64_t random_number() {
    g_state ^= g_state << 13;
    g_state ^= g_state >> 7;
    return g_state ^= g_state << 17;
}

std::string utf8(uint32_t code) {
    char bytes[4];
    return {bytes, put_utf8(bytes, code)};
}

// Characters that rules distinguish: each class, contractions, line ends, bounds of ranges.
constexpr uint32_t kTold[] = {
    'a',     'Z',     's',     'S',     't',     'r',    'e',    'L',    'l',    'd',    'm',
    'v',     '\'',    '0',     '7',     ' ',     ' ',    '\n',   '\r',   '\t',   '\v',   '/',
    '_',     '.',     '`',     '~',     '$',     '!',    '{',    0x1,    0x7f,   0x85,   0xa0,
    0xaa,    0xb2,    0xb5,    0xdf,    0xe9,    0xc9,   0x17f,  0x1c5,  0x1bb,  0x2b0,  0x301,
    0x300,   0x345,   0x3a3,   0x416,   0x436,   0x5d0,  0x627,  0x663,  0x7ff,  0x800,  0x903,
    0x966,   0x1680,  0x16ee,  0x200b,  0x200d,  0x2014, 0x2019, 0x2028, 0x202f, 0x203f, 0x20dd,
    0x2160,  0x24b6,  0x2603,  0x3000,  0x3001,  0x3007, 0x3042, 0x30a2, 0x30ff, 0x3105, 0x4e00,
    0x9fa5,  0x9fa6,  0xac00,  0xd7a3,  0xe000,  0xfe0f, 0xff01, 0xff11, 0xff21, 0xfffd, 0x10400,
    0x1d7d8, 0x1f130, 0x1f600, 0x20000, 0x10ffff};
// A character of each kind that most patterns have branches for.
constexpr uint32_t kAlphabet[] = {'a',  'S', '\'',  '1', ' ',    '\n', '\r',
                                  '\t', '.', 0x301, '/', 0x4e00, 0xa0, 0x17f};

// Code points with the same category in PCRE2's version of Unicode; texts with others are skipped.
class Comparable {
public:
    Comparable() : known_(0x110000) {
        constexpr const char *kNames[] = {"Cn", "Cc", "Cf", "Co", "Cs", "Lu", "Lt", "Ll",
                                          "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No",
                                          "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm",
                                          "Sc", "Sk", "So", "Zs", "Zl", "Zp"};
        std::vector<Regex> of;
        for (const char *name : kNames) of.emplace_back("\\A\\p{" + std::string(name) + "}");
        for (uint32_t code = 0; code < 0x110000; code++) {
            if (code >= 0xd800 && code < 0xe000) continue;
            size_t begin, end;
            known_[code] =
                of[static_cast<size_t>(category_of(code))].find(utf8(code), 0, &begin, &end);
            n_others_ += !known_[code];
        }
    }
    bool has(uint32_t code) const { return known_[code]; }
    size_t n_others() const { return n_others_; }

private:
    std::vector<bool> known_;
    size_t n_others_ = 0;
};

std::vector<std::string> make_texts(const Comparable &comparable) {
    std::vector<std::string> out, last = {""};
    for (int length = 1; length <= 4; length++) {
        std::vector<std::string> longer;
        for (const std::string &text : last)
            for (const uint32_t code : kAlphabet) longer.push_back(text + utf8(code));
        out.insert(out.end(), longer.begin(), longer.end());
        last.swap(longer);
    }
    for (const uint32_t a : kTold) {
        for (const uint32_t b : kTold) {
            std::string one, two;
            for (int i = 0; i < 40; i++) one += utf8(a);
            for (int i = 0; i < 20; i++) two += utf8(a) + utf8(b);
            out.push_back(one + utf8(b));
            out.push_back(two);
            out.push_back(utf8(b) + utf8(a) + utf8(a) + utf8(b));
        }
    }
    for (int i = 0; i < 20000; i++) {
        std::string text;
        const size_t n = 1 + random_number() % 60;
        while (text.size() < n) {
            uint32_t code = kTold[random_number() % (sizeof kTold / sizeof kTold[0])];
            if (random_number() % 8 == 0)
                code = static_cast<uint32_t>(random_number() % (i % 2 ? 0x110000 : 0x3000));
            if (!comparable.has(code)) continue;
            for (size_t k = random_number() % 4 ? 1 : random_number() % 8; k > 0; k--)
                text += utf8(code);
        }
        out.push_back(text);
    }
    return out;
}

std::string show(const std::string &text) {
    std::string out;
    char cell[8];
    for (const char c : text) {
        snprintf(cell, sizeof cell, "%02x ", static_cast<unsigned>(static_cast<uint8_t>(c)));
        out += cell;
    }
    return out;
}

} // namespace

int main() {
    const Ref<Host> host = Host::create(HostOptions{});
    const Comparable comparable;
    const std::vector<std::string> texts = make_texts(comparable);
    const size_t step = test_step_sanitized(); // each set of rules gets other texts
    size_t n_rules = 0, n_patterns = 0, n_compared = 0, n_faults = 0;
    for (size_t i = 0; i < pre::names().n; i++) {
        const pre::Name &name = pre::names().names[i];
        if (std::string(name.rules->name) != name.name || name.rules->steps.empty()) continue;
        const Published published(name.rules->steps);
        const pre::PreTokenizer tokenizer(host.get(), *name.rules);
        n_rules++;
        n_patterns += published.n_patterns();
        for (size_t at = i % step; at < texts.size(); at += step) {
            const std::string &text = texts[at];
            n_compared++;
            if (text.empty() || split(host.get(), tokenizer, text) == published.split(text))
                continue;
            if (n_faults++ < 20) fprintf(stderr, "%s: %s\n", name.name, show(text).c_str());
        }
    }
    printf("%zu rules of %zu patterns, %zu texts compared, %zu faults; %zu code points of another "
           "kind in PCRE2 %d.%d\n",
           n_rules, n_patterns, n_compared, n_faults, comparable.n_others(), PCRE2_MAJOR,
           PCRE2_MINOR);
    return n_faults || n_rules < 12 || n_compared < 800000 / step || comparable.n_others() > 12000;
}
