// Chat templates: include/ggufx/chat.h.
// SPDX-License-Identifier: MIT
#include "abi/chat_handles.hpp"
#include "abi/guard.hpp"
#include "abi/model_handles.hpp"
#include "abi/options.hpp"
#include "chat/formats.hpp"

#include <algorithm>
#include <ggufx/chat.h>
#include <inttypes.h>
#include <string.h>

using namespace ggufx;
using namespace ggufx::abi;

namespace {

constexpr const char *kTemplate = "tokenizer.chat_template";

// ---- create ----

std::string_view template_of(const gguf::File &file, std::string_view name, Buffer &key_room) {
    const size_t n = strlen(kTemplate);
    if (name.size() > 256) fail(Status::argument, {}, "the name of a template has over 256 bytes");
    key_room = Buffer(file.host(), n + 1 + name.size());
    char *const key = reinterpret_cast<char *>(key_room.data());
    memcpy(key, kTemplate, n);
    key[n] = '.';
    if (!name.empty()) memcpy(key + n + 1, name.data(), name.size());
    const std::string_view full(key, name.empty() ? n : n + 1 + name.size());
    const size_t index = file.find_meta(full);
    if (index == gguf::kNotFound) {
        fail(Status::not_found, {}, "the file has no %s", Quoted(full).c_str());
    }
    return file.get_string(index);
}

// Text of a special token, or empty if the file has none.
std::string_view token_of(const gguf::File &file, const char *key) {
    const size_t id = file.find_meta(key), tokens = file.find_meta("tokenizer.ggml.tokens");
    if (id == gguf::kNotFound || tokens == gguf::kNotFound) return {};
    const gguf::MetaEntry entry = file.meta(tokens);
    const uint64_t index = file.get_u64(id);
    const bool texts =
        entry.type == gguf::ValueType::array && entry.element == gguf::ValueType::string;
    return texts && index < entry.count ? file.get_array_string(tokens, index) : std::string_view();
}

std::string_view source_of(const ggufx_chat_template_options &options, const ggufx_file *file,
                           Buffer &room) {
    const std::string_view name = import_text(options.name, "name");
    const std::string_view format = import_text(options.format, "format");
    const int n = (options.text.data != nullptr) + (options.name.data != nullptr) +
                  (options.format.data != nullptr);
    if (n > 1) fail(Status::argument, {}, "only one of text, name and format may be set");
    if (options.text.data) return import_text(options.text, "text");
    if (options.format.data) {
        const char *const text = chat::find_format(format);
        if (text) return text;
        fail(Status::not_found, {}, "no built-in format '%s'", Quoted(format).c_str());
    }
    require(file, "a template, a format or a file must be set");
    return template_of(*file->file, name, room);
}

} // namespace

ggufx_chat_template *ggufx::abi::make_file_chat(const Ref<Host> &host, const gguf::File &file) {
    Buffer room;
    const std::string_view source = template_of(file, {}, room);
    return make<ggufx_chat_template>(*host, host, source,
                                     token_of(file, "tokenizer.ggml.bos_token_id"),
                                     token_of(file, "tokenizer.ggml.eos_token_id"));
}

extern "C" ggufx_status ggufx_chat_template_create(ggufx_chat_template **out,
                                                   const ggufx_runtime *rt, const ggufx_file *file,
                                                   const ggufx_chat_template_options *options,
                                                   ggufx_error *error) {
    if (out) *out = nullptr;
    return guard(error, [&] {
        require(out && alive(rt, Tag::runtime), "out and rt must be set");
        require(!file || alive(file, Tag::file), "file must be a file or NULL");
        const auto o = import_options(options, 0, "ggufx_chat_template_options");
        Buffer room;
        const std::string_view source = source_of(o, file, room);
        std::string_view bos = import_text(o.bos_token, "bos_token");
        std::string_view eos = import_text(o.eos_token, "eos_token");
        if (file && !o.bos_token.data) bos = token_of(*file->file, "tokenizer.ggml.bos_token_id");
        if (file && !o.eos_token.data) eos = token_of(*file->file, "tokenizer.ggml.eos_token_id");
        *out = make<ggufx_chat_template>(*rt->host, rt->host, source, bos, eos);
    });
}

extern "C" void ggufx_chat_template_destroy(ggufx_chat_template *chat) {
    const NoCancel whole;
    if (alive(chat, Tag::chat)) chat->release();
}

void ggufx_chat_template::release() {
    if (refs.release()) destroy_object(program.host(), this);
}

