// Fields of a JSON object from a client. Each is read once, by name and type; finish() refuses
// fields that were not read. null counts as absent.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/api_error.hpp"

#include <optional>

namespace ggufx::cli {

class Fields {
public:
    // `lenient`: ignores unknown fields, at every depth.
    Fields(const Json &body, bool lenient);
    Fields(const Json &, const char *) = delete; // prevents the conversion of a pointer to bool
    // Fields of a nested object, with a name such as "messages[0]".
    Fields within(const Json &object, const std::string &name) const;

    const Json *take(const char *name); // NULL: absent or null
    std::optional<std::string> text(const char *name);
    std::optional<bool> truth(const char *name);
    std::optional<double> number(const char *name, double low, double high);
    std::optional<uint64_t> whole(const char *name, uint64_t low, uint64_t high);
    // Accepts the field only with one of the given values, which have no effect.
    void no_effect(const char *name, std::initializer_list<Json> values);
    void ignore(const char *name) { take(name); }
    void finish() const; // throws ApiError for fields that were not read

    [[noreturn]] void refuse(const char *name, const std::string &what) const;
    std::string path_of(const char *name) const { return path_ + name; }

private:
    Fields(const Json &object, const std::string &path, bool lenient);

    const Json &object_;
    std::string path_; // prefix of field names: "messages[0]."
    bool lenient_;
    std::vector<std::string> taken_;
};

} // namespace ggufx::cli
