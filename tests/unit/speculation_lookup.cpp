// Prompt lookup, through internals: drafts continue the longest of the newest matches. A text of
// four times the length takes four times as long.
// SPDX-License-Identifier: MIT
#include "sampling/lookup.hpp"

#include "../checkasm/check.hpp"
#include "host_random.hpp"

#include <time.h>

#include <algorithm>
#include <vector>

using namespace ggufx;
using model::Lookup;
using model::TextIds;

namespace {

// Returns the number of tokens before `end` that equal the end of the text.
size_t matched(const std::vector<int32_t> &text, size_t end) {
    size_t n = 0;
    while (n < end && text[end - 1 - n] == text[text.size() - 1 - n]) n++;
    return n;
}

// Returns whether the draft continues a match of at least n_match tokens in the text.
bool is_from_text(const std::vector<int32_t> &text, const int32_t *draft, size_t n,
                  uint32_t n_match) {
    for (size_t end = n_match; end < text.size(); end++) {
        if (matched(text, end) < n_match) continue;
        std::vector<int32_t> on(text.begin() + long(end), text.end());
        while (on.size() < n) on.push_back(on[on.size() - (text.size() - end)]);
        if (std::equal(draft, draft + n, on.begin())) return true;
    }
    return false;
}

bool has_repeat(const std::vector<int32_t> &text, uint32_t n_match) {
    for (size_t end = n_match; end < text.size(); end++)
        if (matched(text, end) >= n_match) return true;
    return false;
}

void guesses_follow_a_match(uint32_t n_match, uint32_t n_vocab) {
    const Ref<Host> host = make_host();
    Lookup lookup(host.get(), 300, n_match);
    std::vector<int32_t> text;
    Random random = {n_match + n_vocab};
    long n_guessed = 0, n_none = 0;
    for (int i = 0; i < 3000; i++) {
        if (text.size() > 280 || random.below(40) == 0) {
            text.resize(random.below(static_cast<uint32_t>(text.size()) + 1));
            lookup.clear();
        }
        for (uint32_t n = 1 + random.below(4); n > 0; n--)
            text.push_back(static_cast<int32_t>(random.below(n_vocab)));
        int32_t draft[20];
        const size_t most = 1 + random.below(20);
        const size_t n = lookup.propose(draft, most, {text.data(), text.size() - 1, text.back()});
        CHECK(n == 0 || n >= std::min<size_t>(most, 3));
        CHECK(n <= most);
        if (n) CHECK(is_from_text(text, draft, n, n_match));
        if (n == 0) CHECK(!has_repeat(text, n_match));
        n_guessed += n != 0;
        n_none += n == 0;
    }
    CHECK(n_guessed > 100 && n_none > 10);
}

// The end of the text occurs twice before; the longer match is used.
void the_longest_match_guesses() {
    const Ref<Host> host = make_host();
    Lookup lookup(host.get(), 64, 2);
    const int32_t text[] = {9, 8, 1, 2, 3, 50, 7, 1, 2, 3, 60, 5, 9, 8, 1, 2, 3};
    int32_t draft[3] = {};
    CHECK(lookup.propose(draft, 3, {text, 16, text[16]}) == 3);
    CHECK(draft[0] == 50 && draft[1] == 7 && draft[2] == 1);
}

// Drafts a third of the match length, for at most 64 tokens, and at least three; a loop continues
// itself.
void the_longer_the_match_the_more_is_guessed() {
    const Ref<Host> host = make_host();
    Lookup lookup(host.get(), 256, 2);
    std::vector<int32_t> loop;
    size_t longest = 0;
    for (int i = 0; i < 200; i++) {
        loop.push_back(4 + i % 2);
        int32_t draft[31] = {};
        const size_t n = lookup.propose(draft, 31, {loop.data(), loop.size() - 1, loop.back()});
        CHECK(n >= longest && n <= 21);
        for (size_t k = 0; k < n; k++) CHECK(draft[k] == 4 + (i + 1 + int(k)) % 2);
        longest = n;
        if (i == 3) CHECK(n == 3);
    }
    CHECK(longest == 21);
}

// Drafts at each token of a text; a single repeated token is the worst case for comparisons.
double seconds(size_t n) {
    const Ref<Host> host = make_host();
    const std::vector<int32_t> text(n, 3);
    double least = 1e9;
    for (int run = 0; run < 3; run++) {
        Lookup lookup(host.get(), static_cast<uint32_t>(n), 3);
        const clock_t start = clock();
        int32_t draft[8];
        size_t sum = 0;
        for (size_t i = 3; i < n; i++) sum += lookup.propose(draft, 8, {text.data(), i, text[i]});
        CHECK(sum > 0);
        least = std::min(least, static_cast<double>(clock() - start) / CLOCKS_PER_SEC);
    }
    return least;
}

void cost_is_linear() {
    const double one = seconds(50000), four = seconds(200000);
    printf("%.2f ms, four times the text %.2f ms\n", 1e3 * one, 1e3 * four);
    CHECK(four < 8 * one); // quadratic: 16
}

} // namespace

int main() {
    for (const uint32_t n_match : {1u, 2u, 3u})
        guesses_follow_a_match(n_match, n_match == 1 ? 150 : n_match == 2 ? 20 : 7);
    the_longest_match_guesses();
    the_longer_the_match_the_more_is_guessed();
    cost_is_linear();
    printf("%d failures\n", failures);
    return failures != 0;
}
