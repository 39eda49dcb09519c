// Reports failures: a line for people, a JSON object for programs.
// SPDX-License-Identifier: MIT
#include "common/tool.hpp"

#include "common/json.hpp"

#include <cstdio>

namespace ggufx::cli {

void tell(const Globals &globals, const Failure &failure, const std::string &file) {
    if (!globals.json) {
        std::fprintf(stderr, "ggufx: %s\n", escape(failure.what()).c_str());
        return;
    }
    Json error = {{"exit", failure.exit_code}, {"message", failure.what()}};
    if (!file.empty()) error["file"] = json_bytes(file);
    if (failure.detail) {
        error["status"] = ggufx_status_name(failure.detail->status);
        error["code"] = failure.detail->status;
        error["offset"] = json_place(failure.detail->offset);
        error["index"] = json_place(failure.detail->index);
    }
    Json line = json_object();
    line["error"] = error;
    std::fputs(json_text(line, -1).c_str(), stderr);
}

} // namespace ggufx::cli
