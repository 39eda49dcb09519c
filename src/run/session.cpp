// Session lifetime, and edits that compute no logits: truncation, copies, removal, shifts.
// SPDX-License-Identifier: MIT
#include "run/session.hpp"

#include "run/mode.hpp"

#include <inttypes.h>
#include <string.h>

#include <algorithm>

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

// Returns the number of state checkpoints: at most one per page of tokens unless the options set
// more.
uint32_t checkpoints_of(const SessionOptions &options, uint32_t n_context) {
    const uint32_t n = options.n_checkpoints, pages = n_context / kCheckpointTokens;
    if (n == kNoCheckpoints) return 0;
    if (n > kMostCheckpoints)
        fail(Status::argument, {}, "n_checkpoints is %" PRIu32 ", the limit is %" PRIu32, n,
             kMostCheckpoints);
    return n ? n : pages < kCheckpoints ? pages : kCheckpoints;
}

// Returns the total context; more than the sum of all sequences counts as the sum.
uint64_t total_of(const SessionOptions &options, uint32_t n_context, uint32_t n_sequences) {
    const uint64_t all = uint64_t{n_context} * n_sequences;
    return options.n_context_total < all ? options.n_context_total : 0;
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
    caches.n_total = total_of(options, caches.n_context, caches.n_sequences);
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
           n_context * uint64_t{2 * sizeof(int32_t) + sizeof(uint8_t)};
}

uint64_t Session::embedded_bytes() const {
    uint64_t n = 0;
    for (const Sequence &sequence : sequences_) n += sequence.embedded.capacity();
    return n * sizeof(float);
}

uint64_t Session::Sequence::n_embedded(uint64_t n_tokens) const {
    uint64_t n = 0;
    for (uint64_t i = 0; i < n_tokens; i++) n += (modes[i] & kModeEmbedded) != 0;
    return n;
}

SessionBytes::SessionBytes(const Host &host, const Graph &graph, const SessionPlan &plan,
                           uint32_t n_slices)
    : caches(Caches::estimate(graph, host, plan.caches)),
      rest(scratch_bytes(graph, plan.n_batch) + graph.rope_tables.size() * sizeof(const double *) +
           plan.caches.n_sequences * Session::sequence_bytes(plan.caches.n_context) +
           Session::call_bytes(plan.caches.n_sequences)) {
    rest += BatchRows::bytes(plan.n_batch, plan.caches.n_sequences, n_slices);
}

static const Model &that_predicts(const Model &model) {
    const Graph &graph = model.graph();
    if (graph.predicts()) return model;
    fail(Status::unsupported, {}, "this %s model predicts no token: it makes embeddings",
         graph.architecture);
}

Session::Session(const Model &model, const SessionOptions &options)
    : Session(that_predicts(model), SessionPlan(model.shape(), options), options.matmul) {}

Session::Session(const Model &model, const SessionPlan &plan, const matmul::Options &matmul)
    : model_(model), matmul_(matmul), n_context_(plan.caches.n_context), n_batch_(plan.n_batch),
      slice_runner_(model.peers()
                        ? model.peers()->make_slice_runner(model.host(), model.graph(), n_batch_)
                        : nullptr),
      caches_(model.graph(), model.host(), model.engine().kernels(),
              with_identity(plan.caches, model.identity())),
      scratch_(model.host(), scratch_bytes(model.graph(), n_batch_)),
      frequencies_(HostAllocator<const double *>(model.host().get())),
      rows_(model.host().get(), n_batch_, plan.caches.n_sequences,
            slice_runner_ ? slice_runner_->slicing().most : 1),
      sequences_(HostAllocator<Sequence>(model.host().get())),
      ids_(size_t{n_context_} * plan.caches.n_sequences,
           HostAllocator<int32_t>(model.host().get())),
      positions_(ids_.size(), HostAllocator<int32_t>(model.host().get())),
      modes_(ids_.size(), HostAllocator<uint8_t>(model.host().get())),
      items_(plan.caches.n_sequences, HostAllocator<BatchItem>(model.host().get())),
      adapter_scratch_(model.host().get()), call_(make_call(plan.caches.n_sequences)) {
    const Graph &graph = model.graph();
    frequencies_.reserve(graph.rope_tables.size());
    for (const RopeTable &rope_table : graph.rope_tables)
        frequencies_.push_back(graph.frequencies.data() + rope_table.start(n_context_));
    sequences_.reserve(plan.caches.n_sequences);
    for (size_t at = 0; at < ids_.size(); at += n_context_)
        sequences_.push_back({ids_.data() + at,
                              positions_.data() + at,
                              modes_.data() + at,
                              0,
                              0,
                              0,
                              Vector<float>(HostAllocator<float>(model.host().get())),
                              {},
                              false,
                              0});
}

Session::~Session() = default;

Runner::Memory Session::memory() {
    return {reinterpret_cast<float *>(scratch_.data()),
            n_batch_,
            frequencies_.data(),
            model_.peers(),
            adapter_scratch_.data(),
            adapter_scratch_.size(),
            slice_runner_.get()};
}

