// Deep check: dequantizes all tensor data to find NaN and infinities. A broken scale shows in every
// value of its block. Scalar decoders on the host's executor, 16,384 values per task.
// SPDX-License-Identifier: MIT
#include "base/bytes.hpp"
#include "formats/format.hpp"
#include "gguf/check.hpp"

#include <inttypes.h>

namespace ggufx::gguf {

namespace {

constexpr uint32_t kF64 = 28, kMxfp4 = 39; // types with checks on raw bytes
constexpr size_t kTaskValues = 16384;      // 64 KiB of floats per worker
constexpr uint32_t kTasks = 32;            // between two polls: below 1 ms on one core

struct Count {
    uint64_t nan = 0, infinite = 0, reserved = 0;
    uint64_t first = UINT64_MAX; // index of the first such value

    void note(uint64_t *kind, uint64_t value) {
        ++*kind;
        if (value < first) first = value;
    }
    void add(const Count &o) {
        nan += o.nan;
        infinite += o.infinite;
        reserved += o.reserved;
        if (o.first < first) first = o.first;
    }
    bool clean() const { return nan + infinite + reserved == 0; }
};

struct Batch {
    const fmt::TypeInfo *type;
    const uint8_t *blocks;
    uint64_t first_block, n_blocks; // blocks of this batch
    uint64_t per_task;              // blocks per task
    uint8_t *scratch;
    Count counts[kTasks];
};

void count_f64(Count &count, const uint8_t *p, uint64_t first, uint64_t n) {
    constexpr uint64_t kExponent = 0x7ffull << 52;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t u = load_u64le(p + 8 * i) & INT64_MAX;
        if (u > kExponent) count.note(&count.nan, first + i);
        if (u == kExponent) count.note(&count.infinite, first + i);
    }
}

void count_f32(Count &count, const float *x, uint64_t first, uint64_t n) {
    constexpr uint32_t kExponent = 0xffu << 23;
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t u = f32_bits(x[i]) & INT32_MAX;
        if (u < kExponent) continue;
        count.note(u > kExponent ? &count.nan : &count.infinite, first + i);
    }
}

void run_task(void *ctx, uint32_t index, uint32_t worker) {
    auto &batch = *static_cast<Batch *>(ctx);
    const fmt::TypeInfo &type = *batch.type;
    const uint64_t at = index * batch.per_task, left = batch.n_blocks - at;
    const uint64_t n = left < batch.per_task ? left : batch.per_task;
    const uint64_t block = batch.first_block + at;
    const uint8_t *p = batch.blocks + block * type.block_bytes;
    Count count;
    if (type.id == kF64) {
        count_f64(count, p, block, n);
    } else {
        auto *x = reinterpret_cast<float *>(batch.scratch + worker * kTaskValues * sizeof(float));
        type.decode(x, p, static_cast<size_t>(n));
        count_f32(count, x, block * type.block_values, n * type.block_values);
    }
    // E8M0 scale 255 is NaN in the standard; ggml's decoder makes it 2^127.
    if (type.id == kMxfp4)
        for (uint64_t i = 0; i < n; i++)
            if (p[i * type.block_bytes] == 255)
                count.note(&count.reserved, (block + i) * type.block_values);
    batch.counts[index] = count;
}

} // namespace

void Checker::check_data() {
    for (size_t i = 0; i < file_.n_tensors(); i++) {
        const Tensor t = file_.tensor(i);
        if (t.data) total_ += t.n_bytes;
    }
    const Buffer scratch(file_.host(),
                         size_t{file_.host()->max_workers()} * kTaskValues * sizeof(float));
    for (size_t i = 0; i < file_.n_tensors(); i++) check_tensor_data(i, scratch.data());
}

void Checker::check_tensor_data(size_t index, uint8_t *scratch) {
    const Tensor t = file_.tensor(index);
    const fmt::TypeInfo *type = fmt::type_info(t.type);
    if (!t.data || !type || type->kind == fmt::Kind::kInteger) return;
    const uint64_t n_blocks = t.n_bytes / type->block_bytes;
    Batch batch{};
    batch.type = type;
    batch.blocks = t.data;
    batch.scratch = scratch;
    batch.per_task = kTaskValues / type->block_values;
    Count count;
    for (uint64_t at = 0; at < n_blocks;) {
        const uint64_t most = batch.per_task * kTasks, left = n_blocks - at;
        batch.first_block = at;
        batch.n_blocks = left < most ? left : most;
        const auto tasks =
            static_cast<uint32_t>((batch.n_blocks + batch.per_task - 1) / batch.per_task);
        const Status status = file_.host()->parallel_for(tasks, run_task, &batch);
        if (status != Status::ok)
            fail(status, {}, "the executor failed with status %d", static_cast<int>(status));
        for (uint32_t i = 0; i < tasks; i++) count.add(batch.counts[i]);
        at += batch.n_blocks;
        step(batch.n_blocks * type->block_bytes);
    }
    if (count.clean()) return;
    const uint64_t block = count.first / type->block_values;
    report(LogLevel::error, Status::value, t.file_offset + block * type->block_bytes, index, t.name,
           "%" PRIu64 " NaN, %" PRIu64 " infinite values and %" PRIu64
           " reserved scales; the first is value %" PRIu64 " (row %" PRIu64 ")",
           count.nan, count.infinite, count.reserved, count.first, count.first / t.ne[0]);
}

} // namespace ggufx::gguf
