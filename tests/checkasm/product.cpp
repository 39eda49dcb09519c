// SPDX-License-Identifier: MIT
#include "product.hpp"

#include "base/fpenv.hpp"

#include <algorithm>
#include <string.h>
#include <vector>

namespace testdata {

using namespace ggufx;
using namespace ggufx::kernels;

namespace {

// n_bytes at a 64-byte boundary, filled with a nonzero byte.
class Aligned {
public:
    explicit Aligned(size_t n_bytes) : memory_(n_bytes + 64, 0x5a) {}
    uint8_t *data() {
        const auto address = reinterpret_cast<uintptr_t>(memory_.data());
        return memory_.data() + (64 - address % 64) % 64;
    }

private:
    std::vector<uint8_t> memory_;
};

// Runs a row-wise product as one task, or as two that share kStreams streams and one for the rows
// that are left over.
template <class Run> void run_tasks(Out y, const Product &p, const Run &run) {
    const Rows &w = p.w;
    const size_t n_each = w.n / kStreams;
    if (!p.in_streams || n_each == 0) return run(y, w);
    const auto part = [&](size_t first, size_t n, size_t far) {
        run({y.y + first, y.ld}, {w.data + first * w.stride, w.stride, n, w.k, w.near, far});
    };
    const size_t middle = (n_each + 1) / 2;
    part(middle, kStreams * (n_each - middle), n_each);
    part(0, kStreams * middle, n_each);
    part(kStreams * n_each, w.n % kStreams, 0);
}

void matvec(Out y, const Matvec &kernel, const Product &p) {
    const bool precise = p.mode == Mode::precise;
    const size_t column_bytes = precise ? act_precise_bytes(p.w.k) : act_bytes(p.w.k);
    Aligned memory(column_bytes * p.n);
    Act act[kRowColumns];
    for (size_t c = 0; c < p.n; c++) {
        uint8_t *at = memory.data() + c * column_bytes;
        act[c] = act_at(at, p.w.k);
        kernel.pack(act[c], p.x + c * p.ldx);
    }
    run_tasks(y, p, [&](Out to, const Rows &w) { kernel.run(to, w, act, p.n); });
}

void matvec_f32(Out y, const MatvecF32 &kernel, const Product &p) {
    const uint32_t group = kernel.wants_sums;
    const size_t n_sums = group ? p.w.k / group : 0;
    std::vector<float> sums(n_sums * p.n);
    ActF32 act[kRowColumns];
    for (size_t c = 0; c < p.n; c++) {
        act[c] = {p.x + c * p.ldx, nullptr, nullptr, p.w.k};
        if (!group) continue;
        float *s = sums.data() + c * n_sums;
        kernel.sum(s, act[c].x, p.w.k, group);
        (group == 32 ? act[c].sum32 : act[c].sum16) = s;
    }
    run_tasks(y, p, [&](Out to, const Rows &w) { kernel.run(to, w, act, p.n); });
}

void gemm(Out y, const Gemm &kernel, const Product &p) {
    Aligned packed(kernel.bytes(p.w.k, p.n)), scratch(p.scratch_bytes);
    GemmAct act = {packed.data(), p.x, p.ldx, p.n, p.w.k};
    // Packs ranges in any order, from separate columns, as tasks do, also for experts.
    const size_t middle = p.n / 2;
    kernel.pack(packed.data(), act, middle, p.n - middle);
    for (size_t c = 0; c < middle; c++) {
        const GemmAct one = {packed.data(), p.x + c * p.ldx, 0, p.n, p.w.k};
        kernel.pack(packed.data(), one, c, 1);
    }
    kernel.run(y, p.w, act, {scratch.data(), p.scratch_bytes});
}

const Gemm *find_gemm(const Kernels &kernels, uint32_t type, Mode mode) {
    if (mode == Mode::precise) return find(kernels, &Layer::gemm_precise, type);
    return find(kernels, mode == Mode::int8 ? &Layer::gemm : &Layer::gemm_f32, type);
}

// Sums of a step that are int32: the first half is stored in s, the second half in s16.
int32_t wide_sum(const Act &act, size_t step, size_t at) {
    constexpr size_t half = kActPad / 32;
    const void *from = act.s + half * step + at;
    if (at >= half) from = act.s16 + 2 * (half * step + at - half);
    int32_t sum;
    memcpy(&sum, from, sizeof sum);
    return sum;
}

} // namespace

const Matvec *find_matvec(const Kernels &kernels, uint32_t type, Mode mode) {
    return find(kernels, mode == Mode::int8 ? &Layer::matvec : &Layer::matvec_precise, type);
}

PackedOrder::PackedOrder() {
    for (size_t b = 0; b < kBlocks; b++) block_[b] = b;
    for (size_t g = 0; g < kGroups; g++) group_[g] = g;
}

PackedOrder::PackedOrder(const Matvec &kernel) : PackedOrder() {
    alignas(64) uint8_t memory[act_bytes(kActPad)];
    const Act act = act_at(memory, kActPad);
    const CanonicalFp canonical;
    for (size_t g = 0; g < kGroups; g++) {
        float x[kActPad] = {};
        x[16 * g] = 1.0f; // the only nonzero code: 127
        kernel.pack(act, x);
        for (size_t b = 0; b < kBlocks; b++)
            if (act.d[b] != 0.0f) block_[g / 2] = b;
        const int16_t *const sum = std::find(act.s16, act.s16 + kGroups, 127);
        if (sum != act.s16 + kGroups) {
            group_[g] = static_cast<size_t>(sum - act.s16);
            continue;
        }
        for (size_t at = 0; at < kGroups; at++) {
            const int32_t found = wide_sum(act, 0, at);
            if (found == 0) continue;
            group_[g] = at;
            factor_ = found / 127;
        }
    }
}

float PackedOrder::d(const Act &act, size_t block) const {
    return act.d[block / kBlocks * kBlocks + block_[block % kBlocks]];
}

float PackedOrder::s(const Act &act, size_t block) const {
    return act.s[block / kBlocks * kBlocks + block_[block % kBlocks]];
}

int32_t PackedOrder::sum(const Act &act, size_t group) const {
    const size_t step = group / kGroups, at = group_[group % kGroups];
    return factor_ == 1 ? act.s16[kGroups * step + at] : wide_sum(act, step, at);
}

bool same_kernel(const Kernels &a, const Kernels &b, uint32_t type, size_t n, Mode mode) {
    if (n >= 4) return find_gemm(a, type, mode) == find_gemm(b, type, mode);
    if (mode != Mode::f32) return find_matvec(a, type, mode) == find_matvec(b, type, mode);
    return find(a, &Layer::matvec_f32, type) == find(b, &Layer::matvec_f32, type);
}

bool has_product(const Kernels &kernels, uint32_t type, size_t n, Mode mode) {
    if (n >= 4) return find_gemm(kernels, type, mode) != nullptr;
    return mode == Mode::f32 ? find(kernels, &Layer::matvec_f32, type) != nullptr
                             : find_matvec(kernels, type, mode) != nullptr;
}

bool multiply(Out y, const Kernels &kernels, const Product &p) {
    const CanonicalFp canonical;
    if (!has_product(kernels, p.type, p.defined_as(), p.mode)) return false;
    if (p.defined_as() >= 4) {
        gemm(y, *find_gemm(kernels, p.type, p.mode), p);
    } else if (p.mode == Mode::f32) {
        matvec_f32(y, *find(kernels, &Layer::matvec_f32, p.type), p);
    } else {
        matvec(y, *find_matvec(kernels, p.type, p.mode), p);
    }
    return true;
}

} // namespace testdata
