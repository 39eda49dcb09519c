// Error response of a refused request: HTTP status and OpenAI error object.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/json.hpp"

#include <stdexcept>

namespace ggufx::cli {

struct ApiError : std::runtime_error {
    ApiError(int status_, const std::string &message, const std::string &param_ = "",
             const std::string &code_ = "")
        : std::runtime_error(message), status(status_), param(param_), code(code_) {}
    Json to_json() const {
        const char *const type = status == 401   ? "authentication_error"
                                 : status == 403 ? "permission_error"
                                 : status == 404 ? "not_found_error"
                                 : status == 429 ? "rate_limit_error"
                                 : status == 503 ? "overloaded_error"
                                 : status >= 500 ? "server_error"
                                                 : "invalid_request_error";
        const auto text = [](const std::string &t) { return t.empty() ? Json() : Json(t); };
        return Json{{"error", Json{{"message", what()},
                                   {"type", type},
                                   {"param", text(param)},
                                   {"code", text(code)}}}};
    }
    int status;
    std::string param, code;
};

} // namespace ggufx::cli
