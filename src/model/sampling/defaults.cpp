// SPDX-License-Identifier: MIT
#include "model/sampling/defaults.hpp"

#include <algorithm>
#include <math.h>
#include <string.h>

namespace ggufx::sampling {

namespace {

bool is_number(gguf::ValueType type) {
    return gguf::is_integer(type) || type == gguf::ValueType::f32 || type == gguf::ValueType::f64;
}

struct FloatKey {
    uint32_t bit;
    const char *name;
    float Defaults::*value;
    double most; // at least 0
};
constexpr FloatKey kFloats[] = {
    {kTemperatureKey, "general.sampling.temp", &Defaults::temperature, 1e6},
    {kTopPKey, "general.sampling.top_p", &Defaults::top_p, 1},
    {kMinPKey, "general.sampling.min_p", &Defaults::min_p, 1},
    {kXtcProbabilityKey, "general.sampling.xtc_probability", &Defaults::xtc_probability, 1},
    {kXtcThresholdKey, "general.sampling.xtc_threshold", &Defaults::xtc_threshold, 1},
    {kRepetitionKey, "general.sampling.penalty_repeat", &Defaults::repetition, 1e6},
    {kTauKey, "general.sampling.mirostat_tau", &Defaults::tau, 1e6},
    {kEtaKey, "general.sampling.mirostat_eta", &Defaults::eta, 1e6},
};

// A key with a whole number; for some keys, -1 stands for another value.
struct CountKey {
    uint32_t bit;
    const char *name;
    uint32_t Defaults::*value;
    double least, most;
    uint32_t below_0;
};
constexpr CountKey kCounts[] = {
    {kTopKKey, "general.sampling.top_k", &Defaults::top_k, -1, INT32_MAX, 0},
    {kLastNKey, "general.sampling.penalty_last_n", &Defaults::n_last, -1, kMostLast, kMostLast},
    {kMirostatKey, "general.sampling.mirostat", &Defaults::mirostat, 0, 2, 0},
};

// Names of samplers as llama.cpp writes and accepts them.
struct SamplerName {
    std::string_view name;
    SamplerKind kind;
};
constexpr SamplerName kSamplerNames[] = {
    {"top_k", SamplerKind::top_k},
    {"top-k", SamplerKind::top_k},
    {"top_p", SamplerKind::top_p},
    {"top-p", SamplerKind::top_p},
    {"nucleus", SamplerKind::top_p},
    {"min_p", SamplerKind::min_p},
    {"min-p", SamplerKind::min_p},
    {"typ_p", SamplerKind::typical},
    {"typ-p", SamplerKind::typical},
    {"typ", SamplerKind::typical},
    {"typical", SamplerKind::typical},
    {"typical_p", SamplerKind::typical},
    {"typical-p", SamplerKind::typical},
    {"top_n_sigma", SamplerKind::top_n_sigma},
    {"top-n-sigma", SamplerKind::top_n_sigma},
    {"xtc", SamplerKind::xtc},
    {"temperature", SamplerKind::temperature},
    {"temp", SamplerKind::temperature},
    {"penalties", SamplerKind::penalties},
    {"dry", SamplerKind::dry},
};

const SamplerKind *kind_of(std::string_view name) {
    for (const SamplerName &known : kSamplerNames)
        if (known.name == name) return &known.kind;
    return nullptr;
}

// Parses "top_k;top_p;temperature"; returns false for an unknown name.
bool parse_sequence(Defaults &out, std::string_view text) {
    if (text.empty()) return false;
    for (;;) {
        const size_t end = std::min(text.find(';'), text.size());
        const SamplerKind *kind = kind_of(text.substr(0, end));
        if (!kind || out.n_samplers == kMostDefaultSamplers) return out.n_samplers = 0, false;
        out.samplers[out.n_samplers++] = *kind;
        if (end == text.size()) return true;
        text.remove_prefix(end + 1);
    }
}

} // namespace

Defaults read_defaults(const gguf::File &file) {
    Defaults out;
    const auto note = [&](uint32_t bit, bool usable) {
        (usable ? out.present : out.ignored) |= bit;
    };
    for (const FloatKey &key : kFloats) {
        const size_t index = file.find_meta(key.name);
        if (index == gguf::kNotFound) continue;
        const double value = is_number(file.meta(index).type) ? file.get_f64(index) : NAN;
        const bool usable = value >= 0 && value <= key.most;
        if (usable) out.*key.value = static_cast<float>(value);
        note(key.bit, usable);
    }
    for (const CountKey &key : kCounts) {
        const size_t index = file.find_meta(key.name);
        if (index == gguf::kNotFound) continue;
        const double value = is_number(file.meta(index).type) ? file.get_f64(index) : NAN;
        const bool usable = value >= key.least && value <= key.most && floor(value) == value;
        if (usable) out.*key.value = value < 0 ? key.below_0 : static_cast<uint32_t>(value);
        note(key.bit, usable);
    }
    const size_t index = file.find_meta("general.sampling.sequence");
    if (index == gguf::kNotFound) return out;
    const bool is_text = file.meta(index).type == gguf::ValueType::string;
    note(kSequenceKey, is_text && parse_sequence(out, file.get_string(index)));
    return out;
}

bool read_suppressed(Vector<int32_t> &out, const gguf::File &file, uint64_t n_vocab) {
    const size_t index = file.find_meta("tokenizer.ggml.suppress_tokens");
    if (index == gguf::kNotFound) return true;
    const gguf::MetaEntry entry = file.meta(index);
    if (entry.type != gguf::ValueType::array) return false;
    if (entry.count > 0 && !is_integer(entry.element)) return false;
    for (uint64_t i = 0; i < entry.count; i++) {
        const bool is_big = entry.element == gguf::ValueType::u64;
        const int64_t id =
            is_big && file.get_u64(index, i) > INT64_MAX ? -1 : file.get_i64(index, i);
        if (id >= 0 && static_cast<uint64_t>(id) < n_vocab) out.push_back(static_cast<int32_t>(id));
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return true;
}

uint64_t vocabulary_size(const gguf::File &file) {
    const size_t tokens = file.find_meta("tokenizer.ggml.tokens");
    if (tokens != gguf::kNotFound)
        return file.meta(tokens).type == gguf::ValueType::array ? file.meta(tokens).count : 0;
    const size_t name = file.find_meta("general.architecture");
    if (name == gguf::kNotFound || file.meta(name).type != gguf::ValueType::string) return 0;
    char key[128];
    const std::string_view architecture = file.get_string(name);
    constexpr std::string_view kRest = ".vocab_size";
    if (architecture.size() + kRest.size() > sizeof key) return 0;
    memcpy(key, architecture.data(), architecture.size());
    memcpy(key + architecture.size(), kRest.data(), kRest.size());
    const size_t index = file.find_meta({key, architecture.size() + kRest.size()});
    if (index == gguf::kNotFound || !is_integer(file.meta(index).type)) return 0;
    const double n = file.get_f64(index);
    return n > 0 && n <= INT32_MAX ? static_cast<uint64_t>(n) : 0;
}

} // namespace ggufx::sampling