extern "C" const char *ggufx_chat_template_builtin_name(size_t index) {
    return chat::format_name(index);
}

// ---- render ----

namespace {

constexpr uint32_t kKnownFlags = GGUFX_CHAT_GENERATE | GGUFX_CHAT_THINK | GGUFX_CHAT_NO_THINK |
                                 GGUFX_CHAT_CLOCK | GGUFX_CHAT_CONTINUE;

chat::Message import_message(const ggufx_chat_message &m) {
    chat::Message out;
    out.role = import_text(m.role, "role");
    out.content = import_text(m.content, "content");
    out.has_content = m.content.data != nullptr;
    out.parts = import_text(m.parts, "parts");
    out.tool_calls = import_text(m.tool_calls, "tool_calls");
    out.more = import_text(m.extra, "extra");
    return out;
}

void import_messages(Vector<chat::Message> &out, const ggufx_chat_request &r) {
    require(r.messages || r.n_messages == 0, "messages must be set");
    require(!(r.n_messages > 0 && r.messages_json.data), "messages are given twice");
    constexpr size_t kMostMessages = 1 << 24;
    if (r.n_messages > kMostMessages) {
        fail(Status::limit, {.value = r.n_messages, .limit = kMostMessages},
             "%" PRIu64 " messages, the limit is %" PRIu64, static_cast<uint64_t>(r.n_messages),
             static_cast<uint64_t>(kMostMessages));
    }
    out.reserve(r.n_messages);
    const StructList<ggufx_chat_message> messages(r.messages, r.n_messages, 0,
                                                  "ggufx_chat_message");
    for (size_t i = 0; i < r.n_messages; i++) out.push_back(import_message(messages.at(i)));
}

chat::Request import_request(const ggufx_chat_request &r, const Vector<chat::Message> &messages) {
    chat::Request out;
    out.messages = messages.data();
    out.n_messages = messages.size();
    out.messages_json = import_text(r.messages_json, "messages_json");
    out.tools = import_text(r.tools, "tools");
    out.documents = import_text(r.documents, "documents");
    out.variables = import_text(r.variables, "variables");
    out.reasoning_effort = import_text(r.reasoning_effort, "reasoning_effort");
    out.add_generation_prompt = (r.flags & GGUFX_CHAT_GENERATE) != 0;
    if (r.flags & GGUFX_CHAT_THINK) out.enable_thinking = 1;
    if (r.flags & GGUFX_CHAT_NO_THINK) {
        require(out.enable_thinking < 0,
                "GGUFX_CHAT_THINK and GGUFX_CHAT_NO_THINK exclude each other");
        out.enable_thinking = 0;
    }
    out.continues = (r.flags & GGUFX_CHAT_CONTINUE) != 0;
    require(!(out.continues && out.add_generation_prompt),
            "GGUFX_CHAT_GENERATE and GGUFX_CHAT_CONTINUE exclude each other");
    out.has_clock = (r.flags & GGUFX_CHAT_CLOCK) != 0;
    out.clock = r.unix_time;
    constexpr int64_t kLatest = 253402300799; // 9999-12-31; the minimum is 0001-01-01
    require(!out.has_clock || (r.unix_time <= kLatest && r.unix_time >= -62135596800),
            "unix_time must lie within the years 1 to 9999");
    out.limits = {r.max_steps, r.max_memory, r.max_output};
    out.progress = import_progress(r.progress);
    return out;
}

} // namespace

void ggufx::abi::check_request(const ggufx_chat_request &request) {
    const auto in = import_options(&request, kKnownFlags, "ggufx_chat_request");
    (void)import_progress(in.progress);
}

Progress ggufx::abi::render_request(chat::Output &output, const ggufx_chat_template &chat,
                                    const ggufx_chat_request *request, bool empties) {
    const auto r = import_options(request, kKnownFlags, "ggufx_chat_request");
    Vector<chat::Message> messages{HostAllocator<chat::Message>(chat.program.host().get())};
    import_messages(messages, r);
    chat::Request in = import_request(r, messages);
    in.calls = &chat.format->call;
    in.empties = empties;
    chat.program.render(output, in);
    return in.progress;
}

