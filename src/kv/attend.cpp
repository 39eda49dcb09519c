// Cache::attend: checks of options, positions and windows, then run_groups(). Memory of a call is
// allocated at create, so that a call allocates nothing; a concurrent call allocates its own.
// SPDX-License-Identifier: MIT
#include "kv/attend.hpp"

#include "base/bytes.hpp"
#include "base/checked.hpp"
#include "base/fpenv.hpp"

#include <algorithm>

namespace ggufx::kv {

namespace {

// Approximate bytes of groups and parts. Their number is what fits, at most max(kMostGroups,
// kWorkerGroups per worker).
constexpr uint64_t kGroupsBytes = 1 << 20, kWorkerBytes = 1 << 18;
constexpr uint64_t kWorkerGroups = kMostGroups / 2;
constexpr uint32_t kScoreFloats = kMostGroups * kRows * kernels::kKvTokens; // per worker

uint64_t lines(uint64_t bytes) {
    return (bytes + 63) / 64 * 64;
}

struct QueryBytes {
    uint64_t x, codes, scales, rotation;

    static uint64_t padded(uint64_t head_dim) {
        return (head_dim + kernels::kKvStrip - 1) / kernels::kKvStrip * kernels::kKvStrip;
    }
    explicit QueryBytes(const Config &config) {
        const uint64_t head_dim = config.head_dim_k;
        const uint64_t strips = (head_dim + kernels::kKvStrip - 1) / kernels::kKvStrip;
        x = lines(head_dim * kRows * sizeof(float));
        codes = head_dim <= kMaxCodes ? strips * kernels::kKvStrip * 2 * kRows : 0;
        scales = lines(strips * kRows * sizeof(float));
        rotation =
            config.before_rope ? rotation_floats(config.head_dim_k) * kRows * sizeof(float) : 0;
    }
    uint64_t all() const { return x + codes + 3 * scales + rotation; }
};

uint64_t row_floats(const Config &config) {
    return QueryBytes::padded(config.sum_dim());
}

// Bytes of a decoded page head: the wider of a key and a value sum.
uint64_t ready_of(const Config &config) {
    const uint64_t sums = row_floats(config), keys = QueryBytes::padded(config.head_dim_k);
    return (sums > keys ? sums : keys) * kernels::kKvTokens * sizeof(float);
}

class Carver {
public:
    explicit Carver(uint8_t *memory) : at_(memory) {}
    template <class T> T *take(uint64_t bytes) {
        uint8_t *from = at_;
        at_ += lines(bytes);
        return reinterpret_cast<T *>(from);
    }
    void query(PackedQuery &q, const QueryBytes &bytes) {
        q.x = take<float>(bytes.x);
        q.codes = take<int8_t>(bytes.codes);
        q.d_q = take<float>(bytes.scales);
        q.s_q = take<float>(bytes.scales);
        q.q_sum = take<int32_t>(bytes.scales);
        q.rotation = bytes.rotation ? take<float>(bytes.rotation) : nullptr;
    }
    void sums(RowSums &sums, size_t bytes) {
        sums.o[kOwnBasis] = take<float>(bytes);
        sums.o[kTypeBasis] = take<float>(bytes);
    }

private:
    uint8_t *at_;
};

} // namespace

AttendShape::AttendShape(const Config &config, uint32_t n_workers) {
    const uint64_t query = QueryBytes(config).all();
    const uint64_t sums = kRows * row_floats(config) * sizeof(float);
    const uint64_t widest = row_floats(config) > config.head_dim_k
                                ? row_floats(config)
                                : uint64_t(config.head_dim_k) + 64;
    const uint64_t vector = lines(widest * sizeof(float));
    const uint64_t group = lines(sizeof(Group)) + query + kSums * sums;
    const uint64_t part = lines(sizeof(RowSums)) + kSums * sums;
    const uint64_t values =
        config.v_in_k ? lines(row_floats(config) * kernels::kKvTokens * sizeof(float)) : 0;
    const uint64_t ready = config.v_in_k ? 0 : ready_of(config);
    const uint64_t local =
        lines(sizeof(AttendLocal)) + query + vector + values + ready + kScoreFloats * sizeof(float);
    const uint64_t wanted = std::max<uint64_t>(kMostGroups, kWorkerGroups * n_workers);
    const uint64_t budget = std::max(kGroupsBytes, kWorkerBytes * n_workers);
    const uint64_t fit = std::max<uint64_t>(1, budget / (group + part));
    n_groups = n_parts = static_cast<uint32_t>(std::min(fit, wanted));
    n_locals = n_workers;
    sums_bytes = static_cast<size_t>(sums);
    vector_bytes = static_cast<size_t>(vector);
    values_bytes = static_cast<size_t>(values);
    ready_bytes = static_cast<size_t>(ready);
    uint64_t all = 0, some = 0;
    if (!checked::mul(&all, group + part, n_groups) || !checked::mul(&some, local, n_locals) ||
        !checked::add(&all, all, some) || all > SIZE_MAX / 4)
        throw std::bad_alloc();
    bytes = static_cast<size_t>(all);
}

AttendMemory *AttendMemory::make(const Host &host, const Config &config) {
    const AttendShape shape(config, host.max_workers());
    void *data = host.alloc(shape.bytes, 64);
    if (!data) throw std::bad_alloc();
    void *object = host.alloc(sizeof(AttendMemory), alignof(AttendMemory));
    if (!object) {
        host.free(data, shape.bytes, 64);
        throw std::bad_alloc();
    }
    auto *memory = static_cast<uint8_t *>(data);
    return new (object) AttendMemory{shape, memory, {shape, config, memory}, Atomic<bool>(false)};
}

void AttendMemory::destroy(const Host &host, AttendMemory *memory) {
    if (!memory) return;
    host.free(memory->data, memory->shape.bytes, 64);
    unmake(host, memory);
}

AttendSpace::AttendSpace(const AttendShape &shape, const Config &config, uint8_t *memory) {
    Carver carver(memory);
    const QueryBytes query(config);
    groups = carver.take<Group>(shape.n_groups * lines(sizeof(Group)));
    parts = carver.take<RowSums>(shape.n_parts * lines(sizeof(RowSums)));
    locals = carver.take<AttendLocal>(shape.n_locals * lines(sizeof(AttendLocal)));
    for (uint32_t i = 0; i < shape.n_groups; i++) {
        Group &group = *new (groups + i) Group();
        carver.query(group.query, query);
        carver.sums(group.total, shape.sums_bytes);
    }
    for (uint32_t i = 0; i < shape.n_parts; i++)
        carver.sums(*new (parts + i) RowSums(), shape.sums_bytes);
    for (uint32_t i = 0; i < shape.n_locals; i++) {
        AttendLocal &local = *new (locals + i) AttendLocal();
        carver.query(local.query, query);
        local.vector = carver.take<float>(shape.vector_bytes);
        local.values = carver.take<float>(shape.values_bytes);
        local.ready = carver.take<uint8_t>(shape.ready_bytes);
        local.s = carver.take<float>(kScoreFloats * sizeof(float));
    }
}

void AttendSpace::begin(const AttendShape &shape) const {
    for (uint32_t i = 0; i < shape.n_locals; i++) {
        for (size_t v = 0; v < shape.values_bytes / sizeof(float); v++) locals[i].values[v] = 0.0f;
    }
}

namespace {

// Returns 1 / sqrt(head_dim), computed in binary64, then rounded to binary32.
float default_scale(uint32_t head_dim) {
    const CanonicalFp fp;
    return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(head_dim)));
}

