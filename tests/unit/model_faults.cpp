// Files of every architecture with one fault: a tensor missing, of another shape or type, an extra
// one, keys out of range. The model is refused with a message that names the fault, or it works.
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

#include <algorithm>

namespace {

constexpr long long kMostBytes = 16 << 20; // such models, sessions and files take 1 MB

fault g_memory; // memory of everything created from changed files
ggufx_runtime *g_counted;

// Returns the name without the layer's number.
std::string kind_of(const std::string &tensor) {
    if (tensor.rfind("blk.", 0) != 0) return tensor;
    return tensor.substr(tensor.find('.', 4) + 1);
}

// Optional tensors: files of the architecture come with and without them.
struct Trait {
    const char *architecture, *kind;
};
constexpr Trait kTraits[] = {
    {"llama", "rope_freqs.weight"}, // 3.1 and later scale RoPE frequencies by them
    {"gemma4", "attn_v.weight"},    // large models: full-attention layers use keys as values
    {"gemma4", "layer_output_scale.weight"}, // 1 if absent
    {"deepseek2", "exp_probs_b.bias"},       // since V3
    {"bert", "token_types.weight"},          // for type 0; not every model has types
    {"nomic-bert", "token_types.weight"},
    {"glm4", "attn_q.bias"}, // GLM-4-32B has none
    {"glm4", "attn_k.bias"},
    {"glm4", "attn_v.bias"},
    {"glm4moe", "attn_q.bias"},
    {"glm4moe", "attn_k.bias"},
    {"glm4moe", "attn_v.bias"},
    {"glm4moe", "attn_q_norm.weight"}, // 4.5 has them, Air does not
    {"glm4moe", "attn_k_norm.weight"},
};

// A fused matrix may come in parts: without it, the error names the first part.
struct Fused {
    const char *kind, *part;
};
constexpr Fused kFused[] = {{"attn_qkv.weight", "attn_q.weight"},
                            {"ffn_up.weight", "ffn_gate.weight"},
                            {"ffn_gate_up_exps.weight", "ffn_gate_exps.weight"},
                            {"ssm_ba.weight", "ssm_beta.weight"}};

// Layers for multi-token prediction, which are not run.
struct NotRun {
    const char *architecture, *layer;
};
constexpr NotRun kNotRun[] = {{"glm4moe", "blk.2."}};

std::string quoted(const std::string &name) {
    return std::string("\"").append(name).append("\"");
}

bool is_not_run(const std::string &architecture, const std::string &tensor) {
    return std::any_of(std::begin(kNotRun), std::end(kNotRun), [&](const NotRun &n) {
        return architecture == n.architecture && tensor.rfind(n.layer, 0) == 0;
    });
}

bool is_trait(const std::string &architecture, const std::string &tensor) {
    if (tensor == "output.weight") return true; // the embedding is used instead
    return std::any_of(std::begin(kTraits), std::end(kTraits), [&](const Trait &t) {
        return architecture == t.architecture && kind_of(tensor) == t.kind;
    });
}

// Returns the part that the file may have instead, or "".
std::string part_instead_of(const std::string &tensor) {
    for (const Fused &f : kFused)
        if (kind_of(tensor) == f.kind)
            return tensor.substr(0, tensor.size() - strlen(f.kind)) + f.part;
    return "";
}

// Result of a file; the text is empty if a model was created.
struct Outcome {
    ggufx_status status;
    std::string text;
};

// Embeds two texts at once, with the file's pooling and without pooling.
ggufx_status embed_some(const ggufx_model *model, ggufx_error *error) {
    const Ids ids = random_ids(20, vocabulary_of(model), 7);
    const ggufx_token_list texts[] = {{ids.data(), 17}, {ids.data() + 17, 3}};
    ggufx_status status = GGUFX_OK;
    for (const uint32_t pooling : {GGUFX_POOLING_DEFAULT, GGUFX_POOLING_NONE}) {
        const ggufx_embed_options options =
            embed_options({.matmul_flags = 0, .pooling = pooling, .n_context = 17, .n_batch = 18});
        ggufx_embedder *embedder = nullptr;
        ggufx_embedder_facts facts = {};
        facts.struct_size = sizeof facts;
        if (status == GGUFX_OK) status = ggufx_embedder_create(&embedder, model, &options, error);
        if (status != GGUFX_OK) break;
        status = ggufx_embedder_info(&facts, embedder, error);
        const size_t rows = pooling == GGUFX_POOLING_NONE ? 20 : 2;
        std::vector<float> out(rows * facts.dimensions);
        if (status == GGUFX_OK)
            status = ggufx_embed(out.data(), out.size(), embedder, texts, 2, nullptr, error);
        ggufx_embedder_destroy(embedder);
    }
    return status;
}

// Decodes 20 tokens, as a prompt and one by one; status VALUE for NaN or infinite results.
ggufx_status decode_some(const ggufx_model *model, ggufx_error *error) {
    ggufx_session_options options = {};
    options.struct_size = sizeof options;
    options.n_context = 32;
    ggufx_session *session = nullptr;
    ggufx_status status = ggufx_session_create(&session, model, &options, error);
    const Ids ids = random_ids(20, vocabulary_of(model), 7);
    std::vector<float> logits(vocabulary_of(model));
    if (status == GGUFX_OK)
        status = decode_ids(session, ids.data(), 16, logits.data(), logits.size(), error);
    for (size_t i = 16; i < 20 && status == GGUFX_OK; i++)
        status = decode_ids(session, &ids[i], 1, logits.data(), logits.size(), error);
    ggufx_session_destroy(session);
    return status;
}

bool embeds_only(const ggufx_model *model) {
    ggufx_model_facts facts = {};
    facts.struct_size = sizeof facts;
    ggufx_error error;
    must(ggufx_model_info(&facts, model, &error), error, "info");
    return (facts.flags & GGUFX_MODEL_EMBEDDING_ONLY) != 0;
}

Outcome outcome_of(const std::string &bytes) {
    const long live = g_memory.live;
    fault_reset(&g_memory);
    ggufx_file *file = open_bytes(bytes, g_counted);
    ggufx_model *model = nullptr;
    ggufx_error error = {};
    Outcome out = {ggufx_model_create(&model, g_counted, file, nullptr, &error), ""};
    if (out.status != GGUFX_OK) out.text = error.message;
    if (model) out.status = (embeds_only(model) ? embed_some : decode_some)(model, &error);
    if (model && out.status != GGUFX_OK && out.status != GGUFX_E_VALUE) out.text = error.message;
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    CHECK(g_memory.live == live, "%ld blocks leaked", g_memory.live - live);
    CHECK(g_memory.peak_bytes < kMostBytes, "%lld bytes taken", g_memory.peak_bytes);
    return out;
}

void expect(const Outcome &got, ggufx_status status, const std::string &name,
            const std::string &what) {
    CHECK(got.status == status && got.text.find(name) != std::string::npos, "%s: %s: %s",
          what.c_str(), ggufx_status_name(got.status), got.text.c_str());
}

class Faults {
public:
    explicit Faults(const TinyFile &file)
        : file_(file), opened_(file.path), tensors_(tensors_of(opened_.file)) {}

