// The KV cache: layers x sequences of encoded keys and values on pages of 64 tokens, and attention
// over them. The bits are defined in docs/reproducibility/attention.md.
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

// id::Q8_0 ...: GGUFX_KV_*.
namespace id {
#define X(NAME, ID, ...) constexpr uint32_t NAME = ID;
#include "kv/types.def"
} // namespace id

struct TypeFacts {
    uint32_t id;
    const char *name;
    uint32_t block_values;
    uint32_t block_bytes;
    uint32_t flags; // as GGUFX_TYPE_IS_*
};
const TypeFacts *type_facts(uint32_t id);                       // null when unknown
const TypeFacts *type_by_name(const char *name, size_t length); // without regard to case
const TypeFacts *type_at(size_t index);                         // 0, 1, ... then null

enum class Centring : uint8_t { by_type, always, never };

// How keys carry their positions: `unknown` ones cannot be shifted.
enum class RopeStyle : uint8_t { unknown, none, pairs, halves };

// Positions j that the token at i sees through a window of w: i - w < j <= i; w floor(i / w) <= j
// <= i; |i - j| <= floor(w / 2).
enum class WindowKind : uint32_t { sliding, chunked, symmetric };

struct LayerConfig {
    uint32_t type_k, type_v; // 0: those of the cache
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
    // Of a layer, over all sequences, each of 64 tokens; 0 = as memory allows. Shared ones count
    // once, spare ones too. In layers that encode those of first and last tokens, which each
    // sequence has two or three of, do not count. What would take more is CAPACITY, with nothing
    // changed; requantize and compact may take some more while they run, requantize also after.
    uint64_t max_pages = 0;
    uint32_t n_sinks = 64; // first tokens kept as F16, of BF16 streams as F32
    bool fit_tq3 = false;
    bool v_in_k = false; // values are the first head_dim_v coordinates of keys
    Centring centring = Centring::by_type;
    RopeStyle rope_style = RopeStyle::unknown;
    uint32_t rope_dims = 0; // 0 = those from rope_first() on
    float rope_base = 10000.0f, rope_scale = 1.0f;
    // Angles per position of pair i, [rope_dims / 2], read at create only; null: rope_scale *
    // rope_base^(-2 i / rope_dims).
    const double *rope_frequencies = nullptr;
    size_t n_rope_frequencies = 0;       // 0, or rope_dims / 2
    uint64_t model = 0;                  // told apart by snapshots
    const LayerConfig *layers = nullptr; // [n_layers], read at create only; null: all alike
    // Tokens of one append that reserve provides for, [n_layers], read at create only; null or 0: a
    // page in layers that encode, 1024 in others with a window.
    const uint32_t *append_tokens = nullptr;
    // Windows drop what no token sees of which as many come behind it: truncate goes back so far.
    uint32_t window_history = 0;

    // Values do not turn.
    uint32_t rope_first() const { return v_in_k ? head_dim_v : 0; }
    bool turns() const { return rope_style == RopeStyle::pairs || rope_style == RopeStyle::halves; }
    // Coordinates of a sum over values: whole keys while they are in a basis of their own.
    uint32_t sum_dim() const { return v_in_k ? head_dim_k : head_dim_v; }
};

struct AttendOptions {
    bool causal = true;
    float scale = 0.0f;   // 0 = 1 / sqrt(head_dim_k)
    float softcap = 0.0f; // 0: none; else scores become cap * tanh(score / cap)
    uint32_t window = 0;  // 0: that of the layer; else what both show
    WindowKind window_kind = WindowKind::sliding;
    const float *alibi_slopes = nullptr; // [n_q_heads] or null
    bool alibi_both_sides = false;       // keys behind the query are as far away as those before
    const float *sink_logits = nullptr;  // [n_q_heads] or null
    Progress progress;
};

struct Stats {
    uint64_t n_tokens, n_pages, n_plain_pages, n_shared_pages, page_bytes, bytes_per_token;
    uint32_t type_k, type_v;
    double bits_per_value;   // as stored in full pages
    double k_error, v_error; // relative mean squared errors of what was encoded
};

// What an append copies from: k and v as f32, f16 or bf16, [n_tokens][n_kv_heads][head_dim].
enum class SourceType : uint8_t { f32, f16, bf16 };
struct Source {
    const void *k, *v;
    SourceType type = SourceType::f32;
};

constexpr uint32_t kAllLayers = UINT32_MAX, kAllSequences = UINT32_MAX, kKeepType = UINT32_MAX;

class Cache {
public:
    struct State; // state.hpp: for the files of this folder

    // Throws Error / std::bad_alloc.
    static Cache *create(Ref<Host> host, const kernels::Kernels *kernels, const Config &config);
    static void destroy(Cache *cache);
    // Bytes that a cache takes which has reserved n_tokens in all sequences. Throws Error.
    static uint64_t estimate(const Host &host, const Config &config, uint64_t n_tokens);
    const Config &config() const;

    // Tokens for which there is room below max_pages, over all sequences: UINT64_MAX without. What
    // is spare in sequences that have reserved nothing is room.
    uint64_t room() const;

