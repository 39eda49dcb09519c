// State of a cache: per layer and sequence, a track of references to blocks of 64 tokens. Sequences
// share blocks until one of them writes.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/table.hpp"
#include "kv/types.hpp"

namespace ggufx::kv {

constexpr uint32_t kPageTokens = 64;
constexpr size_t kPageAlign = 64;
constexpr uint64_t kRoundNs = 2000000; // a round per worker: the interval between two polls
// Largest append in tokens that reserve provides for in layers with a window; in layers that encode
// it is a page.
constexpr uint64_t kWindowAppend = 1024;
// Limit of the tokens of a sequence, dropped ones included. Sums over all sequences of a cache
// still fit 64 bits.
constexpr uint64_t kMostTokens = uint64_t(1) << 40;

// Forms of a block. kPlain: plain_type of the streams. kEncoded: their own types. kSinks:
// sink_type, for the first tokens of a sequence, which are never encoded.
enum Form : uint32_t { kPlain, kEncoded, kSinks };
constexpr Form kForms[] = {kPlain, kEncoded, kSinks};
constexpr size_t kFormCount = sizeof kForms / sizeof *kForms;

// Header of a block. The pages of all heads of K follow, then those of V, then the encoding errors.
struct alignas(kPageAlign) Block {
    Block *next;       // in a list of spare blocks
    struct Move *move; // plan of requantize for this block; null outside that call
    uint32_t n_owners; // references from tracks
    uint32_t form;
    int32_t positions[kPageTokens];
    int32_t origin; // position of the first token when the block was encoded (rope_means.cpp)

    uint8_t *data() { return reinterpret_cast<uint8_t *>(this + 1); }
    const uint8_t *data() const { return reinterpret_cast<const uint8_t *>(this + 1); }
};

// Sums of squared errors, and of squares, of the encoded values of one head of a block.
struct HeadErrors {
    float k_error, k_square, v_error, v_square;
};

struct BlockShape {
    const TypeOps *k = nullptr, *v = nullptr;
    size_t k_head = 0, v_head = 0;   // bytes of one head's page
    size_t v_offset = 0, errors = 0; // offsets from data()
    size_t rotation = 0;             // offset of the floats of set_origin(); 0: none
    size_t bytes = 0;                // a whole block

    size_t page_offset(Side side, uint32_t head) const {
        return side == Side::k ? head * k_head : v_offset + head * v_head;
    }
};
// Returns the page of one head.
inline uint8_t *page_of(Block &block, const BlockShape &shape, Side side, uint32_t head) {
    return block.data() + shape.page_offset(side, head);
}
inline const uint8_t *page_of(const Block &block, const BlockShape &shape, Side side,
                              uint32_t head) {
    return block.data() + shape.page_offset(side, head);
}

// Positions after < p <= until.
struct Span {
    int64_t after, until;
};

// Attention window; none if `tokens` is 0.
struct Window {
    uint32_t tokens = 0;
    WindowKind kind = WindowKind::sliding;

    // Whether tokens that are far enough back are never seen again, so that pages can be dropped.
    bool drops() const { return tokens != 0 && kind != WindowKind::symmetric; }
    // Returns the positions that the token at `position` sees; symmetric windows include later
    // ones.
    Span span(int64_t position) const {
        const int64_t w = tokens;
        if (w == 0) return {INT64_MIN, position};
        if (kind == WindowKind::chunked) return {position - position % w - 1, position};
        if (kind == WindowKind::symmetric) return {position - w / 2 - 1, position + w / 2};
        return {position - w, position};
    }
};

struct Layer {
    const TypeOps *k = nullptr, *v = nullptr;
    BlockShape shape[kFormCount]; // by Form
    bool encodes = false;         // a stream is quantized: full pages are encoded
    bool sinks = false;           // quantized or BF16: the first tokens have a page of their own
    bool v_in_k = false;          // values are part of keys: blocks hold no values
    Window window;
    uint32_t append_tokens = 0, window_history = 0; // as in Config
    bool centre_k = false, centre_v = false;        // streams that are calibrated
    bool before_rope = false;     // means of keys before RoPE, rotated for each block
    float *calibration = nullptr; // given by the caller; null: never used
    bool given = false; // `calibration` is set, for sequences that have not learned their own
    uint64_t n_blocks[kFormCount] = {};
    uint64_t max_blocks = 0; // limit of the main form; 0: none
    uint64_t n_loaded = 0;   // main blocks that a load has built so far

