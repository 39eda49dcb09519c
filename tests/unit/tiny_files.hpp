// The tiny models whose architectures the library runs, with their expected results, and sessions
// on them in any mode. begin_models() locates them.
// SPDX-License-Identifier: MIT
#pragma once

#include "oracle.hpp"

#include <functional>

// Rows of logits after prompt[0], prompt[1] ..., then after the generated tokens.
struct TinyCase {
    std::string name;
    Ids prompt, generated;
    uint32_t n_context; // 0: the trained length
    size_t n_vocab;
    std::vector<float> logits; // [rows][n_vocab]
    bool exact;                // from binary64 arithmetic, otherwise from another implementation

    size_t n_rows() const { return logits.size() / n_vocab; }
    Ids tokens() const; // n_rows of them: the prompt, then the generated tokens
};

struct TinyFile {
    std::string name; // "gpt-oss"
    std::string path; // relative to the data's root
    std::string architecture;
    bool embeds_only;                    // no sessions
    std::vector<std::string> cases;      // paths without ".json", with stored logits
    std::vector<std::string> embeddings; // the same, with stored embeddings

    TinyCase read(size_t i) const;
};

// Returns all files, ordered by name. Files of unsupported architectures are left out.
std::vector<TinyFile> all_tiny_files();
// Return the models that predict tokens, and those with stored embeddings.
std::vector<TinyFile> tiny_files();
std::vector<TinyFile> tiny_embedders();

// Returns the path of a copy of the file with Q8_0 weights, if their rows are whole blocks.
std::string quantized(const std::string &path, const std::string &name);

// Reads the values of a little-endian file.
std::vector<float> read_floats(const std::string &path);

// Options of a session; n_context 0 and n_batch 0: their defaults.
struct Mode {
    uint32_t matmul_flags = GGUFX_MATMUL_F32;
    uint32_t type_k = GGUFX_TYPE_F32, type_v = GGUFX_TYPE_F32;
    uint32_t n_context = 0, n_batch = 0;
};

class Session {
public:
    Session(const ggufx_model *model, const Mode &mode);
    Session(const Session &) = delete;
    ~Session() { ggufx_session_destroy(handle_); }

    ggufx_session *handle() const { return handle_; }
    size_t n_vocab() const { return n_vocab_; }
    // Returns the logits after each token: [n][n_vocab].
    std::vector<float> decode(const int32_t *tokens, size_t n);
    // The same for all tokens, in calls of next() tokens.
    std::vector<float> decode(const Ids &tokens, const std::function<size_t()> &next);
    std::vector<float> decode(const Ids &tokens) { return decode(tokens.data(), tokens.size()); }

private:
    ggufx_session *handle_ = nullptr;
    size_t n_vocab_;
};

// Options of an embedder; zeros: its defaults.
struct EmbedMode {
    uint32_t matmul_flags = GGUFX_MATMUL_F32;
    uint32_t pooling = GGUFX_POOLING_DEFAULT;
    uint32_t n_context = 0, n_batch = 0, flags = 0, dimensions = 0;
};
ggufx_embed_options embed_options(const EmbedMode &mode);

class Embedder {
public:
    Embedder(const ggufx_model *model, const EmbedMode &mode);
    Embedder(const Embedder &) = delete;
    ~Embedder() { ggufx_embedder_destroy(handle_); }

    ggufx_embedder *handle() const { return handle_; }
    const ggufx_embedder_facts &facts() const { return facts_; }
    // Returns a row for each text, or without pooling for each token.
    std::vector<float> embed(const std::vector<Ids> &texts);
    ggufx_status embed(std::vector<float> &out, const std::vector<Ids> &texts,
                       const ggufx_progress *progress, ggufx_error *error);

private:
    ggufx_embedder *handle_ = nullptr;
    ggufx_embedder_facts facts_ = {};
};

size_t vocabulary_of(const ggufx_model *model);
int32_t argmax(const float *logits, size_t n);
float margin(const float *logits, size_t n); // largest logit minus the second largest

// Returns the largest difference of two values; INFINITY if the sizes differ or it is no number.
double distance(const std::vector<float> &got, const std::vector<float> &want);

// Pseudorandom numbers below `limit`.
struct Random {
    uint64_t state;
    size_t below(size_t limit) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<size_t>((state >> 33) % limit);
    }
};

// Returns n ids from the whole vocabulary, the same for every run.
Ids random_ids(size_t n, size_t n_vocab, uint64_t seed);
