// Model as the server uses it: file, tokenizer, chat template and response metadata.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/chat_template.hpp"
#include "models/sampling_defaults.hpp"
#include "models/text_pairs.hpp"
#include "serve/grammar_cache.hpp"
#include "serve/model_files.hpp"
#include "serve/rank_session.hpp"
#include "serve/request.hpp"
#include "serve/schema_compiler.hpp"

namespace ggufx::cli {

struct HostOptions {
    std::string model; // empty: the embedded model
    std::string alias, template_name;
    SessionOptions session;
    uint32_t n_parallel = 4, n_kept = 0, n_batch = 0;
    Path answers = Path::rows;
    bool embeddings = false; // also serve embeddings from a generative model
};

// Model on a rank without sockets: executes the session calls that the first rank broadcasts.
class RankHost {
public:
    RankHost(const Globals &globals, const HostOptions &options);
    void follow();

private:
    Runtime rt_;
    File file_;
    Model model_;
    std::unique_ptr<RankSession> backend_;
    const ggufx_group group_;
    std::unique_ptr<ModelFiles> files_; // ends before the mappings that it guards
};

// Throws ApiError about `param` after a failed call: 503 if out of memory, otherwise 400 for the
// client's values.
[[noreturn]] void refuse_call(ggufx_status status, const ggufx_error &error, const char *param);

// A conversation made ready, shared by the sequences of a request.
using SharedPrompt = std::shared_ptr<const ggufx_chat_prompt>;

// Immutable except for the embedder, which one thread uses. The session belongs to the scheduler's
// backend.
class ModelHost {
public:
    ModelHost(const Globals &globals, const HostOptions &options);

    // For the engine thread.
    ggufx_session *session() const { return session_; }
    Path answers() const { return answers_; }
    // Hands over the session for the scheduler, once; NULL for embedding-only models.
    std::unique_ptr<SessionBackend> take_machine() { return std::move(backend_); }
    bool writes() const { return !embeds_only_; }
    bool embeds() const { return embedder_ != nullptr; }
    bool has_template() const { return chat_ != nullptr; }

    std::vector<int32_t> tokenize(const std::string &text, uint32_t flags) const;
    // Throws ApiError if the context cannot hold a text of so many bytes, before it is tokenized.
    void require_room(size_t n_bytes, const char *param) const;
    std::string detokenize(std::span<const int32_t> ids, uint32_t flags) const;
    // Returns the bytes of one token.
    std::string piece(int32_t id) const;
    // Returns the text of ids that come one after another; flags: GGUFX_DETOKENIZE_*.
    std::string detokenize_part(std::span<const int32_t> ids, ggufx_detokenizer_state &state,
                                uint32_t flags) const;
    // Throws ApiError if the template cannot render the conversation. So it does for schemas with
    // unsupported keywords, or that take too much work or memory. `asker`: the key or address.
    SharedPrompt prompt_of(const ChatWanted &wanted, uint64_t asker) const;
    std::vector<int32_t> ids_of(const ggufx_chat_prompt &prompt) const;
    std::string render(const ChatWanted &wanted) const;
    GrammarCache &grammars() const { return grammars_; } // thread-safe
    // Returns one embedding per input. Throws ApiError, also after `is_gone` reports a disconnect.
    std::vector<float> embed(std::span<const std::vector<int32_t>> texts,
                             const std::function<bool()> &is_gone);
    std::vector<int32_t> pair(const std::string &query, const std::string &document) const {
        return pairs_->make(query, document);
    }
    bool ranks() const { return ranks_; } // reranker: returns scores of pairs
    void check(const std::vector<int32_t> &ids, const std::string &param) const;

    const ggufx_runtime *rt() const { return rt_.get(); }
    const ggufx_tokenizer *tokenizer() const { return tokenizer_.get(); }
    const ggufx_tokenizer_facts &tokenizer_facts() const { return tokenizer_facts_; }
    const std::string &name() const { return name_; }
    const std::string &fingerprint() const { return fingerprint_; }
    // Quantization type with the most bytes.
    const std::string &quantization() const { return quantization_; }
    const ggufx_model_facts &facts() const { return facts_; }
    const ModelSampling &model_sampling() const { return model_sampling_; }
    // Server defaults, overridden by requests.
    const SamplingOptions &sampling() const { return sampling_; }
    uint32_t n_context() const { return n_context_; }
    uint32_t dimensions() const { return dimensions_; }
    // Maximum input tokens for an embedding.
    uint32_t n_embed_context() const { return n_embed_context_; }

    // Whether another file has the path of the model. Thread-safe.
    bool is_file_replaced() const { return files_->state() == ModelFiles::State::replaced; }
    // Throws ApiError 503 after the content of a mapped file has changed. Thread-safe.
    void require_same_weights() const;
    bool is_changed() const { return files_->is_changed(); }
    ggufx_file_memory_facts memory() const { return file_memory(file_.get()); } // thread-safe

private:
    bool renders_tools(const ChatWanted &wanted, const std::string &rendered) const;
    void require_tools(const ChatWanted &wanted, const std::string &rendered) const;
    void find_longest_token();
    void prepare_chats() const;
    void make_embedder(const HostOptions &options);
    void make_session(const HostOptions &options);
    void make_fingerprint(const HostOptions &options);

    Runtime rt_;
    File file_;
    Tokenizer tokenizer_;
    ChatTemplate chat_;
    Model model_;
    std::unique_ptr<PairMaker> pairs_;
    Adapters adapters_;
    Embedder embedder_;
    std::unique_ptr<SessionBackend> backend_;
    ggufx_session *session_ = nullptr; // that of the backend
    Path answers_;
    ggufx_tokenizer_facts tokenizer_facts_ = {};
    ggufx_model_facts facts_ = {};
    ModelSampling model_sampling_;
    SamplingOptions sampling_;
    std::string name_, fingerprint_, quantization_;
    ggufx_chat_template_facts chat_facts_ = {};
    size_t longest_token_ = 0; // bytes
    mutable GrammarCache grammars_;
    uint32_t n_context_ = 0, dimensions_ = 0, n_embed_context_ = 0;
    bool embeds_only_ = false, ranks_ = false;
    std::unique_ptr<ModelFiles> files_; // ends before the mappings that it guards
};

} // namespace ggufx::cli
