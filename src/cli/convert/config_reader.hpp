// Settings of a model's config.json: numbers checked as they are taken, the rotation in its several
// shapes.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/json.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

constexpr uint64_t kMaxCount = 1u << 24; // of layers, heads, dimensions

// Numbers of config.json, checked as they are taken.
class Config {
public:
    explicit Config(const Json &json) : json_(json) {}

    const Json *find(const char *name) const {
        const Json *found = json_.find(name);
        return found && !found->is_null() ? found : nullptr;
    }
    std::optional<uint64_t> count_if(const char *name, uint64_t limit = kMaxCount) const {
        const Json *value = find(name);
        if (!value) return std::nullopt;
        const std::optional<uint64_t> n = value->whole();
        if (!n || *n > limit) {
            throw Failure(kInvalidFile, fmt::format("config.json: {} is {}, not a count up to {}",
                                                    name, shorten(value->dump(), 40), limit));
        }
        return n;
    }
    uint64_t count(const char *name, uint64_t limit = kMaxCount) const {
        const std::optional<uint64_t> n = count_if(name, limit);
        if (!n || *n == 0) {
            throw Failure(kInvalidFile,
                          std::string("config.json: ") + name + (n ? " is 0" : " is missing"));
        }
        return *n;
    }
    std::optional<double> number(const char *name) const {
        const Json *value = find(name);
        if (value && !value->number()) {
            throw Failure(kInvalidFile, fmt::format("config.json: {} is {}, not a number", name,
                                                    shorten(value->dump(), 40)));
        }
        return value ? value->number() : std::nullopt;
    }
    std::string text(const char *name) const {
        const Json *value = find(name);
        return value && value->text() ? *value->text() : "";
    }

private:
    const Json &json_;
};

// The object that describes a stretched rotation, NULL where there is none; its type; the base.
const Json *rope_scaling(const Json &config);
std::string scaling_type(const Json &config);
double rope_base(const Json &config);

} // namespace ggufx::cli
