// Colours of a heat map, logarithmic from the smallest to the largest value, with a legend.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace ggufx::cli {

class HeatScale {
public:
    void add(double value); // a value that will be coloured; >= 0
    std::string fill(double value) const;
    const char *text(double value) const; // a text colour that is readable on fill()
    // Returns an SVG group, 44 units high, with its upper left corner at (x, y).
    std::string legend(double x, double y, const std::string &what) const;

private:
    double place(double value) const; // 0..1

    double least_ = 0, most_ = 0; // smallest and largest positive finite value; 0: none
    bool has_zero_ = false, has_infinite_ = false;
};

} // namespace ggufx::cli
