// The fields of an object that a client sent: each is taken once, by its name and kind; what nobody
// took is refused at the end. null is as absent.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/api_error.hpp"

#include <optional>

namespace ggufx::cli {

class Fields {
public:
    // `lenient`: what nobody took is passed over, at each depth.
    Fields(const Json &body, bool lenient);
    Fields(const Json &, const char *) = delete; // a name is no truth
    // Those of an object within: "messages[0]".
    Fields within(const Json &object, const std::string &name) const;

    const Json *take(const char *name); // NULL: not there, or null
    std::optional<std::string> text(const char *name);
    std::optional<bool> truth(const char *name);
    std::optional<double> number(const char *name, double low, double high);
    std::optional<uint64_t> whole(const char *name, uint64_t low, uint64_t high);
    // Accepted where it asks for nothing: a value of those given.
    void no_effect(const char *name, std::initializer_list<Json> values);
    void ignore(const char *name) { take(name); }
    void finish() const; // throws ApiError for what nobody took

    [[noreturn]] void refuse(const char *name, const std::string &what) const;
    std::string path_of(const char *name) const { return path_ + name; }

private:
    Fields(const Json &object, const std::string &path, bool lenient);

    const Json &object_;
    std::string path_; // before the names of its fields: "messages[0]."
    bool lenient_;
    std::vector<std::string> taken_;
};

} // namespace ggufx::cli