// Working memory of one call: the cache's, or an allocation of its own while another call uses
// that.
class Lease {
public:
    explicit Lease(const Cache::State &state) : state_(state) {
        AttendMemory &shared = *state.attend;
        if (!shared.busy.exchange(true, Order::acquire)) return;
        own_ = true;
        memory_ = static_cast<uint8_t *>(state.host->alloc(shared.shape.bytes, 64));
    }
    ~Lease() {
        if (own_)
            state_.host->free(memory_, state_.attend->shape.bytes, 64);
        else
            state_.attend->busy.store(false, Order::release);
    }
    Lease(const Lease &) = delete;
    Lease &operator=(const Lease &) = delete;
    bool holds() const { return !own_ || memory_; }
    AttendSpace space() const {
        const AttendMemory &shared = *state_.attend;
        const AttendSpace space =
            own_ ? AttendSpace(shared.shape, state_.config, memory_) : shared.space;
        space.begin(shared.shape);
        return space;
    }

private:
    const Cache::State &state_;
    bool own_ = false;
    uint8_t *memory_ = nullptr;
};

bool is_finite(float x) {
    return (f32_bits(x) & 0x7fffffffu) < 0x7f800000u;
}

Status check_options(const AttendOptions &options, uint32_t n_q_heads, Failure *failure) {
    const auto refuse = [failure](const char *what, uint64_t index) {
        return set_failure(failure, Status::argument, {.index = index}, "%s is NaN or infinite",
                           what);
    };
    if (!is_finite(options.scale)) return refuse("the scale", 0);
    if (!is_finite(options.softcap) || options.softcap < 0.0f)
        return set_failure(failure, Status::argument, {},
                           "the softcap is negative, NaN or infinite");
    for (uint32_t h = 0; h < n_q_heads; h++) {
        if (options.alibi_slopes && !is_finite(options.alibi_slopes[h]))
            return refuse("an ALiBi slope", h);
        if (options.sink_logits && !is_finite(options.sink_logits[h]))
            return refuse("a sink logit", h);
    }
    return Status::ok;
}

