// SPDX-License-Identifier: MIT
#include "bench/model_texts.hpp"

#include "bench/blocks.hpp"

#include <algorithm>

namespace ggufx::cli {

TextIds random_text(size_t n, uint32_t n_vocab) {
    Random random(1);
    TextIds ids(n);
    for (int32_t &id : ids) id = static_cast<int32_t>(random.next() % n_vocab);
    return ids;
}

TextIds repeating_text(size_t n, uint32_t n_vocab) {
    constexpr size_t kSpan = 60;
    Random random(2);
    TextIds ids = random_text(n, n_vocab);
    for (size_t i = kSpan + 10; i + kSpan <= n; i += kSpan + 3 + random.next() % 8)
        std::copy_n(ids.begin() + static_cast<ptrdiff_t>(random.next() % (i - kSpan)), kSpan,
                    ids.begin() + static_cast<ptrdiff_t>(i));
    return ids;
}

void add_turned(TextIds &to, const TextIds &text, size_t sequence, size_t n) {
    for (size_t i = 0; i < n; i++) to.push_back(text[(sequence * 37 + i) % text.size()]);
}

} // namespace ggufx::cli
