// Settings of a model's config.json. Numbers are checked when they are read, and reads are
// recorded, so that unread settings can be reported.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/json.hpp"

#include <fmt/format.h>
#include <memory>
#include <set>

namespace ggufx::cli {

constexpr uint64_t kMaxCount = 1u << 24; // limit for layers, heads, dimensions

// A setting that was never read, with its path: "rope_scaling.alpha".
struct UnreadSetting {
    std::string name;
    const Json *value;
};

class Config {
public:
    explicit Config(const Json &json) : json_(json) {}

    const Json &json() const { return json_; }
    const Json *find(const char *name) const {
        taken_->insert(place_ + name);
        const Json *found = json_.find(name);
        return found && !found->is_null() ? found : nullptr;
    }
    // Returns a nested object, whose members are recorded one by one.
    std::optional<Config> within(const char *name) const {
        const Json *found = json_.find(name);
        if (!found || !found->is_object()) return std::nullopt;
        entered_->insert(place_ + name);
        Config inner(*found);
        inner.place_ = place_ + name + ".";
        inner.taken_ = taken_;
        inner.entered_ = entered_;
        return inner;
    }
    std::optional<uint64_t> count_if(const char *name, uint64_t limit = kMaxCount) const {
        const Json *value = find(name);
        if (!value) return std::nullopt;
        const std::optional<uint64_t> n = value->whole();
        if (!n || *n > limit) {
            throw Failure(kInvalidFile,
                          fmt::format("config.json: {}{} is {}, not a count up to {}", place_, name,
                                      shorten(value->dump(), 40), limit));
        }
        return n;
    }
    uint64_t count(const char *name, uint64_t limit = kMaxCount) const {
        const std::optional<uint64_t> n = count_if(name, limit);
        if (!n || *n == 0) {
            throw Failure(kInvalidFile,
                          "config.json: " + place_ + name + (n ? " is 0" : " is missing"));
        }
        return *n;
    }
    std::optional<double> number(const char *name) const {
        const Json *value = find(name);
        if (value && !value->number()) {
            throw Failure(kInvalidFile, fmt::format("config.json: {}{} is {}, not a number", place_,
                                                    name, shorten(value->dump(), 40)));
        }
        return value ? value->number() : std::nullopt;
    }
    std::string text(const char *name) const {
        const Json *value = find(name);
        return value && value->text() ? *value->text() : "";
    }
    bool flag(const char *name, bool absent) const {
        const Json *value = find(name);
        return value ? value->truth().value_or(absent) : absent;
    }
    std::vector<UnreadSetting> unread() const {
        std::vector<UnreadSetting> out;
        add_unread(out);
        return out;
    }

private:
    void add_unread(std::vector<UnreadSetting> &out) const {
        for (size_t i = 0; json_.is_object() && i < json_.size(); i++) {
            const std::string &name = json_.keys()[i];
            if (entered_->count(place_ + name))
                within(name.c_str())->add_unread(out);
            else if (!taken_->count(place_ + name))
                out.push_back({place_ + name, &json_.elements()[i]});
        }
    }

    using Names = std::shared_ptr<std::set<std::string>>;
    const Json &json_;
    std::string place_;
    Names taken_ = std::make_shared<std::set<std::string>>();
    Names entered_ = std::make_shared<std::set<std::string>>();
};

// RoPE settings: the scaling object (nothing without one), its type, the base, and the base of
// sliding-window layers if it is stated.
std::optional<Config> rope_scaling(const Config &config);
std::string scaling_type(const Config &config);
double rope_base(const Config &config);
std::optional<double> window_rope_base(const Config &config);
// Returns the fraction of a head's dimensions that RoPE rotates.
double rotated_part(const Config &config);

} // namespace ggufx::cli
