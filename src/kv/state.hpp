// What a cache holds: per layer and sequence a track of references to blocks of 64 tokens, which
// sequences share until one of them writes.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/table.hpp"
#include "kv/types.hpp"

namespace ggufx::kv {

constexpr uint32_t kPageTokens = 64;
constexpr size_t kPageAlign = 64;
constexpr uint64_t kRoundNs = 2000000; // of a round and worker: the pause between two polls
// Tokens of one append that reserve provides for in layers with a window; in those that encode it
// is a page.
constexpr uint64_t kWindowAppend = 1024;
// Of a sequence, those behind a window included: decades of them, and sums over all sequences of a
// cache still fit 64 bits.
constexpr uint64_t kMostTokens = uint64_t(1) << 40;

// A plain block holds plain_type of the streams, an encoded one their types, one of sinks (the
// first tokens of a sequence, for ever) sink_type.
enum Form : uint32_t { kPlain, kEncoded, kSinks };
constexpr Form kForms[] = {kPlain, kEncoded, kSinks};
constexpr size_t kFormCount = sizeof kForms / sizeof *kForms;

// In front of the pages of all heads of K, then V, then the errors of encoding.
struct alignas(kPageAlign) Block {
    Block *next;       // in a list of spare blocks
    struct Move *move; // requantize: what becomes of it; null but during that call
    uint32_t n_owners; // references from tracks
    uint32_t form;
    int32_t positions[kPageTokens];

    uint8_t *data() { return reinterpret_cast<uint8_t *>(this + 1); }
    const uint8_t *data() const { return reinterpret_cast<const uint8_t *>(this + 1); }
};

// Squared errors and squares of what one head of a block encoded.
struct HeadErrors {
    float k_error, k_square, v_error, v_square;
};

struct BlockShape {
    const TypeOps *k = nullptr, *v = nullptr;
    size_t k_head = 0, v_head = 0;   // bytes of one head's page
    size_t v_offset = 0, errors = 0; // from data()
    size_t bytes = 0;                // of a block

    size_t page_offset(Side side, uint32_t head) const {
        return side == Side::k ? head * k_head : v_offset + head * v_head;
    }
};
// Of one head.
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

// None where `tokens` is 0.
struct Window {
    uint32_t tokens = 0;
    WindowKind kind = WindowKind::sliding;

    // Later tokens never see what is far enough behind.
    bool drops() const { return tokens != 0 && kind != WindowKind::symmetric; }
    // What the token at a position sees through it: what is there, where it looks ahead.
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
    bool sinks = false;           // or BF16: the first tokens lie in a page of their own
    bool v_in_k = false;          // blocks have no values of their own
    Window window;
    uint32_t append_tokens = 0, window_history = 0; // of Config
    bool centre_k = false, centre_v = false;        // streams that are calibrated
    float *calibration = nullptr;                   // what the caller gave; null: never used
    bool given = false; // for all sequences that learn none of their own
    uint64_t n_blocks[kFormCount] = {};
    uint64_t max_blocks = 0; // of the main form; 0: none
    uint64_t n_loaded = 0;   // of those, what a load has built so far

