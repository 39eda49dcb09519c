// safetensors -> GGUF: tensor names, head order, norms, stacked experts, settings, tokenizer.
// SPDX-License-Identifier: MIT
#include "common/f32_bytes.hpp"
#include "convert/convert.hpp"
#include "convert/folder_notes.hpp"
#include "convert/generation_config.hpp"
#include "convert/safetensors.hpp"

#include <cstring>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

// A tensor of the GGUF and its source tensors, by expert.
struct Planned {
    const NameRule *rule;
    std::map<uint64_t, const StTensor *> parts;
};
// Order of the file: layer (0: none), index of the rule; then by layer.
using Plan = std::map<std::pair<uint64_t, size_t>, Planned>;

struct Import {
    const Architecture &architecture;
    const StModel &model;
    HeadCounts counts = {};
    Plan plan = {};
    std::map<std::string, size_t> left_out = {}; // part -> number of its tensors
    std::vector<std::string> notes = {};         // become warnings
    std::vector<std::string> remarks = {};
};

// Removes prefixes of a text model in a larger one; adds the one that models saved without a head
// lack.
std::string plain_name(const std::string &name) {
    std::string_view rest = name;
    if (rest.starts_with("language_model.")) rest.remove_prefix(15);
    if (rest.starts_with("bert.")) rest.remove_prefix(5);
    if (rest.starts_with("model.language_model.")) return "model." + std::string(rest.substr(21));
    const bool bare =
        rest.starts_with("layers.") || rest.starts_with("embed_tokens.") || rest == "norm.weight";
    return (bare ? "model." : "") + std::string(rest);
}

bool is_computed(std::string_view name) {
    return name.ends_with(".rotary_emb.inv_freq") ||  // computed from the settings
           name.ends_with("embeddings.position_ids"); // 0, 1, 2, ...
}

constexpr std::string_view kOtherModalities[] = {"vision_tower.", "multi_modal_projector.",
                                                 "audio_tower."};
constexpr std::string_view kPooler = "pooler.", kTaskHead = "cls."; // bert's own task heads

// Returns the part of a larger model that a tensor belongs to; empty for the text model.
std::string_view part_left_out(const Architecture &architecture, std::string_view name) {
    const auto starts = [&](std::string_view prefix, std::string_view part) {
        const bool inner = name.starts_with(prefix) && name.substr(prefix.size()).starts_with(part);
        return inner || name.starts_with(part);
    };
    for (const std::string_view part : kOtherModalities)
        if (starts("model.", part)) return part;
    if (!architecture.computation.encoder) return {};
    for (const std::string_view head : {kPooler, kTaskHead})
        if (starts("bert.", head)) return head;
    return {};
}

// Parts of names of unsupported tensors, and the reasons.
struct NameReason {
    std::string_view part, reason;
};
constexpr NameReason kNameReasons[] = {
    {".lora_", ": it belongs to an adapter; merge that into its base model first"},
    {".qweight", ": it is quantized (GPTQ, AWQ); convert the model that it was made from"},
    {".weight_packed", ": it is quantized; convert the model that it was made from"},
    {".weight_scale", ": it is quantized; convert the model that it was made from"},
};

std::string reason_of(std::string_view name) {
    for (const NameReason &known : kNameReasons)
        if (name.find(known.part) != std::string_view::npos) return std::string(known.reason);
    return "";
}

void place_tensor(Import &import, const std::string &name, const StTensor &tensor) {
    const std::string plain = plain_name(name);
    for (size_t i = 0; i < import.architecture.rules.size(); i++) {
        const NameRule &rule = import.architecture.rules[i];
        const std::optional<Places> places = match_name(rule.hf, plain);
        if (!places) continue;
        const bool layered = std::string_view(rule.hf).find("{l}") != std::string_view::npos;
        Planned &planned = import.plan[{layered ? places->layer + 1 : 0, i}];
        planned.rule = &rule;
        if (!planned.parts.emplace(places->expert, &tensor).second) {
            throw Failure(kInvalidFile,
                          "tensor \"" + shorten(name, 80) + "\" is in the model twice");
        }
        return;
    }
    if (name == "rope_freqs.weight") return; // read by add_rope_factors()
    if (is_computed(name)) return;
    const std::string_view part = part_left_out(import.architecture, name);
    if (part.empty())
        throw Failure(kUnsupported, "tensor \"" + shorten(name, 80) +
                                        "\" is not part of a model of type " +
                                        import.architecture.model_type + reason_of(name));
    import.left_out[std::string(part)]++;
}

