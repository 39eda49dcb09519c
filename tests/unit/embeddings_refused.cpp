// Refused calls of embedders: the error names the cause and nothing changes. Files with heads that
// do not fit. Memory: the estimate equals the allocations, embedding allocates nothing, each
// allocation may fail.
// Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "rewrite.hpp"
#include "tiny_files.hpp"

extern "C" {
#include "fault.h"
#include "test_step.h"
}

#include <math.h>
#include <stdio.h>
#include <string.h>

namespace {

constexpr const char *kBert = "/data/tiny/bert/tiny-bert-f16.gguf";
constexpr const char *kGemma = "/data/tiny/gemma-embedding/tiny-gemma-embedding-f16.gguf";

void refused(ggufx_status got, ggufx_status want, const ggufx_error &error, const char *text,
             const char *what) {
    CHECK(got == want && error.status == got && strstr(error.message, text), "%s: %s: %s", what,
          ggufx_status_name(got), got == GGUFX_OK ? "" : error.message);
}

// ---- calls ------------------------------------------------------------------------------------

void test_options() {
    Opened opened(kBert);
    opened.with_model();
    struct Case {
        EmbedMode mode;
        ggufx_status status;
        const char *text;
    };
    const Case cases[] = {
        {{.n_context = 513}, GGUFX_E_ARGUMENT, "n_context is 513, the model has embeddings of 512"},
        {{.n_context = 1u << 31}, GGUFX_E_ARGUMENT, "n_context is 2147483648"},
        {{.n_batch = 1u << 31}, GGUFX_E_ARGUMENT, "n_batch is 2147483648"},
        {{.dimensions = 65}, GGUFX_E_ARGUMENT, "dimensions is 65, the model has 64"},
        {{.pooling = GGUFX_POOLING_RANK}, GGUFX_E_UNSUPPORTED, "cls.output.weight"},
        {{.pooling = 6}, GGUFX_E_ARGUMENT, "pooling is 6"},
        {{.matmul_flags = 64}, GGUFX_E_ARGUMENT, "matmul_flags: unknown flags 0x40"},
        {{.matmul_flags = GGUFX_MATMUL_F32 | GGUFX_MATMUL_INT16}, GGUFX_E_ARGUMENT, "exclude"},
        {{.flags = 4}, GGUFX_E_ARGUMENT, "0x4"},
    };
    for (const Case &c : cases) {
        const ggufx_embed_options options = embed_options(c.mode);
        ggufx_embedder *embedder = nullptr;
        ggufx_error error = {};
        uint64_t bytes = 7;
        refused(ggufx_embedder_create(&embedder, opened.model, &options, &error), c.status, error,
                c.text, "create");
        refused(ggufx_embedder_estimate(&bytes, g_runtime, opened.file, &options, &error), c.status,
                error, c.text, "estimate");
        CHECK(!embedder && bytes == 7, "something was made");
    }
}

void test_handles() {
    Opened opened(kBert);
    opened.with_model();
    Embedder good(opened.model, {});
    ggufx_embedder *embedder = good.handle(), *none = nullptr;
    ggufx_embedder_facts facts = {};
    facts.struct_size = sizeof facts;
    ggufx_error error = {};
    uint64_t bytes = 0;
    float out[64];
    const int32_t ids[2] = {5, 6};
    const ggufx_token_list text = {ids, 2}, unset = {nullptr, 2};
    const auto bad = [&](ggufx_status status) {
        refused(status, GGUFX_E_ARGUMENT, error, "must be set", "no handle");
    };
    bad(ggufx_embedder_create(nullptr, opened.model, nullptr, &error));
    bad(ggufx_embedder_create(&none, nullptr, nullptr, &error));
    bad(ggufx_embedder_estimate(nullptr, g_runtime, opened.file, nullptr, &error));
    bad(ggufx_embedder_estimate(&bytes, nullptr, opened.file, nullptr, &error));
    bad(ggufx_embedder_estimate(&bytes, g_runtime, nullptr, nullptr, &error));
    bad(ggufx_embedder_info(nullptr, embedder, &error));
    bad(ggufx_embedder_info(&facts, nullptr, &error));
    bad(ggufx_embed(nullptr, 64, embedder, &text, 1, nullptr, &error));
    bad(ggufx_embed(out, 64, nullptr, &text, 1, nullptr, &error));
    bad(ggufx_embed(out, 64, embedder, nullptr, 1, nullptr, &error));
    bad(ggufx_embed(out, 64, embedder, &unset, 1, nullptr, &error));
    bad(ggufx_embed(out, 64, embedder, &text, 0, nullptr, &error));
    ggufx_embedder_destroy(nullptr);
}

// `out` has the floats of n_texts rows unless n_out is set.
struct Call {
    std::vector<Ids> texts;
    size_t n_out;
    const char *text;
    uint64_t index;
};

void test_texts() {
    Opened opened(kBert);
    opened.with_model();
    Embedder embedder(opened.model, {.n_context = 8});
    const Ids ids = {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const std::vector<float> want = embedder.embed({{5, 6}});
    const Call calls[] = {
        {{ids}, 64, "text 0 has 11 tokens, the limit is 8", 0},
        {{{5, 6}, Ids(9, 7)}, 128, "text 1 has 9 tokens, the limit is 8", 1},
        {{{5, 6}, {}, Ids(8, 7)}, 192, "text 1 has no tokens", 1},
        {{{5}, {320}}, 128, "token 0 of text 1 is 320, the vocabulary has 320", 1},
        {{{5, 6, -1}}, 64, "token 2 of text 0 is -1", 0},
        {{Ids(6, 7), Ids(5, 7)}, 127, "2 rows x 64 floats, n_out is 127", GGUFX_NONE},
    };
    for (const Call &c : calls) {
        std::vector<float> out(c.n_out, 7.0f);
        ggufx_error error = {};
        std::vector<ggufx_token_list> lists;
        for (const Ids &text : c.texts) lists.push_back({text.data(), text.size()});
        refused(ggufx_embed(out.data(), c.n_out, embedder.handle(), lists.data(), lists.size(),
                            nullptr, &error),
                GGUFX_E_ARGUMENT, error, c.text, "embed");
        CHECK(error.index == c.index, "%s: index %llu", c.text,
              static_cast<unsigned long long>(error.index));
        CHECK(out.front() == 7.0f && out.back() == 7.0f, "%s: out was written", c.text);
    }
    CHECK(embedder.embed({{5, 6}}) == want, "other values after refusals");
}

void test_an_encoder_has_no_session() {
    Opened opened(kBert);
    opened.with_model();
    ggufx_session *session = nullptr;
    ggufx_error error = {};
    refused(ggufx_session_create(&session, opened.model, nullptr, &error), GGUFX_E_UNSUPPORTED,
            error, "it makes embeddings", "session");
    CHECK(!session, "a session");
}

// `attention.causal` = false: tokens attend to later tokens.
void test_a_key_makes_an_embedder_of_a_model() {
    const Opened opened("/data/tiny/qwen3-embedding/tiny-qwen3-embedding-f16.gguf");
    for (const uint64_t causal : std::initializer_list<uint64_t>{1, 0}) {
        Rewrite copy(opened.file);
        copy.set(MetaKey{"qwen3.attention.causal", GGUFX_VALUE_BOOL, GGUFX_VALUE_BOOL, 1}, causal);
        copy.unset("qwen3.pooling_type");
        copy.add_tensors_but("");
        const std::string bytes = copy.bytes();
        ggufx_file *file = open_bytes(bytes);
        ggufx_model *model = nullptr;
        ggufx_session *session = nullptr;
        ggufx_error error = {};
        must(ggufx_model_create(&model, g_runtime, file, nullptr, &error), error, "model");
        const ggufx_status status = ggufx_session_create(&session, model, nullptr, &error);
        if (causal)
            must(status, error, "session");
        else
            refused(status, GGUFX_E_UNSUPPORTED, error, "qwen3 model predicts no token", "session");
        const uint32_t pooling = causal ? GGUFX_POOLING_LAST : GGUFX_POOLING_MEAN;
        CHECK(Embedder(model, {}).facts().pooling == pooling, "causal %d: pooling",
              static_cast<int>(causal));
        // The first token attends to the others, or to none.
        Embedder firsts(model, {.pooling = GGUFX_POOLING_FIRST});
        const bool same = firsts.embed({{5, 6, 7}}) == firsts.embed({{5, 8, 9}});
        CHECK(same == (causal != 0), "causal %d: the first token sees the others",
              static_cast<int>(causal));
        ggufx_session_destroy(session);
        ggufx_model_destroy(model);
        ggufx_file_destroy(file);
    }
}

struct Poll {
    long calls = 0, cancel_at = 0;
    uint64_t last = 0, total = 0;
};

int32_t on_progress(void *user, uint64_t done, uint64_t total) {
    Poll *p = static_cast<Poll *>(user);
    CHECK(done >= p->last && done <= total, "%llu after %llu",
          static_cast<unsigned long long>(done), static_cast<unsigned long long>(p->last));
    p->last = done;
    p->total = total;
    return ++p->calls == p->cancel_at;
}

void test_each_poll_can_cancel(const TinyFile &file) {
    Opened opened(file.path);
    opened.with_model();
    Embedder embedder(opened.model, {.n_context = 9, .n_batch = 12});
    const std::vector<Ids> texts = {{5, 6, 7, 8, 9, 10, 11}, {5}, {7, 8, 9, 10, 11, 12}};
    const std::vector<float> want = embedder.embed(texts);
    for (long at = 1;; at++) {
        Poll poll;
        poll.cancel_at = at;
        ggufx_progress progress = {};
        progress.user = &poll;
        progress.report = on_progress;
        std::vector<float> out;
        ggufx_error error = {};
        const ggufx_status status = embedder.embed(out, texts, &progress, &error);
        if (status == GGUFX_OK) {
            CHECK(poll.total == 14 && at > 4, "%s: %ld polls", file.name.c_str(), at);
            CHECK(out == want, "%s: other values after cancels", file.name.c_str());
            return;
        }
        refused(status, GGUFX_E_CANCELLED, error, "ancelled", file.name.c_str());
        if (status != GGUFX_E_CANCELLED) return;
    }
}

// Runs all tasks on one thread, and fails at a chosen call.
struct Executor {
    ggufx_executor hooks = {};
    long calls = 0, fail_at = 0;

    Executor() {
        hooks.struct_size = sizeof hooks;
        hooks.max_workers = 3;
        hooks.user = this;
        hooks.parallel_for = run;
    }
    static ggufx_status run(void *user, uint32_t n, void (*task)(void *, uint32_t, uint32_t),
                            void *context) {
        Executor *self = static_cast<Executor *>(user);
        if (++self->calls == self->fail_at) return GGUFX_E_INTERNAL;
        for (uint32_t i = 0; i < n; i++) task(context, i, i % 3);
        return GGUFX_OK;
    }
};

// Copying keys and values falls back to the calling thread. Other failures end the call, and the
// next call succeeds.
void test_an_executor_that_fails(const char *path) {
    Executor executor;
    ggufx_runtime_options options = {};
    options.struct_size = sizeof options;
    options.executor = &executor.hooks;
    ggufx_runtime *rt = nullptr;
    ggufx_error error = {};
    must(ggufx_runtime_create(&rt, &options, &error), error, "runtime");
    const std::string bytes = read_bytes(path);
    ggufx_file *file = open_bytes(bytes, rt);
    ggufx_model *model = nullptr;
    must(ggufx_model_create(&model, rt, file, nullptr, &error), error, "model");
    {
        Embedder embedder(model, {.n_context = 128});
        const std::vector<Ids> texts = {random_ids(120, 300, 1), random_ids(90, 300, 2)};
        executor.calls = 0;
        const std::vector<float> want = embedder.embed(texts);
        const long calls = executor.calls;
        long n_failed = 0;
        for (long at = 1; at <= calls; at += 1 + calls / 12) {
            executor.calls = 0;
            executor.fail_at = at;
            std::vector<float> out;
            n_failed += embedder.embed(out, texts, nullptr, &error) != GGUFX_OK;
            executor.fail_at = 0;
            CHECK(embedder.embed(texts) == want, "%s: other values after call %ld failed", path,
                  at);
        }
        CHECK(n_failed > 3, "%s: %ld of %ld calls failed", path, n_failed, calls);
    }
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
}

// ---- files ------------------------------------------------------------------------------------

struct Wrong {
    const char *path;
    void (*change)(Rewrite &copy);
    ggufx_status status;
    const char *text;
};

void set_u32(Rewrite &copy, const char *key, uint64_t value) {
    copy.set(MetaKey{key, GGUFX_VALUE_U32, GGUFX_VALUE_U32, 1}, value);
}

const Wrong kWrong[] = {
    {kBert, [](Rewrite &c) { set_u32(c, "bert.pooling_type", 77); }, GGUFX_E_HYPERPARAMETER,
     "bert.pooling_type is 77, the limits are 0 to 4"},
    {kBert, [](Rewrite &c) { set_u32(c, "bert.pooling_type", 4); }, GGUFX_E_MISSING,
     "\"cls.output.weight\" is missing"},
    {kBert,
     [](Rewrite &c) {
         c.add_zeros({"cls.output.weight", GGUFX_TYPE_F32, {63, 1}});
     },
     GGUFX_E_SHAPE, "\"cls.output.weight\" is [63, 1, 1, 1], the model needs [64, 1]"},
    {kBert,
     [](Rewrite &c) {
         c.add_zeros({"cls.weight", GGUFX_TYPE_F32, {64, 65}});
         c.add_zeros({"cls.output.weight", GGUFX_TYPE_F32, {64, 1}});
     },
     GGUFX_E_SHAPE, "\"cls.weight\" is [64, 65, 1, 1], the model needs [64, 64]"},
    {kBert,
     [](Rewrite &c) {
         c.add_zeros({"cls.output.weight", GGUFX_TYPE_F32, {64, 2}});
         c.add_zeros({"cls.output.bias", GGUFX_TYPE_F32, {3}});
     },
     GGUFX_E_SHAPE, "\"cls.output.bias\" is [3, 1, 1, 1], the model needs [2, 1]"},
    {kBert,
     [](Rewrite &c) {
         c.set_texts("bert.classifier.output_labels", {"yes", "no"});
         c.add_zeros({"cls.output.weight", GGUFX_TYPE_F32, {64, 3}});
     },
     GGUFX_E_SHAPE, "\"cls.output.weight\" is [64, 3, 1, 1], the model needs [64, 2]"},
    {kBert,
     [](Rewrite &c) {
         c.add_zeros({"cls.output.weight", GGUFX_TYPE_I32, {64, 1}});
     },
     GGUFX_E_TYPE, "\"cls.output.weight\" is of type i32"},
    {kBert,
     [](Rewrite &c) {
         c.add_zeros({"cls.output.weight", GGUFX_TYPE_F32, {64, 0}});
     },
     GGUFX_E_SHAPE, "\"cls.output.weight\""},
    {kBert,
     [](Rewrite &c) {
         c.add_zeros({"cls.other.weight", GGUFX_TYPE_F32, {64, 1}});
     },
     GGUFX_E_UNSUPPORTED, "\"cls.other.weight\" is not part"},
    {kBert,
     [](Rewrite &c) {
         c.add_zeros({"dense_3.bias", GGUFX_TYPE_F32, {64}});
     },
     GGUFX_E_UNSUPPORTED, "\"dense_3.bias\" is not part"},
    {kGemma, [](Rewrite &c) { set_u32(c, "gemma-embedding.dense_2_feat_out", 95); }, GGUFX_E_SHAPE,
     "\"dense_2.weight\" is [64, 96, 1, 1], the model needs [64, 95]"},
    {kGemma, [](Rewrite &c) { set_u32(c, "gemma-embedding.dense_2_feat_out", 0); },
     GGUFX_E_HYPERPARAMETER, "gemma-embedding.dense_2_feat_out is 0"},
};

void test_wrong_files() {
    for (const Wrong &wrong : kWrong) {
        const Opened opened(wrong.path);
        Rewrite copy(opened.file);
        copy.add_tensors_but("");
        wrong.change(copy);
        const std::string bytes = copy.bytes();
        ggufx_file *file = open_bytes(bytes);
        ggufx_model *model = nullptr;
        ggufx_error error = {};
        refused(ggufx_model_create(&model, g_runtime, file, nullptr, &error), wrong.status, error,
                wrong.text, wrong.text);
        ggufx_model_destroy(model);
        ggufx_file_destroy(file);
    }
}

// NaN and infinities in intermediate results, found where the cache takes keys and at the results.
void test_invalid_numbers_are_reported() {
    const Opened opened(kBert);
    for (const char *name : {"blk.1.layer_output_norm.bias", "blk.0.attn_k.bias"}) {
        Rewrite copy(opened.file);
        copy.add_tensors_but(name);
        copy.add_floats(name, {64}, std::vector<float>(64, name[4] == '1' ? NAN : HUGE_VALF));
        const std::string bytes = copy.bytes();
        ggufx_file *file = open_bytes(bytes);
        ggufx_model *model = nullptr;
        ggufx_error error = {};
        must(ggufx_model_create(&model, g_runtime, file, nullptr, &error), error, "model");
        std::vector<float> out;
        const ggufx_status status = Embedder(model, {}).embed(out, {{5, 6}}, nullptr, &error);
        refused(status, GGUFX_E_VALUE, error, "", name);
        ggufx_model_destroy(model);
        ggufx_file_destroy(file);
    }
}

// ---- memory -----------------------------------------------------------------------------------

void test_memory(const TinyFile &tiny) {
    const std::string bytes = read_bytes(tiny.path);
    fault memory;
    fault_init(&memory);
    ggufx_runtime *rt = fault_runtime(&memory, 1);
    ggufx_file *file = open_bytes(bytes, rt);
    ggufx_model *model = nullptr;
    ggufx_error error;
    must(ggufx_model_create(&model, rt, file, nullptr, &error), error, tiny.name.c_str());
    const EmbedMode modes[] = {
        {}, {.n_context = 1, .n_batch = 1}, {.n_context = 65, .n_batch = 7}, {.n_batch = 700}};
    for (const EmbedMode &mode : modes) {
        const ggufx_embed_options options = embed_options(mode);
        uint64_t want = 0;
        must(ggufx_embedder_estimate(&want, rt, file, &options, &error), error, "estimate");
        const long long before = memory.live_bytes;
        {
            Embedder embedder(model, mode);
            const uint64_t taken = static_cast<uint64_t>(memory.live_bytes - before);
            CHECK(taken == want, "%s: %llu bytes, estimate %llu", tiny.name.c_str(),
                  static_cast<unsigned long long>(taken), static_cast<unsigned long long>(want));
            const size_t longest =
                embedder.facts().n_context < 90 ? embedder.facts().n_context : 90;
            const std::vector<Ids> texts = {
                random_ids(longest, 300, 3), {5}, {6}, random_ids(longest, 300, 4)};
            const long calls = memory.calls;
            embedder.embed(texts);
            embedder.embed(texts);
            CHECK(memory.calls == calls, "%s: embedding allocated", tiny.name.c_str());
        }
        CHECK(memory.live_bytes == before, "%s: bytes left", tiny.name.c_str());
    }
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
    CHECK(memory.live == 0, "%s: %ld blocks left", tiny.name.c_str(), memory.live);
}

ggufx_status use(void *context, ggufx_runtime *rt, ggufx_error *error) {
    const std::string &bytes = *static_cast<const std::string *>(context);
    const int32_t ids[] = {5, 6, 7, 8, 9};
    const ggufx_token_list texts[] = {{ids, 2}, {ids + 2, 3}};
    ggufx_embed_options options = embed_options({.n_context = 16, .dimensions = 8});
    ggufx_file *file = nullptr;
    ggufx_model *model = nullptr;
    ggufx_embedder *embedder = nullptr;
    uint64_t n_bytes = 0;
    float out[16];
    ggufx_status status =
        ggufx_open_memory(&file, rt, bytes.data(), bytes.size(), nullptr, nullptr, nullptr, error);
    if (status == GGUFX_OK) status = ggufx_embedder_estimate(&n_bytes, rt, file, &options, error);
    if (status == GGUFX_OK) status = ggufx_model_create(&model, rt, file, nullptr, error);
    if (status == GGUFX_OK) status = ggufx_embedder_create(&embedder, model, &options, error);
    if (status == GGUFX_OK) status = ggufx_embed(out, 16, embedder, texts, 2, nullptr, error);
    ggufx_embedder_destroy(embedder);
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    return status;
}

void test_each_allocation_may_fail(const TinyFile &tiny) {
    std::string bytes = read_bytes(tiny.path);
    const long n_calls = fault_run(use, &bytes);
    CHECK(n_calls > 20, "%s: %ld allocations", tiny.name.c_str(), n_calls);
    printf("%s: %ld allocations\n", tiny.name.c_str(), n_calls);
}

// A model without token prediction is estimated as an embedder.
void test_the_estimate_of_a_file(const TinyFile &tiny) {
    const Opened opened(tiny.path);
    ggufx_estimate_options options = {};
    options.struct_size = sizeof options;
    options.n_context = 40;
    ggufx_estimate_facts facts = {};
    facts.struct_size = sizeof facts;
    ggufx_error error;
    must(ggufx_estimate(&facts, g_runtime, opened.file, &options, &error), error, "estimate");
    const ggufx_embed_options asked = embed_options({.n_context = 40});
    uint64_t want = 0;
    must(ggufx_embedder_estimate(&want, g_runtime, opened.file, &asked, &error), error, "estimate");
    CHECK(facts.session_bytes == want && facts.kv_bytes == 0 && facts.n_context == 40,
          "%s: %llu bytes, not %llu", tiny.name.c_str(),
          static_cast<unsigned long long>(facts.session_bytes),
          static_cast<unsigned long long>(want));
}

} // namespace

int main() {
    if (!begin_models()) return 77;
    test_options();
    test_handles();
    test_texts();
    test_an_encoder_has_no_session();
    test_a_key_makes_an_embedder_of_a_model();
    test_an_executor_that_fails(kBert);
    test_an_executor_that_fails("/data/tiny/qwen35/tiny-qwen35-f16.gguf");
    test_wrong_files();
    test_invalid_numbers_are_reported();
    const std::vector<TinyFile> files = all_tiny_files();
    for (size_t i = 0; i < files.size(); i++) {
        test_memory(files[i]);
        test_each_poll_can_cancel(files[i]);
        if (files[i].embeds_only) test_the_estimate_of_a_file(files[i]);
        if (files[i].embeds_only || i % 8 == 0) test_each_allocation_may_fail(files[i]);
    }
    return end();
}
