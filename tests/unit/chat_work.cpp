// Processor time for each step that a template is charged: no function of a template takes much
// longer for a step than the others do. Every method, filter, test and operator has an expression
// here, and those that search or compare have the inputs that cost most. Each expression is
// repeated until the limit of steps ends the rendering.
// SPDX-License-Identifier: MIT
#include "chat/filters.hpp"
#include "chat/native.hpp"

#include <ggufx/chat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace ggufx::chat;

constexpr uint64_t kSteps = 300000;
constexpr double kMostTimes = 50; // as long as the median

const char kSetup[] =
    "{% set s = c.split('aaaaa') %}{% set k = [c, c, c, b] %}{% set d = dict(u) %}"
    "{% set p = (1, 2, c) %}{% set one = {c: 1} %}{% set m = c | safe %}{% set r = q | safe %}"
    "{% set deep = [[[[[[l]]]]]] %}{% set ns = namespace(x=1) %}"
    "{% macro mac(x, y=1) %}{{ x }}{% endmacro %}"
    "{% macro block(x) %}{{ caller() }}{% endmacro %}"
    "{% set mixed %}{% for x in range(500) %}a{{ v }}{% endfor %}{% endset %}";

struct Row {
    const char *name; // as of key_of()
    const char *text; // an expression, or a statement
};