namespace {

constexpr uint32_t kNearest = 0x6e656172, kEdit = 0x65646974; // kinds of messages

// Agrees with the other ranks, if their caches may truncate to different lengths. own: result of
// this rank.
Status agree_on_edit(const Model &model, Status own, Failure *failure) {
    if (!model.peers() || !model.graph().cuts_differ) return own;
    return model.peers()->begin(kEdit, own, failure);
}

} // namespace

// A rank may have to go back further than the others; then all are asked again.
Status Session::nearest(uint64_t *out, uint32_t index, uint64_t n_tokens, Failure *failure) const {
    *out = caches_.nearest(index, n_tokens);
    Peers *const peers = model_.peers();
    const bool is_a_cut = n_tokens > 0 && n_tokens < sequences_[index].held;
    if (!peers || !model_.graph().cuts_differ || !is_a_cut) return Status::ok;
    Status status = peers->begin(kNearest, Status::ok, failure);
    for (bool agreed = false; status == Status::ok && !agreed;) {
        status = peers->find_least(out, &agreed, failure);
        *out = caches_.nearest(index, *out);
    }
    return status;
}

Status Session::truncate(uint32_t index, uint64_t n_tokens, Failure *failure) {
    Status status = check_idle(failure);
    if (status != Status::ok) return status;
    Sequence &sequence = sequences_[index];
    if (n_tokens > sequence.length) {
        return set_failure(failure, Status::argument, {.index = index},
                           "cannot keep %" PRIu64 " tokens of %" PRIu64, n_tokens, sequence.length);
    }
    const uint64_t n_held = n_tokens < sequence.held ? n_tokens : sequence.held;
    uint64_t held = 0;
    status = nearest(&held, index, n_held, failure);
    if (status != Status::ok) return status;
    sequence.held = held;
    caches_.truncate(index, sequence.held);
    sequence.edited = sequence.edited && sequence.held > 0;
    shorten(sequence, n_tokens);
    sequences_[index].n_changes++;
    return Status::ok;
}

// Drops the caller's embeddings of truncated tokens, and their memory when none is left.
void Session::shorten(Sequence &sequence, uint64_t length) const {
    sequence.length = length;
    if (sequence.embedded.empty()) return;
    const uint64_t n = sequence.n_embedded(length);
    sequence.embedded.resize(static_cast<size_t>(n * model_.shape().n_embd));
    trim(sequence);
}

void Session::trim(Sequence &sequence) {
    if (sequence.embedded.empty())
        Vector<float>(sequence.embedded.get_allocator()).swap(sequence.embedded);
}

void Session::set_adapters(uint32_t index, const AdapterSet::Use *uses, size_t n) {
    Failure failure = {};
    if (check_idle(&failure) != Status::ok) throw Error{failure};
    const bool all = index == kAllSequences;
    const size_t first = all ? 0 : index, end = all ? sequences_.size() : first + 1;
    for (size_t i = first; i < end; i++)
        if (sequences_[i].length > 0)
            fail(Status::state, {kNone, i},
                 "sequence %zu has %" PRIu64
                 " tokens: adapters can be set for an empty sequence only",
                 i, sequences_[i].length);
    const Ref<AdapterSet> set =
        adapter_scratch_.prepare(model_.host(), model_.graph(), uses, n, n_batch_);
    for (size_t i = first; i < end; i++) {
        sequences_[i].adapters = set;
        sequences_[i].n_changes++;
    }
}

// Copies a sequence; the next call recomputes tokens that the caches cannot share.
Status Session::copy(uint32_t from, uint32_t to, uint64_t n_tokens, Failure *failure) {
    Status status = check_idle(failure);
    if (status != Status::ok) return status;
    const Sequence &source = sequences_[from];
    Sequence &sequence = sequences_[to];
    if (n_tokens > source.length)
        return set_failure(failure, Status::argument, {.index = from},
                           "cannot copy %" PRIu64 " tokens of %" PRIu64 " of sequence %" PRIu32,
                           n_tokens, source.length, from);
    if (from == to || sequence.length > 0)
        return set_failure(
            failure, Status::state, {.index = to},
            "cannot copy to sequence %" PRIu32 ": it must be another sequence and empty", to);
    if (!AdapterSet::same(source.adapters.get(), sequence.adapters.get()))
        return set_failure(
            failure, Status::mismatch, {.index = to},
            "cannot copy sequence %" PRIu32 " to %" PRIu32 ": they have other adapters", from, to);
    const size_t n_values =
        source.embedded.empty()
            ? 0
            : static_cast<size_t>(source.n_embedded(n_tokens) * model_.shape().n_embd);
    Vector<float> embedded(source.embedded.begin(), source.embedded.begin() + ptrdiff_t(n_values),
                           source.embedded.get_allocator());
    uint64_t held = 0;
    status = nearest(&held, from, n_tokens < source.held ? n_tokens : source.held, failure);
    if (status != Status::ok) return status;
    if (held) status = caches_.copy(from, to, held, failure);
    if (status != Status::ok) return status;
    memcpy(sequence.ids, source.ids, n_tokens * sizeof *source.ids);
    memcpy(sequence.positions, source.positions, n_tokens * sizeof *source.positions);
    memcpy(sequence.modes, source.modes, n_tokens);
    sequence.embedded.swap(embedded);
    sequence.length = n_tokens;
    sequence.held = held;
    sequence.edited = source.edited && held > 0;
    sequence.n_changes++;
    return status;
}

