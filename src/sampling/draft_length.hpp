// Adapts the draft length: longer after full acceptance, shorter after partial acceptance, a pause
// when even one draft token is rejected. A rejected draft costs a share of a token. After the
// longest pause of 64 tokens, a trial costs less than a hundredth.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx::model {

class DraftLength {
public:
    explicit DraftLength(uint32_t most) : most_(most), now_(most < kFirst ? most : kFirst) {}

    uint32_t most() const { return most_; }
    // Returns the draft length of the next step; counts a token of a pause.
    uint32_t next() {
        if (wait_ == 0) return now_;
        wait_--;
        return 0;
    }
    void learn(size_t n_drafted, size_t n_accepted) {
        const auto drafted = static_cast<uint32_t>(n_drafted);
        const auto accepted = static_cast<uint32_t>(n_accepted);
        if (accepted == drafted) {
            pause_ /= 2;
            now_ = 2 * now_ < most_ ? 2 * now_ : most_;
        } else if (accepted) {
            now_ = (accepted + drafted + 1) / 2;
        } else if (drafted > 1) {
            now_ = (drafted + 1) / 4 ? (drafted + 1) / 4 : 1;
        } else {
            pause_ = pause_ == 0 ? kFirstPause : pause_ < kMostPause ? 2 * pause_ : kMostPause;
            wait_ = pause_;
        }
    }

private:
    static constexpr uint32_t kFirst = 4, kFirstPause = 4, kMostPause = 64;
    uint32_t most_, now_, pause_ = 0, wait_ = 0;
};

} // namespace ggufx::model