const Row kRows[] = {
    {"str.strip", "w.strip()"},
    {"str.strip", "c.strip('bcdefghijklmnopqrstuvwxyza')"},
    {"str.strip", "n.strip()"},
    {"str.lstrip", "c.lstrip('a')"},
    {"str.rstrip", "n.rstrip()"},
    {"str.split", "c.split('a')"},
    {"str.split", "c.split(a40)"},
    {"str.split", "c.split(a31)"},
    {"str.split", "w.split()"},
    {"str.split", "e.split()"},
    {"str.rsplit", "c.rsplit('a')"},
    {"str.rsplit", "c.rsplit(a31)"},
    {"str.rsplit", "w.rsplit()"},
    {"str.rsplit", "c.rsplit('b' ~ c)"},
    {"str.splitlines", "n.splitlines()"},
    {"str.splitlines", "e.splitlines()"},
    {"str.partition", "b.partition('b')"},
    {"str.rpartition", "('b' ~ c).rpartition('b')"},
    {"str.startswith", "c.startswith(c)"},
    {"str.startswith", "c.startswith((b, b, b, c))"},
    {"str.startswith", "e.startswith('x', 3000)"},
    {"str.endswith", "c.endswith(c)"},
    {"str.find", "b.find('b')"},
    {"str.find", "b.find(a31)"},
    {"str.find", "c.find(a40 ~ 'b')"},
    {"str.find", "e.find('x', 4000)"},
    {"str.rfind", "c.rfind('b')"},
    {"str.rfind", "c.rfind('b' ~ a40)"},
    {"str.rfind", "c.rfind(a40)"},
    {"str.index", "b.index('b')"},
    {"str.rindex", "b.rindex('a', 0, 20)"},
    {"str.count", "c.count('a')"},
    {"str.count", "c.count('aa')"},
    {"str.count", "c.count(a40)"},
    {"str.count", "c.count('')"},
    {"str.count", "e.count('\u00e9')"},
    {"str.replace", "c.replace('a', 'b')"},
    {"str.replace", "c.replace('', 'b')"},
    {"str.replace", "c.replace(a40, '')"},
    {"str.replace", "c.replace('x', 'y')"},
    {"str.join", "','.join(s)"},
    {"str.join", "c.join('abcd')"},
    {"str.upper", "w.upper()"},
    {"str.upper", "e.upper()"},
    {"str.lower", "g.lower()"},
    {"str.lower", "h.lower()"},
    {"str.title", "w.title()"},
    {"str.capitalize", "c.capitalize()"},
    {"str.swapcase", "w.swapcase()"},
    {"str.ljust", "c.ljust(20000)"},
    {"str.rjust", "c.rjust(20000, '\u00e9')"},
    {"str.center", "c.center(20000)"},
    {"str.zfill", "c.zfill(20000)"},
    {"str.removeprefix", "c.removeprefix(c)"},
    {"str.removeprefix", "c.removeprefix(b)"},
    {"str.removesuffix", "c.removesuffix(c)"},
    {"str.expandtabs", "t.expandtabs(1000)"},
    {"str.expandtabs", "c.expandtabs()"},
    {"str.isspace", "n.isspace()"},
    {"str.isalpha", "e.isalpha()"},
    {"str.isalnum", "e.isalnum()"},
    {"str.isdigit", "z.isdigit()"},
    {"str.isdecimal", "z.isdecimal()"},
    {"str.isnumeric", "z.isnumeric()"},
    {"str.isascii", "c.isascii()"},
    {"str.isprintable", "e.isprintable()"},
    {"str.isupper", "g.isupper()"},
    {"str.islower", "e.islower()"},
    {"str.format", "'{} {:>9000} {x}'.format(c, 1, x=2)"},
    {"str.format", "('{:' ~ z ~ '}').format(1)"},
    {"str.format", "('{x}' * 999).format(a=1, b=1, c=1, d=1, e=1, f=1, g=1, x=1)"},
    {"str.format", "('{{' * 999).format()"},
    {"str.format", "'{:.300f}{:.300e}'.format(1e300, 1e-300)"},
    {"list.append", "l.append(1) or l.clear()"},
    {"list.extend", "l.extend(l) or l.clear()"},
    {"list.insert", "l.insert(0, 1)"},
    {"list.pop", "(l + [1]).pop(0)"},
    {"list.index", "l.index(999)"},
    {"list.index", "k.index(b)"},
    {"list.count", "l.count(1)"},
    {"list.count", "k.count(b)"},
    {"list.remove", "(l + [1000]).remove(1000)"},
    {"list.reverse", "l.reverse()"},
    {"list.copy", "l.copy()"},
    {"list.clear", "[1].clear()"},
    {"tuple.index", "p.index(c)"},
    {"tuple.count", "p.count(b)"},
    {"dict.get", "d.get(c)"},
    {"dict.get", "one.get(c)"},
    {"dict.get", "d.get(1.5)"},
    {"dict.items", "d.items()"},
    {"dict.keys", "d.keys()"},
    {"dict.values", "d.values()"},
    {"dict.pop", "dict(d).pop('k7')"},
    {"dict.setdefault", "d.setdefault(c, 1)"},
    {"dict.update", "d.update(d)"},
    {"dict.copy", "d.copy()"},
    {"dict.clear", "dict(d).clear()"},
    {"|upper", "e | upper"},
    {"|lower", "g | lower"},
    {"|capitalize", "w | capitalize"},
    {"|title", "w | title"},
    {"|title", "c | title"},
    {"|string", "l | string"},
    {"|string", "e.split('x') | string"},
    {"|string", "q.split('x') | string"},
    {"|string", "[1.1e300, 2.2e-300, 3.3, 1e15] | string"},
    {"|safe", "c | safe"},
    {"|trim", "n | trim"},
    {"|replace", "c | replace('a', '')"},
    {"|center", "c | center(20000)"},
    {"|format", "'%s %9000d' | format(c, 1)"},
    {"|format", "f | format(1)"},
    {"|format", "'%.300f %.300e' | format(1e300, 1e-300)"},
    {"|format", "('%%' * 5000) | format()"},
    {"|indent", "n | indent"},
    {"|indent", "w | indent(2000, true)"},
    {"|truncate", "c | truncate(9900)"},
    {"|truncate", "e | truncate(4900)"},
    {"|escape", "c | escape"},
    {"|escape", "q | escape"},
    {"|e", "e | e"},
    {"|forceescape", "q | forceescape"},
    {"|urlencode", "e | urlencode"},
    {"|urlencode", "c | urlencode"},
    {"|urlencode", "u | urlencode"},
    {"|wordcount", "e | wordcount"},
    {"|tojson", "c | tojson"},
    {"|tojson", "q | tojson"},
    {"|tojson", "e | tojson(ensure_ascii=true)"},
    {"|tojson", "u | tojson(indent=1000)"},
    {"|tojson", "deep | tojson(indent=500)"},
    {"|tojson", "u | tojson(sort_keys=true)"},
    {"|length", "(c ~ 'a') | length"},
    {"|count", "(e ~ 'a') | count"},
    {"|abs", "-1 | abs"},
    {"|int", "z | int"},
    {"|int", "c | int"},
    {"|int", "digits | int(0, 36) if false else '12' | int"},
    {"|float", "digits | float"},
    {"|float", "('0.' ~ digits) | float"},
    {"|float", "'2.2250738585072011e-308' | float"},
    {"|round", "1.7976931348623157e308 | round(300)"},
    {"|round", "2.2250738585072011e-308 | round(320)"},
    {"|round", "5.5 | round(-3, 'floor')"},
    {"|default", "x0 | default(c)"},
    {"|d", "'' | d(c, true)"},
    {"|list", "c | list"},
    {"|list", "d | list"},
    {"|items", "d | items"},
    {"|attr", "d | attr('items')"},
    {"|first", "range(100000) | first"},
    {"|last", "c | last"},
    {"|last", "range(1000) | last"},
    {"|reverse", "c | reverse"},
    {"|reverse", "l | reverse"},
    {"|join", "l | join(',')"},
    {"|join", "s | join"},
    {"|sum", "l | sum"},
    {"|sum", "[[1], [2], [3]] | sum(start=l)"},
    {"|sort", "l | sort(reverse=true)"},
    {"|sort", "k | sort"},
    {"|sort", "k | sort(case_sensitive=true)"},
    {"|dictsort", "u | dictsort"},
    {"|min", "k | min"},
    {"|max", "l | max"},
    {"|unique", "s | unique"},
    {"|unique", "l[:100] | unique"},
    {"|groupby", "[{'a': c}, {'a': b}] | groupby('a')"},
    {"|batch", "l | batch(2)"},
    {"|batch", "[1] | batch(9000, 0)"},
    {"|slice", "l | slice(900, 0)"},
    {"|map", "s | map('upper')"},
    {"|map", "s | map(attribute=c)"},
    {"|map", "[u, u] | map(attribute='k1')"},
    {"|select", "l | select('odd')"},
    {"|reject", "k | reject('equalto', b)"},
    {"|selectattr", "[u, u] | selectattr('k1')"},
    {"|rejectattr", "[u, u] | rejectattr(c)"},
    {"is defined", "c is defined"},
    {"is undefined", "c is undefined"},
    {"is none", "c is none"},
    {"is boolean", "c is boolean"},
    {"is true", "c is true"},
    {"is false", "c is false"},
    {"is integer", "c is integer"},
    {"is float", "c is float"},
    {"is number", "c is number"},
    {"is string", "c is string"},
    {"is mapping", "c is mapping"},
    {"is sequence", "c is sequence"},
    {"is iterable", "c is iterable"},
    {"is callable", "c is callable"},
    {"is odd", "i is odd"},
    {"is even", "i is even"},
    {"is divisibleby", "i is divisibleby(3)"},
    {"is lower", "e is lower"},
    {"is upper", "g is upper"},
    {"is sameas", "c is sameas('a' * 10000)"},
    {"is escaped", "c is escaped"},
    {"is in", "'b' is in(b)"},
    {"is eq", "c is eq(b)"},
    {"is equalto", "c is equalto(b)"},
    {"is ==", "c == b"},
    {"is ne", "c is ne(b)"},
    {"is !=", "c != b"},
    {"is lt", "c is lt(b)"},
    {"is lessthan", "c is lessthan(b)"},
    {"is <", "c < b"},
    {"is le", "c is le(b)"},
    {"is <=", "c <= b"},
    {"is gt", "c is gt(b)"},
    {"is greaterthan", "c is greaterthan(b)"},
    {"is >", "c > b"},
    {"is ge", "c is ge(b)"},
    {"is >=", "c >= b"},
    {"is filter", "c is filter"},
    {"is test", "'test' is test"},
    {"range()", "range(100000)"},
    {"dict()", "dict(u)"},
    {"namespace()", "namespace(u)"},
    {"strftime_now()", "strftime_now(w)"},
    {"strftime_now()", "strftime_now('%c' * 2000)"},
    {"operator +", "i + 1.5"},
    {"operator +", "c + c"},
    {"operator +", "r + r"},
    {"operator +", "c + r"},
    {"operator +", "l + l"},
    {"operator -", "i - 1"},
    {"operator *", "c * 3"},
    {"operator *", "'a' * 10000"},
    {"operator *", "l * 3"},
    {"operator /", "i / 3"},
    {"operator //", "i // 3.5"},
    {"operator %", "i % 3.5"},
    {"operator %", "'%s' % c"},
    {"operator %", "'%s' | safe % q"},
    {"operator %", "'%r' % [e]"},
    {"operator **", "1.0001 ** 1000.5"},
    {"operator **", "3 ** 39"},
    {"operator ~", "c ~ i ~ 'x'"},
    {"operator ~", "l ~ l"},
    {"operator ==", "l == range(1000) | list"},
    {"operator ==", "d == dict(u)"},
    {"operator ==", "deep == [[[[[[range(1000) | list]]]]]]"},
    {"operator <", "l < l + [1]"},
    {"operator in", "b in l"},
    {"operator in", "b in k"},
    {"operator in", "a31 in c"},
    {"operator in", "a40 ~ 'b' in c"},
    {"operator in", "c in one"},
    {"operator in", "7 in range(100000)"},
    {"operator not in", "c not in d"},
    {"operator and", "c and l and not d"},
    {"operator unary -", "-i"},
    {"operator if", "c if i else b"},
    {"operator []", "e[4000]"},
    {"operator []", "l[999]"},
    {"operator []", "d['k99']"},
    {"operator []", "d[c]"},
    {"operator .", "d.k99"},
    {"operator .", "l.nothing"},
    {"operator slice", "e[100:4000]"},
    {"operator slice", "c[::2]"},
    {"operator slice", "l[::-1]"},
    {"operator slice", "range(1000)[5:]"},
    {"operator call", "mac(c)"},
    {"operator call", "mac(*[1, 2])"},
    {"operator list", "[i, i, i, c]"},
    {"operator dict", "{'a': i, 'b': c}"},
    {"markup", "m.replace('a', q)"},
    {"markup", "m.join([q, q])"},
    {"markup", "m.split('a')"},
    {"statement for", "{% for x in l %}{% endfor %}"},
    {"statement for", "{% for x in c %}{% endfor %}"},
    {"statement for", "{% for x in l if x %}{{ loop.index }}{% endfor %}"},
    {"statement for", "{% for x in [1] recursive %}{% if i %}{{ 1 }}{% endif %}{% endfor %}"},
    {"statement for", "{% for x in l %}{{ loop.cycle(1, 2) }}{{ loop.changed(c) }}{% endfor %}"},
    {"statement set", "{% set o %}{{ c }}{% endset %}"},
    {"statement set", "{% set ns.x = i %}"},
    {"statement set", "{% set x, y = [1, 2] %}"},
    {"statement print", "{{ c }}"},
    {"statement print", "{{ i }}{{ 1.5 }}{{ none }}"},
    {"statement macro", "{% macro o(x) %}{{ x }}{% endmacro %}{{ o(1) }}"},
    {"statement call", "{% call block(1) %}{{ i }}{% endcall %}"},
    {"statement with", "{% with x = 1 %}{% with y = 2 %}{{ x }}{% endwith %}{% endwith %}"},
    {"statement filter", "{% filter upper %}{{ c }}{% endfilter %}"},
    {"origins", "{{ mixed }}"},
};

