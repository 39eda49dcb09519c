// Marker tokens that the parser returns as text, as in a truncated tool call. They are not part of
// the answer either.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <string_view>

namespace ggufx::generate {

class StrayMarkers {
public:
    explicit StrayMarkers(const Host *host)
        : bytes_(HostAllocator<char>(host)), lengths_(HostAllocator<size_t>(host)),
          out_(HostAllocator<char>(host)) {}

    void expect(std::string_view marker) { // before it is fed. Throws std::bad_alloc
        bytes_.insert(bytes_.end(), marker.begin(), marker.end());
        lengths_.push_back(marker.size());
    }
    void settle() { n_settled_ = lengths_.size(); } // after it was fed
    void clear() {                                  // a tool call took them
        bytes_.clear();
        lengths_.clear();
        n_settled_ = first_ = 0;
        first_byte_ = 0;
    }
    // Returns an event's text without the markers, valid until the next call. The parser has
    // consumed absent ones. Throws std::bad_alloc.
    std::string_view without(std::string_view text) {
        if (first_ == lengths_.size()) return text;
        out_.clear();
        while (first_ < lengths_.size()) {
            const std::string_view marker(bytes_.data() + first_byte_, lengths_[first_]);
            const size_t at = text.find(marker);
            if (at != text.npos) {
                out_.insert(out_.end(), text.begin(), text.begin() + static_cast<ptrdiff_t>(at));
                text.remove_prefix(at + marker.size());
            } else if (first_ >= n_settled_) {
                break; // the marker is being fed
            }
            first_byte_ += lengths_[first_++];
        }
        out_.insert(out_.end(), text.begin(), text.end());
        if (first_ == lengths_.size()) clear();
        return {out_.data(), out_.size()};
    }

private:
    Vector<char> bytes_; // markers, one after the other
    Vector<size_t> lengths_;
    size_t first_ = 0, first_byte_ = 0; // the oldest
    size_t n_settled_ = 0;
    Vector<char> out_;
};

} // namespace ggufx::generate
