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
// Bases of the sums over values: that of the given values, and that of the stream's type.
constexpr uint32_t kSums = 2;
enum SumBasis : uint32_t { kOwnBasis, kTypeBasis };

struct AttendCall : Queries {
    const Cache::State *state;
    const Layer *layer;
    const kernels::KvPages *kernels;
    AttendOptions options; // the default scale is filled in

    uint32_t ratio() const { return state->config.n_q_heads / state->config.n_kv_heads; }
    size_t groups_per_head() const { return (n_queries * ratio() + kRows - 1) / kRows; }
    size_t n_groups() const { return n_sequences * state->config.n_kv_heads * groups_per_head(); }
};

// Up to four query rows, packed for keys that were stored before a shift by `delta`.
struct PackedQuery {
    int32_t delta;
    kernels::KvQuery plain,
        coded;         // plain: for float pages; coded: for the integer kind of the layer
    float bias[kRows]; // q.mu_k * scale of centered keys; `coded` points to it
    float *rotation;   // [kRows][rotation_floats(head_dim_k)] of rotation_query(); null: none
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

// Visible tokens of the rows of a group in a page.
struct Visible {
    kernels::KvTokens row[kRows];
    kernels::KvTokens all; // their union, as one range

    Visible(const PageRef &page, const Group &group);
    // Returns the part of rows whose last visible token is in this page (own) or in a later one
    // (not own).
    Visible part(const PageRef &page, const PageRef *behind, const Group &group, bool own) const;
    bool nothing() const { return all.first >= all.end; }

private:
    void take(uint32_t r, kernels::KvTokens tokens);
};
// Returns whether the last visible token of a row is in this page: the row then sees the page's
// plain form, not the encoded one. `behind`: end of the track's pages.
bool stands_in(const PageRef &page, const PageRef *behind, const Row &row);

// ---- attend_rounds.cpp -------------------------------------------------------------------------

// Runs all groups. Errors: CANCELLED, or the failure of the executor.
Status run_groups(const AttendCall &call, const AttendShape &shape, const AttendSpace &space,
                  Failure *failure);

// ---- attend_query.cpp --------------------------------------------------------------------------

// Fills a group and packs its queries; index < call.n_groups().
void prepare_group(const AttendCall &call, size_t index, Group &group, AttendLocal &local);
// Packs query rows; sets not_finite[r] for rows with a NaN or infinity.
void pack_query(const AttendCall &call, const Group &group, int32_t delta, PackedQuery &out,
                float *vector, bool not_finite[kRows]);
// Returns a query for the encoded keys of a block. With means before RoPE, the bias is that of the
// block, in `bias`.
kernels::KvQuery coded_query(const AttendCall &call, const Group &group, const PackedQuery &query,
                             const Block &block, float (&bias)[kRows]);
// Returns the position of token `index` of the sequence, which must be held.
int32_t position_of_token(const Track &track, uint64_t index);
Span span_of(const AttendCall &call, int64_t position); // positions that a query there sees

// ---- attend_pages.cpp --------------------------------------------------------------------------

// Runs n groups over the pages of a chunk, counted from the first chunk that the track holds. Pages
// ascend; the heads of a page go in memory order.
void attend_chunk(const AttendCall &call, const Group *groups, size_t n, size_t chunk,
                  RowSums *sums, AttendLocal &local);
size_t chunks_of(const Track &track);

// ---- attend_softmax.cpp ------------------------------------------------------------------------

// Turns scores into softmax weights, row by row, and rescales earlier sums if the reference
// changes. Rows without a visible token get zeros.
void weigh_rows(const AttendCall &call, const Group &group, const PageRef &page,
                const Visible &seen, SumBasis basis, float *s, RowSums &sums);
// Returns the sums of a basis, set to zeros at the first use.
float *sums_of(const AttendCall &call, const Group &group, SumBasis basis, RowSums &sums);
void clear_sums(RowSums &sums);
// Merging of chunks, and results.
void merge_chunk(const AttendCall &call, Group &group, const RowSums &chunk);
void finish_group(const AttendCall &call, Group &group, AttendLocal &local);

} // namespace ggufx::kv
