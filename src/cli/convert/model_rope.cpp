// The rotation of positions in config.json: its base, its scaling, the factors these stand for.
// SPDX-License-Identifier: MIT
#include "convert/config_reader.hpp"
#include "convert/model_map.hpp"

#include <cmath>
#include <numbers>

namespace ggufx::cli {

// Newer configs have all of rotation in one object, of gemma per kind of layer.
static const Json *rope_parameters(const Json &config) {
    const Json *rope = config.find("rope_parameters");
    const Json *full = rope && rope->is_object() ? rope->find("full_attention") : nullptr;
    return full ? full : rope;
}

const Json *rope_scaling(const Json &config) {
    const Json *scaling = config.find("rope_scaling");
    if (!scaling || !scaling->is_object()) scaling = rope_parameters(config);
    return scaling && scaling->is_object() ? scaling : nullptr;
}

std::string scaling_type(const Json &config) {
    const Json *scaling = rope_scaling(config);
    if (!scaling) return "";
    const std::string type = Config(*scaling).text("rope_type");
    return type.empty() ? Config(*scaling).text("type") : type;
}

double rope_base(const Json &config) {
    const Json *rope = rope_parameters(config);
    if (const auto base = Config(config).number("rope_theta")) return *base;
    const auto base = rope ? Config(*rope).number("rope_theta") : std::nullopt;
    return base.value_or(10000);
}

// Long waves are stretched by `factor`, short ones are not, those between partly.
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

std::vector<float> rope_factors(const Json &json) {
    if (scaling_type(json) != "llama3") return {};
    const Config scaling(*rope_scaling(json));
    const Config config(json);
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
    return llama3_factors(dims, rope_base(json), factor, low, high, original);
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

std::vector<float> long_rope_factors(const Json &json, const char *which) {
    const std::string type = scaling_type(json);
    if (type != "longrope" && type != "su") return {};
    const Json *list = rope_scaling(json)->find(which);
    if (!list || !list->is_array() || list->size() > kMaxCount) {
        throw Failure(kInvalidFile, std::string("config.json: rope_scaling has no list ") + which);
    }
    std::vector<float> out;
    for (const Json &factor : list->elements()) {
        const auto value = factor.number();
        if (!value)
            throw Failure(kInvalidFile, std::string("config.json: ") + which + ": " +
                                            shorten(factor.dump(), 40) + " is no number");
        out.push_back(static_cast<float>(*value));
    }
    return out;
}

} // namespace ggufx::cli