// Every function that templates can call. One ends the rendering.
std::set<std::string> all_names() {
    std::set<std::string> out;
    const auto add = [&](const char *prefix, const Natives &natives, const char *suffix) {
        for (size_t i = 0; i < natives.count; i++)
            out.insert(std::string(prefix) + natives.rows[i].name + suffix);
    };
    add("str.", kTextMethods, "");
    add("list.", kListMethods, "");
    add("tuple.", kTupleMethods, "");
    add("dict.", kDictMethods, "");
    add("|", kTextFilters, "");
    add("|", kListFilters, "");
    add("is ", kTests, "");
    add("", kFunctions, "()");
    out.erase("raise_exception()");
    return out;
}

std::string repeated(const std::string &text, size_t n) {
    std::string out;
    for (size_t i = 0; i < n; i++) out += text;
    return out;
}

// JSON: texts of about 10,000 bytes, a list, an object.
std::string request_variables() {
    const std::string a40 = repeated("a", 40);
    const std::map<std::string, std::string> texts = {
        {"v", "user"},
        {"c", repeated("a", 10000)},
        {"b", repeated("a", 9999) + "b"},
        {"w", repeated("ab ", 3333)},
        {"e", repeated("\u00e9", 5000)},
        {"g", repeated("\u03a3", 2000)},
        {"h", repeated("\u00ad", 4000) + "\u03a3"},
        {"n", repeated("\\n", 5000)},
        {"t", repeated("\\t", 200)},
        {"z", repeated("0", 9999) + "1"},
        {"q", repeated("<\\\"", 4000)},
        {"f", "%" + repeated("-", 5000) + "d"},
        {"a40", a40},
        {"a31", repeated("a", 31) + "b"},
        {"digits", repeated("1", 390)},
    };
    std::string out = "{\"u\":{\"k\":0";
    for (int i = 0; i < 200; i++) out += ",\"k" + std::to_string(i) + "\":" + std::to_string(i);
    out += "},\"l\":[0";
    for (int i = 1; i < 1000; i++) out += "," + std::to_string(i);
    out += "]";
    for (const auto &[name, text] : texts) out += ",\"" + name + "\":\"" + text + "\"";
    return out + "}";
}

