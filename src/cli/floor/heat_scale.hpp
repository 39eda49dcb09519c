// Colours of a heat map: even in the logarithm of a value, from the least to the largest that the
// map has; what stands beside the map tells which colour is which value.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace ggufx::cli {

class HeatScale {
public:
    void add(double value); // one of those that will be coloured; not negative
    std::string fill(double value) const;
    const char *text(double value) const; // a colour that can be read on fill()
    // A group of SVG whose upper left corner is at x, y, 44 units high.
    std::string legend(double x, double y, const std::string &what) const;

private:
    double place(double value) const; // 0..1

    double least_ = 0, most_ = 0; // of the positive and finite ones; 0: none came
    bool has_zero_ = false, has_infinite_ = false;
};

} // namespace ggufx::cli
