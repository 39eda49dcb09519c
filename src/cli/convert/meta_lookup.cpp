// Finds metadata by name, and reads it by the typed getters.
// SPDX-License-Identifier: MIT
#include "convert/meta_lookup.hpp"

namespace ggufx::cli {

template <class T, class Get>
static std::optional<T> scalar(const ggufx_file *file, const std::string &key, Get get) {
    size_t index = 0;
    T value = {};
    if (ggufx_file_meta_find(&index, file, key.data(), key.size(), nullptr) != GGUFX_OK ||
        get(&value, file, index, nullptr) != GGUFX_OK) {
        return std::nullopt;
    }
    return value;
}

std::optional<uint64_t> meta_natural(const ggufx_file *file, const std::string &key) {
    return scalar<uint64_t>(file, key, ggufx_file_meta_u64);
}

std::optional<double> meta_number(const ggufx_file *file, const std::string &key) {
    return scalar<double>(file, key, ggufx_file_meta_f64);
}

std::optional<bool> meta_flag(const ggufx_file *file, const std::string &key) {
    const std::optional<int32_t> value = scalar<int32_t>(file, key, ggufx_file_meta_bool);
    return value ? std::optional<bool>(*value != 0) : std::nullopt;
}

// Returns index and length of an array; nothing for other values.
static std::optional<std::pair<size_t, uint64_t>> array_of(const ggufx_file *file,
                                                           const std::string &key) {
    size_t index = 0;
    if (ggufx_file_meta_find(&index, file, key.data(), key.size(), nullptr) != GGUFX_OK) return {};
    const ggufx_meta_facts entry = meta_entry(file, index);
    if (entry.type != GGUFX_VALUE_ARRAY) return {};
    return std::make_pair(index, entry.count);
}

std::vector<std::string> meta_texts(const ggufx_file *file, const std::string &key) {
    std::vector<std::string> out;
    const auto array = array_of(file, key);
    for (uint64_t i = 0; array && i < array->second; i++) {
        ggufx_text text = {};
        call([&](ggufx_error *error) {
            return ggufx_file_meta_array_string(&text, file, array->first, i, error);
        });
        out.emplace_back(view(text));
    }
    return out;
}

std::vector<uint64_t> meta_naturals(const ggufx_file *file, const std::string &key) {
    const auto array = array_of(file, key);
    std::vector<uint64_t> out(array ? static_cast<size_t>(array->second) : 0);
    if (!out.empty()) {
        call([&](ggufx_error *error) {
            return ggufx_file_meta_array_u64(out.data(), file, array->first, 0, out.size(), error);
        });
    }
    return out;
}

std::vector<double> meta_numbers(const ggufx_file *file, const std::string &key) {
    const auto array = array_of(file, key);
    std::vector<double> out(array ? static_cast<size_t>(array->second) : 0);
    if (!out.empty()) {
        call([&](ggufx_error *error) {
            return ggufx_file_meta_array_f64(out.data(), file, array->first, 0, out.size(), error);
        });
    }
    return out;
}

} // namespace ggufx::cli
