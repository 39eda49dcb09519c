// The KV cache: encoded keys and values of layers x sequences on pages of 64 tokens, and attention
// over them. docs/reproducibility/attention.md defines the bits.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "base/snapshot_io.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::kernels {
struct Kernels;
}

namespace ggufx::kv {

// Type ids of snapshots and of this folder: id::Q8_0, ... 0 means default.
namespace id {
#define X(NAME, ID, ...) constexpr uint32_t NAME = ID;
#include "kv/types.def"
} // namespace id

struct TypeFacts {
    uint32_t id;
    uint32_t type; // GGUFX_TYPE_*
    const char *name;
    uint32_t block_values;
    uint32_t block_bytes;
    uint32_t flags; // as GGUFX_TYPE_IS_*
};
const TypeFacts *type_facts(uint32_t id);                       // null when unknown
const TypeFacts *type_of(uint32_t type);                        // finds a GGUFX_TYPE_*; or null
const TypeFacts *type_by_name(const char *name, size_t length); // case-insensitive
const TypeFacts *type_at(size_t index);                         // null after the last one

enum class Centring : uint8_t { by_type, always, never };

// RoPE style of keys, as GGUFX_KV_ROPE_*. Keys of `unknown` style cannot be shifted.
enum class RopeStyle : uint8_t { unknown, none, pairs, halves };

// Positions j that the token at i sees through a window of w: i - w < j <= i; w floor(i / w) <= j
// <= i; |i - j| <= floor(w / 2).
enum class WindowKind : uint32_t { sliding, chunked, symmetric };

struct LayerConfig {
    uint32_t type_k, type_v; // 0: the types of the cache
    uint32_t window;         // 0: none
    WindowKind window_kind;
};

struct Config {
    uint32_t n_layers = 1;
    uint32_t n_kv_heads = 1;
    uint32_t n_q_heads = 1;
    uint32_t head_dim_k = 1;
    uint32_t head_dim_v = 1;
    uint32_t type_k = 2; // checked at create
    uint32_t type_v = 2;
    uint32_t n_sequences = 1;
    uint64_t max_tokens = 0; // 0 = as memory allows
    // Limit of pages of 64 tokens per layer, over all sequences; 0 = as memory allows. Shared pages
    // count once; spare pages count too. In layers that encode, pages of first and last tokens (two
    // or three per sequence) do not count. Calls that would take more fail with CAPACITY and change
    // nothing. requantize and compact may exceed the limit while they run, requantize also
    // afterwards.
    uint64_t max_pages = 0;
    uint32_t n_sinks = 64; // attention sinks: first tokens kept as F16, of BF16 streams as F32
    bool fit_tq3 = false;
    bool v_in_k = false; // values are the first head_dim_v coordinates of keys
    Centring centring = Centring::by_type;
    bool before_rope = false; // centred keys: means before RoPE
    RopeStyle rope_style = RopeStyle::unknown;
    uint32_t rope_dims = 0; // rotated coordinates; 0 = all from rope_first() on
    float rope_base = 10000.0f, rope_scale = 1.0f;
    // Angle of pair i per position, [rope_dims / 2], read at create only; null: rope_scale *
    // rope_base^(-2 i / rope_dims).
    const double *rope_frequencies = nullptr;
    size_t n_rope_frequencies = 0; // 0, or rope_dims / 2
    uint64_t model = 0;            // identity of the model; snapshots of another one are refused
    const LayerConfig *layers = nullptr; // [n_layers], read at create only; null: all layers alike
    // Largest append in tokens that reserve provides for, [n_layers], read at create only. Null or
    // 0: a page in layers that encode, 1024 in others with a window.
    const uint32_t *append_tokens = nullptr;
    // Positions by which truncate can go back in layers with a window. Pages are kept for tokens
    // that come after such a cut.
    uint32_t window_history = 0;

