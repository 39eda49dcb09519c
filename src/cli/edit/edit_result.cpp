// Prints old and new values as lines and as JSON.
// SPDX-License-Identifier: MIT
#include "edit/edit_result.hpp"

#include "common/json.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

static std::string side(const std::string &type, const std::string &text, const char *nothing) {
    return type.empty() ? nothing : type + " " + shorten(text, 60);
}

static Json json_side(const std::string &type, const std::string &text) {
    if (type.empty()) return {};
    return {{"type", type}, {"text", json_bytes(text)}};
}

static Json change_json(const KeyChange &change) {
    if (change.key.empty()) {
        return {{"old", json_bytes(change.old_text)}, {"new", json_bytes(change.new_text)}};
    }
    return {{"key", json_bytes(change.key)},
            {"old", json_side(change.old_type, change.old_text)},
            {"new", json_side(change.new_type, change.new_text)}};
}

static std::string change_line(const KeyChange &change) {
    if (change.key.empty()) {
        return escape(change.old_text) + " -> " + escape(change.new_text) + "\n";
    }
    return fmt::format("{}: {} -> {}\n", escape(change.key),
                       side(change.old_type, change.old_text, "(absent)"),
                       side(change.new_type, change.new_text, "(removed)"));
}

static std::string result_line(const EditResult &result, const std::string &target, bool dry_run) {
    const std::string how =
        result.in_place ? fmt::format(", in place, room for {} more", bytes_text(result.reserve))
                        : "";
    return fmt::format("{}: {}{}{}\n", escape(target), bytes_text(result.n_bytes), how,
                       dry_run ? " (dry run: nothing was written)" : "");
}

void print_result(const Globals &globals, const std::string &file, const std::string &target,
                  const std::vector<KeyChange> &list, const EditResult &result, bool dry_run) {
    Output out("-", false);
    if (globals.json) {
        Json changes = Json::array();
        for (const KeyChange &change : list) changes.push_back(change_json(change));
        Json line = json_object();
        line.update(Json{{"file", json_bytes(file)},
                         {"output", json_bytes(target)},
                         {"changes", changes},
                         {"bytes", result.n_bytes},
                         {"in_place", result.in_place},
                         {"written_bytes", result.n_written},
                         {"reserve", result.reserve},
                         {"recovered", result.recovered},
                         {"written", !dry_run}});
        print_json(out, line);
    } else if (!globals.quiet) {
        for (const KeyChange &change : list) out.write(change_line(change));
        out.write(result_line(result, target, dry_run));
    }
    out.finish();
}

} // namespace ggufx::cli
