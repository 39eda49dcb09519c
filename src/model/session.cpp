// Decoding in batches, all or nothing: the caches go back to where the call began and the new
// logits are dropped when anything fails on the way. Tokens that a cut left out of the caches are
// computed again as the first part of the call.
// SPDX-License-Identifier: MIT
#include "model/session.hpp"

#include <inttypes.h>
#include <string.h>

namespace ggufx::model {

namespace {

constexpr uint32_t kF16 = 2; // kv::Type
constexpr uint32_t kSequence = 0;
constexpr uint32_t kCheckpoints = 8, kMostCheckpoints = 4096, kCheckpointTokens = 64;

uint32_t context_of(const Shape &shape, const SessionOptions &options) {
    const uint32_t trained = shape.n_context;
    const uint32_t n = options.n_context           ? options.n_context
                       : trained < kDefaultContext ? trained
                                                   : kDefaultContext;
    if (n > INT32_MAX) {
        fail(Status::argument, {}, "n_context is %" PRIu32 ", the limit is %" PRId32, n, INT32_MAX);
    }
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

bool has_nan(const float *x, size_t n) {
    bool found = false;
    for (size_t i = 0; i < n; i++) found |= x[i] != x[i];
    return found;
}

} // namespace

// Reports tokens done to the caller: between layers, and from inside the matrix products so that
// large ones are interruptible too. A layer counts for its share of the batch.
class Session::Poll final : public AttentionWatcher, public LayerWatcher {
public:
    Poll(const DecodeOptions &options, uint64_t length, uint64_t total, uint32_t n_layers)
        : user_(options.progress), hook_(options.attention), length_(length), total_(total),
          n_layers_(n_layers) {}

    Progress progress() { return user_.report ? Progress{this, report} : Progress{}; }
    void begin_batch(uint64_t done, uint64_t n) {
        start_ = done_ = done;
        n_ = n;
    }
    bool cancelled() { return user_.cancelled(done_, total_); }
    Status layer_done(uint32_t layer, Failure *failure) override {
        done_ = start_ + n_ * (layer + 1) / (n_layers_ + uint64_t{1});
        return cancelled() ? stop(failure) : Status::ok;
    }
    Status attention_done(uint32_t layer, size_t n, const float *q, const float *k, const float *v,
                          const float *out, Failure *failure) override {
        const bool stops =
            hook_.layer && hook_.layer(hook_.user, layer, length_ + start_, n, q, k, v, out);
        return stops ? stop(failure) : Status::ok;
    }

private:
    Status stop(Failure *failure) const {
        return set_failure(failure, Status::cancelled, {},
                           "cancelled after %" PRIu64 " of %" PRIu64 " tokens", done_, total_);
    }
    static int32_t report(void *self, uint64_t, uint64_t) {
        return static_cast<Poll *>(self)->cancelled();
    }

