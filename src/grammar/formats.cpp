// Patterns of formats. Accepted strings are valid by the RFC that a format names and by the
// validators that hosts use, without leap seconds. The labels of a host name are not limited to 253
// characters in all, and encoded labels ("xn--...") are not decoded: neither fits into an automaton
// of a usable size.
// SPDX-License-Identifier: MIT
#include "grammar/formats.hpp"

#include <algorithm>
#include <iterator>

namespace ggufx::grammar {

namespace {

// RFC 3339
#define DATE                                                                                       \
    "(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)" \
    "|02-(?:0[1-9]|1\\d|2[0-8]))|(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])"                       \
    "|(?:[02468][048]|[13579][26])00)-02-29)"
#define CLOCK "(?:[01]\\d|2[0-3]):[0-5]\\d"
#define TIME "(?:" CLOCK ":[0-5]\\d(?:\\.\\d+)?(?:Z|[+-]" CLOCK "))"
#define DURATION_TIME "T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)"
#define DURATION                                                                                   \
    "P(?:\\d+W|(?:\\d+D|\\d+M(?:\\d+D)?|\\d+Y(?:\\d+M(?:\\d+D)?)?)(?:" DURATION_TIME               \
    ")?|" DURATION_TIME ")"

// RFC 1123: labels of up to 63 letters, digits and inner hyphens. RFC 5891: only encoded labels
// have "--" as third and fourth character.
#define ALNUM "A-Za-z0-9"
#define LABEL(letter)                                                                              \
    "(?:[" letter "](?:[" letter "]|[" letter "-][" letter "](?:[" letter "-]{0,59}[" letter       \
    "])?|[" letter "-]-[" letter "](?:[" letter "-]{0,58}[" letter "])?)?|[Xx][Nn]--[" ALNUM       \
    "-]{0,58}[" ALNUM "])"
#define HOST(letter) LABEL(letter) "(?:\\." LABEL(letter) ")*"
#define BYTE "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define IPV4 BYTE "(?:\\." BYTE "){3}"

// RFC 4291, section 2.2
#define H16 "[0-9A-Fa-f]{1,4}"
#define LAST32 "(?:" H16 ":" H16 "|" IPV4 ")"
#define IPV6                                                                                       \
    "(?:(?:" H16 ":){6}" LAST32 "|::(?:" H16 ":){5}" LAST32 "|(?:" H16 ")?::(?:" H16               \
    ":){4}" LAST32 "|(?:(?:" H16 ":){0,1}" H16 ")?::(?:" H16 ":){3}" LAST32 "|(?:(?:" H16          \
    ":){0,2}" H16 ")?::(?:" H16 ":){2}" LAST32 "|(?:(?:" H16 ":){0,3}" H16 ")?::" H16 ":" LAST32   \
    "|(?:(?:" H16 ":){0,4}" H16 ")?::" LAST32 "|(?:(?:" H16 ":){0,5}" H16 ")?::" H16 "|(?:(?:" H16 \
    ":){0,6}" H16 ")?::)"

// RFC 5321
#define ATOM "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
#define MAILBOX(atom, letter)                                                                      \
    "(?:" atom "(?:\\." atom                                                                       \
    ")*|\"(?:[ !#-\\[\\]-~]|\\\\[ -~])+\")@(?:" HOST(letter) "|\\[(?:" IPV4 "|IPv6:" IPV6 ")\\])"
#define IDN_LETTER ALNUM "\\u00a1-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\uffef\\u{10000}-\\u{1fffd}"
#define IDN_ATOM "[!#$%&'*+/=?^_`{|}~" IDN_LETTER "-]+"

// RFC 3986, and RFC 3987 with more characters
#define ESCAPE "%[0-9A-Fa-f]{2}"
#define FREE "A-Za-z0-9._~!$&'()*+,;=\\-"
#define WIDE "\\u00a0-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\uffef\\u{10000}-\\u{1fffd}"
#define PCHAR(more) "(?:[" FREE more ":@]|" ESCAPE ")"
#define MORE_PATH(more) "(?:/" PCHAR(more) "*)*"
#define AUTHORITY(more)                                                                            \
    "(?:(?:[" FREE more ":]|" ESCAPE ")*@)?(?:\\[(?:" IPV6 "|v[0-9A-Fa-f]+\\.[" FREE               \
    ":]+)\\]|(?:[" FREE more "]|" ESCAPE ")*)(?::\\d*)?"
#define TAIL(more) "(?:\\?(?:" PCHAR(more) "|[/?])*)?(?:#(?:" PCHAR(more) "|[/?])*)?"
#define ROOTED(more)                                                                               \
    "//" AUTHORITY(more) MORE_PATH(more) "|/(?:" PCHAR(more) "+" MORE_PATH(more) ")?"
#define URI(more)                                                                                  \
    "[A-Za-z][A-Za-z0-9+.-]*:(?:" ROOTED(more) "|" PCHAR(more) "+" MORE_PATH(more) "|)" TAIL(more)
#define RELATIVE(more)                                                                             \
    "(?:" ROOTED(more) "|(?:[" FREE more "@]|" ESCAPE ")+" MORE_PATH(more) "|)" TAIL(more)

// RFC 6570
#define VARIABLE                                                                                   \
    "(?:[A-Za-z0-9_]|" ESCAPE ")(?:\\.?(?:[A-Za-z0-9_]|" ESCAPE "))*(?::[1-9]\\d{0,3}|\\*)?"
#define URI_TEMPLATE                                                                               \
    "(?:[!#$&(-;=?-\\[\\]_a-z~\\u00a0-\\ud7ff\\ue000-\\ufdcf]|" ESCAPE "|\\{[+#./;?&]?" VARIABLE   \
    "(?:," VARIABLE ")*\\})*"

// RFC 6901
#define POINTER "(?:/(?:[^~/]|~[01])*)*"

struct Format {
    std::string_view name;
    const char *pattern;
};
constexpr Format kFormats[] = {
    {"date", "^" DATE "$"},
    {"time", "^" TIME "$"},
    {"date-time", "^" DATE "T" TIME "$"},
    {"duration", "^" DURATION "$"},
    {"uuid", "^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$"},
    {"email", "^" MAILBOX(ATOM, ALNUM) "$"},
    {"idn-email", "^" MAILBOX(IDN_ATOM, IDN_LETTER) "$"},
    {"hostname", "^(?:" HOST(ALNUM) ")$"},
    {"ipv4", "^" IPV4 "$"},
    {"ipv6", "^" IPV6 "$"},
    {"uri", "^" URI("") "$"},
    {"iri", "^" URI(WIDE) "$"},
    {"uri-reference", "^(?:" URI("") "|" RELATIVE("") ")$"},
    {"iri-reference", "^(?:" URI(WIDE) "|" RELATIVE(WIDE) ")$"},
    {"uri-template", "^" URI_TEMPLATE "$"},
    {"json-pointer", "^" POINTER "$"},
    {"relative-json-pointer", "^(?:0|[1-9]\\d*)(?:#|" POINTER ")$"},
};

constexpr std::string_view kNoPattern[] = {"idn-hostname", "regex"};

} // namespace

bool is_unknown_format(std::string_view name) {
    return std::find(std::begin(kNoPattern), std::end(kNoPattern), name) != std::end(kNoPattern);
}

const char *format_pattern(std::string_view name) {
    for (const Format &format : kFormats)
        if (format.name == name) return format.pattern;
    return nullptr;
}

} // namespace ggufx::grammar
