// Rebuild: rounds of tasks over heads of target blocks. A task reads slots of old blocks and stores
// or encodes them.
// SPDX-License-Identifier: MIT
#include "kv/rebuild.hpp"

#include "base/bytes.hpp"
#include "base/fpenv.hpp"
#include "base/half.hpp"

#include <string.h>

namespace ggufx::kv {

namespace {

constexpr uint64_t kDecodeNs = 4; // per value, approximate
constexpr size_t kMostStages = 16;

const TypeOps &type_of(const BlockShape &shape, Side side) {
    return side == Side::k ? *shape.k : *shape.v;
}

} // namespace

Status check_rebuild(const Config &c, const char *call, Failure *failure) {
    const uint32_t widest = c.head_dim_k > c.head_dim_v ? c.head_dim_k : c.head_dim_v;
    if (widest <= kMaxCodes) return Status::ok;
    return set_failure(failure, Status::unsupported, {}, "%s: heads of %u values, the limit is %u",
                       call, widest, kMaxCodes);
}

Rebuild::Rebuild(RebuildRun &run, const Layer &old, const Layer &next, const Target *targets,
                 size_t n)
    : run_(run), old_(old), next_(next), targets_(targets), n_targets_(n) {}

Rebuild::~Rebuild() {
    run_.state.host->free(stages_, n_stages_ * next_.shape[kPlain].bytes, kPageAlign);
}

Scratch Rebuild::worker_scratch(uint32_t worker) const {
    const Config &c = run_.state.config;
    return Scratch(run_.scratch + worker * run_.scratch_bytes,
                   c.head_dim_k > c.head_dim_v ? c.head_dim_k : c.head_dim_v);
}

// Reads one slot of one head for the new stream. Values of encoded pages that exceed the new type's
// range by their quantization error are clamped. Values of float pages that exceed it are refused.
void Rebuild::fetch(const Target &target, uint32_t slot, Side side, uint32_t head,
                    const TypeOps &to, float *out, bool *refused) const {
    const Piece *piece = target.pieces;
    while (slot >= uint32_t(piece->to) + piece->n) piece++;
    const uint32_t n = run_.state.head_dim(side), from = slot - piece->to + piece->slot;
    const HeadCalibration centring =
        calibration_head(run_.state.config, old_, target.centring_from, head);
    read_part(run_.state, {old_, centring, *piece->from, from, head, side}, 0, n, out);
    const bool exact =
        type_of(old_.shape[piece->from->form], side).is_float() && (target.used >> slot & 1);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t bits = f32_bits(out[i]), magnitude = bits & 0x7fffffffu;
        if (magnitude <= to.limit_bits) continue;
        *refused |= exact;
        out[i] = f32_from_bits((bits & 0x80000000u) | to.limit_bits);
    }
}

// Whether a stream can be copied: its type and its slots stay the same. F32 pages that become sinks
// of BF16 cannot: their values may be too large.
bool Rebuild::copies(const Target &target, Side side) const {
    const Piece &piece = target.pieces[0];
    const TypeOps &type = type_of(next_.shape[target.block->form], side);
    return target.n_pieces == 1 && piece.slot == piece.to &&
           &type_of(old_.shape[piece.from->form], side) == &type &&
           type.limit_bits <= type_of(next_.shape[kEncoded], side).limit_bits;
}

// Keys that are copied keep the origin they were encoded with.
void Rebuild::place(const Target &target) const {
    Block &block = *target.block;
    if (block.form != kEncoded) return;
    const bool same = copies(target, Side::k);
    set_origin(run_.state, next_, block,
               same ? target.pieces[0].from->origin : block.positions[target.first()]);
}

void Rebuild::copy_stream(const Target &target, Side side, uint32_t head) const {
    const Block &from = *target.pieces[0].from;
    Block &to = *target.block;
    const BlockShape &old = old_.shape[from.form], &next = next_.shape[to.form];
    memcpy(page_of(to, next, side, head), page_of(from, old, side, head),
           side == Side::k ? next.k_head : next.v_head);
    const auto &lost = reinterpret_cast<const HeadErrors *>(from.data() + old.errors)[head];
    auto &kept = reinterpret_cast<HeadErrors *>(to.data() + next.errors)[head];
    if (side == Side::k)
        kept.k_error = lost.k_error, kept.k_square = lost.k_square;
    else
        kept.v_error = lost.v_error, kept.v_square = lost.v_square;
}

// Fills a stream with floats: in the target, or in the plain block that the target is encoded from.
void Rebuild::fill_stream(const Target &target, Block *stage, Side side, uint32_t head) {
    float x[kMaxCodes]; // check_rebuild() limits head_dim
    Block &to = stage ? *stage : *target.block;
    const BlockShape &shape = next_.shape[to.form];
    const TypeOps &type = type_of(shape, side), &stream = type_of(next_.shape[kEncoded], side);
    const uint32_t n = run_.state.head_dim(side);
    bool refused = false;
    for (uint32_t slot = target.first(); slot < target.end(); slot++) {
        fetch(target, slot, side, head, stream, x, &refused);
        store_source(page_of(to, shape, side, head), type.kind, side, n, slot, x, SourceType::f32,
                     0);
    }
    if (refused) refused_.store(true, Order::relaxed);
}

