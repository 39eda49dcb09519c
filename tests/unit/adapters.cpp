// LoRA adapters and control vectors on every architecture. The results are those of the merged
// model, on every instruction set and number of threads. Also batches of sequences with different
// adapters, truncations, copies, snapshots and speculative decoding.
// Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "adapter_files.hpp"
#include "batch_calls.hpp"
#include "machines.hpp"
#include "rewrite.hpp"

extern "C" {
#include "test_step.h"
}

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <memory>

namespace {

// Covers rounding of merged weights to binary32 and other orders of sums; the files' logits are up
// to 25.
constexpr double kTolerance = 1e-3;
constexpr size_t kTokens = 70, kPrompt = 66;
constexpr Mode kF32 = {};

bool equal(const std::vector<float> &a, const std::vector<float> &b) {
    return a.size() == b.size() && memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<float> logits(const ggufx_model *model, const Uses &uses, const Mode &mode) {
    Session session(model, mode);
    give(session.handle(), 0, uses);
    size_t calls = 0;
    return session.decode(random_ids(kTokens, session.n_vocab(), 9),
                          [&] { return calls++ ? 1 : kPrompt; });
}

// A model opened from bytes.
struct Made {
    std::string bytes;
    ggufx_file *file;
    ggufx_model *model = nullptr;
    Made(std::string from, const ggufx_runtime *runtime = g_runtime)
        : bytes(std::move(from)), file(open_bytes(bytes, runtime)) {
        ggufx_error error;
        must(ggufx_model_create(&model, runtime, file, nullptr, &error), error, "model");
    }
    Made(const Made &) = delete;
    ~Made() {
        ggufx_model_destroy(model);
        ggufx_file_destroy(file);
    }
};

// Two adapters at once, with scales; the second has quantized blocks if its rows are a multiple of
// them.
void test_merged(const TinyFile &file, const Opened &opened) {
    const bool separate = file.architecture == "llama"; // Mixtral has experts
    const Adapter first(opened.model, lora_bytes(opened.file, {.seed = 3, .one_a = separate}));
    const Adapter second(
        opened.model,
        lora_bytes(opened.file,
                   {.seed = 4, .rank = 32, .alpha = 0, .by_rows = false, .type = GGUFX_TYPE_Q8_0}));
    const Uses uses = {{first.handle(), 0.7f, 0}, {second.handle(), -0.125f, 0}};
    const std::vector<float> plain = logits(opened.model, {}, kF32);
    const std::vector<float> got = logits(opened.model, uses, kF32);
    const Made merged(merged_bytes(opened.file, uses));
    const double far = distance(got, logits(merged.model, {}, kF32));
    CHECK(far <= kTolerance, "%s: %.3g from the merged model", file.name.c_str(), far);
    CHECK(distance(got, plain) > 0.05, "%s: adapters have no effect", file.name.c_str());
    const Uses none = {{first.handle(), 0, 0}};
    CHECK(equal(logits(opened.model, none, kF32), plain), "%s: a scale of 0", file.name.c_str());
    printf("%s: %u targets, %.2g from the merged model, %.2g from the plain one\n",
           file.name.c_str(), first.facts().n_targets, far, distance(got, plain));
}

// The model and its adapters are created separately on each machine.
void test_bits(const TinyFile &file, const Opened &opened, const Machines &all) {
    const std::string lora = lora_bytes(opened.file, {.seed = 5, .rank = 3});
    const std::string control = control_bytes(opened.model, 6);
    Rewrite copy(opened.file);
    copy.add_tensors_but("");
    const std::string bytes = copy.bytes();
    std::vector<std::vector<float>> want;
    for (const auto &machine : all) {
        const Made made(bytes, machine->runtime);
        const Adapter a(made.model, lora), b(made.model, control);
        const Uses uses = {{a.handle(), 0.5f, 0}, {b.handle(), 1.25f, 0}};
        std::vector<std::vector<float>> got;
        for (const uint32_t flags : {0u, uint32_t{GGUFX_MATMUL_TILED}})
            got.push_back(logits(made.model, uses, {.matmul_flags = flags}));
        if (want.empty()) want = got;
        for (size_t i = 0; i < got.size(); i++)
            CHECK(equal(got[i], want[i]), "%s: other bits with %s", file.name.c_str(),
                  machine->name.c_str());
    }
}

uint32_t width_of(const ggufx_model *model) {
    ggufx_model_facts facts = {};
    facts.struct_size = sizeof facts;
    ggufx_error error;
    must(ggufx_model_info(&facts, model, &error), error, "model");
    return facts.n_embedding;
}

// ---- sequences ------------------------------------------------------------------------------

struct Stream {
    const char *name;
    Uses uses;
    Ids ids;
    std::vector<float> want, want_hidden; // after each token, from a session of its own
    size_t done = 0;
};

class Crowd {
public:
    Crowd(const ggufx_model *model, std::string name, uint32_t flags, const Adapter &a,
          const Adapter &b, const Adapter &control)
        : model_(model), name_(std::move(name)), flags_(flags), n_vocab_(vocabulary_of(model)),
          n_embd_(width_of(model)) {
        const ggufx_adapter_use of_a = {a.handle(), 1, 0}, of_b = {b.handle(), 0.5f, 0},
                                of_c = {control.handle(), 1.5f, 0};
        add("none", {});
        add("a", {of_a});
        add("a again", {of_a});
        add("b, a", {of_b, of_a});
        add("a, b", {of_a, of_b});
        add("control, a", {of_c, of_a});
        session_ = make_session(static_cast<uint32_t>(streams_.size()));
        for (uint32_t i = 0; i < streams_.size(); i++) give(session_, i, streams_[i].uses);
    }
    Crowd(const Crowd &) = delete;
    ~Crowd() { ggufx_session_destroy(session_); }

    void run(uint64_t seed) {
        Random random = {seed};
        for (size_t i = 0; i < 40; i++) {
            decode_some(random);
            if (random.below(3) == 0) cut(random);
        }
        snapshots();
        snapshot_of_all();
        copies();
    }

private:
    static constexpr size_t kLength = 90;

    void add(const char *name, const Uses &uses) {
        Stream stream = {name, uses, random_ids(kLength, n_vocab_, 40), {}, {}, 0};
        ggufx_session *own = make_session(1);
        give(own, 0, uses);
        for (size_t i = 0; i < kLength; i++) {
            std::vector<float> hidden;
            const std::vector<float> row = decode(own, {{0, &stream.ids[i], 1, kBoth}}, &hidden);
            stream.want.insert(stream.want.end(), row.begin(), row.end());
            stream.want_hidden.insert(stream.want_hidden.end(), hidden.begin(), hidden.end());
        }
        ggufx_session_destroy(own);
        streams_.push_back(std::move(stream));
    }
    ggufx_session *make_session(uint32_t n_sequences) const {
        ggufx_session_options options = {};
        options.struct_size = sizeof options;
        options.n_context = kLength;
        options.n_batch = 24;
        options.n_sequences = n_sequences;
        options.matmul_flags = flags_;
        ggufx_session *out = nullptr;
        ggufx_error error;
        must(ggufx_session_create(&out, model_, &options, &error), error, name_.c_str());
        return out;
    }
    static constexpr uint32_t kBoth = GGUFX_DECODE_ALL_LOGITS | GGUFX_DECODE_ALL_HIDDEN;
    struct Item {
        uint32_t sequence;
        const int32_t *ids;
        size_t n;
        uint32_t flags = GGUFX_DECODE_ALL_LOGITS;
    };
    // Returns logits; stores hidden states in *hidden, which may be null if no item requests them.
    std::vector<float> decode(ggufx_session *session, const std::vector<Item> &list,
                              std::vector<float> *hidden = nullptr) const {
        std::vector<ggufx_decode_item> items;
        size_t n_logits = 0, n_hidden = 0;
        for (const Item &item : list) {
            items.push_back(make_item(item.sequence, item.flags, item.ids, item.n));
            n_logits += item.flags & GGUFX_DECODE_ALL_LOGITS ? item.n : 0;
            n_hidden += item.flags & GGUFX_DECODE_ALL_HIDDEN ? item.n : 0;
        }
        std::vector<float> out(n_logits * n_vocab_);
        if (hidden) hidden->resize(n_hidden * n_embd_);
        ggufx_decode_options options = {};
        options.struct_size = sizeof options;
        options.logits = n_logits ? out.data() : nullptr;
        options.n_logits = out.size();
        options.hidden = n_hidden ? hidden->data() : nullptr;
        options.n_hidden = n_hidden * n_embd_;
        ggufx_error error;
        must(ggufx_session_decode(session, items.data(), items.size(), &options, &error), error,
             name_.c_str());
        return out;
    }
    void check(const Stream &stream, size_t from, const float *got, size_t n,
               const char *how) const {
        CHECK(memcmp(got, &stream.want[from * n_vocab_], n * n_vocab_ * sizeof(float)) == 0,
              "%s: sequence of %s: other bits %s", name_.c_str(), stream.name, how);
    }
    void check_hidden(const Stream &stream, size_t from, const float *got, size_t n) const {
        CHECK(memcmp(got, &stream.want_hidden[from * n_embd_], n * n_embd_ * sizeof(float)) == 0,
              "%s: sequence of %s: other hidden states in a batch", name_.c_str(), stream.name);
    }
    // Decodes parts of randomly chosen streams, in any order, with logits, hidden states or both.
    void decode_some(Random &random) {
        std::vector<Item> items;
        std::vector<uint32_t> order;
        for (uint32_t i = 0; i < streams_.size(); i++)
            order.insert(order.begin() + static_cast<ptrdiff_t>(random.below(i + 1)), i);
        for (const uint32_t i : order) {
            const Stream &s = streams_[i];
            const size_t n = random.below(2) ? 1 : 1 + random.below(30);
            if (random.below(4) == 0 || s.done + n > kLength) continue;
            constexpr uint32_t kWanted[] = {GGUFX_DECODE_ALL_LOGITS, GGUFX_DECODE_ALL_HIDDEN,
                                            kBoth};
            items.push_back({i, &s.ids[s.done], n, kWanted[random.below(3)]});
        }
        if (items.empty()) return;
        std::vector<float> hidden;
        const std::vector<float> got = decode(session_, items, &hidden);
        const float *row = got.data(), *state = hidden.data();
        for (const Item &item : items) {
            Stream &s = streams_[item.sequence];
            if (item.flags & GGUFX_DECODE_ALL_LOGITS) {
                check(s, s.done, row, item.n, "in a batch");
                row += item.n * n_vocab_;
            }
            if (item.flags & GGUFX_DECODE_ALL_HIDDEN) {
                check_hidden(s, s.done, state, item.n);
                state += item.n * n_embd_;
            }
            s.done += item.n;
        }
    }
    void cut(Random &random) {
        const uint32_t i = static_cast<uint32_t>(random.below(streams_.size()));
        truncate(i, random.below(streams_[i].done + 1));
    }
    void truncate(uint32_t i, size_t n) {
        ggufx_error error;
        must(ggufx_session_truncate(session_, i, n, &error), error, name_.c_str());
        streams_[i].done = n;
    }
    void expect(ggufx_status got, ggufx_status want, const ggufx_error &error, const char *what) {
        CHECK(got == want, "%s: %s: %s %s", name_.c_str(), what, ggufx_status_name(got),
              got == GGUFX_OK ? "" : error.message);
    }
    // Only streams with equal adapters can share a prefix.
    void copies() {
        ggufx_error error;
        const std::string &text = "adapters";
        for (uint32_t from = 0; from < streams_.size(); from++) {
            for (uint32_t to = 0; to < streams_.size(); to++) {
                if (to == from) continue;
                refill(from, 40);
                truncate(to, 0);
                const bool same = strncmp(streams_[from].name, streams_[to].name, 1) == 0 &&
                                  streams_[from].uses.size() == streams_[to].uses.size();
                const ggufx_status status = ggufx_session_copy(session_, from, to, 37, &error);
                expect(status, same ? GGUFX_OK : GGUFX_E_MISMATCH, error, "copy");
                CHECK(same || std::string(error.message).find(text) != std::string::npos,
                      "%s: \"%s\"", name_.c_str(), error.message);
                if (same) streams_[to].done = 37;
                go_on(to, "behind a copy");
            }
        }
    }
    void snapshots() {
        for (uint32_t from = 0; from < streams_.size(); from++) {
            refill(from, 30);
            std::string bytes;
            ggufx_error error;
            must(ggufx_session_save(session_, from, write, &bytes, &error), error, "save");
            for (uint32_t to = 0; to < streams_.size(); to++) {
                const bool same = streams_[from].uses.size() == streams_[to].uses.size() &&
                                  strncmp(streams_[from].name, streams_[to].name, 1) == 0;
                In in = {bytes, 0};
                const ggufx_status status = ggufx_session_load(session_, to, read, &in, &error);
                expect(status, same ? GGUFX_OK : GGUFX_E_MISMATCH, error, "load");
                if (same) streams_[to].done = 30;
                go_on(to, "after a snapshot");
            }
        }
    }
    // Loads into a session only if each sequence has the same adapters as in the snapshot.
    void snapshot_of_all() {
        const uint32_t n = static_cast<uint32_t>(streams_.size());
        for (uint32_t i = 0; i < n; i++) refill(i, 10 + i);
        std::string bytes;
        ggufx_error error;
        must(ggufx_session_save(session_, GGUFX_ALL_SEQUENCES, write, &bytes, &error), error,
             "save");
        ggufx_session *turned = make_session(n);
        for (uint32_t i = 0; i < n; i++) give(turned, i, streams_[(i + 1) % n].uses);
        In in = {bytes, 0};
        expect(ggufx_session_load(turned, GGUFX_ALL_SEQUENCES, read, &in, &error), GGUFX_E_MISMATCH,
               error, "load of all into other adapters");
        ggufx_session_destroy(turned);
        for (uint32_t i = 0; i < n; i++) truncate(i, 0);
        in.at = 0;
        must(ggufx_session_load(session_, GGUFX_ALL_SEQUENCES, read, &in, &error), error, "load");
        for (uint32_t i = 0; i < n; i++) {
            streams_[i].done = 10 + i;
            go_on(i, "after a snapshot of all");
        }
    }
    void refill(uint32_t i, size_t n) {
        Stream &s = streams_[i];
        if (s.done > n) truncate(i, n);
        if (s.done == n) return;
        check(s, s.done, decode(session_, {{i, &s.ids[s.done], n - s.done}}).data(), n - s.done,
              "refilled");
        s.done = n;
    }
    void go_on(uint32_t i, const char *how) {
        Stream &s = streams_[i];
        if (s.done + 3 > kLength) truncate(i, 20);
        check(s, s.done, decode(session_, {{i, &s.ids[s.done], 3}}).data(), 3, how);
        s.done += 3;
    }
    struct In {
        const std::string &bytes;
        size_t at;
    };
    static ggufx_status write(void *user, const void *data, size_t n) {
        static_cast<std::string *>(user)->append(static_cast<const char *>(data), n);
        return GGUFX_OK;
    }
    static ggufx_status read(void *user, void *data, size_t n) {
        auto &in = *static_cast<In *>(user);
        if (n > in.bytes.size() - in.at) return GGUFX_E_TRUNCATED;
        memcpy(data, in.bytes.data() + in.at, n);
        in.at += n;
        return GGUFX_OK;
    }

    const ggufx_model *model_;
    const std::string name_;
    const uint32_t flags_;
    const size_t n_vocab_, n_embd_;
    std::vector<Stream> streams_;
    ggufx_session *session_ = nullptr;
};

void test_sequences(const TinyFile &file, const Opened &opened) {
    const Adapter a(opened.model, lora_bytes(opened.file, {.seed = 11}));
    const Adapter b(opened.model,
                    lora_bytes(opened.file, {.seed = 12, .rank = 7, .only = "blk.1"}));
    const Adapter control(opened.model, control_bytes(opened.model, 13));
    for (const uint32_t flags :
         {uint32_t{GGUFX_MATMUL_BATCH_INVARIANT}, uint32_t{GGUFX_MATMUL_TILED}})
        Crowd(opened.model, file.name + (flags == GGUFX_MATMUL_TILED ? ", tiles" : ", rows"), flags,
              a, b, control)
            .run(flags);
}

// ---- embeddings as input ----------------------------------------------------------------------

// Returns hidden states of three given embeddings and of three tokens in another sequence.
std::vector<float> given_rows(const ggufx_model *model, const Uses &uses) {
    const size_t width = width_of(model), n = 3;
    ggufx_session_options of_session = {};
    of_session.struct_size = sizeof of_session;
    of_session.n_context = 8;
    of_session.n_sequences = 2;
    of_session.matmul_flags = GGUFX_MATMUL_TILED;
    ggufx_session *session = nullptr;
    ggufx_error error;
    must(ggufx_session_create(&session, model, &of_session, &error), error, "rows");
    give(session, GGUFX_ALL_SEQUENCES, uses);
    std::vector<float> rows(n * width), out(2 * n * width);
    Random random = {50};
    for (float &v : rows) v = static_cast<float>(random.below(2001)) / 1000 - 1;
    const int32_t ids[] = {5, 7, 11};
    ggufx_decode_item items[] = {make_item(0, GGUFX_DECODE_ALL_HIDDEN, nullptr, n),
                                 make_item(1, GGUFX_DECODE_ALL_HIDDEN, ids, n)};
    items[0].input_rows = rows.data();
    items[0].n_input_rows = rows.size();
    ggufx_decode_options options = {};
    options.struct_size = sizeof options;
    options.hidden = out.data();
    options.n_hidden = out.size();
    must(ggufx_session_decode(session, items, 2, &options, &error), error, "rows");
    ggufx_session_destroy(session);
    return out;
}

// An adapter of the embedding matrix does not change embeddings given as input.
void test_given_rows(const TinyFile &file, const Opened &opened) {
    const Adapter table(opened.model, lora_bytes(opened.file, {.seed = 14, .only = "token_embd"}));
    const std::vector<float> plain = given_rows(opened.model, {}),
                             got = given_rows(opened.model, {{table.handle(), 1, 0}});
    const size_t bytes = plain.size() / 2 * sizeof(float);
    CHECK(memcmp(got.data(), plain.data(), bytes) == 0, "%s: given rows were changed",
          file.name.c_str());
    CHECK(memcmp(&got[got.size() / 2], &plain[plain.size() / 2], bytes) != 0,
          "%s: rows of tokens were not", file.name.c_str());
}

// ---- control vectors ------------------------------------------------------------------------

// Directions limited to a range of layers equal those of a vector that only has this range.
void test_layers(const TinyFile &file, const Opened &opened) {
    ggufx_model_facts facts = {};
    facts.struct_size = sizeof facts;
    ggufx_error error;
    must(ggufx_model_info(&facts, opened.model, &error), error, "model");
    const std::string all = control_bytes(opened.model, 3);
    const Adapter whole(opened.model, all);
    CHECK(whole.facts().n_targets == facts.n_layers - 1, "%s: %u directions", file.name.c_str(),
          whole.facts().n_targets);
    if (facts.n_layers < 3) return;
    ggufx_adapter_options options = {};
    options.struct_size = sizeof options;
    options.last_layer = 1;
    const Adapter low(opened.model, all, &options);
    options.first_layer = 2;
    options.last_layer = 0;
    const Adapter high(opened.model, all, &options);
    CHECK(low.facts().n_targets + high.facts().n_targets == whole.facts().n_targets,
          "%s: directions of two halves", file.name.c_str());
    const Uses halves = {{low.handle(), 0.5f, 0}, {high.handle(), 0.5f, 0}};
    const Uses one = {{whole.handle(), 0.5f, 0}};
    CHECK(equal(logits(opened.model, halves, kF32), logits(opened.model, one, kF32)),
          "%s: two halves are not the whole", file.name.c_str());
    CHECK(!equal(logits(opened.model, {halves[0]}, kF32), logits(opened.model, one, kF32)),
          "%s: a half is the whole", file.name.c_str());
}

// ---- embeddings -----------------------------------------------------------------------------

void test_embedder(const TinyFile &file) {
    Opened opened(file.path);
    opened.with_model();
    const Adapter lora(opened.model, lora_bytes(opened.file, {.seed = 21}));
    const Uses uses = {{lora.handle(), 0.5f, 0}};
    const std::vector<Ids> texts = {random_ids(17, 300, 1), random_ids(1, 300, 2),
                                    random_ids(40, 300, 3)};
    Embedder embedder(opened.model, {});
    const std::vector<float> plain = embedder.embed(texts);
    ggufx_error error;
    must(ggufx_embedder_set_adapters(embedder.handle(), uses.data(), 1, &error), error, "set");
    const std::vector<float> got = embedder.embed(texts);
    const Made merged(merged_bytes(opened.file, uses));
    Embedder of_merged(merged.model, {});
    const double far = distance(got, of_merged.embed(texts));
    CHECK(far <= kTolerance, "%s: %.3g from the merged model", file.name.c_str(), far);
    CHECK(distance(got, plain) > 1e-2, "%s: no effect", file.name.c_str());
    const std::vector<float> alone = embedder.embed({texts[2]});
    CHECK(memcmp(alone.data(), &got[2 * embedder.facts().dimensions],
                 alone.size() * sizeof(float)) == 0,
          "%s: a text depends on its neighbours", file.name.c_str());
    must(ggufx_embedder_set_adapters(embedder.handle(), nullptr, 0, &error), error, "set");
    CHECK(equal(embedder.embed(texts), plain), "%s: not taken away", file.name.c_str());
}

constexpr const char *kCrowds[] = {"llama3",  "mixtral", "qwen35moe", "deepseek2-lite",
                                   "gpt-oss", "llama4",  "gemma4",    "nemotron-h-moe"};

bool is_crowd(const TinyFile &file) {
    return std::find(std::begin(kCrowds), std::end(kCrowds), file.name) != std::end(kCrowds);
}

// Runs for every test step: products of selected experts, for sequences with different adapters.
constexpr const char *kAlways = "qwen35moe";

} // namespace

int main() {
    if (!begin_models()) return 77;
    const Machines all = machines();
    const std::vector<TinyFile> files = tiny_files();
    size_t n_crowds = 0;
    for (size_t i = 0; i < files.size(); i++) {
        const bool whole = i % test_step() == 0;
        if (!whole && files[i].name != kAlways) continue;
        Opened opened(files[i].path);
        opened.with_model();
        if (whole) {
            test_merged(files[i], opened);
            test_bits(files[i], opened, all);
            test_layers(files[i], opened);
        }
        if (!is_crowd(files[i])) continue;
        test_sequences(files[i], opened);
        // Gemma 4 looks ids up in every layer, even for given embeddings.
        if (files[i].architecture != "gemma4") test_given_rows(files[i], opened);
        n_crowds++;
    }
    CHECK(test_step() > 1 ? n_crowds > 0 : n_crowds == std::size(kCrowds),
          "%zu models with sequences", n_crowds);
    for (const TinyFile &file : tiny_embedders()) test_embedder(file);
    return end();
}
