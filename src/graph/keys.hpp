// The keys "{architecture}.x" of a file, with checked values that are safe to multiply and
// allocate. Errors name key, layer, value and limits. A value is one for all layers or one per
// layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/file.hpp"

namespace ggufx::model {

// Far above any model; products of two of them stay below 2^63.
constexpr uint64_t kMaxLayers = 4096, kMaxWidth = 1u << 24, kMaxHeads = 1u << 14;
constexpr uint64_t kMaxHeadDim = 1u << 14, kMaxExperts = 1u << 10;
constexpr uint64_t kMaxTaps = 8;            // limit for a convolution along the tokens
constexpr uint64_t kMaxContext = INT32_MAX; // positions are int32_t

struct Limits {
    uint64_t low, high;
};

// Overrides a key with a value written as a number, "true", "false" or text.
struct Override {
    const char *key; // full name: "llama.rope.freq_base"
    const char *value;
    bool used = false; // a call read it
};

class Keys {
public:
    // Overrides [n] may be null; the ones that are read get marked as used.
    Keys(const gguf::File &file, std::string_view architecture, Override *overrides,
         size_t n_overrides)
        : file_(file), architecture_(architecture), overrides_(overrides),
          n_overrides_(n_overrides) {}

    bool has(const char *name) const { return override_of(name) || find(name) != gguf::kNotFound; }
    bool is_array(const char *name) const;       // one value per layer
    uint64_t n_elements(const char *name) const; // array length; 1 for another value, 0 for a
                                                 // missing key

    // Errors: missing, kvtype, hparam; argument for an override. An array read without a layer must
    // have one element.
    uint32_t count(const char *name, Limits limits) const;
    uint32_t count_or(const char *name, Limits limits, uint32_t fallback) const;
    uint32_t count_at(const char *name, uint32_t layer, Limits limits) const;
    uint32_t count_at_or(const char *name, uint32_t layer, Limits limits, uint32_t fallback) const;
    double number(const char *name, double low, double high) const;
    double number_or(const char *name, double low, double high, double fallback) const;
    double number_at_or(const char *name, uint32_t layer, double low, double high,
                        double fallback) const;
    bool flag_or(const char *name, bool fallback) const;
    bool flag_at(const char *name, uint32_t layer) const; // also accepts 0 and 1
    std::string_view text_or(const char *name, std::string_view fallback) const;

    // Throws argument if an override was never read.
    void require_all_used() const;
    [[noreturn]] void reject(const char *name, const char *text) const;

    const gguf::File &file() const { return file_; }
    std::string_view architecture() const { return architecture_; }

private:
    struct Name {
        char text[160];
    };
    Name full(const char *name) const;
    size_t find(const char *name) const;
    size_t require(const char *name) const;
    const Override *override_of(const char *name) const;
    uint32_t overriding_count(const Override &o, Limits limits) const;
    [[noreturn]] void refuse(const Override &o, const char *wanted) const;
    uint32_t checked(size_t index, uint64_t element, const char *layer_text, const char *name,
                     Limits limits) const;
    double within(double value, size_t index, const char *name, double low, double high) const;
    double overriding_number(const Override &o, double low, double high) const;
    uint64_t element_of(size_t index, uint32_t layer, const char *name) const;

    const gguf::File &file_;
    std::string_view architecture_;
    Override *overrides_;
    size_t n_overrides_;
};

} // namespace ggufx::model
