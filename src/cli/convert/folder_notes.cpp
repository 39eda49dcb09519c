// SPDX-License-Identifier: MIT
#include "convert/folder_notes.hpp"

#include "convert/meta_lookup.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

constexpr const char *kModulesFile = "modules.json";
constexpr const char *kPoolingFolder = "1_Pooling", *kPoolingConfig = "config.json";

// Pooling modes, by the flags of sentence-transformers or the value of its newer key.
struct PoolingMode {
    std::string_view flag, name;
    std::optional<uint32_t> type; // nothing: GGUF has no value for it
};
constexpr PoolingMode kPoolingModes[] = {
    {"pooling_mode_mean_tokens", "mean", GGUFX_POOLING_MEAN},
    {"pooling_mode_cls_token", "cls", GGUFX_POOLING_FIRST},
    {"pooling_mode_lasttoken", "lasttoken", GGUFX_POOLING_LAST},
    {"pooling_mode_max_tokens", "max", std::nullopt},
    {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", std::nullopt},
    {"pooling_mode_weightedmean_tokens", "weightedmean", std::nullopt},
};

struct OtherFile {
    const char *name, *what;
};
constexpr OtherFile kUnusedFiles[] = {
    {"adapter_config.json", "the adapter is not merged into the weights"},
    {"quantize_config.json", "tensors are taken as they are stored"},
};
constexpr const char *kImageFiles[] = {"preprocessor_config.json",
                                       "video_preprocessor_config.json"};

constexpr OtherFile kOtherWeights[] = {
    {"adapter_config.json", "it is an adapter, not a model: merge it into its base model first"},
    {"adapter_model.safetensors",
     "it is an adapter, not a model: merge it into its base model first"},
    {"pytorch_model.bin", "its weights are a pickle of PyTorch: save them as safetensors first"},
    {"pytorch_model.bin.index.json",
     "its weights are pickles of PyTorch: save them as safetensors first"},
    {"consolidated.safetensors", "its weights are in consolidated.safetensors, under other names "
                                 "than those of transformers"},
};

std::string join_texts(const std::vector<std::string> &texts) {
    std::string out;
    for (const std::string &text : texts) out += (out.empty() ? "" : ", ") + text;
    return out;
}

// Reads {"pooling_mode_mean_tokens": true, ...} or {"pooling_mode": "mean"}.
void set_pooling(KeyWriter &keys, ModelFolder &folder, const std::string &arch,
                 const std::string &module) {
    const std::string file = joined(module, kPoolingConfig);
    const Json &config = folder.json(file);
    const Json *newer = config.find("pooling_mode");
    std::vector<std::string> names;
    std::optional<uint32_t> type;
    for (const PoolingMode &mode : kPoolingModes) {
        const Json *flag = config.find(mode.flag);
        const bool named = newer && newer->text() && *newer->text() == mode.name;
        if (!named && !(flag && flag->truth().value_or(false))) continue;
        names.emplace_back(mode.name);
        type = mode.type;
    }
    if (names.size() == 1 && type) return keys.u32(arch + ".pooling_type", *type);
    if (names.empty() && newer) names.push_back(shorten(newer->dump(), 40));
    folder.warn(fmt::format("{}: the pooling is ignored, since GGUF has no value for it: {}", file,
                            names.empty() ? "none" : join_texts(names)));
}

// Reads [{"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}].
void read_modules(KeyWriter &keys, ModelFolder &folder, const std::string &arch) {
    const Json list = parse_json(folder.text(kModulesFile), folder.quoted(kModulesFile));
    for (size_t i = 0; list.is_array() && i < list.size(); i++) {
        const Json *type = list.elements()[i].find("type"), *path = list.elements()[i].find("path");
        const std::string name = type && type->text() ? *type->text() : "";
        const std::string kind = name.substr(name.rfind('.') + 1);
        const std::string place = path && path->text() ? *path->text() : "";
        if (kind == "Transformer" || kind == "Normalize") continue; // always normalized anyway
        if (kind == "Pooling" && place.find("..") == std::string::npos && folder.has(place))
            set_pooling(keys, folder, arch, place);
        else
            folder.warn(fmt::format("{}: the module \"{}\" ({}) is ignored: embeddings will change",
                                    kModulesFile, shorten(place, 40), shorten(kind, 40)));
    }
}

void note_prompts(ModelFolder &folder) {
    constexpr const char *file = "config_sentence_transformers.json";
    const Json *name = folder.json(file).find("default_prompt_name");
    if (name && name->text())
        folder.warn(fmt::format("{}: the default prompt \"{}\" is ignored: put it before each text",
                                file, shorten(*name->text(), 40)));
    constexpr const char *bert = "sentence_bert_config.json";
    const Json *lower = folder.json(bert).find("do_lower_case");
    if (lower && lower->truth().value_or(false))
        folder.warn(std::string(bert) + ": do_lower_case is true: put texts into lower case first");
}

// Warns about tensor files that neither the index nor the usual name refers to.
void note_other_tensors(ModelFolder &folder, const std::set<std::string> &used) {
    std::vector<std::string> others;
    for (const std::string &name : names_in(folder.path())) {
        const bool copy = name.starts_with("consolidated"); // the same weights
        if (name.ends_with(".safetensors") && !used.count(name) && !copy)
            others.push_back(in_quotes(name));
    }
    if (!others.empty() && !used.empty())
        folder.warn("files of tensors that are not read: " + shorten(join_texts(others), 200));
}

} // namespace

bool pools_by_modules(const ModelFolder &folder) {
    return folder.has(kModulesFile) || folder.has(joined(kPoolingFolder, kPoolingConfig));
}

std::vector<std::pair<std::string, Json>> pooling_files(const ggufx_file *file,
                                                        const std::string &arch) {
    const auto type = meta_natural(file, arch + ".pooling_type");
    Json flags = Json::object();
    bool known = false;
    for (const PoolingMode &mode : kPoolingModes) {
        const bool chosen = type && mode.type == *type;
        flags[mode.flag] = chosen;
        known |= chosen;
    }
    if (!known) return {};
    if (const auto width = meta_natural(file, arch + ".embedding_length"))
        flags["word_embedding_dimension"] = *width;
    Json modules = Json::array();
    const auto add = [&](uint64_t index, const char *kind, const char *path) {
        modules.push_back({{"idx", index},
                           {"name", std::to_string(index)},
                           {"path", path},
                           {"type", std::string("sentence_transformers.models.") + kind}});
    };
    add(0, "Transformer", "");
    add(1, "Pooling", kPoolingFolder);
    return {{kModulesFile, modules}, {joined(kPoolingFolder, kPoolingConfig), flags}};
}

void note_folder(KeyWriter &keys, ModelFolder &folder, const std::string &arch,
                 const std::set<std::string> &used, bool has_images) {
    if (folder.has(kModulesFile))
        read_modules(keys, folder, arch);
    else if (pools_by_modules(folder))
        set_pooling(keys, folder, arch, kPoolingFolder);
    note_prompts(folder);
    for (const OtherFile &file : kUnusedFiles)
        if (folder.has(file.name))
            folder.warn(std::string(file.name) + " is not used: " + file.what);
    for (const char *file : kImageFiles)
        if (!has_images && folder.has(file))
            folder.warn(std::string(file) + " is not used: the GGUF reads text alone");
    note_other_tensors(folder, used);
}

std::string missing_weights(const std::string &folder) {
    for (const OtherFile &other : kOtherWeights)
        if (exists(joined(folder, other.name)))
            return in_quotes(folder) + ": no model.safetensors: " + other.what;
    return "";
}

} // namespace ggufx::cli