    void run() {
        unchanged();
        for (size_t i = 0; i < tensors_.size(); i += test_step()) {
            if (is_not_run(file_.architecture, tensors_[i].name)) continue;
            missing(tensors_[i]);
            misshapen(tensors_[i]);
            retyped(tensors_[i]);
        }
        extra();
        for (const MetaKey &key : keys_of(opened_.file))
            if (key.name.rfind(file_.architecture + ".", 0) == 0 && n_keys_++ % test_step() == 0)
                keys(key);
    }

private:
    std::string what(const std::string &name, const char *how) const {
        return file_.name + ": " + name + " " + how;
    }
    Outcome with(const std::string &old, const TensorShape *tensor) const {
        Rewrite copy(opened_.file);
        copy.add_tensors_but(old);
        if (tensor) copy.add_zeros(*tensor);
        return outcome_of(copy.bytes());
    }
    void unchanged() const;
    void missing(const TensorShape &tensor) const;
    void misshapen(const TensorShape &tensor) const;
    void retyped(const TensorShape &tensor) const;
    void extra() const;
    void keys(const MetaKey &key) const;
    void judge_key(const MetaKey &key, const std::string &how, bool never,
                   const Outcome &got) const;

    const TinyFile &file_;
    const Opened opened_;
    const std::vector<TensorShape> tensors_;
    static inline size_t n_keys_ = 0; // over all files, so that each file tests other keys
};

void Faults::unchanged() const {
    const Outcome got = with("", nullptr);
    CHECK(got.status == GGUFX_OK, "%s: %s", file_.name.c_str(), got.text.c_str());
}

void Faults::missing(const TensorShape &tensor) const {
    const Outcome got = with(tensor.name, nullptr);
    const std::string how = what(tensor.name, "missing");
    if (is_trait(file_.architecture, tensor.name))
        CHECK(got.text.empty(), "%s: %s", how.c_str(), got.text.c_str());
    else if (got.text.find(quoted(part_instead_of(tensor.name))) != std::string::npos)
        CHECK(got.status == GGUFX_E_MISSING, "%s: %s", how.c_str(), got.text.c_str());
    else
        expect(got, GGUFX_E_MISSING, quoted(tensor.name), how);
}

// An extra row, and an extra dimension.
void Faults::misshapen(const TensorShape &tensor) const {
    TensorShape longer = tensor, deeper = tensor;
    longer.ne.back()++;
    while (deeper.ne.size() < 3) deeper.ne.push_back(1);
    deeper.ne.back()++;
    expect(with(tensor.name, &longer), GGUFX_E_SHAPE, quoted(tensor.name),
           what(tensor.name, "longer"));
    expect(with(tensor.name, &deeper), GGUFX_E_SHAPE, quoted(tensor.name),
           what(tensor.name, "deeper"));
}

void Faults::retyped(const TensorShape &tensor) const {
    TensorShape integers = tensor;
    integers.type = GGUFX_TYPE_I32;
    expect(with(tensor.name, &integers), GGUFX_E_TYPE, quoted(tensor.name),
           what(tensor.name, "as I32"));
}

void Faults::extra() const {
    for (const char *name : {"blk.0.x.weight", "blk.7777.attn_norm.weight", "output.scale_x"}) {
        const TensorShape tensor = {name, GGUFX_TYPE_F32, {32}};
        expect(with("", &tensor), GGUFX_E_UNSUPPORTED, name, what(name, "added"));
    }
}

// For another value, the model is refused with a message that names a key of the model or a tensor.
// If the value can be valid (`never` is false), it may also work.
void Faults::judge_key(const MetaKey &key, const std::string &how, bool never,
                       const Outcome &got) const {
    if (got.text.empty() && !never) return;
    const bool names = got.text.find(file_.architecture + ".") != std::string::npos ||
                       got.text.find("tensor \"") != std::string::npos;
    const bool internal = got.status == GGUFX_E_INTERNAL || got.status == GGUFX_E_MEMORY;
    CHECK(names && !internal, "%s %s: %s: %s", what(key.name, "=").c_str(), how.c_str(),
          ggufx_status_name(got.status), got.text.c_str());
}

void Faults::keys(const MetaKey &key) const {
    if (key.element_type == GGUFX_VALUE_STRING) return;
    const auto change = [&](const std::string &how, bool never, auto edit) {
        Rewrite copy(opened_.file);
        edit(copy);
        copy.add_tensors_but("");
        judge_key(key, how, never, outcome_of(copy.bytes()));
    };
    change("absent", false, [&](Rewrite &copy) { copy.unset(key.name); });
    if (key.is_float()) {
        for (const double value : {static_cast<double>(NAN), -1.0, HUGE_VAL, 0.0, 1e-30, 1e30})
            change(std::to_string(value), !(value >= 0 && value < HUGE_VAL),
                   [&](Rewrite &copy) { copy.set(key, value); });
    } else {
        for (const uint64_t value : {0ull, 1ull, 7ull, 1ull << 31, (1ull << 32) - 1})
            change(std::to_string(value), false, [&](Rewrite &copy) { copy.set(key, value); });
    }
}

} // namespace

int main() {
    if (!begin_models()) return 77;
    fault_init(&g_memory);
    g_counted = fault_runtime(&g_memory, 1);
    for (const TinyFile &file : all_tiny_files()) {
        const int before = g_failed, checks = g_checks;
        Faults(file).run();
        printf("%s: %d checks, %d failed\n", file.name.c_str(), g_checks - checks,
               g_failed - before);
    }
    ggufx_runtime_destroy(g_counted);
    return end();
}
