// SPDX-License-Identifier: MIT
#include "serve/text_offsets.hpp"

#include "common/text.hpp"

namespace ggufx::cli {

uint64_t TextOffsets::add(int32_t id, std::string_view bytes, uint32_t flags) {
    const auto continues = [](char byte) { return (byte & 0xc0) == 0x80; };
    const bool is_new = !bytes.empty() && !continues(bytes[0]);
    const uint64_t offset = n_characters_ + (n_missing_ > 0 && is_new);
    for (const char byte : bytes) {
        const auto lead = static_cast<unsigned char>(byte);
        if (n_missing_ > 0 && continues(byte))
            n_missing_--;
        else
            n_missing_ = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    }
    n_characters_ += count_characters(host_.detokenize_part({&id, 1}, state_, flags));
    return offset;
}

void TextOffsets::end_part() {
    n_characters_ += count_characters(host_.detokenize_part({}, state_, GGUFX_DETOKENIZE_FLUSH));
    n_missing_ = 0;
    state_ = {};
}

} // namespace ggufx::cli