    const Progress &user_;
    const AttentionHook &hook_;
    const uint64_t length_; // tokens before this decode
    uint64_t total_, start_ = 0, n_ = 0, done_ = 0;
    uint32_t n_layers_;
};

SessionPlan::SessionPlan(const Shape &shape, const SessionOptions &options) {
    caches.n_context = context_of(shape, options);
    caches.type_k = options.type_k ? options.type_k : kF16;
    caches.type_v = options.type_v ? options.type_v : kF16;
    caches.n_checkpoints = checkpoints_of(options, caches.n_context);
    caches.n_batch = n_batch = batch_of(options, caches.n_context);
}

namespace {

CacheOptions with_identity(CacheOptions options, uint64_t model) {
    options.model = model;
    return options;
}

} // namespace

SessionBytes::SessionBytes(const Host &host, const Program &program, const SessionPlan &plan)
    : caches(Caches::estimate(program, host, plan.caches)),
      rest(scratch_bytes(program, plan.n_batch) +
           2 * program.shape.n_vocab * uint64_t{sizeof(float)} +
           program.rotations.size() * sizeof(const double *) +
           plan.caches.n_context * uint64_t{sizeof(int32_t)}) {}

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
      ids_(n_context_, HostAllocator<int32_t>(model.host().get())) {
    const Program &program = model.program();
    frequencies_.reserve(program.rotations.size());
    for (const Rotation &rotation : program.rotations)
        frequencies_.push_back(program.frequencies.data() + rotation.start(n_context_));
}

Session::~Session() = default;

Runner Session::runner(const matmul::Options &options) {
    const Runner::Memory memory = {reinterpret_cast<float *>(scratch_.data()), n_batch_,
                                   frequencies_.data()};
    return {model_.program(), model_.engine(), caches_, memory, options};
}

Status Session::check_ids(const int32_t *tokens, size_t n, Failure *failure) const {
    for (size_t i = 0; i < n; i++) {
        if (tokens[i] >= 0 && static_cast<uint64_t>(tokens[i]) < model_.shape().n_vocab) continue;
        return set_failure(failure, Status::argument, {kNone, i},
                           "token %" PRIu64 " is %" PRId32 ", the vocabulary has %" PRIu64
                           " tokens",
                           static_cast<uint64_t>(i), tokens[i], model_.shape().n_vocab);
    }
    return Status::ok;
}

// What a cut left out of the caches, as a part of the open call.
Status Session::replay(Runner &run, Failure *failure) {
    for (uint64_t at = held_; at < length_;) {
        const uint64_t left = length_ - at;
        const size_t batch = left < n_batch_ ? static_cast<size_t>(left) : n_batch_;
        const Status status = run.forward(ids_.data() + at, batch, at, failure);
        if (status != Status::ok) return status;
        at += batch;
        caches_.pass(kSequence, at - held_);
    }
    return Status::ok;
}

Status Session::advance(const int32_t *tokens, size_t n, Failure *failure) {
    has_logits_ = false;
    Status status = caches_.begin(kSequence, failure);
    if (status != Status::ok) return status;
    Runner run = runner(matmul_);
    status = replay(run, failure);
    if (status == Status::ok) status = run.forward(tokens, n, length_, failure);
    return end_call(status, tokens, n);
}

Status Session::end_call(Status status, const int32_t *tokens, size_t n) {
    if (status != Status::ok) {
        caches_.rollback(kSequence);
        return status;
    }
    memcpy(ids_.data() + length_, tokens, n * sizeof *tokens);
    length_ += n;
    caches_.commit(kSequence, length_ - held_);
    held_ = length_;
    return status;
}

Status Session::project(float *logits, size_t row, size_t n, Failure *failure) {
    const size_t n_vocab = static_cast<size_t>(model_.shape().n_vocab);
    const Status status = runner(matmul_).project(logits, row, n, failure);
    if (status == Status::ok && has_nan(logits, n * n_vocab)) {
        return set_failure(failure, Status::value, {}, "the model computed a NaN");
    }
    return status;
}

Status Session::decode_batches(Runner &run, Poll &poll, const int32_t *tokens, size_t n,
                               const DecodeOptions &options, Failure *failure) {
    const size_t n_vocab = static_cast<size_t>(model_.shape().n_vocab);
    for (size_t done = 0; done < n;) {
        const size_t batch = n - done < n_batch_ ? n - done : n_batch_;
        poll.begin_batch(done, batch);
        const bool last = done + batch == n;
        Status status = run.forward(tokens + done, batch, length_ + done, failure);
        if (status == Status::ok && options.all_logits) {
            status = run.project(options.all_logits + done * n_vocab, 0, batch, failure);
        } else if (status == Status::ok && last) {
            status = run.project(next_logits_.data(), batch - 1, 1, failure);
        }
        if (status != Status::ok) return status;
        done += batch;
        if (!last) caches_.pass(kSequence, length_ - held_ + done);
    }
    return Status::ok;
}

// The hook sees new tokens only, and progress counts them only.
Status Session::decode_call(const int32_t *tokens, size_t n, const DecodeOptions &options,
                            Failure *failure) {
    Poll poll(options, length_, n, model_.shape().n_layers);
    matmul::Options matmul = matmul_;
    matmul.progress = poll.progress();
    Runner run = runner(matmul);
    run.watch(nullptr, &poll);
    const Status status = replay(run, failure);
    if (status != Status::ok) return status;
    run.watch(&poll, &poll);
    return decode_batches(run, poll, tokens, n, options, failure);
}

Status Session::decode(const int32_t *tokens, size_t n, const DecodeOptions &options,
                       Failure *failure) {
    const size_t n_vocab = static_cast<size_t>(model_.shape().n_vocab);
    if (n > n_context_ - length_) {
        return set_failure(failure, Status::capacity, {},
                           "%" PRIu64 " tokens do not fit: %" PRIu64 " of %" PRIu32 " are used",
                           static_cast<uint64_t>(n), length_, n_context_);
    }
    Status status = check_ids(tokens, n, failure);
    if (status == Status::ok) status = caches_.begin(kSequence, failure);
    if (status != Status::ok) return status;
    status = decode_call(tokens, n, options, failure);
    if (status == Status::ok) {
        const float *all = options.all_logits;
        if (all) memcpy(next_logits_.data(), all + (n - 1) * n_vocab, n_vocab * sizeof(float));
        if (has_nan(all ? all : next_logits_.data(), all ? n * n_vocab : n_vocab)) {
            status = set_failure(failure, Status::value, {}, "the model computed a NaN");
        }
    }
    status = end_call(status, tokens, n);
    if (status != Status::ok) return status;
    logits_.swap(next_logits_);
    has_logits_ = true;
    return Status::ok;
}

Status Session::logits(float *out, Failure *failure) const {
    if (!has_logits_) {
        return set_failure(failure, Status::state, {}, "no token was decoded since the last cut");
    }
    memcpy(out, logits_.data(), logits_.size() * sizeof(float));
    return Status::ok;
}

Status Session::truncate(uint64_t n_tokens, Failure *failure) {
    if (n_tokens > length_) {
        return set_failure(failure, Status::argument, {},
                           "cannot keep %" PRIu64 " tokens of %" PRIu64, n_tokens, length_);
    }
    held_ = caches_.nearest(kSequence, n_tokens < held_ ? n_tokens : held_);
    caches_.truncate(kSequence, held_);
    length_ = n_tokens;
    has_logits_ = false;
    return Status::ok;
}

} // namespace ggufx::model