    // The contracts of include/ggufx/kv.h; none throws. positions may be null.
    Status reserve(uint32_t sequence, uint64_t n_tokens, Failure *failure);
    Status append(uint32_t layer, uint32_t sequence, size_t n_tokens, const int32_t *positions,
                  const Source &source, Failure *failure);
    // One (sequence, position) per token.
    Status append_batch(uint32_t layer, size_t n_tokens, const uint32_t *sequences,
                        const int32_t *positions, const Source &source, Failure *failure);
    // n_queries queries of each of n_sequences sequences, one sequence after the other.
    Status attend(float *out, float *lse, uint32_t layer, const uint32_t *sequences,
                  size_t n_sequences, const float *q, size_t n_queries, const int32_t *positions,
                  const AttendOptions &options, Failure *failure) const;
    Status read(float *k, float *v, uint32_t layer, uint32_t sequence, uint64_t first,
                uint64_t n_tokens, Failure *failure) const;
    // All tokens of a layer, without masks; -infinity behind the window.
    Status scores(float *out, size_t n_out, uint32_t layer, uint32_t sequence, const float *q,
                  size_t n_queries, float scale, Failure *failure) const;
    Status length(uint64_t *out, uint32_t sequence, Failure *failure) const;
    Status positions(int32_t *out, uint32_t sequence, uint64_t first, uint64_t n,
                     Failure *failure) const;
    Status truncate(uint32_t sequence, uint64_t n_tokens, Failure *failure);
    // The longest part of the first n tokens after which appends go on, once the sequence is cut
    // there, as if those behind had never come: attention has the bits of a fresh run.
    uint64_t nearest(uint32_t sequence, uint64_t n_tokens) const;
    // How many of n tokens to append at a time: those up to the end of a page, so that a layer that
    // encodes needs no memory for both forms of their pages; in others, append_tokens.
    size_t whole_step(uint32_t layer, uint32_t sequence, size_t n) const;
    // A call of several appends: commit, or rollback to where it began.
    Status begin(uint32_t sequence, Failure *failure);
    // Within one: take what appends of n_tokens in all will need; it is the sequence's until the call
    // ends. Errors: CAPACITY, MEMORY; nothing has changed then.
    Status provide(uint32_t sequence, uint64_t n_tokens, Failure *failure);
    Status commit(uint32_t sequence, Failure *failure);
    Status rollback(uint32_t sequence, Failure *failure);
    // Tokens whose position is in p0 .. p1 - 1.
    Status remove(uint32_t sequence, int32_t p0, int32_t p1, Failure *failure);
    // The same in two steps, of tokens `first` .. first + n - 1, which a window may have dropped in
    // part; the last one that stays before them is at position `before`. Prepared, it cannot fail.
    struct Part {
        int32_t p0, p1;
        uint64_t first, n;
        int32_t before; // -1: none stays
    };
    Status prepare_remove(uint32_t sequence, const Part &part, Failure *failure);
    void remove(uint32_t sequence, const Part &part);
    Status copy(uint32_t from, uint32_t to, int32_t p0, int32_t p1, Failure *failure);
    Status shift(uint32_t sequence, int32_t p0, int32_t p1, int32_t delta, Failure *failure);
    // The same in two steps, of tokens that a window may have dropped in part.
    Status prepare_shift(uint32_t sequence, int32_t p0, int32_t p1, int32_t delta,
                         Failure *failure);
    void shift(uint32_t sequence, int32_t p0, int32_t p1, int32_t delta);
    Status keep(uint32_t sequence, Failure *failure);
    // Null pointers: 0, 1, 0.
    Status calibrate(uint32_t layer, const float *mu_k, const float *eq_k, const float *mu_v,
                     Failure *failure);
    // One sequence or kAllSequences; a failed load changes nothing.
    Status save(uint32_t sequence, WriteFn write, void *user, Failure *failure) const;
    Status load(uint32_t sequence, const Reader &reader, Failure *failure);
    // The same in two steps, of sequences that have what is expected of each, in every layer (else
    // MALFORMED): read aside, with n_reserved tokens reserved unless that is 0; then taken or dropped.
    Status load_aside(uint32_t sequence, const ExpectedTokens *expected, uint64_t n_reserved,
                      const Reader &reader, Failure *failure);
    void finish_load(bool take);
    // Throws Error as well: what the file fails with.
    Status save_path(uint32_t sequence, const char *path, Failure *failure) const;
    Status load_path(uint32_t sequence, const char *path, Failure *failure);
    // One layer or kAllLayers; kKeepType: the type it has. Throws Error for types that do not fit.
    Status requantize(uint32_t layer, uint32_t type_k, uint32_t type_v, const Progress &progress,
                      Failure *failure);
    Status compact(uint32_t sequence, const Progress &progress, Failure *failure);
    void clear();
    Status stats(Stats *out, uint32_t layer, Failure *failure) const; // kAllLayers: of all

private:
    Cache() = default;
    ~Cache() = default;
    void build(const Config &config);
    State *state_ = nullptr;
};

} // namespace ggufx::kv