namespace {

// Closes a gap of n elements at `first` by moving the elements after it.
template <class T> void close_gap(T *list, uint64_t length, uint64_t first, uint64_t n) {
    memmove(list + first, list + first + n, static_cast<size_t>(length - first - n) * sizeof *list);
}

} // namespace

Status Session::check_part(uint64_t length, uint64_t first, uint64_t n, uint32_t sequence,
                           Failure *failure) {
    if (first <= length && n <= length - first) return Status::ok;
    return set_failure(failure, Status::argument, {.index = sequence},
                       "%" PRIu64 " tokens from token %" PRIu64 " on: sequence %" PRIu32
                       " has %" PRIu64,
                       n, first, sequence, length);
}

// Removes tokens `first` .. first + n - 1 from the caches, as far as they hold them, before others.
Status Session::remove_held(uint32_t index, uint64_t first, uint64_t n, Failure *failure) {
    Sequence &sequence = sequences_[index];
    if (first >= sequence.held) return Status::ok;
    if (n < sequence.held - first) {
        const int32_t *const p = sequence.positions;
        const kv::Cache::Part part = {{first, n}, first ? p[first - 1] : -1, p[first + n - 1] + 1};
        Status status = caches_.prepare_remove(index, part, failure);
        status = agree_on_edit(model_, status, failure);
        if (status != Status::ok) return status;
        caches_.remove(index, part);
        sequence.held -= n;
        sequence.edited = true;
        return status;
    }
    uint64_t held = 0; // new length of the caches
    const Status status = nearest(&held, index, first, failure);
    if (status != Status::ok) return status;
    sequence.held = held;
    caches_.truncate(index, sequence.held);
    return status;
}

Status Session::remove(uint32_t index, uint64_t first, uint64_t n, Failure *failure) {
    Sequence &sequence = sequences_[index];
    Status status = check_idle(failure);
    if (status == Status::ok) status = check_part(sequence.length, first, n, index, failure);
    if (status != Status::ok || n == 0) return status;
    if (first + n == sequence.length) return truncate(index, first, failure);
    status = remove_held(index, first, n, failure);
    if (status != Status::ok) return status;
    const uint64_t length = sequence.length;
    if (!sequence.embedded.empty()) {
        const auto row = [&](uint64_t token) {
            return sequence.embedded.begin() +
                   ptrdiff_t(sequence.n_embedded(token) * model_.shape().n_embd);
        };
        sequence.embedded.erase(row(first), row(first + n));
    }
    close_gap(sequence.ids, length, first, n);
    close_gap(sequence.positions, length, first, n);
    close_gap(sequence.modes, length, first, n);
    sequence.length -= n;
    sequences_[index].n_changes++;
    return status;
}

// Checks that shifted positions stay between those before and after the part.
static Status check_shift(const int32_t *positions, uint64_t length, uint64_t first, uint64_t n,
                          int32_t delta, Failure *failure) {
    const uint64_t end = first + n;
    const int64_t from = int64_t{positions[first]} + delta;
    const int64_t to = int64_t{positions[end - 1]} + delta;
    const int64_t least = first ? int64_t{positions[first - 1]} + 1 : 0;
    const int64_t most = end < length ? int64_t{positions[end]} - 1 : int64_t{INT32_MAX} - 1;
    if (from >= least && to <= most) return Status::ok;
    return set_failure(failure, Status::argument, {},
                       "shift by %" PRId32 ": positions %" PRId64 " to %" PRId64 " must be %" PRId64
                       " to %" PRId64,
                       delta, from, to, least, most);
}

Status Session::shift(uint32_t index, uint64_t first, uint64_t n, int32_t delta, Failure *failure) {
    Sequence &sequence = sequences_[index];
    Status status = check_idle(failure);
    if (status == Status::ok) status = check_part(sequence.length, first, n, index, failure);
    if (status != Status::ok || n == 0 || delta == 0) return status;
    int32_t *const p = sequence.positions;
    if (model_.shape().n_positions)
        return set_failure(failure, Status::unsupported, {.index = index},
                           "cannot shift tokens of a %s model: it adds embeddings of positions",
                           model_.graph().architecture);
    status = check_shift(p, sequence.length, first, n, delta, failure);
    const uint64_t held = first + n < sequence.held ? first + n : sequence.held;
    if (status == Status::ok && first < held) {
        const kv::Cache::Range range = {first, held - first};
        status = caches_.prepare_shift(index, range, delta, failure);
        status = agree_on_edit(model_, status, failure);
        if (status == Status::ok) caches_.shift(index, range, delta);
    }
    if (status != Status::ok) return status;
    sequence.edited = sequence.edited || first < held;
    for (uint64_t i = first; i < first + n; i++) p[i] += delta;
    sequences_[index].n_changes++;
    return status;
}

} // namespace ggufx::model
