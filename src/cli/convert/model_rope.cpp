// RoPE in config.json: its base, its scaling, and the factors of the scaling.
// SPDX-License-Identifier: MIT
#include "convert/config_reader.hpp"
#include "convert/model_map.hpp"

#include <cmath>
#include <numbers>

namespace ggufx::cli {

// Newer configs have all RoPE settings in one object, gemma's one object per kind of layer.
static std::optional<Config> rope_parameters(const Config &config) {
    const auto rope = config.within("rope_parameters");
    const auto full = rope ? rope->within("full_attention") : std::nullopt;
    return full ? full : rope;
}

std::optional<Config> rope_scaling(const Config &config) {
    const auto scaling = config.within("rope_scaling");
    return scaling ? scaling : rope_parameters(config);
}

std::string scaling_type(const Config &config) {
    const auto scaling = rope_scaling(config);
    if (!scaling) return "";
    const std::string type = scaling->text("rope_type"), old = scaling->text("type");
    return type.empty() ? old : type;
}

double rope_base(const Config &config) {
    const auto rope = rope_parameters(config);
    const auto own = config.number("rope_theta");
    const auto newer = rope ? rope->number("rope_theta") : std::nullopt;
    return own.value_or(newer.value_or(10000));
}

std::optional<double> window_rope_base(const Config &config) {
    const auto rope = config.within("rope_parameters");
    const auto windows = rope ? rope->within("sliding_attention") : std::nullopt;
    const auto newer = windows ? windows->number("rope_theta") : std::nullopt;
    const auto own = config.number("rope_local_base_freq");
    return own ? own : newer;
}

double rotated_part(const Config &config) {
    const auto rope = rope_parameters(config);
    const auto newer = rope ? rope->number("partial_rotary_factor") : std::nullopt;
    return config.number("partial_rotary_factor").value_or(newer.value_or(1));
}

// Computes factors: `factor` for long wavelengths, 1 for short ones, interpolated between.
static std::vector<float> llama3_factors(uint64_t dims, double base, double factor, double low,
                                         double high, double original) {
    std::vector<float> out;
    for (uint64_t i = 0; i < dims; i += 2) {
        const double frequency =
            1 / std::pow(base, static_cast<double>(i) / static_cast<double>(dims));
        const double wave = 2 * std::numbers::pi / frequency;
        const double smooth = (original / wave - low) / (high - low);
        const double partly = 1 / ((1 - smooth) / factor + smooth);
        out.push_back(static_cast<float>(wave < original / high  ? 1
                                         : wave > original / low ? factor
                                                                 : partly));
    }
    return out;
}

std::vector<float> rope_factors(const Config &config) {
    if (scaling_type(config) != "llama3") return {};
    const Config scaling = *rope_scaling(config);
    const uint64_t dims =
        config.count_if("head_dim")
            .value_or(config.count("hidden_size") / config.count("num_attention_heads"));
    const double low = scaling.number("low_freq_factor").value_or(1);
    const double high = scaling.number("high_freq_factor").value_or(4);
    const double original = static_cast<double>(
        scaling.count_if("original_max_position_embeddings", UINT32_MAX).value_or(8192));
    const double factor = scaling.number("factor").value_or(8);
    if (!(low > 0) || !(high > low) || !(factor > 0)) {
        throw Failure(kInvalidFile, "config.json: factors of rope_scaling are not 0 < low < high");
    }
    return llama3_factors(dims, rope_base(config), factor, low, high, original);
}

Json rope_scaling_of(const std::vector<float> &factors, double base) {
    if (factors.empty()) return {};
    const double factor = static_cast<double>(factors.back());
    for (uint64_t original = 16; original <= 1u << 24; original *= 2) {
        const auto made =
            llama3_factors(2 * factors.size(), base, factor, 1, 4, static_cast<double>(original));
        if (made != factors) continue;
        return {{"rope_type", "llama3"},
                {"factor", factor},
                {"low_freq_factor", 1.0},
                {"high_freq_factor", 4.0},
                {"original_max_position_embeddings", original}};
    }
    return {};
}

std::vector<float> long_rope_factors(const Config &config, const char *which) {
    const std::string type = scaling_type(config);
    if (type != "longrope" && type != "su") return {};
    const Json *list = rope_scaling(config)->find(which);
    if (!list || !list->is_array() || list->size() > kMaxCount) {
        throw Failure(kInvalidFile, std::string("config.json: rope_scaling has no list ") + which);
    }
    std::vector<float> out;
    for (const Json &factor : list->elements()) {
        const auto value = factor.number();
        if (!value)
            throw Failure(kInvalidFile, std::string("config.json: ") + which + ": " +
                                            shorten(factor.dump(), 40) + " is not a number");
        out.push_back(static_cast<float>(*value));
    }
    return out;
}

} // namespace ggufx::cli
