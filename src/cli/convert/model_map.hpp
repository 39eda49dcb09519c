// Names of tensors and settings of an architecture, in safetensors models and in GGUF files.
// SPDX-License-Identifier: MIT
#pragma once

#include "convert/config_reader.hpp"
#include "models/key_writer.hpp"

namespace ggufx::cli {

enum class Change {
    none,
    query,         // rows of n_heads heads in another order (llama)
    key,           // the same for n_kv_heads
    add_one,       // gemma's norms store the weight minus 1
    expert,        // an expert's matrix, stacked in the GGUF
    factor,        // f32 scale factors of some matrices (NVFP4)
    expert_factor, // scale factor of an expert's matrix, in a vector of the GGUF
};

struct NameRule {
    const char *hf;   // "{l}" = layer, "{e}" = expert
    const char *gguf; // the same
    Change change;
};

// Layers with sliding-window attention, if a file has the key of the window size.
enum class Windows {
    none,
    all,
    all_but_second, // the second, fourth, ...
    all_but_nth,    // the sixth, twelfth, ... unless the file has a pattern
};

// Differences between architectures that their tensors do not show.
struct Computation {
    Windows windows = Windows::none;
    bool attention_cap = false, logit_cap = false; // whether soft caps are applied
    bool gelu = false;                             // instead of SiLU
    bool encoder = false;                          // bert: LayerNorm, learned positions
};

struct Architecture {
    const char *model_type;      // in config.json
    const char *class_name;      // "LlamaForCausalLM"
    const char *gguf;            // general.architecture
    std::vector<NameRule> rules; // in file order; rules of layers after the others
    Computation computation = {};
};

// Finds it by model_type of config.json. Throws Failure (not supported) with the known types.
const Architecture &architecture_of_config(const Json &config);
// Finds it by general.architecture, and by expert_count for llama.
const Architecture &architecture_of_file(const ggufx_file *file);

// Values of "{l}" and "{e}" in a name. match_name() returns nothing if the pattern does not match.
struct Places {
    uint64_t layer = 0, expert = 0;
};
std::optional<Places> match_name(std::string_view pattern, std::string_view name);
std::string make_name(std::string_view pattern, const Places &places);

// Counts that the tensors' shapes depend on.
struct HeadCounts {
    uint64_t n_layers = 0, n_heads = 0, n_kv_heads = 0, n_experts = 0;
    bool tied = false; // the output matrix is the embedding
};

// Returns the config of a text model with defaults of its class for missing values.
Json with_class_defaults(const Json &config, const Architecture &architecture);

// Convert config.json to keys "ARCH.*", and back. `notes` gets settings without a key, and those
// that the architecture does not apply.
HeadCounts set_model_keys(KeyWriter &keys, const Config &config, const Architecture &architecture,
                          uint64_t n_tokens, std::vector<std::string> &notes);
Json config_of_file(const ggufx_file *file, const Architecture &architecture, const char *dtype,
                    bool tied);
HeadCounts head_counts_of_file(const ggufx_file *file, const Architecture &architecture);

// Returns the factors of "rope_freqs.weight" for a config's llama3 scaling; empty without one.
std::vector<float> rope_factors(const Config &config);
// Returns the scaling that gives exactly these factors; null if none is found.
Json rope_scaling_of(const std::vector<float> &factors, double base);
// Returns "long_factor" or "short_factor" of a config's longrope scaling (phi3); empty without one.
std::vector<float> long_rope_factors(const Config &config, const char *which);

// Sliding windows, their pattern and their RoPE.
void set_windows(KeyWriter &keys, const Config &config, const Architecture &architecture,
                 std::vector<std::string> &notes);
void set_window_settings(Json &config, const ggufx_file *file, const Architecture &architecture);

// Returns notes about settings that compute something different from the architecture, and about
// unread settings. `whole`: the config that contains that of the text model.
std::vector<std::string> config_notes(const Config &config, const Json &whole,
                                      const Architecture &architecture);

// Returns the text part of a config that describes more.
const Json &text_config(const Json &config);

} // namespace ggufx::cli
