// Decoding in batches, all or nothing: the cache goes back to where the call began and the new logits
// are dropped when anything fails on the way.
// SPDX-License-Identifier: MIT
#include "model/session.hpp"

#include <inttypes.h>
#include <string.h>

namespace ggufx::model {

namespace {

constexpr uint32_t kF16 = 2; // kv::Type

uint32_t context_of(const HyperParameters &hp, const SessionOptions &options) {
    const uint32_t n = options.n_context ? options.n_context : hp.n_context;
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

bool has_nan(const float *x, size_t n) {
    bool found = false;
    for (size_t i = 0; i < n; i++) found |= x[i] != x[i];
    return found;
}

} // namespace

// Reports tokens done to the caller: between layers, and from inside the matrix products so that
// large ones are interruptible too. A layer counts for its share of the batch.
class Session::Poll final : public Graph::Poll {
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

SessionPlan::SessionPlan(const HyperParameters &hp, const SessionOptions &options)
    : n_context(context_of(hp, options)), n_batch(batch_of(options, n_context)),
      n_logits(static_cast<size_t>(hp.n_vocab)) {
    cache.n_layers = hp.n_layers;
    cache.n_kv_heads = hp.n_kv_heads;
    cache.n_q_heads = hp.n_heads;
    cache.head_dim_k = hp.head_dim_k;
    cache.head_dim_v = hp.head_dim_v;
    cache.type_k = options.type_k ? options.type_k : kF16;
    cache.type_v = options.type_v ? options.type_v : kF16;
    cache.max_tokens = n_context;
}

SessionBytes::SessionBytes(const Host &host, const HyperParameters &hp, const SessionPlan &plan)
    : cache(kv::Cache::estimate(host, plan.cache, plan.n_context)),
      rest(ScratchLayout(hp, plan.n_batch).bytes() + 2 * plan.n_logits * uint64_t{sizeof(float)}) {}

Session::Session(const Model &model, const SessionOptions &options)
    : Session(model, SessionPlan(model.hyper(), options), options.matmul) {}

Session::Session(const Model &model, const SessionPlan &plan, const matmul::Options &matmul)
    : model_(model), matmul_(matmul), n_context_(plan.n_context), n_batch_(plan.n_batch),
      scratch_(model.host(), model.hyper(), n_batch_),
      logits_(plan.n_logits, HostAllocator<float>(model.host().get())),
      next_logits_(plan.n_logits, HostAllocator<float>(model.host().get())) {
    cache_ = kv::Cache::create(model.host(), &model.engine().kernels(), plan.cache);
    Failure failure;
    if (cache_->reserve(0, n_context_, &failure) != Status::ok) {
        kv::Cache::destroy(cache_);
        throw Error{failure};
    }
}

Session::~Session() {
    kv::Cache::destroy(cache_);
}

Status Session::check_ids(const int32_t *tokens, size_t n, Failure *failure) const {
    for (size_t i = 0; i < n; i++) {
        if (tokens[i] >= 0 && static_cast<uint64_t>(tokens[i]) < model_.hyper().n_vocab) continue;
        return set_failure(failure, Status::argument, {kNone, i},
                           "token %" PRIu64 " is %" PRId32 ", the vocabulary has %" PRIu64
                           " tokens",
                           static_cast<uint64_t>(i), tokens[i], model_.hyper().n_vocab);
    }
    return Status::ok;
}

Status Session::advance(const int32_t *tokens, size_t n, Failure *failure) {
    has_logits_ = false;
    Status status = cache_->begin(0, failure);
    if (status != Status::ok) return status;
    Graph graph(model_, *cache_, scratch_, matmul_);
    status = graph.forward(tokens, n, length_, failure);
    end_call(status);
    if (status == Status::ok) length_ += n;
    return status;
}

// Neither fails: there is such a sequence, and rollback() finds the beginning of the call.
void Session::end_call(Status status) {
    if (status == Status::ok)
        (void)cache_->commit(0, nullptr);
    else
        (void)cache_->rollback(0, nullptr);
}

Status Session::project(float *logits, size_t row, size_t n, Failure *failure) {
    Graph graph(model_, *cache_, scratch_, matmul_);
    const size_t n_vocab = static_cast<size_t>(model_.hyper().n_vocab);
    const Status status = graph.project(logits, row, n, failure);
    if (status == Status::ok && has_nan(logits, n * n_vocab)) {
        return set_failure(failure, Status::value, {}, "the model computed a NaN");
    }
    return status;
}

Status Session::decode_batches(const int32_t *tokens, size_t n, const DecodeOptions &options,
                               Failure *failure) {
    const size_t n_vocab = static_cast<size_t>(model_.hyper().n_vocab);
    Poll poll(options, length_, n, model_.hyper().n_layers);
    matmul::Options matmul = matmul_;
    matmul.progress = poll.progress();
    Graph graph(model_, *cache_, scratch_, matmul);
    graph.set_poll(&poll);
    for (size_t done = 0; done < n;) {
        const size_t batch = n - done < n_batch_ ? n - done : n_batch_;
        poll.begin_batch(done, batch);
        const bool last = done + batch == n;
        Status status = graph.forward(tokens + done, batch, length_ + done, failure);
        if (status == Status::ok && options.all_logits) {
            status = graph.project(options.all_logits + done * n_vocab, 0, batch, failure);
        } else if (status == Status::ok && last) {
            status = graph.project(next_logits_.data(), batch - 1, 1, failure);
        }
        if (status != Status::ok) return status;
        done += batch;
    }
    return Status::ok;
}

Status Session::decode(const int32_t *tokens, size_t n, const DecodeOptions &options,
                       Failure *failure) {
    const size_t n_vocab = static_cast<size_t>(model_.hyper().n_vocab);
    if (n > n_context_ - length_) {
        return set_failure(failure, Status::capacity, {},
                           "%" PRIu64 " tokens do not fit: %" PRIu64 " of %" PRIu32 " are used",
                           static_cast<uint64_t>(n), length_, n_context_);
    }
    Status status = check_ids(tokens, n, failure);
    if (status == Status::ok) status = cache_->begin(0, failure);
    if (status != Status::ok) return status;
    status = decode_batches(tokens, n, options, failure);
    if (status == Status::ok) {
        const float *all = options.all_logits;
        if (all) memcpy(next_logits_.data(), all + (n - 1) * n_vocab, n_vocab * sizeof(float));
        if (has_nan(all ? all : next_logits_.data(), all ? n * n_vocab : n_vocab)) {
            status = set_failure(failure, Status::value, {}, "the model computed a NaN");
        }
    }
    end_call(status);
    if (status != Status::ok) return status;
    logits_.swap(next_logits_);
    has_logits_ = true;
    length_ += n;
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
    const Status status = cache_->truncate(0, n_tokens, failure);
    if (status != Status::ok) return status;
    length_ = n_tokens;
    has_logits_ = false;
    return Status::ok;
}

} // namespace ggufx::model
