// Sorts runs of names with a common prefix by the four bytes after it, as integers stored with
// their indices. The names themselves are read once per four bytes.
// SPDX-License-Identifier: MIT
#include "gguf/sort.hpp"

namespace ggufx::gguf {

namespace {

constexpr size_t kSmallRun = 16; // runs up to this are sorted by whole names
constexpr size_t kDigit = 4;     // bytes per digit

struct Run {
    size_t begin, end; // range of the order
    size_t depth;      // length of the common prefix of its names
};

class Sorter {
public:
    Sorter(NameOrder &order, const NameSource &names, NamePair *same)
        : order_(order), names_(names), same_(same),
          runs_(HostAllocator<Run>(order.get_allocator())) {}

    bool sort() {
        add_run({0, order_.size(), 0});
        while (!runs_.empty()) {
            Run run = runs_.back();
            runs_.pop_back();
            split(run);
        }
        return unique_;
    }

private:
    std::string_view rest(uint64_t entry, size_t depth) const {
        return names_.name(index_in(entry)).substr(depth);
    }

    // Records equal names, the earlier one first.
    void note_same(uint64_t first, uint64_t second) {
        if (unique_ || index_in(second) < same_->second)
            *same_ = {index_in(first), index_in(second)};
        unique_ = false;
    }

    void add_run(const Run &run) {
        const size_t n = run.end - run.begin;
        if (n > kSmallRun)
            runs_.push_back(run);
        else if (n > 1)
            sort_small(run);
    }

    void sort_small(const Run &run) {
        const auto begin = order_.begin() + static_cast<ptrdiff_t>(run.begin);
        const auto end = order_.begin() + static_cast<ptrdiff_t>(run.end);
        std::sort(begin, end, [&](uint64_t a, uint64_t b) {
            const int c = rest(a, run.depth).compare(rest(b, run.depth));
            return c != 0 ? c < 0 : index_in(a) < index_in(b);
        });
        for (auto it = begin + 1; it < end; ++it)
            if (rest(it[-1], run.depth) == rest(*it, run.depth)) note_same(it[-1], *it);
    }

    // Returns the length of the common prefix of a run's names beyond its depth.
    size_t common(const Run &run) const {
        const std::string_view first = rest(order_[run.begin], run.depth);
        size_t n = first.size();
        for (size_t i = run.begin + 1; i < run.end && n > 0; i++) {
            const std::string_view other = rest(order_[i], run.depth);
            const size_t most = std::min(n, other.size());
            n = static_cast<size_t>(std::mismatch(first.begin(),
                                                  first.begin() + static_cast<ptrdiff_t>(most),
                                                  other.begin())
                                        .first -
                                    first.begin());
        }
        return n;
    }

    // Returns the next bytes as a number with the same order, zeros after the end of the name.
    static uint64_t digit(std::string_view s) {
        uint64_t d = 0;
        for (size_t i = 0; i < kDigit; i++)
            d = d << 8 | (i < s.size() ? static_cast<uint8_t>(s[i]) : 0u);
        return d;
    }

    void split(Run run) {
        run.depth += common(run);
        for (size_t i = run.begin; i < run.end; i++)
            order_[i] = digit(rest(order_[i], run.depth)) << 32 | index_in(order_[i]);
        std::sort(order_.begin() + static_cast<ptrdiff_t>(run.begin),
                  order_.begin() + static_cast<ptrdiff_t>(run.end));
        for (size_t begin = run.begin, end; begin < run.end; begin = end) {
            end = begin + 1;
            while (end < run.end && order_[end] >> 32 == order_[begin] >> 32) end++;
            if (end - begin > 1) split_equal({begin, end, run.depth});
        }
    }

    // Splits names with the same digit. Names that end within the digit come first, shorter before
    // longer; those of equal length are equal.
    void split_equal(Run run) {
        if (run.end - run.begin <= kSmallRun) return sort_small(run);
        const auto ended = [&](uint64_t entry) {
            return std::min(rest(entry, run.depth).size(), kDigit + 1);
        };
        std::sort(order_.begin() + static_cast<ptrdiff_t>(run.begin),
                  order_.begin() + static_cast<ptrdiff_t>(run.end), [&](uint64_t a, uint64_t b) {
                      const size_t x = ended(a), y = ended(b);
                      return x != y ? x < y : index_in(a) < index_in(b);
                  });
        size_t i = run.begin;
        for (size_t before = SIZE_MAX; i < run.end; i++) {
            const size_t n = ended(order_[i]);
            if (n > kDigit) break;
            if (n == before) note_same(order_[i - 1], order_[i]);
            before = n;
        }
        add_run({i, run.end, run.depth + kDigit});
    }

    NameOrder &order_;
    const NameSource &names_;
    NamePair *same_;
    bool unique_ = true;
    Vector<Run> runs_;
};

} // namespace

bool sort_names(NameOrder &out, size_t n, const NameSource &names, NamePair *same) {
    out.resize(n);
    for (size_t i = 0; i < n; i++) out[i] = i;
    return Sorter(out, names, same).sort();
}

} // namespace ggufx::gguf
