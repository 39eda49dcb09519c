// Pre-tokenizers through internals: pieces of texts against those of the published patterns, and
// the cost of hostile texts. The pieces come from tests/vocabularies. If
// ${GGUFX_TEST_DATA}/data/tokenizer/pre-splits-public.json exists, stored ones are compared, too.
// usage: pre_tokenizers MADE/index.json
// SPDX-License-Identifier: MIT
#include "counted_check.hpp"
#include "slow.h"
#include "stored_json.hpp"
#include "tokenizer/pre_tokenizer.hpp"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <fstream>
#include <string>

using namespace ggufx;
namespace pre = ggufx::model::pre;

namespace {

int g_checks = 0, g_failed = 0;

using Lengths = std::vector<size_t>;

std::string from_hex(const std::string &hex) {
    std::string out;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        out += static_cast<char>(strtol(hex.substr(i, 2).c_str(), nullptr, 16));
    return out;
}

Lengths split(const Host *host, const pre::PreTokenizer &tokenizer, const std::string &text) {
    Lengths out;
    if (text.empty()) return out;
    model::PlaceSet cuts(host);
    tokenizer.split(cuts, text);
    for (size_t start = 0, end; start < text.size(); start = end) {
        end = cuts.next(start);
        out.push_back(end - start);
    }
    return out;
}

std::string show(const Lengths &lengths) {
    std::string out;
    for (const size_t n : lengths) out += std::to_string(n) + " ";
    return out;
}

// Every name in the file is known, and splits each text like the published patterns. Stored pieces
// may be older than some names.
void test_splits(const Host *host, const Json &stored, bool has_all) {
    size_t n_names = 0;
    const auto &texts_hex = stored.at("texts_hex").elements();
    for (const Json &of : stored.at("types").elements()) {
        for (const Json &listed : of.at("names").elements()) {
            const std::string &name = *listed.text();
            n_names++;
            const pre::Name *found = pre::find(name);
            CHECK(found, "%s is not known", name.c_str());
            if (!found) continue;
            const Json *const flags = of.at("flags").find(name);
            const auto flag = [&](const char *key, bool absent) {
                const Json *const value = flags ? flags->find(key) : nullptr;
                return value ? value->truth().value() : absent;
            };
            CHECK(((found->flags & pre::kAddBos) != 0) == flag("add_bos", false) &&
                      ((found->flags & pre::kIgnoreMerges) != 0) == flag("ignore_merges", false) &&
                      ((found->flags & pre::kAddSep) != 0) == flag("add_sep", false) &&
                      ((found->flags & pre::kKeepSpaces) == 0) == flag("clean_spaces", true),
                  "%s: flags 0x%x", name.c_str(), static_cast<unsigned>(found->flags));
            const pre::PreTokenizer tokenizer(host, *found->rules);
            for (size_t i = 0; i < texts_hex.size(); i++) {
                const Lengths want = numbers_of<size_t>(of.at("lengths").elements()[i]);
                const Lengths got = split(host, tokenizer, from_hex(*texts_hex[i].text()));
                CHECK(got == want, "%s: text %zu: %s, not %s", name.c_str(), i, show(got).c_str(),
                      show(want).c_str());
            }
        }
    }
    CHECK(!has_all || n_names >= pre::names().n, "only %zu names", n_names);
    CHECK(n_names > 0, "no names");
}

double seconds_of(const Host *host, const pre::PreTokenizer &tokenizer, const std::string &text) {
    model::PlaceSet cuts(host);
    const clock_t start = clock();
    tokenizer.split(cuts, text);
    return static_cast<double>(clock() - start) / CLOCKS_PER_SEC;
}

std::string repeated(const char *what, size_t n_bytes) {
    std::string out;
    while (out.size() < n_bytes) out += what;
    return out;
}

bool cost_is_linear(const Host *host, const pre::PreTokenizer &tokenizer, const char *what) {
    const size_t size = 1 << 15;
    double least = 1e9, slow = 0;
    // Less than a millisecond is too short to measure; quadratic cost takes seconds at this size.
    for (int round = 0; round < 12 && least > 8; round++) {
        const double s = seconds_of(host, tokenizer, repeated(what, size));
        slow = seconds_of(host, tokenizer, repeated(what, 8 * size));
        least = std::min(least, slow / std::max(s, 1e-3) * 0.5);
        if (slow < 5e-3) least = 0;
    }
    if (least > 8) fprintf(stderr, "%.1f ms: ", 1e3 * slow);
    return least <= 8;
}

// Repetitive texts: 8 times the size takes at most 16 times as long, for all rules. Sanitizers
// distort times, so with them shorter texts are split and not timed.
void test_cost_is_linear(const Host *host) {
    static const char *const kTexts[] = {"'",       " ",       "\n",      "a",           "A",
                                         "7",       "\u0301",  "\xff",    "\r\n",        "'s",
                                         " a",      "\u6f22",  "/",       "<sentinel:1", "IMGIMG",
                                         "1\u0663", " \u2028", "A\u01c5", "7a",          "\t\t\t"};
    for (size_t i = 0; i < pre::names().n; i++) {
        const pre::Name &name = pre::names().names[i];
        if (std::string(name.rules->name) != name.name) continue; // each set of rules once
        const pre::PreTokenizer tokenizer(host, *name.rules);
        for (const char *what : kTexts) {
            if (SANITIZED) {
                const std::string text = repeated(what, 1 << 12);
                size_t n_cut = 0;
                for (const size_t length : split(host, tokenizer, text)) n_cut += length;
                CHECK(n_cut == text.size(), "%s: %s: %zu bytes", name.name, what, n_cut);
            } else {
                CHECK(cost_is_linear(host, tokenizer, what), "%s: %s", name.name, what);
            }
        }
    }
}

// Class lists fit the combinations of a class byte, and patterns fit the bits of their rows.
void test_rules_fit_their_tables() {
    for (size_t i = 0; i < pre::names().n; i++) {
        const pre::Name &name = pre::names().names[i];
        for (const pre::Pattern &pattern : name.rules->patterns)
            CHECK(pattern.n <= pre::kMaxRows, "%s: %zu rows", name.name, pattern.n);
        CHECK(name.rules->patterns[0].n > 0, "%s has no pattern", name.name);
        CHECK(pre::find(name.rules->name) != nullptr, "%s is no name", name.rules->name);
        CHECK(pre::find(name.name) == &name, "%s stands there twice", name.name);
    }
    CHECK(pre::find("") == nullptr && pre::find("gpt-3") == nullptr, "names that there are not");
}

} // namespace

int main(int n_arguments, char **arguments) {
    if (n_arguments != 2) return 2;
    const std::string index = arguments[1];
    const char *root = getenv("GGUFX_TEST_DATA");
    const std::string stored =
        std::string(root ? root : "") + "/data/tokenizer/pre-splits-public.json";
    const Ref<Host> host = Host::create(HostOptions{});
    test_rules_fit_their_tables();
    test_cost_is_linear(host.get());
    test_splits(host.get(), json_file(index.substr(0, index.rfind('/') + 1) + "pre-splits.json"),
                true);
    const std::ifstream in(stored);
    if (in) test_splits(host.get(), json_file(stored), false);
    printf("%d checks, %d failed\n", g_checks, g_failed);
    if (!in) printf("stored pieces: skipped, no %s (GGUFX_TEST_DATA)\n", stored.c_str());
    return g_failed > 0;
}
