// Names of tensors and of settings of an architecture: in safetensors models and in GGUF files.
// SPDX-License-Identifier: MIT
#pragma once

#include "convert/config_reader.hpp"
#include "models/key_writer.hpp"

namespace ggufx::cli {

enum class Change {
    none,
    query,         // rows of heads in another order (llama): n_heads of them
    key,           // the same, n_kv_heads of them
    add_one,       // gemma's norms hold their weight less one
    expert,        // one of the matrices of a mixture, stacked in the GGUF
    factor,        // f32 values of a matrix (NVFP4's): some matrices have them
    expert_factor, // one of an expert's matrix, in a vector of the GGUF
};

struct NameRule {
    const char *hf;   // "{l}" = layer, "{e}" = expert
    const char *gguf; // the same
    Change change;
};

// Layers with a sliding window, where a file has the key of its size.
enum class Windows {
    none,
    all,
    all_but_second, // the second, fourth, ...
    all_but_nth,    // the sixth, twelfth, ... unless the file has a pattern
};

// Differences between architectures that their tensors do not show.
struct Computation {
    Windows windows = Windows::none;
    bool attention_cap = false, logit_cap = false; // are applied
    bool gelu = false;                             // not SiLU
    bool encoder = false;                          // bert: LayerNorm, learned positions
};

struct Architecture {
    const char *model_type;      // of config.json
    const char *class_name;      // "LlamaForCausalLM"
    const char *gguf;            // general.architecture
    std::vector<NameRule> rules; // in the order of a file; those of layers after the others
    Computation computation = {};
};

// By config.json's model_type; throws Failure (not supported) naming those that are.
const Architecture &architecture_of_config(const Json &config);
// By general.architecture, and expert_count of llama.
const Architecture &architecture_of_file(const ggufx_file *file);

// Numbers in the places of "{l}" and "{e}"; nothing where the name is not of the pattern.
struct Places {
    uint64_t layer = 0, expert = 0;
};
std::optional<Places> match_name(std::string_view pattern, std::string_view name);
std::string make_name(std::string_view pattern, const Places &places);

// What the tensors' shapes depend on.
struct HeadCounts {
    uint64_t n_layers = 0, n_heads = 0, n_kv_heads = 0, n_experts = 0;
    bool tied = false; // the output is the embedding
};

// A text model's part of config.json with the values that its class takes where it is silent.
Json with_class_defaults(const Json &config, const Architecture &architecture);

// config.json -> keys "ARCH.*"; and the other way. `notes` gets what no key holds or the
// architecture does not apply.
HeadCounts set_model_keys(KeyWriter &keys, const Config &config, const Architecture &architecture,
                          uint64_t n_tokens, std::vector<std::string> &notes);
Json config_of_file(const ggufx_file *file, const Architecture &architecture, const char *dtype,
                    bool tied);
HeadCounts head_counts_of_file(const ggufx_file *file, const Architecture &architecture);

// Factors of "rope_freqs.weight" that a config's llama3 scaling stands for; empty without one.
std::vector<float> rope_factors(const Config &config);
// The scaling that gives these factors, to the bit; null where none is found.
Json rope_scaling_of(const std::vector<float> &factors, double base);
// "long_factor" and "short_factor" of a config's longrope scaling (phi3); empty without one.
std::vector<float> long_rope_factors(const Config &config, const char *which);

// Sliding windows, their pattern and their RoPE.
void set_windows(KeyWriter &keys, const Config &config, const Architecture &architecture,
                 std::vector<std::string> &notes);
void set_window_settings(Json &config, const ggufx_file *file, const Architecture &architecture);

// Notes about settings that compute something else than the architecture does, and about those that
// set_model_keys and others did not take. `whole`: the config around that of a text model.
std::vector<std::string> config_notes(const Config &config, const Json &whole,
                                      const Architecture &architecture);

// The text part of a config that describes more.
const Json &text_config(const Json &config);

} // namespace ggufx::cli
