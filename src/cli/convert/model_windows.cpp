// Sliding-window layers in config.json, in GGUF keys and by default of an architecture.
// SPDX-License-Identifier: MIT
#include "convert/meta_lookup.hpp"
#include "convert/model_map.hpp"

#include <algorithm>

namespace ggufx::cli {

namespace {

constexpr const char *kSliding = "sliding_attention", *kFull = "full_attention";
constexpr uint64_t kUsualPattern = 6;
constexpr double kUsualWindowBase = 10000;

using Layers = std::vector<bool>; // true: sliding window

Layers all_but_nth(uint64_t n_layers, uint64_t n) {
    Layers out;
    for (uint64_t i = 0; i < n_layers; i++) out.push_back(n == 0 || i % n + 1 < n);
    return out;
}

// Returns layers by "layer_types" (a list of kinds), else by a pattern's length, else none.
Layers stated_layers(const Config &config, uint64_t n_layers) {
    const Json *types = config.find("layer_types");
    auto pattern = config.count_if("sliding_window_pattern");
    const auto newer = config.count_if("_sliding_window_pattern");
    if (!pattern) pattern = newer;
    if (!types) return pattern ? all_but_nth(n_layers, *pattern) : Layers();
    if (!types->is_array() || types->size() != n_layers)
        throw Failure(kInvalidFile,
                      fmt::format("config.json: layer_types is not a list of {} layers", n_layers));
    Layers out;
    for (const Json &type : types->elements()) {
        const std::string *text = type.text();
        if (!text || (*text != kSliding && *text != kFull))
            throw Failure(kUnsupported, "config.json: a layer of type " + shorten(type.dump(), 40) +
                                            " is not supported; supported: full_attention, "
                                            "sliding_attention");
        out.push_back(*text == kSliding);
    }
    return out;
}

// Returns layers if config.json has no list; qwen's first max_window_layers have no window.
Layers class_layers(const Config &config, const Architecture &architecture, uint64_t n_layers) {
    const auto first = config.count_if("max_window_layers");
    switch (architecture.computation.windows) {
    case Windows::all_but_second:
        return all_but_nth(n_layers, 2);
    case Windows::all_but_nth:
        return all_but_nth(n_layers, kUsualPattern);
    case Windows::all:
        return Layers(n_layers, true);
    case Windows::none:
        break;
    }
    Layers out(n_layers, true);
    for (uint64_t i = 0; i < std::min(first.value_or(0), n_layers); i++) out[i] = false;
    return out;
}

void set_pattern(KeyWriter &keys, const std::string &key, const Layers &layers) {
    for (uint64_t n = 1; n <= layers.size(); n++)
        if (layers == all_but_nth(layers.size(), n)) return keys.u32(key, n);
    keys.flags(key, layers);
}

} // namespace

void set_windows(KeyWriter &keys, const Config &config, const Architecture &architecture,
                 std::vector<std::string> &notes) {
    const std::string arch = architecture.gguf;
    const Windows kind = architecture.computation.windows;
    const uint64_t n_layers = config.count("num_hidden_layers", 65536);
    const bool used = config.flag("use_sliding_window", true);
    const auto window = config.count_if("sliding_window", UINT32_MAX);
    const Layers stated = stated_layers(config, n_layers);
    const Layers own = class_layers(config, architecture, n_layers);
    if (kind == Windows::all_but_nth) {
        const double base = window_rope_base(config).value_or(kUsualWindowBase);
        if (base != kUsualWindowBase) keys.f32(arch + ".rope.freq_base_swa", base);
    }
    if (!window || !used) return;
    keys.u32(arch + ".attention.sliding_window", *window);
    const Layers &meant = stated.empty() ? own : stated;
    const bool any = std::find(meant.begin(), meant.end(), true) != meant.end();
    const bool matters = *window < config.count("max_position_embeddings", UINT32_MAX);
    if (kind == Windows::all_but_nth && meant != own)
        return set_pattern(keys, arch + ".attention.sliding_window_pattern", meant);
    if (!matters || (kind == Windows::none ? !any : meant == own)) return;
    notes.push_back(fmt::format("config.json: sliding_window is {}, which {} of architecture {} "
                                "have: output differs after so many tokens",
                                *window, kind == Windows::none ? "no layers" : "other layers",
                                arch));
}

void set_window_settings(Json &config, const ggufx_file *file, const Architecture &architecture) {
    const std::string arch = architecture.gguf, key = arch + ".attention.sliding_window_pattern";
    if (architecture.computation.windows != Windows::all_but_nth) return;
    if (const auto base = meta_number(file, arch + ".rope.freq_base_swa"))
        config["rope_local_base_freq"] = *base;
    if (const auto pattern = meta_natural(file, key)) config["sliding_window_pattern"] = *pattern;
    const std::vector<uint64_t> flags = meta_naturals(file, key);
    if (flags.size() < 2) return; // a single value is the pattern's length
    Json types = Json::array();
    for (const uint64_t flag : flags) types.push_back(flag ? kSliding : kFull);
    config["layer_types"] = types;
}

} // namespace ggufx::cli