    // form of most pages of a long sequence
    Form main_form() const { return encodes ? kEncoded : kPlain; }
    uint64_t main_blocks() const { return n_blocks[main_form()]; }
};

// Slots first .. first + n - 1 of a block; positions are the block's plus delta. The first one is
// token `index` of the sequence, counting dropped ones; it decides the chunk.
struct PageRef {
    Block *block;
    uint16_t first, n;
    int32_t delta;
    uint64_t index;
    // Plain form of an encoded page (the same tokens in F16), kept while queries in that page or a
    // cut may need it; else null.
    Block *plain;
};

// Rollback point: the state of a track when a call of several appends began.
struct RollbackPoint {
    bool set;      // the call is running
    bool provided; // provide() holds spare blocks for the call
    uint64_t n_tokens, n_dropped;
    int32_t dropped_first, dropped_last;
    // If the last page was plain: its index, and its plain form, from the append after the one that
    // encoded it on. `plain` outlives the call, so that cuts find it.
    bool has_last;
    uint64_t last_index;
    Block *plain;
    PageRef *pages; // pages of the rollback point that the window has dropped since
    size_t table_size, n_pages;
};

// Page table of one layer of one sequence.
struct Track {
    PageRef *pages;
    size_t table_size, n_pages;
    uint64_t n_tokens;                   // dropped ones included
    uint64_t n_dropped;                  // oldest tokens, which the layer's window has dropped
    int32_t dropped_first, dropped_last; // positions of the dropped tokens
    Block *spare[kFormCount];
    size_t n_spare[kFormCount], n_marked[kFormCount]; // n_marked: spare blocks before a call
    // During append_batch: index of the track's first token, number of its tokens, and the position
    // of its last one.
    size_t batch_first;
    uint64_t batch_tokens;
    int32_t batch_last;
    bool reserved;
    bool prepared;         // during append_batch: its spare blocks are needed
    bool reuses;           // during an append: reused_page() existed before it
    int64_t next_position; // during an append: least position that it could begin with
    RollbackPoint mark;
    float *calibration;   // memory for mu_k, eq_k, mu_v of all heads; null: never used
    bool calibrated;      // calibration was learned from the first encoded page
    uint64_t learned_end; // end of that page in tokens; a cut before it discards the calibration
};

// RoPE angles: pair i rotates by delta * scale * each[i] when its position grows by `delta`.
struct RopeShift {
    double *each = nullptr; // [n]; null: no rotation
    size_t n = 0;
    double scale = 1.0;
    double most = 0.0; // largest |scale * each|
};

struct AttendMemory;
class Restore;

struct Cache::State {
    Ref<Host> host;
    const kernels::Kernels *kernels = nullptr;
    Config config;
    Layer *layers = nullptr;
    Track *tracks = nullptr; // [layer][sequence]
    size_t n_tracks = 0;
    uint32_t n_sinks = 0;
    uint8_t *scratch = nullptr;   // [max_workers][scratch_bytes]
    size_t scratch_bytes = 0;     // per worker
    float *calibration = nullptr; // [layer][given by the caller, then each sequence]
    size_t n_calibration = 0;
    AttendMemory *attend = nullptr; // attend.hpp
    RopeShift turn;
    Restore *aside = nullptr; // between load_aside and finish_load