// Drops the output matrix; returns true if there was one.
bool drop_output(Import &import) {
    return std::erase_if(import.plan, [](const auto &entry) {
               return std::string_view(entry.second.rule->gguf) == "output.weight";
           }) > 0;
}

bool has_weights(const std::string &folder) {
    return exists(joined(folder, "model.safetensors")) ||
           exists(joined(folder, "model.safetensors.index.json"));
}

std::string left_out_note(const std::map<std::string, size_t> &parts) {
    std::string list;
    for (const auto &[part, n] : parts)
        list += fmt::format("{}{} of {}*", list.empty() ? "" : ", ", n, part);
    return "tensors that do not belong to the text model are ignored: " + list;
}

std::string gguf_name(const Planned &planned, uint64_t layer) {
    return make_name(planned.rule->gguf, {layer ? layer - 1 : 0, 0});
}

// Checks that all layers have the same tensors, and that no other layers exist.
void check_plan(const Import &import) {
    std::map<size_t, uint64_t> layers_of_rule;
    for (const auto &[place, planned] : import.plan) {
        const auto [layer, rule] = place;
        const std::string name = gguf_name(planned, layer);
        if (layer > import.counts.n_layers) {
            throw Failure(kInvalidFile, fmt::format("tensor \"{}\": the model has {} layers", name,
                                                    import.counts.n_layers));
        }
        const Change change = planned.rule->change;
        const bool experts = change == Change::expert || change == Change::expert_factor;
        const uint64_t n_parts = experts ? import.counts.n_experts : 1;
        if (planned.parts.size() != n_parts || planned.parts.rbegin()->first != n_parts - 1) {
            throw Failure(kInvalidFile, fmt::format("tensor \"{}\": the model has {} of {} experts",
                                                    name, planned.parts.size(), n_parts));
        }
        const bool optional = change == Change::factor || change == Change::expert_factor;
        if (layer && !optional) layers_of_rule[rule]++;
    }
    for (const auto &[rule, n] : layers_of_rule) {
        if (n == import.counts.n_layers) continue;
        throw Failure(kInvalidFile,
                      fmt::format("tensors \"{}\": {} of {} layers have one",
                                  import.architecture.rules[rule].hf, n, import.counts.n_layers));
    }
    for (const size_t rule : {0u, 1u}) {
        if (import.plan.count({0, rule})) continue;
        throw Failure(kInvalidFile,
                      fmt::format("tensor \"{}\" is missing", import.architecture.rules[rule].hf));
    }
    if (layers_of_rule.empty()) throw Failure(kInvalidFile, "the model has no layers");
}

std::vector<uint64_t> ne_of(const std::string &name, const StTensor &tensor, size_t n_experts) {
    if (tensor.shape.empty() || tensor.shape.size() > 2 || tensor.n_bytes == 0) {
        throw Failure(kInvalidFile,
                      fmt::format("tensor \"{}\": a shape of {} dimensions and {} bytes", name,
                                  tensor.shape.size(), tensor.n_bytes));
    }
    std::vector<uint64_t> ne(tensor.shape.rbegin(), tensor.shape.rend());
    if (n_experts) ne.push_back(n_experts);
    return ne;
}

void reorder(RowRecipe &recipe, const Import &import, Change change) {
    const uint64_t heads =
        change == Change::query ? import.counts.n_heads : import.counts.n_kv_heads;
    const uint64_t n = recipe.ne.back();
    if (heads == 0 || n % heads != 0) {
        throw Failure(kInvalidFile, fmt::format("tensor \"{}\": {} rows are not {} heads",
                                                recipe.name, n, heads));
    }
    recipe.order = RowOrder::halves_to_pairs;
    recipe.rows_per_head = n / heads;
}

