// Masks of the bits of a page that belong to given slots, by the layout of kernels/kv_page.hpp, 64
// bytes at a time.
// SPDX-License-Identifier: MIT
#include "kv/own_bytes.hpp"

#include <string.h>

namespace ggufx::kv {

namespace {

constexpr size_t kLine = 64; // bytes; pages are whole lines

// One head's page, of which only the given slots are kept.
class OwnPage {
public:
    OwnPage(const TypeOps &type, Side side, uint32_t head_dim, uint64_t slots)
        : f_(type.format()), side_(side), slots_(slots),
          d_(type.is_float() ? head_dim : padded_values(type, head_dim)),
          layout_(kernels::kv_layout_codes(f_, d_)) {}

    // Writes to[kLine]: bytes at .. at + kLine - 1 of the page, with zeros for other slots.
    void copy_line(uint8_t *to, const uint8_t *page, size_t at) {
        const size_t key = key_of(at);
        if (key != key_) make_mask(at);
        key_ = key;
        for (size_t i = 0; i < kLine; i++) to[i] = static_cast<uint8_t>(page[at + i] & mask_[i]);
    }

private:
    static constexpr size_t kNone = SIZE_MAX;

    bool is_float() const { return f_.bits == 0; }
    uint8_t whole(uint32_t slot) const { return slots_ >> slot & 1 ? 0xff : 0; }

    // Lines with the same key share a mask. In K, each group of 16 tokens is contiguous, in floats
    // and in codes. All other lines have a mask of their own.
    size_t key_of(size_t at) const {
        if (side_ == Side::v) return at;
        if (!is_float()) return at < layout_.high ? at / (layout_.high / 4) : at;
        const size_t each = size_t(d_) * kernels::kKvGroup * f_.float_bytes;
        return each % kLine ? at : at / each;
    }

    void make_mask(size_t at) {
        for (size_t i = 0; i < kLine; i++) {
            const auto byte = static_cast<uint32_t>(at + i);
            mask_[i] = is_float()              ? whole(float_slot(byte / f_.float_bytes))
                       : byte < layout_.high   ? of_codes(byte, f_.low_bits())
                       : byte < layout_.scales ? of_codes(byte - layout_.high, 1)
                                               : whole(scale_slot(byte - layout_.scales));
        }
    }

    uint32_t float_slot(uint32_t i) const {
        constexpr uint32_t group = kernels::kKvGroup, column = 64 * kPageTokens;
        if (side_ == Side::k) return i / (group * d_) * group + i % group;
        return i % column / kernels::v_float_width(d_, i / column);
    }

    // Inverse of k_field and v_field: a byte has the codes of several registers.
    uint8_t of_codes(uint32_t at, uint32_t bits) const {
        const uint32_t per = 8 / bits, byte = at % kLine;
        uint32_t mask = 0;
        for (uint32_t i = 0; i < per; i++) {
            const auto reg = static_cast<uint32_t>(at / kLine * per + i);
            const uint32_t slot = side_ == Side::k
                                      ? reg / (layout_.strips * 8) * kernels::kKvGroup + byte / 4
                                      : reg % 32 / 2 * 4 + byte % 4;
            if (slots_ >> slot & 1) mask |= ((1u << bits) - 1) << i * bits;
        }
        return static_cast<uint8_t>(mask);
    }

    // Returns the slot of a scale or, after the scales, of a minimum.
    uint32_t scale_slot(uint32_t at) const {
        const uint32_t n = f_.vector_scale ? 1 : layout_.strips, i = at / 2 % (n * kPageTokens);
        if (side_ == Side::v) return i % kPageTokens;
        return i / (kernels::kKvGroup * n) * kernels::kKvGroup + i % kernels::kKvGroup;
    }

    const KvFormat &f_;
    Side side_;
    uint64_t slots_;
    uint32_t d_;
    kernels::KvLayout layout_;
    size_t key_ = kNone;
    uint8_t mask_[kLine] = {};
};

void write_heads(SnapshotOutput &out, OwnPage page, const uint8_t *data, size_t head_bytes,
                 uint32_t n_heads) {
    constexpr size_t kPiece = 4096;
    uint8_t piece[kPiece];
    size_t held = 0;
    for (uint32_t head = 0; head < n_heads; head++)
        for (size_t at = 0; at < head_bytes; at += kLine) {
            page.copy_line(piece + held, data + head * head_bytes, at);
            held += kLine;
            if (held < kPiece) continue;
            out.bytes(piece, held);
            held = 0;
        }
    out.bytes(piece, held);
}

} // namespace

uint64_t held_slots(const Track &track, const Block &block) {
    uint64_t slots = 0;
    for (size_t i = 0; i < track.n_pages; i++) {
        const PageRef &page = track.pages[i];
        if (page.block == &block) slots |= (~uint64_t{0} >> (kPageTokens - page.n)) << page.first;
    }
    return slots;
}

void write_slots(SnapshotOutput &out, const Config &config, const Layer &layer, const Block &block,
                 uint64_t slots) {
    const BlockShape &shape = layer.shape[block.form];
    for (uint32_t t = 0; t < kPageTokens; t++) out.i32(slots >> t & 1 ? block.positions[t] : 0);
    write_heads(out, OwnPage(*shape.k, Side::k, config.head_dim_k, slots), block.data(),
                shape.k_head, config.n_kv_heads);
    if (shape.v_head)
        write_heads(out, OwnPage(*shape.v, Side::v, config.head_dim_v, slots),
                    block.data() + shape.v_offset, shape.v_head, config.n_kv_heads);
}

} // namespace ggufx::kv
