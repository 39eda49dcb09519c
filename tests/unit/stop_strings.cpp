// Search for stop strings, through internals: pieces of any length find the stop string that a test
// of every position finds. A text of four times the length takes four times as long.
// SPDX-License-Identifier: MIT
#include "sampling/stop.hpp"

#include "../checkasm/check.hpp"
#include "host_random.hpp"

#include <time.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace ggufx;
using sampling::Stop;

namespace {

using Texts = std::vector<std::string_view>;

struct Found {
    int32_t index;
    size_t n_shown, n_fed;
};

// Returns the stop string that ends first, by testing every position.
Found naive(std::string_view text, const Texts &stops) {
    for (size_t end = 1; end <= text.size(); end++) {
        Found found = {-1, 0, end};
        for (size_t i = 0; i < stops.size(); i++)
            if (text.substr(0, end).ends_with(stops[i]) &&
                (found.index < 0 || stops[i].size() > end - found.n_shown))
                found = {static_cast<int32_t>(i), end - stops[i].size(), end};
        if (found.index >= 0) return found;
    }
    size_t n_held = 0;
    for (const std::string_view stop : stops)
        for (size_t n = 1; n < stop.size(); n++)
            if (text.ends_with(stop.substr(0, n))) n_held = std::max(n_held, n);
    return {-1, text.size() - n_held, text.size()};
}

struct Counts {
    long n_found = 0, n_held = 0;
};

void feed_pieces(Stop &stop, const Texts &stops, const std::string &text, Random &random,
                 Counts &counts) {
    stop.reset();
    for (size_t n = 0; n < text.size() && stop.found() < 0;) {
        const size_t piece = std::min<size_t>(random.below(5), text.size() - n);
        const bool found = stop.feed({text.data() + n, piece});
        n += piece;
        const Found want = naive({text.data(), n}, stops);
        CHECK(found == (want.index >= 0) && stop.found() == want.index);
        CHECK(stop.n_shown() == want.n_shown && stop.n_fed() == want.n_fed);
        counts.n_held += want.index < 0 && want.n_shown < n;
    }
    counts.n_found += stop.found() >= 0;
}

void stops_are_found_over_the_borders_of_pieces() {
    const Texts sets[] = {
        {"abab", "bb", "aaaa"},
        {"a", "ab", "abc"},
        {"abcabd", "cab", "bca"},
        {"aab", "aab", "ab"},
        {"babaabab", "abaaba", "aabaac", "ccc", "cbcb"},
    };
    const Ref<Host> host = make_host();
    Random random = {1};
    Counts counts;
    for (const Texts &stops : sets) {
        Stop stop(host.get(), stops.data(), stops.size());
        for (uint32_t round = 0; round < 400; round++) {
            std::string text(48, ' ');
            for (char &c : text) c = "abc"[random.below(round % 2 ? 2 : 3)];
            feed_pieces(stop, stops, text, random, counts);
        }
    }
    CHECK(counts.n_found > 500 && counts.n_held > 500);
}

// Feeds a text to stop strings that share long prefixes with it.
double seconds(size_t n) {
    const Ref<Host> host = make_host();
    std::string text(n, 'a');
    text[n / 2] = 'b';
    const std::string_view all = text;
    const Texts stops = {all.substr(0, n / 2 + 1), all.substr(n / 4, n / 2)};
    double least = 1e9;
    Stop stop(host.get(), stops.data(), stops.size());
    text[n / 2] = 'a';
    for (int run = 0; run < 3; run++) {
        stop.reset();
        const clock_t start = clock();
        for (size_t i = 0; i < n; i += 8) stop.feed({text.data() + i, std::min<size_t>(8, n - i)});
        least = std::min(least, static_cast<double>(clock() - start) / CLOCKS_PER_SEC);
    }
    CHECK(stop.found() < 0 && stop.n_fed() == n);
    return least;
}

void cost_is_linear() {
    const double one = seconds(200000), four = seconds(800000);
    printf("%.2f ms, four times the text %.2f ms\n", 1e3 * one, 1e3 * four);
    CHECK(four < 8 * one); // quadratic: 16
}

} // namespace

int main() {
    stops_are_found_over_the_borders_of_pieces();
    cost_is_linear();
    printf("%d failures\n", failures);
    return failures != 0;
}
