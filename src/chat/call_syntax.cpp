// SPDX-License-Identifier: MIT
#include "chat/call_syntax.hpp"

namespace ggufx::chat {

namespace {

// Returns the text with the id of the call in place of kProbeId, which occurs at most once.
std::string_view with_id(Arena &arena, std::string_view text, std::string_view id) {
    const size_t at = text.find(kProbeId);
    if (at == text.npos) return text;
    const size_t after = at + kProbeId.size(), n = text.size() - kProbeId.size() + id.size();
    char *const out = reinterpret_cast<char *>(arena.add(n));
    memcpy(out, text.data(), at);
    if (!id.empty()) memcpy(out + at, id.data(), id.size());
    memcpy(out + at + id.size(), text.data() + after, text.size() - after);
    return {out, n};
}

} // namespace

CallSyntax call_syntax(Arena &arena, const OutputFormat &format, std::string_view id) {
    CallSyntax out;
    if (format.harmony) {
        out.prefix = "<|channel|>commentary to=functions.";
        out.middle = " <|constrain|>json<|message|>";
        return out;
    }
    const CallFormat &call = format.call;
    out.prefix = with_id(arena, call.prefix, id);
    out.middle = with_id(arena, call.middle, id);
    out.end = call.end;
    if (call.shape == CallShape::tagged) {
        out.is_object = false;
        out.before_key = call.before_key;
        out.after_key = call.after_key;
        out.after_key_other = call.after_key_other;
        out.value_end = out.string_end = call.after_value;
    } else if (call.notation == Notation::python) {
        out.is_object = false;
        out.open = "(";
        out.separator = ", ";
        out.after_key = "=";
        out.end = ")";
    } else if (call.notation == Notation::quoted) {
        out.is_object = false;
        out.open = "{";
        out.separator = ",";
        out.after_key = ":";
        out.string_open = out.string_end = call.quote;
        out.end = "}";
    }
    if (out.after_key_other.empty()) out.after_key_other = out.after_key;
    return out;
}

} // namespace ggufx::chat