// Refuses queries that would see tokens dropped by the layer's window: how many of those are still
// held depends on how they were appended.
Status check_dropped(const AttendCall &call, size_t set, const Track &track, Failure *failure) {
    if (track.n_dropped == 0 || call.n_queries == 0) return Status::ok;
    if (!call.options.causal)
        return set_failure(failure, Status::state, {.index = set * call.n_queries},
                           "queries without a causal mask need all tokens: the window of layer %u "
                           "has dropped %llu",
                           call.layer_index, static_cast<unsigned long long>(track.n_dropped));
    // without positions, later queries come after the first
    const size_t n = call.positions ? call.n_queries : 1;
    for (size_t i = 0; i < n; i++) {
        const size_t query = set * call.n_queries + i;
        const int32_t p = call.positions
                              ? call.positions[query]
                              : position_of_token(track, track.n_tokens - call.n_queries);
        const Span sees = span_of(call, p);
        if (sees.until < track.dropped_first || sees.after >= track.dropped_last) continue;
        return set_failure(failure, Status::state, {.index = query},
                           "query %zu at position %d sees tokens from position %lld on: the window "
                           "of layer %u has dropped those up to %d",
                           query, p, static_cast<long long>(sees.after + 1), call.layer_index,
                           track.dropped_last);
    }
    return Status::ok;
}

Status check_lengths(const AttendCall &call, Failure *failure) {
    for (size_t i = 0; call.positions && i < call.n_sequences * call.n_queries; i++)
        if (call.positions[i] < 0)
            return set_failure(failure, Status::argument, {.index = i},
                               "positions[%zu] is %d: positions must not be negative", i,
                               call.positions[i]);
    for (size_t i = 0; i < call.n_sequences; i++) {
        Status status = check_sequence(call.state->config, call.sequences[i], failure);
        if (status != Status::ok) return status;
        const Track &track = call.state->track(call.layer_index, call.sequences[i]);
        if (call.options.causal && !call.positions && call.n_queries > track.n_tokens)
            return set_failure(failure, Status::argument, {},
                               "%zu queries without positions: the sequence has %llu tokens",
                               call.n_queries, static_cast<unsigned long long>(track.n_tokens));
        if (call.options.causal && !call.positions &&
            call.n_queries > track.n_tokens - track.n_dropped)
            return set_failure(failure, Status::state, {},
                               "%zu queries without positions: the window of layer %u has dropped "
                               "%llu of %llu tokens",
                               call.n_queries, call.layer_index,
                               static_cast<unsigned long long>(track.n_dropped),
                               static_cast<unsigned long long>(track.n_tokens));
        status = check_dropped(call, i, track, failure);
        if (status != Status::ok) return status;
    }
    return Status::ok;
}

Status attend_checked(AttendCall &call, Failure *failure) {
    const Cache::State &s = *call.state;
    if (call.options.scale == 0.0f) call.options.scale = default_scale(s.config.head_dim_k);
    const Lease lease(s);
    if (!lease.holds())
        return set_failure(
            failure, Status::memory, {},
            "no memory for %zu bytes while another call computes attention of this cache",
            s.attend->shape.bytes);
    return run_groups(call, s.attend->shape, lease.space(), failure);
}

} // namespace

Status Cache::attend(const Queries &queries, const AttendOptions &options, Failure *failure) const {
    const State &s = *state_;
    Status status = check_layer(s.config, queries.layer_index, failure);
    if (status != Status::ok) return status;
    AttendCall call = {queries, &s, &s.layers[queries.layer_index],
                       kernels::kv_pages_of(*s.kernels), options};
    // one sequence is still checked
    if (queries.n_queries == 0 && queries.n_sequences > 1) call.n_sequences = 1;
    status = check_options(options, s.config.n_q_heads, failure);
    if (status == Status::ok) status = check_lengths(call, failure);
    if (status != Status::ok || call.n_groups() == 0) return status;
    return attend_checked(call, failure);
}

} // namespace ggufx::kv
