// Internals of attention: a call is split into groups of up to four query rows of one KV head, and
// groups into chunks of 512 tokens. docs/reproducibility/attention.md, "Attention bits", defines
// the order of all sums.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/kv.hpp"
#include "kv/state.hpp"

namespace ggufx::kv {

constexpr uint64_t kChunkTokens = 512; // a page belongs to the chunk of its first token
constexpr uint32_t kRows = kernels::kKvRows;
constexpr uint32_t kMostGroups = 32; // processed at a time
constexpr uint32_t kManyGroups = 3;  // groups of one head that share a decoded page, at least
// Bases of the sums over values: that of the given values, and that of the stream's type.
constexpr uint32_t kSums = 2;
enum SumBasis : uint32_t { kOwnBasis, kTypeBasis };

struct AttendCall {
    const Cache::State *state;
    const Layer *layer;
    uint32_t layer_index;
    const kernels::KvPages *kernels;
    AttendOptions options; // the default scale is filled in
    // n_sets sequences with n_queries queries each, one sequence after the other.
    const uint32_t *sequences;
    size_t n_sets, n_queries;
    const float *q;
    const int32_t *positions; // null: positions of the last tokens of each sequence
    float *out, *lse;         // lse may be null

    uint32_t ratio() const { return state->config.n_q_heads / state->config.n_kv_heads; }
    size_t groups_per_head() const { return (n_queries * ratio() + kRows - 1) / kRows; }
    size_t n_groups() const { return n_sets * state->config.n_kv_heads * groups_per_head(); }
};

// Up to four query rows, packed for keys that were stored before a shift by `delta`.
struct PackedQuery {
    int32_t delta;
    kernels::KvQuery plain,
        coded;         // plain: for float pages; coded: for the integer kind of the layer
    float bias[kRows]; // q.mu_k * scale of centered keys; `coded` points to it
    float *x;          // memory of plain and coded
    int8_t *codes;
    float *d_q, *s_q;
    int32_t *q_sum;
};

// Online softmax state per row, of one chunk or of all chunks so far, relative to the reference m.
struct RowSums {
    float m[kRows];
    float l[kSums][kRows];
    bool not_finite[kRows]; // a score or the query itself is NaN or infinite
    bool used[kSums];       // o[basis] has been written
    float *o[kSums];        // [kRows][kv_sum_floats(head_dim_v)]
};

struct Row {
    size_t query, head; // output row: query * n_q_heads + head
    const float *q;
    Span sees;
    int32_t position;
};

struct Group {
    const Track *track;
    uint32_t kv_head, n_rows;
    uint32_t width; // rows passed to the kernels: 1, 2 or 4
    Row rows[kRows];
    PackedQuery query;
    RowSums total;
};

// Working memory of one worker.
struct AttendLocal {
    // [kMostGroups][kRows][64] scores, then weights, of the groups of one head or of two heads
    float *s;
    uint8_t *ready;         // one head of a page, decoded once for many groups
    float *vector;          // one query head, or one row of value sums
    float *values;          // a page of keys decoded as values (v_in_k)
    const uint8_t *decoded; // keys that `values` holds, and their first slot
    uint32_t decoded_from;
    PackedQuery query;       // packed for a page whose shift differs from that of group.query
    const Group *packed_for; // group of that query
};

// Sizes of the memory of one call, which is allocated at create.
struct AttendShape {
    uint32_t n_groups, n_parts, n_locals;
    size_t sums_bytes;                                     // one RowSums::o[basis]
    size_t vector_bytes, values_bytes, ready_bytes, bytes; // bytes: total

    // Throws std::bad_alloc if the total does not fit size_t.
    AttendShape(const Config &config, uint32_t n_workers);
};
struct AttendSpace {
    Group *groups;
    RowSums *parts; // results of chunks, merged in order
    AttendLocal *locals;
    AttendSpace(const AttendShape &shape, const Config &config, uint8_t *memory);
    // Clears the values that the previous call left. Called at the start of each call.
    void begin(const AttendShape &shape) const;
};
struct AttendMemory {
    AttendShape shape;
    uint8_t *data;
    AttendSpace space;
    Atomic<bool> busy; // used by a running call

    // Throws std::bad_alloc.
    static AttendMemory *make(const Host &host, const Config &config);
    static void destroy(const Host &host, AttendMemory *memory);
};

// ---- functions by file -------------------------------------------------------------------------

// Fills a group and packs its queries; index < call.n_groups().
void prepare_group(const AttendCall &call, size_t index, Group &group, AttendLocal &local);
// Returns the position of token `index` of the sequence, which must be held.
int32_t position_of_token(const Track &track, uint64_t index);
Span span_of(const AttendCall &call, int64_t position); // positions that a query there sees
// attend_rounds.cpp: runs all groups. Errors: CANCELLED, or the failure of the executor.
Status run_groups(const AttendCall &call, const AttendShape &shape, const AttendSpace &space,
                  Failure *failure);
// attend_pack.cpp: packs query rows; sets not_finite[r] for rows with a NaN or infinity.
void pack_query(const AttendCall &call, const Group &group, int32_t delta, PackedQuery &out,
                float *vector, bool not_finite[kRows]);
// attend_chunk.cpp: runs n groups over the pages of a chunk, counted from the first chunk that the
// track holds. Pages ascend; the heads of a page go in memory order.
void attend_chunk(const AttendCall &call, const Group *groups, size_t n, size_t chunk,
                  RowSums *sums, AttendLocal &local);
// attend_keys.cpp: decodes a page of keys, in one of its forms, as values; returns the number of
// their coordinates.
const uint8_t *values_of_keys(const AttendCall &call, const PageRef &page, const Block &block,
                              uint32_t head, AttendLocal &local);
uint32_t value_coordinates(const AttendCall &call, const TypeOps &k_type);
// attend_many.cpp: runs n groups of one KV head over one page, which is decoded once for all of
// them. Allowed only if takes_many() is true. next: the following page, or null.
bool takes_many(const AttendCall &call, const Group *groups, size_t n, const PageRef &page,
                const PageRef *behind);
void attend_many(const AttendCall &call, const Group *groups, size_t n, const PageRef &page,
                 const PageRef *next, RowSums *sums, AttendLocal &local);
size_t chunks_of(const Track &track);
// attend_finish.cpp: merges chunks, writes results.
void clear_sums(RowSums &sums);
void merge_chunk(const AttendCall &call, Group &group, const RowSums &chunk);
void finish_group(const AttendCall &call, Group &group, AttendLocal &local);

// Whether values of encoded pages are summed in the basis of their type.
bool sums_in_type_basis(const Layer &layer);

// One head of K and V of a page.
struct HeadPage {
    const TypeOps *k_type, *v_type;
    const uint8_t *k, *v;
    uint32_t k_lines, v_lines;

    HeadPage(const Layer &layer, const Block &block, uint32_t head) {
        const BlockShape &shape = layer.shape[block.form];
        k_type = shape.k;
        v_type = shape.v;
        k = block.data() + head * shape.k_head;
        v = block.data() + shape.v_offset + head * shape.v_head;
        k_lines = static_cast<uint32_t>(shape.k_head / 64);
        v_lines = static_cast<uint32_t>(shape.v_head / 64);
    }
    SumBasis basis(const Layer &layer) const {
        return !v_type->is_float() && sums_in_type_basis(layer) ? kTypeBasis : kOwnBasis;
    }
};

} // namespace ggufx::kv
