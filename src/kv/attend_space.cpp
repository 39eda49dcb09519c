// Memory of attention calls. It is allocated at create, so that a call allocates nothing; a
// concurrent call allocates its own.
// SPDX-License-Identifier: MIT
#include "kv/attend.hpp"

#include "base/checked.hpp"

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
    uint64_t x, codes, scales;

    static uint64_t padded(uint64_t head_dim) {
        return (head_dim + kernels::kKvStrip - 1) / kernels::kKvStrip * kernels::kKvStrip;
    }
    explicit QueryBytes(uint64_t head_dim) {
        const uint64_t strips = (head_dim + kernels::kKvStrip - 1) / kernels::kKvStrip;
        x = lines(head_dim * kRows * sizeof(float));
        codes = head_dim <= kMaxCodes ? strips * kernels::kKvStrip * 2 * kRows : 0;
        scales = lines(strips * kRows * sizeof(float));
    }
    uint64_t all() const { return x + codes + 3 * scales; }
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
    const uint64_t query = QueryBytes(config.head_dim_k).all();
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
    const QueryBytes query(config.head_dim_k);
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

} // namespace ggufx::kv