    Form main_form() const { return encodes ? kEncoded : kPlain; } // that long sequences consist of
    uint64_t main_blocks() const { return n_blocks[main_form()]; }
};

// Tokens first .. first + n - 1 of a block; positions are the block's plus delta. The first one is
// token `index` of the sequence, those behind the window included: it decides the chunk.
struct PageRef {
    Block *block;
    uint16_t first, n;
    int32_t delta;
    uint64_t index;
    Block
        *plain; // of an encoded page: the same tokens in F16, while queries that stand in it, or a
                // cut, may want them; else null
};

// Where a call on a sequence began, so that it can be taken back.
struct Mark {
    bool set;      // the call is not over
    bool provided; // its spare blocks are wanted
    uint64_t n_tokens, n_dropped;
    int32_t dropped_first, dropped_last;
    // Where the last page was plain: that page, and its plain form once it is encoded and the
    // appends after that have come. `plain` outlives the call, so that cuts find it.
    bool has_last;
    uint64_t last_index;
    Block *plain;
    PageRef *pages; // that the window has dropped since, of those that were there
    size_t table_size, n_pages;
};

// The tokens of one layer of one sequence.
struct Track {
    PageRef *pages;
    size_t table_size, n_pages;
    uint64_t n_tokens;                   // dropped ones included
    uint64_t n_dropped;                  // behind the layer's window, the oldest
    int32_t dropped_first, dropped_last; // their positions
    Block *spare[kFormCount];
    size_t n_spare[kFormCount], n_marked[kFormCount]; // marked: before a batch
    // During a call with tokens of several sequences: the first one's place in it, their number,
    // and the position of the last one.
    size_t batch_first;
    uint64_t batch_tokens;
    int32_t batch_last;
    bool reserved;
    bool prepared;         // during a call with tokens of several sequences: its spares are wanted
    bool reuses;           // during an append: reused_page() of before it
    int64_t next_position; // the same: the least that it could begin with
    Mark mark;
    float *calibration;   // memory for mu_k, eq_k, mu_v of all heads; null: never used
    bool calibrated;      // it holds what the first encoded page taught
    uint64_t learned_end; // the token after that page; cut before it, the track forgets
};

// By how much a pair of coordinates turns when a position grows by `delta`: delta * scale * each.
struct Turn {
    double *each = nullptr; // [n]; null: nothing turns
    size_t n = 0;
    double scale = 1.0;
    double most = 0.0; // of |scale * each|
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
    uint8_t *scratch = nullptr;   // of each worker
    size_t scratch_bytes = 0;     // of one
    float *calibration = nullptr; // [layer][what the caller gave, then each sequence]
    size_t n_calibration = 0;
    AttendMemory *attend = nullptr; // attend.hpp
    Turn turn;
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
    // Sets what layers and tracks point to.
    void place_calibration(float *all, size_t one);
};

// Options with their defaults filled in, or Error.
Config checked_config(Config config);
Layer make_layer(const Config &config, uint32_t index);       // of checked ones; throws Error
Layer layer_of(const Config &config, const LayerConfig &own); // types 0: those of the cache

// Memory that encoding and centring take in caches that have such layers.
struct LayerMemory {
    size_t scratch_one, scratch, calibration_one, calibration; // bytes; _one: of a track
};
LayerMemory layer_memory(const Host &host, const Config &config, bool encodes, bool centred);

// Checks of arguments that all calls share; they name the limit.
Status check_layer(const Config &config, uint32_t layer, Failure *failure);
Status check_sequence(const Config &config, uint32_t sequence, Failure *failure);
// The pages of n tokens are more than the limit of a layer leaves.
Status refuse_pages(const Cache::State &state, uint32_t layer, uint64_t n, Failure *failure);

// ---- blocks (blocks.cpp) ------------------------------------------------------------------------

BlockShape block_shape(const Config &config, const TypeOps &k, const TypeOps &v); // throws
Block *take_block(const Host &host, Layer &layer, Form form); // zeros; null: no memory
void free_block(const Host &host, Layer &layer, Block *block);
// One owner less; a block without owners becomes a spare of the track, or is freed.
void release_block(const Host &host, Layer &layer, Block *block, Track *spares);
void release_page(const Host &host, Layer &layer, const PageRef &page, Track *spares);
void drop_spares(const Host &host, Layer &layer, Track &track, Form form, size_t keep);
void push_spare(Track &track, Block *block);
Block *pop_spare(Track &track, Form form);

// ---- tracks (tracks.cpp) ------------------------------------------------------------------------

// What appending n tokens to a track takes: in one append, or in steps of a page at most.
enum class Steps { one, small };
struct Needs {
    size_t blocks[kFormCount]; // by Form, spare ones included
    size_t n_pages;            // entries of the table
};
Needs needs_of(const Cache::State &state, const Layer &layer, const Track &track, uint64_t n,
               Steps steps);
// The most that a layer with a window holds: what is seen, and what is kept for cuts, before a call
// and now; an append; the rest of the pages at the four ends.
uint64_t window_tokens(const Layer &layer);
// Room for n_pages in a table of which n_used are held, or nothing is changed.
bool grow_pages(const Host &host, PageRef *&pages, size_t &table_size, size_t n_used,
                size_t n_pages);
bool grow_table(const Host &host, Track &track, size_t n_pages);
size_t table_size_for(size_t n_pages);
// Makes blocks and table sufficient: MEMORY, or CAPACITY where the layer has a limit, after spare
// blocks of sequences that have reserved none were given back. Else nothing changes.
Status prepare(const Cache::State &state, Layer &layer, Track &track, uint64_t n, Steps steps);
// Spare blocks of the main form of sequences that have reserved nothing are given back; `but` keeps
// so many.
void drop_all_spares(const Cache::State &state, Layer &layer, const Track *but, size_t keep);
// Pages for which a layer that has a limit still has room.
uint64_t layer_room(const Cache::State &state, uint32_t layer);
// What reserve takes for a track that is to have n tokens, the table of a mark included: MEMORY or
// CAPACITY; blocks go to its spare ones.
Status reserve_track(const Cache::State &state, Layer &layer, Track &track, uint64_t n_tokens);
// The same for one that was loaded, which gets what it would have had from the start: it may be cut
// to nothing and filled again.
Status reserve_loaded(const Cache::State &state, Layer &layer, Track &track, uint64_t n_tokens);
// The last page, when tokens may go on in it; null otherwise. Slots end at page_limit.
PageRef *open_page(const Cache::State &state, const Layer &layer, Track &track);
// The last page of a layer that encodes, when it is plain: full or not, the next append encodes it.
PageRef *hot_page(const Layer &layer, Track &track);
uint32_t page_limit(const Cache::State &state, const Block &block);

uint64_t common_length(const Cache::State &state, uint32_t sequence); // of all layers
// Sets `index` of all pages.
void number_pages(Track &track);
// A page that is cut becomes plain again where that form is left, so that tokens can go on in it as
// if the others had never come.
void cut_track(const Cache::State &state, Layer &layer, Track &track, uint64_t n_tokens);
void clear_track(const Cache::State &state, Layer &layer, Track &track);
// The plain form of an encoded page; null: it is gone.
Block *plain_of(const Track &track, const PageRef &page);
void take_plain(const Cache::State &state, Layer &layer, Track &track, PageRef &page);
bool holds_encoded(const Track &track);
// What the first encoded page taught holds as long as there is such a page, or was one.
void forget_learned(Track &track);
int32_t position_at(const PageRef &page, uint32_t i);
int32_t last_position(const Track &track);
// Makes a page begin at the first token whose position is at least p; its index. The table must
// have room for one more.
size_t split_at(Track &track, int32_t p);
// Those of a form that no other track holds: given back when this one is.
uint64_t own_blocks(const Track &track, Form form);
void drop_window(const Cache::State &state, Layer &layer, Track &track, int64_t next_position);
// Whether a token after `last`, the last position held, would see one that the window has dropped.
bool sees_dropped(const Layer &layer, int32_t dropped_last, int64_t last);

// ---- calls on a sequence (calls.cpp) ------------------------------------------------------------

// Plain blocks that a track needs at once in small steps: of the page that tokens go to, and of the
// one before.
constexpr size_t kPlainBlocks = 2;
// The same, with what appends of more than that keep beside.
size_t plain_blocks(const Layer &layer);
// Plain blocks of a track of a layer that encodes which no other sequence holds, spares left out;
// those of them that settle_track makes spares.
size_t plain_in_use(const Track &track);
size_t settled_blocks(const Track &track);
// The last page, full and plain, when nobody will ask for its plain form again once it is encoded:
// neither a query nor a cut back to the mark. Its block takes the next tokens. Else null.
PageRef *reused_page(const Layer &layer, Track &track);
// The queries of the last append are answered: encoded pages let their plain forms go; that of the
// page a call began in stays with the mark.
void settle_track(const Cache::State &state, Layer &layer, Track &track);
// Spare plain blocks beyond what small steps need are freed.
void trim_plain(const Cache::State &state, Layer &layer, Track &track);
// Memory for the pages that a window may drop during a call. False: there is none.
bool grow_mark(const Host &host, const Layer &layer, Track &track, size_t n_pages);
void set_mark(const Cache::State &state, Layer &layer, Track &track);
// The call is over; `forget`: cuts shall not find the page it began in either.
void end_mark(const Cache::State &state, Layer &layer, Track &track, bool forget);
void return_to_mark(const Cache::State &state, Layer &layer, Track &track);

// ---- vectors (vectors.cpp) ----------------------------------------------------------------------

// Values first .. first + n - 1 of a head of a token, in the basis it was appended in.
struct HeadCalibration;
void read_part(const Cache::State &state, const Layer &layer, const HeadCalibration &calibration,
               const Block &block, uint32_t slot, uint32_t head, Side side, uint32_t first,
               uint32_t n, float *out);
// Slot `slot` of a float page from values at, at + 1, ... of an append's source.
void store_source(uint8_t *page, KvKind kind, Side side, uint32_t n, uint32_t slot,
                  const void *data, SourceType type, size_t at);
void copy_floats(uint8_t *to, const uint8_t *from, KvKind kind, Side side, uint32_t n,
                 uint32_t slot);
float source_value(const void *data, SourceType type, size_t at);
void read_floats(float *out, const uint8_t *page, KvKind kind, Side side, uint32_t head_dim,
                 uint32_t slot, uint32_t first, uint32_t n);

// ---- calibration (calibrate.cpp), shift (rope.cpp) ----------------------------------------------

// Of one head; null pointers for streams that are not calibrated.
struct HeadCalibration {
    float *mu_k, *eq_k, *mu_v;
};
// What a track's encoded pages are centred by: its own, or what the caller gave; null: nothing yet.
float *calibration_of(const Layer &layer, const Track &track);
// `calibration` may be null.
HeadCalibration calibration_head(const Config &config, const Layer &layer, float *calibration,
                                 uint32_t head);
size_t calibration_floats(const Config &config); // of a track
constexpr float kLeastEqualiser = 0x1p-40f;
// A getter of vectors of the page that decides: n floats of (side, slot, head).
struct PageValues {
    const void *ctx;
    void (*get)(const void *ctx, Side side, uint32_t slot, uint32_t head, float *out);
    uint32_t first, end; // slots
};
// For the streams that `layer` centres.
void learn_calibration(const Config &config, const Layer &layer, float *calibration,
                       const PageValues &values, const Scratch &scratch);
size_t turn_values(const Config &config);         // of Turn::each
void make_turn(const Config &config, Turn &turn); // each points to that many
// Angles beyond 2^31 have no sine.
bool can_turn(const Turn &turn, int64_t delta);
// One head of q or k as if its position were `delta` larger; some change.
inline bool turns(const Cache::State &state, int32_t delta) {
    return delta != 0 && state.turn.n != 0;
}
void rotate_position(const Cache::State &state, float *x, int32_t delta);

} // namespace ggufx::kv
