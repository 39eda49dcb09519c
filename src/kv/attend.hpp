// Attention inside: a call is cut into groups of up to four query rows of one
// KV head, and groups into chunks of 512 tokens. docs/reproducibility/attention.md, "Attention bits",
// says in which order results meet.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/kv.hpp"
#include "kv/state.hpp"

namespace ggufx::kv {

constexpr uint64_t kChunkTokens = 512; // pages whose first token is one of them make a chunk
constexpr uint32_t kRows = kernels::kKvRows;
constexpr uint32_t kMostGroups = 32; // at a time
constexpr uint32_t kManyGroups = 3;  // of a head, from which on its pages are decoded once for all
// Sums over values: those of pages as they came, and those in the basis of the
// stream's type.
constexpr uint32_t kSums = 2;
enum SumBasis : uint32_t { kOwnBasis, kTypeBasis };

struct AttendCall {
    const Cache::State *state;
    const Layer *layer;
    uint32_t layer_index;
    const kernels::KvPages *kernels;
    AttendOptions options; // the scale is set
    // `n_sets` sequences with n_queries queries each, one after the other.
    const uint32_t *sequences;
    size_t n_sets, n_queries;
    const float *q;
    const int32_t *positions; // null: those of the last tokens of each sequence
    float *out, *lse;         // lse may be null

    uint32_t ratio() const { return state->config.n_q_heads / state->config.n_kv_heads; }
    size_t groups_per_head() const { return (n_queries * ratio() + kRows - 1) / kRows; }
    size_t n_groups() const { return n_sets * state->config.n_kv_heads * groups_per_head(); }
};

// Up to four rows of a query as keys want them, for keys stored before a shift
// by `delta`.
struct PackedQuery {
    int32_t delta;
    kernels::KvQuery plain,
        coded;         // for float pages, for the integer kind of the layer
    float bias[kRows]; // q.mu_k of centred keys, times the scale; coded names it
    float *x;          // memory that plain and coded point to
    int8_t *codes;
    float *d_q, *s_q;
    int32_t *q_sum;
};

// Per row, of a chunk or of all chunks so far, relative to the reference m.
struct RowSums {
    float m[kRows];
    float l[kSums][kRows];
    bool not_finite[kRows]; // a score, or the query itself
    bool used[kSums];       // o holds something
    float *o[kSums];        // [kRows][kv_sum_floats(head_dim_v)]
};

struct Row {
    size_t query, head; // of out: query * n_q_heads + head
    const float *q;
    Span sees;
    int32_t position;
};

struct Group {
    const Track *track;
    uint32_t kv_head, n_rows;
    uint32_t width; // rows the kernels are asked for: 1, 2 or 4
    Row rows[kRows];
    PackedQuery query;
    RowSums total;
};

// What a worker needs for itself.
struct AttendLocal {
    float *s;               // [kMostGroups][kRows][64] scores, then weights, of groups of a head
                            // or of two heads
    uint8_t *ready;         // a head of a page, decoded for many groups
    float *vector;          // one query head, or one row of values
    float *values;          // a page of keys as values, where values lie in keys
    const uint8_t *decoded; // which, and from which slot on
    uint32_t decoded_from;
    PackedQuery query;       // for a page with another delta than most
    const Group *packed_for; // whose query that is
};

// Memory of one call, taken at create.
struct AttendShape {
    uint32_t n_groups, n_parts, n_locals;
    size_t sums_bytes;                                     // of one
    size_t vector_bytes, values_bytes, ready_bytes, bytes; // bytes: of all

    // Throws std::bad_alloc when it does not fit size_t.
    AttendShape(const Config &config, uint32_t n_workers);
};
struct AttendSpace {
    Group *groups;
    RowSums *parts; // results of chunks that wait for those before them
    AttendLocal *locals;
    AttendSpace(const AttendShape &shape, const Config &config, uint8_t *memory);
    // Before each call: nothing is left of values of the one before.
    void begin(const AttendShape &shape) const;
};
struct AttendMemory {
    AttendShape shape;
    uint8_t *data;
    AttendSpace space;
    Atomic<bool> busy; // a call has it

    // Throws std::bad_alloc.
    static AttendMemory *make(const Host &host, const Config &config);
    static void destroy(const Host &host, AttendMemory *memory);
};

// ---- steps
// --------------------------------------------------------------------------------------

// Fills a group and packs its queries; index < call.n_groups().
void prepare_group(const AttendCall &call, size_t index, Group &group, AttendLocal &local);
// Of a token counted from the first one of its sequence; it is held.
int32_t position_of_token(const Track &track, uint64_t index);
Span span_of(const AttendCall &call, int64_t position); // what a query there sees
// attend_rounds.cpp: all groups; CANCELLED or what the executor failed with.
Status run_groups(const AttendCall &call, const AttendShape &shape, const AttendSpace &space,
                  Failure *failure);
// attend_pack.cpp: false per row whose query is not finite.
void pack_query(const AttendCall &call, const Group &group, int32_t delta, PackedQuery &out,
                float *vector, bool not_finite[kRows]);
// attend_chunk.cpp: n groups over the pages of a chunk, counted from the first one a track holds;
// page by page, in the order in which heads lie in them.
void attend_chunk(const AttendCall &call, const Group *groups, size_t n, size_t chunk,
                  RowSums *sums, AttendLocal &local);
// attend_keys.cpp: the values of a page whose keys hold them, in one of its forms, and how many
// coordinates they have.
const uint8_t *values_of_keys(const AttendCall &call, const PageRef &page, const Block &block,
                              uint32_t head, AttendLocal &local);
uint32_t value_coordinates(const AttendCall &call, const TypeOps &k_type);
// attend_many.cpp: n groups of one KV head over one of its pages, which is decoded once for all of
// them; only where takes_many says so. next: the page after it, null: there is none.
bool takes_many(const AttendCall &call, const Group *groups, size_t n, const PageRef &page,
                const PageRef *behind);
void attend_many(const AttendCall &call, const Group *groups, size_t n, const PageRef &page,
                 const PageRef *next, RowSums *sums, AttendLocal &local);
size_t chunks_of(const Track &track);
// attend_finish.cpp
void clear_sums(RowSums &sums);
void merge_chunk(const AttendCall &call, Group &group, const RowSums &chunk);
void finish_group(const AttendCall &call, Group &group, AttendLocal &local);

// The type of the values of encoded pages sums in a basis of its own.
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