    Track &track(uint32_t layer, uint32_t sequence) const {
        return tracks[size_t(layer) * config.n_sequences + sequence];
    }
    Scratch worker_scratch(uint32_t worker) const {
        const uint32_t dk = config.head_dim_k, dv = config.head_dim_v;
        return Scratch(scratch + worker * scratch_bytes, dk > dv ? dk : dv);
    }
    uint32_t head_dim(Side side) const {
        return side == Side::k ? config.head_dim_k : config.head_dim_v;
    }
    // Sets the calibration pointers of layers and tracks.
    void place_calibration(float *all, size_t one);
};

// Returns options with their defaults filled in. Throws Error.
Config checked_config(Config config);
Layer make_layer(const Config &config, uint32_t index); // config must be checked; throws Error
Layer layer_of(const Config &config, const LayerConfig &own); // types 0: those of the cache

// Sizes of the memory for encoding and centering, 0 if no layer needs it.
struct LayerMemory {
    // Bytes. scratch_one: per worker; calibration_one: per track.
    size_t scratch_one, scratch, calibration_one, calibration;
};
LayerMemory layer_memory(const Host &host, const Config &config, bool encodes, bool centred);

// Argument checks that all calls share; their messages name the limit.
Status check_layer(const Config &config, uint32_t layer, Failure *failure);
Status check_sequence(const Config &config, uint32_t sequence, Failure *failure);
// Fails with CAPACITY: the pages of n tokens exceed the limit of a layer.
Status refuse_pages(const Cache::State &state, uint32_t layer, uint64_t n, Failure *failure);

// ---- blocks (blocks.cpp) ------------------------------------------------------------------------

// rotation: whether blocks hold the floats of set_origin(). Throws Error.
BlockShape block_shape(const Config &config, const TypeOps &k, const TypeOps &v, bool rotation);
Block *take_block(const Host &host, Layer &layer, Form form); // zeroed; null: no memory
void free_block(const Host &host, Layer &layer, Block *block);
// Removes one owner. A block without owners becomes a spare block of `spares`, or is freed if that
// is null.
void release_block(const Host &host, Layer &layer, Block *block, Track *spares);
void release_page(const Host &host, Layer &layer, const PageRef &page, Track *spares);
void drop_spares(const Host &host, Layer &layer, Track &track, Form form, size_t keep);
void push_spare(Track &track, Block *block);
Block *pop_spare(Track &track, Form form);

// ---- tracks (tracks.cpp) ------------------------------------------------------------------------

// Memory to append n tokens to a track: in one append, or in steps of at most a page.
enum class Steps { one, small };
struct Needs {
    size_t blocks[kFormCount]; // by Form, spare ones included
    size_t n_pages;            // entries of the table
};
Needs needs_of(const Cache::State &state, const Layer &layer, const Track &track, uint64_t n,
               Steps steps);
// Returns the largest number of tokens that a layer with a window holds. It covers tokens seen and
// kept for cuts (both before a call and now), one append, and part-pages at the four ends.
uint64_t window_tokens(const Layer &layer);
// Grows a table of n_used entries to n_pages. Returns false, with nothing changed, if there is no
// memory.
bool grow_pages(const Host &host, PageRef *&pages, size_t &table_size, size_t n_used,
                size_t n_pages);
bool grow_table(const Host &host, Track &track, size_t n_pages);
size_t table_size_for(size_t n_pages);
// Takes blocks and table entries for n more tokens. At the limit of the layer, spare blocks of
// sequences without a reservation are freed first. Errors: CAPACITY, MEMORY; nothing else is
// changed then.
Status prepare(const Cache::State &state, Layer &layer, Track &track, uint64_t n, Steps steps);
// Frees spare blocks of the main form of sequences without a reservation; `but` keeps `keep` of
// them.
void drop_all_spares(const Cache::State &state, Layer &layer, const Track *but, size_t keep);
// Returns the pages for which a layer with a limit has room.
uint64_t layer_room(const Cache::State &state, uint32_t layer);
// Reserves a loaded track as if it were empty: it may be cut to nothing and filled again. New
// blocks become spare ones. Errors: MEMORY, CAPACITY.
Status reserve_loaded(const Cache::State &state, Layer &layer, Track &track, uint64_t n_tokens);
// Returns the last page if tokens can be appended to it, else null. Its slots end at page_limit().
PageRef *open_page(const Cache::State &state, const Layer &layer, Track &track);
// Returns the last page of a layer that encodes if it is plain, else null. Full or not, it is
// encoded when the next page begins.
PageRef *hot_page(const Layer &layer, Track &track);
uint32_t page_limit(const Cache::State &state, const Block &block);

uint64_t common_length(const Cache::State &state, uint32_t sequence); // the least of all layers
// Sets `index` of all pages.
void number_pages(Track &track);
// Cuts a track to n_tokens. A page that is cut becomes plain again if it has that form, so that
// appends continue in it as in a fresh run.
void cut_track(const Cache::State &state, Layer &layer, Track &track, uint64_t n_tokens);
void clear_track(const Cache::State &state, Layer &layer, Track &track);
// Returns the plain form of an encoded page; null: it was released.
Block *plain_of(const Track &track, const PageRef &page);
void take_plain(const Cache::State &state, Layer &layer, Track &track, PageRef &page);
bool holds_encoded(const Track &track);
// Discards the learned calibration if the page that it came from is cut and no encoded page is
// left.
void forget_learned(Track &track);
int32_t position_at(const PageRef &page, uint32_t i);
int32_t last_position(const Track &track);
// Returns the page of a token, the first page for a dropped one, n_pages for one after the last.
size_t page_of_token(const Track &track, uint64_t token);
// Splits a page so that one begins at a token; returns its index as page_of_token. The table must
// have room for one more.
size_t split_at(Track &track, uint64_t token);
// Returns the number of blocks of a form that no other track holds.
uint64_t own_blocks(const Track &track, Form form);
void drop_window(const Cache::State &state, Layer &layer, Track &track, int64_t next_position);
// Returns whether a token after position `last` would see one that the window has dropped.
bool sees_dropped(const Layer &layer, int32_t dropped_last, int64_t last);

// ---- calls on a sequence (calls.cpp) ------------------------------------------------------------

// Plain blocks that a track needs at once in small steps: the page that tokens are appended to, and
// the page before it.
constexpr size_t kPlainBlocks = 2;
// kPlainBlocks, plus the pages of an append of layer.append_tokens.
size_t plain_blocks(const Layer &layer);
// Layers that encode. plain_in_use: plain blocks that only this track holds, without spare ones.
// settled_blocks: those of them that settle_track() makes spare.
size_t plain_in_use(const Track &track);
size_t settled_blocks(const Track &track);
// Returns the last page if it is full and plain, and neither a query nor a rollback needs its plain
// form after it is encoded; else null. Its block is reused for the next tokens.
PageRef *reused_page(const Layer &layer, Track &track);
// Releases the plain forms of encoded pages: the queries of the last append are answered. The
// rollback point keeps that of the page in which the call began.
void settle_track(const Cache::State &state, Layer &layer, Track &track);
// Frees spare plain blocks beyond those that small steps need.
void trim_plain(const Cache::State &state, Layer &layer, Track &track);
// Grows the table of the rollback point, for pages that a window may drop. False: no memory.
bool grow_rollback_point(const Host &host, const Layer &layer, Track &track, size_t n_pages);
// Ends the call. `forget`: also releases the plain form that cuts into its first page would use.
void end_rollback_point(const Cache::State &state, Layer &layer, Track &track, bool forget);
void restore_rollback_point(const Cache::State &state, Layer &layer, Track &track);

// ---- vectors (read.cpp) -------------------------------------------------------------------------

// Calibration of one head; null pointers for streams that are not calibrated.
struct HeadCalibration {
    float *mu_k, *eq_k, *mu_v;
};
// Key or value of one head of a token in a block.
struct StoredVector {
    const Layer &layer;
    const HeadCalibration &calibration;
    const Block &block;
    uint32_t slot, head;
    Side side;
};
// Reads values first .. first + n - 1, in the basis in which they were appended.
void read_part(const Cache::State &state, const StoredVector &from, uint32_t first, uint32_t n,
               float *out);
// Returns the values from one token of a source to the next.
inline size_t source_stride(const Config &c, const Source &source, Side side) {
    const size_t given = side == Side::k ? source.k_stride : source.v_stride;
    return given ? given : size_t(c.n_kv_heads) * (side == Side::k ? c.head_dim_k : c.head_dim_v);
}
// Stores an append's source values from index `at` on in slot `slot` of a float page.
void store_source(uint8_t *page, KvKind kind, Side side, uint32_t n, uint32_t slot,
                  const void *data, SourceType type, size_t at);
void copy_floats(uint8_t *to, const uint8_t *from, KvKind kind, Side side, uint32_t n,
                 uint32_t slot);
float source_value(const void *data, SourceType type, size_t at);

// ---- calibration (calibrate.cpp), shift (rope.cpp) ----------------------------------------------

// Returns the calibration of a track's encoded pages: its own, or that given by the caller; null:
// none.
float *calibration_of(const Layer &layer, const Track &track);
// `calibration` may be null.
HeadCalibration calibration_head(const Config &config, const Layer &layer, float *calibration,
                                 uint32_t head);
size_t calibration_floats(const Config &config); // per track
constexpr float kLeastEqualiser = 0x1p-40f;
// Vectors of the page from which calibration is learned: get() writes those of (side, slot, head).
struct PageValues {
    const void *ctx;
    void (*get)(const void *ctx, Side side, uint32_t slot, uint32_t head, float *out);
    uint32_t first, end; // slots
    const Block *block;  // encoded block of these tokens, after set_origin()
};
// Learns the calibration of the streams that `layer` centers.
void learn_calibration(const Cache::State &state, const Layer &layer, float *calibration,
                       const PageValues &values, const Scratch &scratch);
size_t turn_values(const Config &config);              // length of RopeShift::each
void make_turn(const Config &config, RopeShift &turn); // turn.each points to that many
// Returns whether the angles of a shift stay within 2^31 radians, the range of sin_cos_f64().
bool can_turn(const RopeShift &turn, int64_t delta);
// rotate_position rotates one head of q or k as if its position were `delta` larger. turns() is
// false if that changes nothing.
inline bool turns(const Cache::State &state, int32_t delta) {
    return delta != 0 && state.turn.n != 0;
}
void rotate_position(const Cache::State &state, float *x, int32_t delta);

// ---- means of keys before RoPE (rope_means.cpp) -------------------------------------------------

// Returns the floats of a head in whole lanes: length of the arrays below.
constexpr size_t rotation_floats(uint32_t head_dim) {
    return (size_t{head_dim} + 15) / 16 * 16;
}
// Replaces the mean of a head before RoPE by the average of its rotations by 0 .. 63 positions.
void average_rotations(const Cache::State &state, float *mu);
// Sets the origin of an encoded block, and in layers with before_rope the rotation that it stands
// for.
void set_origin(const Cache::State &state, const Layer &layer, Block &block, int32_t origin);
// Writes the mean of a head rotated for a block, which its stored keys lack.
void rotated_mean(const Cache::State &state, const Layer &layer, const Block &block,
                  const float *mu, float *out);
// Writes the factors whose dot product with the rotation of a block is query . rotated_mean().
void rotation_query(const Cache::State &state, const float *q, const float *mu, float *out);
const float *rotation_of(const Layer &layer, const Block &block);

} // namespace ggufx::kv
