// SPDX-License-Identifier: MIT
#include "sampling/defaults.hpp"

#include <algorithm>
#include <math.h>
#include <string.h>

namespace ggufx::sampling {

namespace {

bool is_number(gguf::ValueType type) {
    return gguf::is_integer(type) || type == gguf::ValueType::f32 || type == gguf::ValueType::f64;
}

// Reads a number into `out`; returns false if it is out of range or, for an integer, not whole.
bool read_number(float &out, const gguf::File &file, size_t index, double least, double most,
                 float) {
    const double value = is_number(file.meta(index).type) ? file.get_f64(index) : NAN;
    const bool usable = value >= least && value <= most;
    if (usable) out = static_cast<float>(value);
    return usable;
}
bool read_number(uint32_t &out, const gguf::File &file, size_t index, double least, double most,
                 uint32_t instead_of_negative) {
    const double value = is_number(file.meta(index).type) ? file.get_f64(index) : NAN;
    const bool usable = value >= least && value <= most && floor(value) == value;
    if (usable) out = value < 0 ? instead_of_negative : static_cast<uint32_t>(value);
    return usable;
}

struct SamplerName {
    std::string_view name;
    SamplerKind kind;
};
constexpr SamplerName kSamplerNames[] = {
#define EACH(id, ID, Type, name, order) {name, SamplerKind::id},
#include "sampling/samplers.def"
    // other names that llama.cpp accepts
    {"nucleus", SamplerKind::top_p},    {"typ", SamplerKind::typical},
    {"typical", SamplerKind::typical},  {"typical_p", SamplerKind::typical},
    {"temp", SamplerKind::temperature},
};

// Returns SamplerKind::none for an unknown name. llama.cpp accepts "top-k" for "top_k", too.
SamplerKind kind_of(std::string_view name) {
    const auto is_same = [](char a, char b) { return (a == '-' ? '_' : a) == b; };
    for (const SamplerName &known : kSamplerNames)
        if (std::equal(name.begin(), name.end(), known.name.begin(), known.name.end(), is_same))
            return known.kind;
    return SamplerKind::none;
}

// Parses "top_k;top_p;temperature"; returns false for an unknown name.
bool parse_sequence(Defaults &out, std::string_view text) {
    if (text.empty()) return false;
    for (;;) {
        const size_t end = std::min(text.find(';'), text.size());
        const SamplerKind kind = kind_of(text.substr(0, end));
        if (kind == SamplerKind::none || out.n_samplers == kMaxDefaultSamplers)
            return out.n_samplers = 0, false;
        out.samplers[out.n_samplers++] = kind;
        if (end == text.size()) return true;
        text.remove_prefix(end + 1);
    }
}

} // namespace

Defaults read_defaults(const gguf::File &file) {
    Defaults out;
    const auto note = [&](Key key, bool usable) {
        (usable ? out.present : out.ignored) |= static_cast<uint32_t>(key);
    };
#define KEY(ID, bit, key, member, type, least, most, instead_of_negative, field)                   \
    if (const size_t at = file.find_meta("general.sampling." key); at != gguf::kNotFound)          \
        note(Key::ID, read_number(out.member, file, at, least, most, instead_of_negative));
#include "sampling/samplers.def"
    const size_t index = file.find_meta("general.sampling.sequence");
    if (index == gguf::kNotFound) return out;
    const bool is_text = file.meta(index).type == gguf::ValueType::string;
    note(Key::SEQUENCE, is_text && parse_sequence(out, file.get_string(index)));
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
