// JSON as the tool reads and prints it.
// SPDX-License-Identifier: MIT
#include "common/json.hpp"

namespace ggufx::cli {

Json parse_json(std::string_view text, const std::string &what, const JsonReading &reading) {
    try {
        return Json::parse(text, reading);
    } catch (const JsonError &error) {
        throw Failure(error.is_memory ? kNoMemory : kInvalidFile,
                      what + ": " + escape(error.what()));
    }
}

Json json_object() {
    return Json{{"schema", kSchema}};
}

Json json_bytes(std::string_view bytes) {
    if (is_utf8(bytes)) return bytes;
    return Json{{"hex", hex(bytes)}};
}

Json json_place(uint64_t place) {
    return place == GGUFX_NONE ? Json() : Json(place);
}

std::string json_text(const Json &value, int indent) {
    return value.dump(indent) + "\n";
}

void print_json(Output &out, const Json &value) {
    out.write(json_text(value, out.is_terminal() ? 2 : -1));
}

void print_json_line(Output &out, const Json &value) {
    out.write(json_text(value, -1));
    out.flush();
}

} // namespace ggufx::cli