namespace {

// Writes as many elements as fit, and their number.
template <class To, class From, class Convert>
void put(To *out, size_t capacity, size_t *out_needed, const From &from, const char *what,
         const Convert &convert) {
    const size_t n = from.size();
    *out_needed = n;
    for (size_t i = 0; i < n && i < capacity; i++) out[i] = convert(from[i]);
    check_capacity(n, capacity, "the text", what);
}

chat::Output render_checked(const void *out, size_t capacity, const size_t *out_needed,
                            const ggufx_chat_template *chat, const ggufx_chat_request *request) {
    require(alive(chat, Tag::chat) && request, "chat and request must be set");
    require(out_needed && (out || capacity == 0), "out and out_needed must be set");
    chat::Output output(chat->program.host().get());
    (void)render_request(output, *chat, request);
    return output;
}

} // namespace

extern "C" ggufx_status ggufx_chat_template_render(char *out, size_t capacity, size_t *out_needed,
                                                   const ggufx_chat_template *chat,
                                                   const ggufx_chat_request *request,
                                                   ggufx_error *error) {
    return guard(error, [&] {
        const auto output = render_checked(out, capacity, out_needed, chat, request);
        put(out, capacity, out_needed, output.text, "bytes", [](char c) { return c; });
    });
}

extern "C" ggufx_status ggufx_chat_template_spans(ggufx_chat_span *out, size_t capacity,
                                                  size_t *out_needed,
                                                  const ggufx_chat_template *chat,
                                                  const ggufx_chat_request *request,
                                                  ggufx_error *error) {
    return guard(error, [&] {
        const auto output = render_checked(out, capacity, out_needed, chat, request);
        put(out, capacity, out_needed, output.runs, "runs", [](const auto &run) {
            return ggufx_chat_span{run.end, run.user};
        });
    });
}

// ---- tokenize ----

namespace {

// Finds the user-defined tokens of the template: those in its own text and the markers of its
// output format.
void find_marks(model::Marks &out, const ggufx_chat_template &chat,
                const model::Tokenizer &tokenizer) {
    const HostAllocator<std::string_view> allocator(chat.program.host().get());
    Vector<std::string_view> literals{allocator};
    chat.program.literals(literals);
    chat::add_markers(literals, *chat.format);
    tokenizer.find_marks(out, literals);
}

} // namespace

size_t ggufx::abi::tokenize_rendered(model::Ids &ids, const chat::Output &output,
                                     const Progress &progress, const ggufx_chat_template &chat,
                                     const model::Tokenizer &tokenizer, bool adds_special) {
    const Host *const host = chat.program.host().get();
    Vector<model::OriginRun> runs{HostAllocator<model::OriginRun>(host)};
    runs.reserve(output.runs.size());
    for (const chat::Run &run : output.runs) runs.push_back({run.end, run.user});
    model::Marks marks(host);
    find_marks(marks, chat, tokenizer);
    const model::Origin origin(runs.data(), runs.size(), marks);
    model::TokenizeOptions options;
    options.parse_special = true;
    options.origin = &origin;
    options.progress = progress;
    const model::Vocab &vocab = tokenizer.vocab();
    const bool wants_bos = adds_special && vocab.add_bos() && vocab.bos() >= 0;
    if (wants_bos) ids.push_back(vocab.bos());
    tokenizer.tokenize(ids, {output.text.data(), output.text.size()}, options);
    return wants_bos && ids.size() > 1 && ids[1] == vocab.bos() ? 1 : 0;
}

extern "C" ggufx_status ggufx_chat_template_tokenize(int32_t *out_ids, size_t capacity,
                                                     size_t *out_needed,
                                                     const ggufx_chat_template *chat,
                                                     const ggufx_tokenizer *tokenizer,
                                                     const ggufx_chat_request *request,
                                                     uint32_t flags, ggufx_error *error) {
    return guard(error, [&] {
        require(alive(chat, Tag::chat) && request, "chat and request must be set");
        require(alive(tokenizer, Tag::tokenizer), "tokenizer must be set");
        require(out_needed && (out_ids || capacity == 0), "out_ids and out_needed must be set");
        const uint32_t unknown = flags & ~GGUFX_TOKENIZE_ADD_SPECIAL;
        if (unknown) fail(Status::argument, {}, "unknown flags 0x%x", unknown);
        const Host *const host = chat->program.host().get();
        chat::Output output(host);
        const Progress progress = render_request(output, *chat, request);
        model::Ids ids(host);
        const size_t first = tokenize_rendered(ids, output, progress, *chat, tokenizer->tokenizer,
                                               (flags & GGUFX_TOKENIZE_ADD_SPECIAL) != 0);
        const size_t n = ids.size() - first;
        *out_needed = n;
        ids.copy(out_ids, first, std::min(n, capacity));
        check_capacity(n, capacity, "the text", "tokens");
    });
}
