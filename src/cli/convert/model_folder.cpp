// SPDX-License-Identifier: MIT
#include "convert/model_folder.hpp"

namespace ggufx::cli {

std::string ModelFolder::quoted(const std::string &name) const {
    return in_quotes(joined(path_, name));
}

std::string ModelFolder::text(const std::string &name) const {
    std::string text = InputFile(joined(path_, name)).read_all(kMostText);
    require_fetched(text, quoted(name));
    require_utf8(text, quoted(name), kInvalidFile);
    return text;
}

const Json &ModelFolder::json(const std::string &name) {
    const auto known = json_.find(name);
    if (known != json_.end()) return known->second;
    Json value = has(name) ? parse_json(text(name), quoted(name)) : Json::object();
    if (!value.is_object()) throw Failure(kInvalidFile, quoted(name) + ": it is not a JSON object");
    return json_.emplace(name, std::move(value)).first->second;
}

const Json &ModelFolder::optional_json(const std::string &name) {
    try {
        return json(name);
    } catch (const Failure &failure) {
        warn(std::string(failure.what()) + "; the file is ignored");
    }
    return json_[name] = Json::object();
}

} // namespace ggufx::cli
