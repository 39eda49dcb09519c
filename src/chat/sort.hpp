// Stable sort that allocates from a rendering's memory.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/meter.hpp"

namespace ggufx::chat {

// Merge sort. less(a, b) may throw.
template <class T, class Less> void merge_sort(Meter &meter, T *items, size_t n, const Less &less) {
    T *from = items, *to = meter.array<T>(n);
    for (size_t width = 1; width < n; width *= 2) {
        meter.charge(n);
        for (size_t begin = 0; begin < n; begin += 2 * width) {
            const size_t middle = n - begin < width ? n : begin + width;
            const size_t end = n - begin < 2 * width ? n : begin + 2 * width;
            size_t a = begin, b = middle;
            for (size_t i = begin; i < end; i++) {
                const bool right = a >= middle || (b < end && less(from[b], from[a]));
                to[i] = right ? from[b++] : from[a++];
            }
        }
        T *const swapped = from;
        from = to;
        to = swapped;
    }
    for (size_t i = 0; from != items && i < n; i++) items[i] = from[i];
}

} // namespace ggufx::chat
