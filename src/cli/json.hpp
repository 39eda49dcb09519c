// JSON output: members in the order they are added, numbers and strings as the file has them.
// SPDX-License-Identifier: MIT
#pragma once

#include "output.hpp"
#include "text.hpp"

#include <nlohmann/json.hpp>

namespace ggufx::cli {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1; // of every object the tool prints

inline Json json_object() {
    return Json{{"schema", kSchema}};
}

// A string, or {"hex": ...} when its bytes are not UTF-8.
inline Json json_bytes(std::string_view bytes) {
    if (is_utf8(bytes)) return std::string(bytes);
    return Json{{"hex", hex(bytes)}};
}

// Absent offsets and indices are null.
inline Json json_place(uint64_t place) {
    return place == GGUFX_NONE ? Json() : Json(place);
}

inline std::string json_text(const Json &value, int indent) {
    return value.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

// One object: readable on a terminal, one line elsewhere.
inline void print_json(Output &out, const Json &value) {
    out.write(json_text(value, out.is_terminal() ? 2 : -1));
}

// One of many objects: always one line, out at once.
inline void print_json_line(Output &out, const Json &value) {
    out.write(json_text(value, -1));
    out.flush();
}

} // namespace ggufx::cli
