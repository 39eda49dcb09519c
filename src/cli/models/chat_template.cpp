// SPDX-License-Identifier: MIT
#include "models/chat_template.hpp"

#include "common/output.hpp"
#include "common/text.hpp"

#include <ctime>
#include <sys/stat.h>

namespace ggufx::cli {

ChatTemplate open_chat_template(const ggufx_runtime *rt, const ggufx_file *file,
                                const std::string &name) {
    auto options = sized<ggufx_chat_template_options>();
    std::string text;
    if (is_chat_format(name)) {
        options.format = as_text(name);
    } else if (!name.empty()) {
        text = read_utf8(name);
        options.text = {text.data(), text.size()}; // also if it is empty
    }
    ggufx_chat_template *chat = nullptr;
    ggufx_error error;
    const ggufx_status status = ggufx_chat_template_create(&chat, rt, file, &options, &error);
    if (status == GGUFX_E_NOT_FOUND && name.empty()) return nullptr;
    if (status != GGUFX_OK) throw Failure(exit_code(status), error);
    return ChatTemplate(chat);
}

static bool is_file(const std::string &path) {
    struct stat info = {};
    return stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
}

ChatTemplate require_chat_template(const ggufx_runtime *rt, const ggufx_file *file,
                                   const std::string &name) {
    if (!name.empty() && !is_chat_format(name) && !is_file(name))
        throw Failure(kUsage, "--template: \"" + escape(name) +
                                  "\" is neither a file nor a format" +
                                  did_you_mean(name, chat_formats()));
    if (ChatTemplate chat = open_chat_template(rt, file, name)) return chat;
    throw Failure(kUnsupported,
                  "the model has no chat template; use --template NAME or FILE, such as chatml");
}

ggufx_chat_template_facts chat_facts(const ggufx_chat_template *chat) {
    return facts<ggufx_chat_template_facts>(
        [&](ggufx_chat_template_facts *out, ggufx_error *error) {
            return ggufx_chat_template_info(out, chat, error);
        });
}

ggufx_chat_request chat_request() {
    auto request = sized<ggufx_chat_request>();
    request.flags = GGUFX_CHAT_CLOCK;
    const std::time_t now = std::time(nullptr);
    struct tm local = {};
    localtime_r(&now, &local);
    request.unix_time = static_cast<int64_t>(now) + local.tm_gmtoff;
    return request;
}

} // namespace ggufx::cli