// Returns an f32 vector of scale factors: one value, or one per expert.
RowRecipe factors_of(const Planned &planned, uint64_t layer) {
    RowRecipe recipe;
    recipe.name = gguf_name(planned, layer);
    recipe.type = GGUFX_TYPE_F32;
    uint64_t n = 0;
    for (const auto &[expert, tensor] : planned.parts) {
        const uint64_t more = tensor->shape.empty() ? 1 : tensor->shape[0];
        if (tensor->type != GGUFX_TYPE_F32 || tensor->shape.size() > 1 || more == 0)
            throw Failure(kInvalidFile,
                          "tensor \"" + recipe.name + "\" is not a vector of factors (F32)");
        recipe.sources.push_back(
            rows_of_file(*tensor->file, tensor->offset, GGUFX_TYPE_F32, 1, more));
        n += more;
    }
    recipe.ne = {n};
    return recipe;
}

RowRecipe recipe_of(const Import &import, const Planned &planned, uint64_t layer,
                    const std::optional<uint32_t> &wanted) {
    if (planned.rule->change == Change::factor || planned.rule->change == Change::expert_factor)
        return factors_of(planned, layer);
    RowRecipe recipe;
    recipe.name = gguf_name(planned, layer);
    const bool experts = planned.rule->change == Change::expert;
    const StTensor &first = *planned.parts.begin()->second;
    recipe.ne = ne_of(recipe.name, first, experts ? planned.parts.size() : 0);
    recipe.type = gguf_type(recipe.name, recipe.ne, first.type, wanted);
    if (!(type_facts(first.type).flags & GGUFX_TYPE_IS_FLOAT)) {
        throw Failure(kUnsupported, "tensor \"" + recipe.name + "\": weights of type " +
                                        type_name(first.type) + " are not supported");
    }
    const bool heads = planned.rule->change == Change::query || planned.rule->change == Change::key;
    for (const auto &[expert, tensor] : planned.parts) {
        std::vector<uint64_t> ne = ne_of(recipe.name, *tensor, 0);
        if (ne.size() == 1) ne.push_back(1);
        if (heads && ne[1] == 1) std::swap(ne[0], ne[1]); // a vector as rows of one value
        recipe.sources.push_back(
            rows_of_file(*tensor->file, tensor->offset, tensor->type, ne[0], ne[1]));
    }
    if (planned.rule->change == Change::add_one) recipe.add = 1;
    if (heads) reorder(recipe, import, planned.rule->change);
    return recipe;
}

// Returns values in memory as a tensor of one row.
RowRecipe vector_recipe(const std::string &name, const std::vector<float> &values) {
    RowRecipe recipe;
    recipe.name = name;
    recipe.type = GGUFX_TYPE_F32;
    recipe.ne = {values.size()};
    const auto bytes = std::make_shared<std::string>(f32_bytes(values));
    recipe.sources.push_back(
        {GGUFX_TYPE_F32, values.size(), 1, [bytes](uint64_t, uint64_t, void *out) {
             std::memcpy(out, bytes->data(), bytes->size());
         }});
    return recipe;
}

void add_rope_factors(ModelBuilder &builder, const Import &import, const Config &config) {
    const auto &tensors = import.model.tensors();
    const auto own = tensors.find("rope_freqs.weight"); // preferred: no scaling yields these
    const std::vector<float> given = rope_factors(config);
    if (own != tensors.end()) {
        RowRecipe recipe;
        recipe.name = "rope_freqs.weight";
        recipe.type = GGUFX_TYPE_F32;
        recipe.ne = ne_of(recipe.name, own->second, 0);
        recipe.sources.push_back(
            rows_of_file(*own->second.file, own->second.offset, own->second.type, recipe.ne[0], 1));
        builder.add(std::move(recipe));
    } else if (!given.empty()) {
        builder.add(vector_recipe("rope_freqs.weight", given));
    }
    for (const char *which : {"long", "short"}) {
        const std::vector<float> factors =
            long_rope_factors(config, (std::string(which) + "_factor").c_str());
        if (factors.empty()) continue;
        builder.add(vector_recipe(std::string("rope_factors_") + which + ".weight", factors));
    }
}