    // First rotated coordinate: values in keys are not rotated.
    uint32_t rope_first() const { return v_in_k ? head_dim_v : 0; }
    bool turns() const { return rope_style == RopeStyle::pairs || rope_style == RopeStyle::halves; }
    // Coordinates of a sum over values. Values in keys are summed as whole keys, in the basis of
    // the type.
    uint32_t sum_dim() const { return v_in_k ? head_dim_k : head_dim_v; }
};

struct AttendOptions {
    bool causal = true;
    float scale = 0.0f;   // 0 = 1 / sqrt(head_dim_k)
    float softcap = 0.0f; // 0: none; else scores become cap * tanh(score / cap)
    uint32_t window = 0;  // 0: window of the layer; else the intersection of both
    WindowKind window_kind = WindowKind::sliding;
    const float *alibi_slopes = nullptr; // [n_q_heads] or null
    bool alibi_both_sides = false;       // keys after the query get the same bias as those before
    const float *sink_logits = nullptr;  // [n_q_heads] or null
    Progress progress;
};

// Queries of n_sequences sequences, n_queries each, one sequence after the other, and memory for
// their results.
struct Queries {
    float *out, *lse; // lse may be null
    uint32_t layer_index;
    const uint32_t *sequences;
    size_t n_sequences;
    const float *q;
    size_t n_queries;
    const int32_t *positions = nullptr; // null: those of the last tokens of each sequence
};

struct Stats {
    uint64_t n_tokens, n_pages, n_plain_pages, n_shared_pages, page_bytes, bytes_per_token;
    uint32_t type_k, type_v;
    double bits_per_value;   // as stored in full pages
    double k_error, v_error; // relative mean squared errors of encoded values
};

// Source of an append: k and v as f32, f16 or bf16, [n_tokens][n_kv_heads][head_dim].
enum class SourceType : uint8_t { f32, f16, bf16 };
struct Source {
    const void *k, *v;
    SourceType type = SourceType::f32;
    size_t k_stride = 0, v_stride = 0; // values from one token to the next; 0 = dense
};

constexpr uint32_t kMostTracks = 1u << 22; // layers * sequences, of about 256 bytes each
constexpr uint32_t kAllLayers = UINT32_MAX, kAllSequences = UINT32_MAX, kKeepType = UINT32_MAX;

class Cache {
public:
    struct State; // state.hpp: internal to this folder

    // Throws Error / std::bad_alloc.
    static Cache *create(Ref<Host> host, const kernels::Kernels *kernels, const Config &config);
    static void destroy(Cache *cache);
    // Returns the bytes of a cache that has reserved n_tokens in every sequence. Throws Error.
    static uint64_t estimate(const Host &host, const Config &config, uint64_t n_tokens);
    const Config &config() const;

    // Returns the tokens that fit below max_pages, over all sequences; UINT64_MAX without that
    // limit. Spare pages of sequences without a reservation count as free.
    uint64_t room() const;

