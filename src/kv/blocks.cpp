// Blocks of 64 tokens: layout, allocation from the host's memory, release. New blocks are zeroed,
// so that slots without a token hold finite values.
// SPDX-License-Identifier: MIT
#include "base/checked.hpp"
#include "kv/state.hpp"

#include <string.h>

namespace ggufx::kv {

namespace {

// Returns the bytes of one head's page, or 0 if they are too many.
size_t page_bytes(const TypeOps &type, Side side, uint32_t n) {
    if (type.is_float()) {
        const uint64_t padded = (uint64_t(n) + 15) / 16 * 16;
        const uint64_t bytes =
            (side == Side::k ? uint64_t(n) : padded) * kPageTokens * type.format().float_bytes;
        return bytes <= UINT32_MAX ? static_cast<size_t>(bytes) : 0;
    }
    const uint32_t padded = padded_values(type, n);
    return side == Side::k ? kernels::k_layout(type.format(), padded).bytes
                           : kernels::v_layout(type.format(), padded).bytes;
}

} // namespace

// Also bounds the floats of one token (K, V and query), so that counts of floats fit size_t.
BlockShape block_shape(const Config &c, const TypeOps &k, const TypeOps &v, bool rotation) {
    BlockShape shape;
    shape.k = &k;
    shape.v = &v;
    shape.k_head = page_bytes(k, Side::k, c.head_dim_k);
    shape.v_head = c.v_in_k ? 0 : page_bytes(v, Side::v, c.head_dim_v);
    const uint64_t widest = c.head_dim_k > c.head_dim_v ? c.head_dim_k : c.head_dim_v;
    uint64_t k_bytes = 0, v_bytes = 0, all = 0, errors = 0, floats = 0;
    size_t bytes = 0, unused = 0;
    const bool ok = shape.k_head && (shape.v_head || c.v_in_k) &&
                    checked::mul(&k_bytes, shape.k_head, c.n_kv_heads) &&
                    checked::mul(&v_bytes, shape.v_head, c.n_kv_heads) &&
                    checked::mul(&errors, sizeof(HeadErrors), c.n_kv_heads) &&
                    checked::add(&all, k_bytes, v_bytes) &&
                    checked::add(&all, all, errors + sizeof(Block) + kPageAlign) &&
                    checked::mul(&floats, uint64_t(c.n_q_heads) * sizeof(float), widest) &&
                    all <= SIZE_MAX / 2 && floats <= SIZE_MAX / 2 &&
                    checked::to_size(&bytes, all) && checked::to_size(&unused, floats);
    if (!ok)
        fail(Status::argument, {},
             "a page of 64 tokens of %u heads of %u and %u values is too large", c.n_kv_heads,
             c.head_dim_k, c.head_dim_v);
    shape.v_offset = static_cast<size_t>(k_bytes); // a multiple of 64, as is v_head
    shape.errors = static_cast<size_t>(k_bytes + v_bytes);
    size_t end = shape.errors + static_cast<size_t>(errors);
    if (rotation) {
        shape.rotation = (end + kPageAlign - 1) / kPageAlign * kPageAlign;
        end = shape.rotation + rotation_floats(c.head_dim_k) * sizeof(float);
    }
    end += sizeof(Block);
    shape.bytes = (end + kPageAlign - 1) / kPageAlign * kPageAlign;
    return shape;
}

Block *take_block(const Host &host, Layer &layer, Form form) {
    const size_t bytes = layer.shape[form].bytes;
    auto *block = static_cast<Block *>(host.alloc(bytes, kPageAlign));
    if (!block) return nullptr;
    memset(static_cast<void *>(block), 0, bytes);
    block->form = form;
    layer.n_blocks[form]++;
    return block;
}

void free_block(const Host &host, Layer &layer, Block *block) {
    layer.n_blocks[block->form]--;
    host.free(block, layer.shape[block->form].bytes, kPageAlign);
}

void push_spare(Track &track, Block *block) {
    block->n_owners = 0;
    block->next = track.spare[block->form];
    track.spare[block->form] = block;
    track.n_spare[block->form]++;
}

Block *pop_spare(Track &track, Form form) {
    Block *block = track.spare[form];
    track.spare[form] = block->next;
    track.n_spare[form]--;
    block->next = nullptr;
    return block;
}

void release_block(const Host &host, Layer &layer, Block *block, Track *spares) {
    if (--block->n_owners) return;
    if (spares)
        push_spare(*spares, block);
    else
        free_block(host, layer, block);
}

void release_page(const Host &host, Layer &layer, const PageRef &page, Track *spares) {
    release_block(host, layer, page.block, spares);
    if (page.plain) release_block(host, layer, page.plain, spares);
}

void drop_spares(const Host &host, Layer &layer, Track &track, Form form, size_t keep) {
    while (track.n_spare[form] > keep) free_block(host, layer, pop_spare(track, form));
}

} // namespace ggufx::kv