int stop_late(void *user, uint64_t, uint64_t) {
    return std::clock() - *static_cast<std::clock_t *>(user) > 20 * CLOCKS_PER_SEC;
}

// Returns the nanoseconds for a step of a template that takes more than kSteps.
double measure(ggufx_runtime *rt, const Row &row) {
    const bool is_statement = row.text[0] == '{' && (row.text[1] == '%' || row.text[1] == '{');
    const std::string body =
        is_statement ? row.text : "{% set x = " + std::string(row.text) + " %}";
    const std::string text = kSetup +
                             std::string("{% for j in range(9999) %}{% for i in range(9999) %}") +
                             body + "{% endfor %}{% endfor %}";
    const std::string variables = request_variables();
    ggufx_chat_template_options options = {};
    options.struct_size = sizeof options;
    options.text = {text.data(), text.size()};
    ggufx_chat_template *chat = nullptr;
    ggufx_error error = {};
    if (ggufx_chat_template_create(&chat, rt, nullptr, &options, &error) != GGUFX_OK) {
        std::fprintf(stderr, "%s: %s\n", row.text, error.message);
        std::exit(1);
    }
    ggufx_chat_request request = {};
    request.struct_size = sizeof request;
    request.flags = GGUFX_CHAT_CLOCK;
    request.messages_json = {"[]", 2};
    request.variables = {variables.data(), variables.size()};
    request.max_steps = kSteps;
    request.max_memory = request.max_output = uint64_t{1} << 32;
    double least = 1e18;
    for (int run = 0; run < 3; run++) {
        size_t needed = 0;
        std::clock_t begin = std::clock();
        ggufx_progress progress = {};
        progress.user = &begin;
        progress.report = stop_late;
        request.progress = &progress;
        const ggufx_status status =
            ggufx_chat_template_render(nullptr, 0, &needed, chat, &request, &error);
        const double ns = 1e9 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        if (status != GGUFX_E_LIMIT || !std::strstr(error.message, "steps")) {
            std::fprintf(stderr, "%s: %s: %s\n", row.text, ggufx_status_name(status),
                         error.message);
            std::exit(1);
        }
        least = std::min(least, ns / kSteps);
    }
    ggufx_chat_template_destroy(chat);
    return least;
}

} // namespace

int main(int argc, char **) {
    std::set<std::string> missing = all_names();
    for (const Row &row : kRows) missing.erase(row.name);
    for (const std::string &name : missing)
        std::fprintf(stderr, "%s has no expression here\n", name.c_str());
    if (!missing.empty()) return 1;
    ggufx_runtime *rt = nullptr;
    if (ggufx_runtime_create(&rt, nullptr, nullptr) != GGUFX_OK) return 1;
    std::vector<double> times;
    for (const Row &row : kRows) times.push_back(measure(rt, row));
    ggufx_runtime_destroy(rt);
    std::vector<double> sorted(times);
    std::sort(sorted.begin(), sorted.end());
    const double median = sorted[sorted.size() / 2];
    int n_slow = 0;
    for (size_t i = 0; i < times.size(); i++) {
        const bool slow = times[i] > kMostTimes * median;
        n_slow += slow;
        if (slow || argc > 1)
            std::fprintf(stderr, "%8.1f ns a step, %6.1f times the median: %s: %s\n", times[i],
                         times[i] / median, kRows[i].name, kRows[i].text);
    }
    return n_slow > 0;
}