    // Contracts: include/ggufx/kv.h. None of these throws. positions may be null.
    Status reserve(uint32_t sequence, uint64_t n_tokens, Failure *failure);
    Status append(uint32_t layer, uint32_t sequence, size_t n_tokens, const int32_t *positions,
                  const Source &source, Failure *failure);
    // Appends tokens with one (sequence, position) each.
    Status append_batch(uint32_t layer, size_t n_tokens, const uint32_t *sequences,
                        const int32_t *positions, const Source &source, Failure *failure);
    Status attend(const Queries &queries, const AttendOptions &options, Failure *failure) const;
    Status read(float *k, float *v, uint32_t layer, uint32_t sequence, uint64_t first,
                uint64_t n_tokens, Failure *failure) const;
    // Scores of all tokens of a layer, without masks; -infinity for tokens that a window has
    // dropped.
    Status scores(float *out, size_t n_out, uint32_t layer, uint32_t sequence, const float *q,
                  size_t n_queries, float scale, Failure *failure) const;
    Status length(uint64_t *out, uint32_t sequence, Failure *failure) const;
    Status positions(int32_t *out, uint32_t sequence, uint64_t first, uint64_t n,
                     Failure *failure) const;
    Status truncate(uint32_t sequence, uint64_t n_tokens, Failure *failure);
    // Returns the largest length <= n_tokens to which the sequence can be cut so that further
    // appends have the bits of a fresh run.
    uint64_t nearest(uint32_t sequence, uint64_t n_tokens) const;
    // Returns how many of n tokens to append at a time. In a layer that encodes, those up to the
    // end of a page, so that no page needs memory for both forms; in others append_tokens.
    size_t whole_step(uint32_t layer, uint32_t sequence, size_t n) const;
    // Begins a call of several appends, which ends with commit, or with rollback to its start.
    Status begin(uint32_t sequence, Failure *failure);
    // Within such a call: takes the pages for n_tokens in all and holds them for the sequence until
    // the call ends. Errors: CAPACITY, MEMORY; nothing is changed then.
    Status provide(uint32_t sequence, uint64_t n_tokens, Failure *failure);
    Status commit(uint32_t sequence, Failure *failure);
    Status rollback(uint32_t sequence, Failure *failure);
    // Tokens first .. first + n - 1.
    struct Range {
        uint64_t first, n;
        uint64_t end() const { return first + n; }
        bool holds(uint64_t token) const { return token >= first && token - first < n; }
    };
    Status remove(uint32_t sequence, const Range &range, Failure *failure);
    // Removal in two steps of tokens some of which a window may have dropped, between tokens up to
    // position `before` and from position `after` on. After prepare_remove, remove cannot fail.
    struct Part {
        Range range;
        int32_t before; // -1: none
        int32_t after;
    };
    Status prepare_remove(uint32_t sequence, const Part &part, Failure *failure);
    void remove(uint32_t sequence, const Part &part);
    Status copy(uint32_t from, uint32_t to, const Range &range, Failure *failure);
    Status shift(uint32_t sequence, const Range &range, int32_t delta, Failure *failure);
    // Shift in two steps, of tokens some of which a window may have dropped.
    Status prepare_shift(uint32_t sequence, const Range &range, int32_t delta, Failure *failure);
    void shift(uint32_t sequence, const Range &range, int32_t delta);
    Status keep(uint32_t sequence, Failure *failure);
    // Null pointers: mu_k = 0, eq_k = 1, mu_v = 0.
    Status calibrate(uint32_t layer, const float *mu_k, const float *eq_k, const float *mu_v,
                     Failure *failure);
    // sequence: one, or kAllSequences. A failed load changes nothing.
    Status save(uint32_t sequence, WriteFn write, void *user, Failure *failure) const;
    Status load(uint32_t sequence, const Reader &reader, Failure *failure);
    // Load in two steps. load_aside reads a snapshot without changing the cache, and reserves
    // n_reserved tokens unless that is 0. Every layer must hold the tokens of `expected`, else
    // MALFORMED. finish_load then takes or drops what was read.
    Status load_aside(uint32_t sequence, const ExpectedTokens *expected, uint64_t n_reserved,
                      const Reader &reader, Failure *failure);
    void finish_load(bool take);
    // Also throws Error if the file fails.
    Status save_path(uint32_t sequence, const char *path, Failure *failure) const;
    Status load_path(uint32_t sequence, const char *path, Failure *failure);
    // layer: one, or kAllLayers. kKeepType: the current type. Throws Error for types that do not
    // fit.
    Status requantize(uint32_t layer, uint32_t type_k, uint32_t type_v, const Progress &progress,
                      Failure *failure);
    Status compact(uint32_t sequence, const Progress &progress, Failure *failure);
    void clear();
    Status stats(Stats *out, uint32_t layer, Failure *failure) const; // kAllLayers: totals

private:
    Cache() = default;
    ~Cache() = default;
    void build(const Config &config);
    State *state_ = nullptr;
};

} // namespace ggufx::kv
