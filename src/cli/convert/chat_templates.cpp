// SPDX-License-Identifier: MIT
#include "convert/chat_templates.hpp"

#include "convert/meta_lookup.hpp"

#include <fmt/format.h>
#include <set>

namespace ggufx::cli {

namespace {

constexpr const char *kTemplateKey = "tokenizer.chat_template";
constexpr const char *kNamesKey = "tokenizer.chat_templates";
constexpr const char *kDefaultName = "default";
constexpr const char *kProcessorFile = "chat_template.json";
constexpr const char *kTemplateFile = "chat_template.jinja";
constexpr const char *kTemplateFolder = "additional_chat_templates";
constexpr std::string_view kEnding = ".jinja";

struct Template {
    std::string name, text, file;
};

std::string name_in_key(const std::string &name) {
    std::string out = name;
    for (char &c : out)
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) c = '_';
    return out;
}

// Collects the templates of all files in order of first mention; a later file replaces the text.
class TemplateReader {
public:
    explicit TemplateReader(ModelFolder &folder) : folder_(folder) {}

    // "chat_template": a text, [{"name": ..., "template": ...}] or {name: text}.
    void read_json(const char *file) {
        const Json *value = folder_.json(file).find("chat_template");
        if (!value || value->is_null()) return;
        if (value->text()) return put(kDefaultName, *value->text(), file);
        if (!value->is_array() && !value->is_object())
            return folder_.warn(std::string(file) + ": chat_template is not a text and is ignored");
        for (size_t i = 0; i < value->size(); i++) {
            const Json &entry = value->elements()[i];
            const bool pairs = value->is_object();
            const Json *name = pairs ? nullptr : entry.find("name");
            const std::string *key = pairs ? &value->keys()[i] : name ? name->text() : nullptr;
            const Json *text = pairs ? &entry : entry.find("template");
            if (key && !key->empty() && text && text->text())
                put(*key, *text->text(), file);
            else
                folder_.warn(fmt::format("{}: entry {} of chat_template has no name or no text and "
                                         "is ignored",
                                         file, i));
        }
    }

    void read_files() {
        for (const std::string &file : names_in(joined(folder_.path(), kTemplateFolder))) {
            if (!file.ends_with(kEnding) || file.size() == kEnding.size()) continue;
            const std::string path = joined(kTemplateFolder, file);
            put(file.substr(0, file.size() - kEnding.size()), folder_.text(path), path);
        }
        if (folder_.has(kTemplateFile))
            put(kDefaultName, folder_.text(kTemplateFile), kTemplateFile);
    }

    ChatTemplates take() {
        ChatTemplates out;
        for (Template &t : all_) {
            if (t.name == kDefaultName)
                out.text = std::move(t.text);
            else if (!t.text.empty())
                out.named.emplace_back(std::move(t.name), std::move(t.text));
        }
        return out;
    }

private:
    // transformers reads chat_template.json for images only, so another text there is lost.
    void put(const std::string &given, const std::string &text, const std::string &file) {
        const std::string name = name_in_key(given);
        const auto [known, added] = index_.emplace(name, std::make_pair(all_.size(), given));
        if (added) {
            all_.push_back({name, text, file});
            if (name != given)
                folder_.warn(fmt::format("{}: the chat template \"{}\" gets the name \"{}\": names "
                                         "in keys have letters, digits and \"_\"",
                                         file, escape(given), name));
            return;
        }
        Template &old = all_[known->second.first];
        if (given != known->second.second)
            throw Failure(kInvalidFile,
                          fmt::format("{}: the chat templates \"{}\" and \"{}\" have the same name "
                                      "in keys, \"{}\"; rename one",
                                      escape(file), escape(known->second.second), escape(given),
                                      name));
        if (old.file == kProcessorFile && old.text != text)
            folder_.warn(fmt::format("{}: its chat template \"{}\" is ignored; the one of {} is "
                                     "another and is used",
                                     kProcessorFile, name, file));
        old.text = text, old.file = file;
    }

    ModelFolder &folder_;
    std::vector<Template> all_;
    std::map<std::string, std::pair<size_t, std::string>> index_; // name in keys: index, own name
};

} // namespace

ChatTemplates read_templates(ModelFolder &folder) {
    TemplateReader reader(folder);
    reader.read_json(kProcessorFile);
    reader.read_json(kTokenizerConfigFile);
    reader.read_files();
    return reader.take();
}

void set_templates(KeyWriter &keys, const ChatTemplates &templates) {
    if (!templates.text.empty()) keys.text(kTemplateKey, templates.text);
    std::vector<std::string> names;
    for (const auto &[name, text] : templates.named) {
        keys.text(std::string(kTemplateKey) + "." + name, text);
        names.push_back(name);
    }
    if (!names.empty()) keys.texts(kNamesKey, names);
}

ChatTemplates templates_of(const ggufx_file *file) {
    ChatTemplates out;
    out.text = meta_text(file, kTemplateKey).value_or("");
    std::vector<std::string> names = meta_texts(file, kNamesKey);
    const std::string prefix = std::string(kTemplateKey) + ".";
    for (size_t i = 0; i < ggufx_file_meta_count(file); i++) { // files without the list
        const ggufx_meta_facts entry = meta_entry(file, i);
        const std::string_view key = view(entry.key);
        if (key.starts_with(prefix)) names.emplace_back(key.substr(prefix.size()));
    }
    std::set<std::string> known;
    for (const std::string &name : names) {
        const auto text = meta_text(file, prefix + name);
        if (text && known.insert(name).second) out.named.emplace_back(name, *text);
    }
    return out;
}

Json templates_json(const ChatTemplates &templates) {
    if (templates.named.empty()) return templates.text.empty() ? Json() : Json(templates.text);
    Json list = Json::array();
    const auto add = [&](const std::string &name, const std::string &text) {
        list.push_back({{"name", name}, {"template", text}});
    };
    if (!templates.text.empty()) add(kDefaultName, templates.text);
    for (const auto &[name, text] : templates.named) add(name, text);
    return list;
}

} // namespace ggufx::cli