void set_general(KeyWriter &keys, const ConvertOptions &options, const Import &import) {
    const std::string folder = base_name(import.model.folder());
    std::string name = options.name;
    const auto &metadata = import.model.metadata();
    const auto own = metadata.find("general.name");
    if (name.empty() && own != metadata.end()) name = own->second;
    keys.text("general.architecture", import.architecture.gguf);
    keys.text("general.type", "model");
    keys.text("general.name", name.empty() ? folder : name);
    for (const auto &[key, value] : metadata) {
        const bool reserved = key == "general.architecture" || key == "general.name" ||
                              key == "general.type" || key == "general.alignment" ||
                              key == "general.file_type" || key.starts_with("general.sampling.");
        if (key.starts_with("general.") && !reserved) keys.text(key, value);
    }
}

// Returns the number of rows of the embedding.
uint64_t n_rows_of(const Import &import) {
    const auto embedding = import.plan.find({0, 0});
    if (embedding == import.plan.end() || embedding->second.parts.at(0)->shape.size() != 2) {
        throw Failure(kInvalidFile,
                      std::string(import.architecture.rules[0].hf) + " is missing or no matrix");
    }
    return embedding->second.parts.at(0)->shape[0];
}

void add_tensors(ModelBuilder &builder, const Import &import, const Config &config,
                 const std::optional<uint32_t> &wanted) {
    bool layers = false;
    for (const auto &[place, planned] : import.plan) {
        if (place.first && !std::exchange(layers, true)) add_rope_factors(builder, import, config);
        builder.add(recipe_of(import, planned, place.first, wanted));
    }
    builder.set_file_type();
}

// Reports settings, files and tensors that were not used.
void note_rest(ModelBuilder &builder, Import &import, ModelFolder &folder, const Config &config) {
    bool has_images = false;
    for (const std::string_view part : kOtherModalities)
        has_images |= import.left_out.count(std::string(part)) > 0;
    if (pools_by_modules(folder)) import.left_out.erase(std::string(kPooler)); // not part of it
    note_folder(builder.keys(), folder, import.architecture.gguf, import.model.files(), has_images);
    for (const std::string &note : import.notes) folder.warn(note);
    for (const std::string &note :
         config_notes(config, folder.json("config.json"), import.architecture))
        folder.warn(note);
    if (!import.left_out.empty()) folder.warn(left_out_note(import.left_out));
}

} // namespace

Conversion import_safetensors(const Globals &globals, const ConvertOptions &options) {
    if (is_folder(options.input) && !has_weights(options.input))
        if (const std::string why = missing_weights(options.input); !why.empty())
            throw Failure(kUnsupported, why);
    const StModel model(options.input);
    ModelFolder folder(model.folder());
    if (!folder.has("config.json")) InputFile(joined(folder.path(), "config.json")); // throws
    const Json &whole = folder.json("config.json");
    Import import = {architecture_of_config(whole), model};
    const Json text = with_class_defaults(text_config(whole), import.architecture);
    const Config config(text);
    for (const auto &[name, tensor] : model.tensors()) place_tensor(import, name, tensor);
    const uint64_t n_tokens = n_rows_of(import);

    ModelBuilder builder(globals);
    KeyWriter &keys = builder.keys();
    set_general(keys, options, import);
    import.counts = set_model_keys(keys, config, import.architecture, n_tokens, import.notes);
    if (import.counts.tied && drop_output(import))
        import.remarks.push_back("lm_head.weight is left out: the embeddings are tied");
    check_plan(import);
    const auto vocabulary = read_vocabulary(folder, whole, n_tokens, options.pre);
    if (vocabulary) set_vocabulary(keys, *vocabulary);
    if (!vocabulary)
        import.remarks.push_back("no tokenizer.model or tokenizer.json: no vocabulary");
    set_generation(keys, folder, n_tokens);
    add_tensors(builder, import, config, wanted_type(options));
    note_rest(builder, import, folder, config);
    builder.write(globals, globals.output);
    return {import.architecture.gguf, builder.n_tensors(), InputFile(globals.output).size(),
            import.remarks, folder.warnings()};
}

} // namespace ggufx::cli
