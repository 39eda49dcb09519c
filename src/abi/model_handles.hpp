// Handles of include/ggufx/model.h and embed.h. Sessions and embedders hold a reference to their
// model, a model to its file and runtime, a tokenizer to its file.
// SPDX-License-Identifier: MIT
#pragma once

#include "abi/device_weights.hpp"
#include "abi/group.hpp"
#include "abi/handles.hpp"
#include "generate/step.hpp"
#include "grammar/vocabulary.hpp"
#include "run/embedder.hpp"
#include "run/session.hpp"
#include "sampling/chain.hpp"
#include "tokenizer/tokenizer.hpp"

#include <algorithm>
#include <ggufx/model.h>
#include <stddef.h>

struct ggufx_tokenizer {
    ggufx::abi::Tag tag = ggufx::abi::Tag::tokenizer;
    ggufx::RefCount refs;
    ggufx::model::Tokenizer tokenizer;
    ggufx::Atomic<ggufx::grammar::Vocabulary *> vocabulary{nullptr}; // created by the first grammar
    explicit ggufx_tokenizer(ggufx::Ref<ggufx::gguf::File> file) : tokenizer(std::move(file)) {}
    ~ggufx_tokenizer() {
        if (ggufx::grammar::Vocabulary *const made = vocabulary.load(ggufx::Order::acquire))
            made->release();
    }
    void retain() { refs.retain(); }
    void release(); // frees itself
};

struct ggufx_chat_template;

namespace ggufx::abi {
// Does nothing for null. (generator_chat.cpp, without_chat.cpp)
void release_chat(ggufx_chat_template *chat);
} // namespace ggufx::abi

struct ggufx_model {
    ggufx::abi::Tag tag = ggufx::abi::Tag::model;
    ggufx::RefCount refs;
    ggufx::abi::RuntimeRef runtime;  // declared before the model, which uses its engine
    ggufx::abi::DeviceWeights there; // weights on a device, also used by the model
    ggufx::model::Model model;
    ggufx::abi::HostGroup *group; // ranks that run the model together; null for one process
    uint32_t n_device_layers;     // number of layers with products on the device
    // Tokenizer and template of the file, created by the first generator that needs them.
    ggufx::Atomic<ggufx_tokenizer *> tokenizer{nullptr};
    ggufx::Atomic<ggufx_chat_template *> chat{nullptr};
    // device may be null.
    ggufx_model(ggufx::abi::RuntimeRef rt, const ggufx::Ref<ggufx::gguf::File> &file,
                ggufx::abi::HostGroup *ranks, const ggufx::model::RankOptions &rank_options,
                const ggufx::model::BuildOptions &options,
                const ggufx::Ref<ggufx::device::Device> &device, uint32_t n_placed_layers)
        : runtime(std::move(rt)), there(runtime->host, device, options.progress),
          model(file, runtime->host, *runtime->engine, ranks ? &ranks->ranks() : nullptr,
                placed(ggufx::model::build_model_graph(*file, rank_options, options), *file,
                       device ? &there : nullptr, n_placed_layers)),
          group(ranks),
          n_device_layers(std::min<uint32_t>(
              n_placed_layers, static_cast<uint32_t>(model.graph().layer_ends.size()))) {
        if (ranks) ranks->ranks().prepare(runtime->host, model.graph());
    }

    ~ggufx_model() {
        if (ggufx_tokenizer *const made = tokenizer.load(ggufx::Order::acquire)) made->release();
        ggufx::abi::release_chat(chat.load(ggufx::Order::acquire));
    }

    void retain() { refs.retain(); }
    void release(); // frees itself and then its runtime

private:
    // placer null: no device.
    static ggufx::model::ModelGraph placed(ggufx::model::ModelGraph made,
                                           const ggufx::gguf::File &file,
                                           ggufx::model::Placer *placer, uint32_t n_layers) {
        if (placer) place(made.graph, file, *placer, n_layers);
        return made;
    }
};

struct ggufx_session {
    ggufx::abi::Tag tag = ggufx::abi::Tag::session;
    ggufx::RefCount refs;
    ggufx::Ref<ggufx_model> model; // declared before the session, which uses it
    ggufx::model::SessionPlan plan;
    ggufx::model::Session session;
    ggufx_session(ggufx::Ref<ggufx_model> m, const ggufx::model::SessionOptions &options)
        : model(std::move(m)), plan(model->model.shape(), options), session(model->model, options) {
    }
    // Steps of its generators, made with the first one.
    ggufx::generate::Steps *steps = nullptr;
    ~ggufx_session() { ggufx::unmake(*model->model.host(), steps); }

    void retain() { refs.retain(); }
    void release(); // frees itself and then its model
};

struct ggufx_adapter {
    ggufx::abi::Tag tag = ggufx::abi::Tag::adapter;
    ggufx::Ref<ggufx_model> model; // declared before the adapter, which points into its graph
    ggufx::Ref<ggufx::model::Adapter> adapter;
    ggufx_adapter(ggufx::Ref<ggufx_model> m, ggufx::Ref<ggufx::model::Adapter> a)
        : model(std::move(m)), adapter(std::move(a)) {}
};

struct ggufx_embedder {
    ggufx::abi::Tag tag = ggufx::abi::Tag::embedder;
    ggufx::Ref<ggufx_model> model; // declared before the embedder, which uses it
    ggufx::model::Embedder embedder;
    ggufx_embedder(ggufx::Ref<ggufx_model> m, const ggufx::model::EmbedOptions &options)
        : model(std::move(m)), embedder(model->model, options) {}
};

struct ggufx_sampler {
    ggufx::abi::Tag tag = ggufx::abi::Tag::sampler;
    ggufx::abi::RuntimeRef runtime; // before the chain, which uses its kernels and memory
    ggufx::sampling::Chain chain;
    template <class... A>
    explicit ggufx_sampler(ggufx::abi::RuntimeRef rt, A &&...a)
        : runtime(std::move(rt)), chain(std::forward<A>(a)...) {}
};

struct ggufx_matcher;

namespace ggufx::abi {

// Samples a token that the matcher allows, and accepts it. A failure changes neither. (grammar.cpp)
Status sample_matching(int32_t *out_id, float *out_logprob, sampling::Chain &chain,
                       ggufx_matcher *matcher, const float *logits, size_t n, Failure *failure);

// Throws Error (mismatch) if two models have other tokens. (vocabularies.cpp)
void check_vocabularies(const model::Model &a, const model::Model &b);

static_assert(sizeof(model::TokenList) == sizeof(ggufx_token_list) &&
              offsetof(model::TokenList, n) == offsetof(ggufx_token_list, n_tokens));
// Throws argument if one has a length and no tokens; `what` names it in the message.
inline const model::TokenList *import_lists(const ggufx_token_list *lists, size_t n,
                                            const char *what) {
    for (size_t i = 0; i < n; i++)
        if (!lists[i].tokens && lists[i].n_tokens)
            fail(Status::argument, {kNone, i}, "tokens of %s %zu must be set", what, i);
    return reinterpret_cast<const model::TokenList *>(lists);
}

} // namespace ggufx::abi