void Rebuild::fill_unit(const Target &target, Block *stage, uint32_t head, const Scratch &scratch) {
    const Encoder encoder = {&run_.state, &next_, target.centring};
    const uint32_t first = target.first(), end = target.end();
    for (const Side side : {Side::k, Side::v}) {
        if (side == Side::v && run_.state.config.v_in_k) continue;
        if (copies(target, side)) {
            copy_stream(target, side, head);
            continue;
        }
        const bool encoded = target.block->form == kEncoded;
        fill_stream(target, encoded ? stage : nullptr, side, head);
        if (encoded) encoder.encode_side(*target.block, *stage, first, end, side, head, scratch);
    }
}

void Rebuild::task(void *ctx, uint32_t index, uint32_t worker) {
    Rebuild &r = *static_cast<Rebuild *>(ctx);
    const uint32_t heads = r.run_.state.config.n_kv_heads;
    const size_t unit = r.first_unit_ + index, target = unit / heads;
    const size_t stage = r.n_stages_ ? target % r.n_stages_ : 0;
    r.fill_unit(r.targets_[target],
                reinterpret_cast<Block *>(r.stages_ + stage * r.next_.shape[kPlain].bytes),
                static_cast<uint32_t>(unit % heads), r.worker_scratch(worker));
}

// Sets the units (heads of targets) of a round, and allocates a plain block for each target that a
// round can touch.
Status Rebuild::take_stages(uint64_t unit_ns, size_t *units) {
    const Host &host = *run_.state.host;
    const size_t heads = run_.state.config.n_kv_heads;
    const uint64_t want = kRoundNs * host.max_workers() / unit_ns + 1;
    const uint64_t blocks = want / heads + 2;
    const size_t n = static_cast<size_t>(blocks < kMostStages ? blocks : kMostStages);
    const size_t most = (n - 1) * heads; // a round may begin inside a target
    *units = want < most ? static_cast<size_t>(want) : most;
    if (!next_.encodes) return Status::ok;
    const size_t bytes = next_.shape[kPlain].bytes;
    stages_ =
        n <= SIZE_MAX / bytes ? static_cast<uint8_t *>(host.alloc(n * bytes, kPageAlign)) : nullptr;
    if (!stages_)
        return set_failure(run_.failure, Status::memory, {}, "%s: no memory for %zu new pages",
                           run_.call, n);
    memset(stages_, 0, n * bytes);
    n_stages_ = n;
    return Status::ok;
}

Status Rebuild::fill() {
    const Config &c = run_.state.config;
    const uint64_t values = uint64_t(c.head_dim_k) + c.head_dim_v;
    const uint64_t unit_ns = encode_cost(run_.state, next_) * kPageTokens / c.n_kv_heads +
                             values * kPageTokens * kDecodeNs;
    size_t step = 0;
    const Status status = take_stages(unit_ns, &step);
    if (status != Status::ok) return status;
    for (size_t i = 0; i < n_targets_; i++) place(targets_[i]);
    const size_t n_units = n_targets_ * c.n_kv_heads;
    for (first_unit_ = 0; first_unit_ < n_units; first_unit_ += step) {
        if (run_.progress.cancelled(run_.done, run_.total))
            return set_failure(run_.failure, Status::cancelled, {},
                               "the progress callback cancelled %s", run_.call);
        const size_t left = n_units - first_unit_, n = left < step ? left : step;
        const Status ran = run_.state.host->parallel_for(static_cast<uint32_t>(n), task, this);
        if (ran != Status::ok)
            return set_failure(run_.failure, ran, {}, "%s: the executor did not run its tasks",
                               run_.call);
        if (refused_.load(Order::relaxed))
            return set_failure(run_.failure, Status::value, {},
                               "%s: a value is too large for its new KV type", run_.call);
        run_.done += n;
    }
    return Status::ok;
}

namespace {

struct FirstTarget {
    const Rebuild *rebuild;
    const Target *target;
};

} // namespace

void Rebuild::get_value(const void *ctx, Side side, uint32_t slot, uint32_t head, float *out) {
    const FirstTarget &first = *static_cast<const FirstTarget *>(ctx);
    const Rebuild &r = *first.rebuild;
    const TypeOps &half = *type_ops(id::F16);
    bool refused = false; // fill() reports it
    r.fetch(*first.target, slot, side, head, half, out, &refused);
    const uint32_t n = r.run_.state.head_dim(side);
    for (uint32_t i = 0; i < n; i++) out[i] = f16_to_f32(f32_to_f16(out[i]));
}

void Rebuild::learn(const Layer &probe, float *calibration, const Target &target) const {
    const CanonicalFp fp;
    const FirstTarget first = {this, &target};
    place(target);
    learn_calibration(run_.state, probe, calibration,
                      {&first, get_value, target.first(), target.end(), target.block},
                      worker_scratch(0));
}

} // namespace ggufx::kv
