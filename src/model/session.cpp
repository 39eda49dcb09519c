// A session's life, and what changes no logits: cuts, copies.
// SPDX-License-Identifier: MIT
#include "model/session.hpp"

#include <inttypes.h>
#include <string.h>

namespace ggufx::model {

namespace {

constexpr uint32_t kF16 = 2; // kv::Type
constexpr uint32_t kMostSequences = 65536;
constexpr uint32_t kCheckpoints = 8, kMostCheckpoints = 4096, kCheckpointTokens = 64;

uint32_t context_of(const Shape &shape, const SessionOptions &options) {
    const uint32_t trained = shape.n_context;
    const uint32_t n = options.n_context           ? options.n_context
                       : trained < kDefaultContext ? trained
                                                   : kDefaultContext;
    if (n > INT32_MAX) {
        fail(Status::argument, {}, "n_context is %" PRIu32 ", the limit is %" PRId32, n, INT32_MAX);
    }
    if (shape.n_positions && n > shape.n_positions)
        fail(Status::argument, {},
             "n_context is %" PRIu32 ", the model has embeddings of %" PRIu32 " positions", n,
             shape.n_positions);
    return n;
}

uint32_t batch_of(const SessionOptions &options, uint32_t n_context) {
    const uint32_t n = options.n_batch ? options.n_batch : 512;
    if (n > INT32_MAX) {
        fail(Status::argument, {}, "n_batch is %" PRIu32 ", the limit is %" PRId32, n, INT32_MAX);
    }
    return n < n_context ? n : n_context;
}

// States are kept at most once per page of tokens unless somebody asks for more.
uint32_t checkpoints_of(const SessionOptions &options, uint32_t n_context) {
    const uint32_t n = options.n_checkpoints, pages = n_context / kCheckpointTokens;
    if (n == kNoCheckpoints) return 0;
    if (n > kMostCheckpoints)
        fail(Status::argument, {}, "n_checkpoints is %" PRIu32 ", the limit is %" PRIu32, n,
             kMostCheckpoints);
    return n ? n : pages < kCheckpoints ? pages : kCheckpoints;
}

uint32_t sequences_of(const SessionOptions &options) {
    const uint32_t n = options.n_sequences;
    if (n > kMostSequences)
        fail(Status::argument, {}, "n_sequences is %" PRIu32 ", the limit is %" PRIu32, n,
             kMostSequences);
    return n ? n : 1;
}

} // namespace

SessionPlan::SessionPlan(const Shape &shape, const SessionOptions &options) {
    caches.n_context = context_of(shape, options);
    caches.type_k = options.type_k ? options.type_k : kF16;
    caches.type_v = options.type_v ? options.type_v : kF16;
    caches.n_checkpoints = checkpoints_of(options, caches.n_context);
    caches.n_sequences = sequences_of(options);
    caches.n_batch = n_batch = batch_of(options, caches.n_context);
}

namespace {

CacheOptions with_identity(CacheOptions options, uint64_t model) {
    options.model = model;
    return options;
}

} // namespace

uint64_t Session::sequence_bytes(uint32_t n_context) {
    return sizeof(Sequence) + sizeof(BatchItem) +
           n_context * uint64_t{sizeof(int32_t) + sizeof(uint8_t)};
}

SessionBytes::SessionBytes(const Host &host, const Program &program, const SessionPlan &plan)
    : caches(Caches::estimate(program, host, plan.caches)),
      rest(scratch_bytes(program, plan.n_batch) +
           2 * program.shape.n_vocab * uint64_t{sizeof(float)} +
           program.rotations.size() * sizeof(const double *) +
           BatchRows::bytes(plan.n_batch, plan.caches.n_sequences) +
           plan.caches.n_sequences * Session::sequence_bytes(plan.caches.n_context)) {}

static const Model &that_predicts(const Model &model) {
    const Program &program = model.program();
    if (program.predicts()) return model;
    fail(Status::unsupported, {}, "this %s model predicts no token: it makes embeddings",
         program.architecture);
}

Session::Session(const Model &model, const SessionOptions &options)
    : Session(that_predicts(model), SessionPlan(model.shape(), options), options.matmul) {}

Session::Session(const Model &model, const SessionPlan &plan, const matmul::Options &matmul)
    : model_(model), matmul_(matmul), n_context_(plan.caches.n_context), n_batch_(plan.n_batch),
      caches_(model.program(), model.host(), model.engine().kernels(),
              with_identity(plan.caches, model.identity())),
      scratch_(model.host(), scratch_bytes(model.program(), n_batch_)),
      logits_(static_cast<size_t>(model.shape().n_vocab), HostAllocator<float>(model.host().get())),
      next_logits_(logits_.size(), HostAllocator<float>(model.host().get())),
      frequencies_(HostAllocator<const double *>(model.host().get())),
      rows_(model.host().get(), n_batch_, plan.caches.n_sequences),
      sequences_(plan.caches.n_sequences, HostAllocator<Sequence>(model.host().get())),
      ids_(size_t{n_context_} * sequences_.size(), HostAllocator<int32_t>(model.host().get())),
      modes_(ids_.size(), HostAllocator<uint8_t>(model.host().get())),
      items_(sequences_.size(), HostAllocator<BatchItem>(model.host().get())) {
    const Program &program = model.program();
    frequencies_.reserve(program.rotations.size());
    for (const Rotation &rotation : program.rotations)
        frequencies_.push_back(program.frequencies.data() + rotation.start(n_context_));
    for (size_t i = 0; i < sequences_.size(); i++)
        sequences_[i] = {ids_.data() + i * n_context_, modes_.data() + i * n_context_, 0, 0, 0};
}

Session::~Session() = default;

Runner Session::runner(const matmul::Options &options) {
    const Runner::Memory memory = {reinterpret_cast<float *>(scratch_.data()), n_batch_,
                                   frequencies_.data()};
    return {model_.program(), model_.engine(), caches_, memory, options};
}

Status Session::logits(float *out, Failure *failure) const {
    if (!has_logits_) {
        return set_failure(failure, Status::state, {}, "no token was decoded since the last cut");
    }
    memcpy(out, logits_.data(), logits_.size() * sizeof(float));
    return Status::ok;
}

Status Session::truncate(uint32_t index, uint64_t n_tokens, Failure *failure) {
    Sequence &sequence = sequences_[index];
    if (n_tokens > sequence.length) {
        return set_failure(failure, Status::argument, {.index = index},
                           "cannot keep %" PRIu64 " tokens of %" PRIu64, n_tokens, sequence.length);
    }
    const uint64_t n_held = n_tokens < sequence.held ? n_tokens : sequence.held;
    sequence.held = caches_.nearest(index, n_held);
    caches_.truncate(index, sequence.held);
    sequence.length = n_tokens;
    n_changes_ += index == 0;
    if (index == 0) has_logits_ = false;
    return Status::ok;
}

// What the caches cannot share is computed again by the next call.
Status Session::copy(uint32_t from, uint32_t to, uint64_t n_tokens, Failure *failure) {
    const Sequence &source = sequences_[from];
    Sequence &sequence = sequences_[to];
    if (n_tokens > source.length)
        return set_failure(failure, Status::argument, {.index = from},
                           "cannot copy %" PRIu64 " tokens of %" PRIu64 " of sequence %" PRIu32,
                           n_tokens, source.length, from);
    if (from == to || sequence.length > 0)
        return set_failure(failure, Status::state, {.index = to},
                           "cannot copy to sequence %" PRIu32 ": it must be another one and empty",
                           to);
    const uint64_t held = caches_.nearest(from, n_tokens < source.held ? n_tokens : source.held);
    const Status status = held ? caches_.copy(from, to, held, failure) : Status::ok;
    if (status != Status::ok) return status;
    memcpy(sequence.ids, source.ids, n_tokens * sizeof *source.ids);
    memcpy(sequence.modes, source.modes, n_tokens);
    sequence.length = n_tokens;
    sequence.held = held;
    n_changes_ += to == 0;
    return status;
}

} // namespace ggufx::model
