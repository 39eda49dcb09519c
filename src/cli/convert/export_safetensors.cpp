// GGUF -> safetensors: tensor names and head order of other programs, config.json, tokenizer.
// SPDX-License-Identifier: MIT
#include "common/progress.hpp"
#include "common/signals.hpp"
#include "common/size.hpp"
#include "convert/convert.hpp"
#include "convert/folder_notes.hpp"
#include "convert/generation_config.hpp"
#include "convert/meta_lookup.hpp"
#include "convert/output_folder.hpp"
#include "convert/pre_tokenizer.hpp"
#include "convert/safetensors.hpp"
#include "models/tensor_rows.hpp"

#include <cstring>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct Export {
    Runtime rt;
    File file;
    const Architecture &architecture;
    HeadCounts counts;
    std::vector<RowMaker> makers = {};
    std::vector<float> factors = {}, long_factors = {}, short_factors = {};
    bool tied = true;
    size_t n_factors = 0; // scale tensors of matrices
};

// Returns the type to write: the requested one, else the tensor's own, f16 for block formats.
uint32_t leaving_type(const ggufx_tensor_facts &info, const std::optional<uint32_t> &wanted) {
    if (wanted) return *wanted;
    return st_type_name(info.type) ? info.type : static_cast<uint32_t>(GGUFX_TYPE_F16);
}

// Returns rows of a tensor from `first` on. A vector with reordered values has rows of one value.
RowSource part_of_tensor(const ggufx_tensor *tensor, uint64_t first, uint64_t n, bool column) {
    const ggufx_tensor_facts info = tensor_facts(tensor);
    if (column) {
        const auto *data = static_cast<const char *>(ggufx_tensor_data(tensor));
        const uint64_t bytes = info.row_bytes / info.ne[0];
        return {info.type, 1, info.ne[0], [data, bytes](uint64_t row, uint64_t count, void *out) {
                    std::memcpy(out, data + row * bytes, static_cast<size_t>(count * bytes));
                }};
    }
    const RowSource all = rows_of_tensor(tensor);
    return {all.type, all.n_columns, n, [all, first](uint64_t row, uint64_t count, void *out) {
                all.read(first + row, count, out);
            }};
}

bool is_factor(const NameRule &rule) {
    return rule.change == Change::factor || rule.change == Change::expert_factor;
}

// Adds scale factors, which stay F32; a vector has one factor per expert.
void add_factors(Export &out, const ggufx_tensor *tensor, const NameRule &rule, Places places) {
    const ggufx_tensor_facts info = tensor_facts(tensor);
    if (info.n_dims != 1 || info.type != GGUFX_TYPE_F32 || info.n_bytes == 0)
        throw Failure(kInvalidFile, "tensor \"" + escape(tensor_name(info)) +
                                        "\" is not a vector of factors (f32)");
    const bool experts = rule.change == Change::expert_factor;
    if (!std::string_view(rule.hf).ends_with(".input_scale")) out.n_factors++;
    for (places.expert = 0; places.expert < (experts ? info.ne[0] : 1); places.expert++) {
        RowRecipe recipe;
        recipe.name = make_name(rule.hf, places);
        recipe.type = GGUFX_TYPE_F32;
        recipe.ne = {experts ? 1 : info.ne[0]};
        RowSource source = part_of_tensor(tensor, 0, info.ne[0], true);
        if (experts) {
            source.n_rows = 1;
            source.read = [all = source.read, at = places.expert](uint64_t, uint64_t n, void *to) {
                all(at, n, to);
            };
        }
        recipe.sources.push_back(std::move(source));
        out.makers.emplace_back(out.rt.get(), std::move(recipe));
    }
}

void add_tensor(Export &out, const ggufx_tensor *tensor, const NameRule &rule, Places places,
                const std::optional<uint32_t> &wanted) {
    const ggufx_tensor_facts info = tensor_facts(tensor);
    const bool experts = rule.change == Change::expert;
    const bool heads = rule.change == Change::query || rule.change == Change::key;
    const uint64_t n_parts = experts ? info.ne[2] : 1;
    if (info.n_dims < 1 || info.n_dims > (experts ? 3u : 2u) || info.n_bytes == 0 ||
        (heads && info.n_dims == 1 && type_facts(info.type).block_values != 1)) {
        throw Failure(kInvalidFile, "tensor \"" + escape(tensor_name(info)) +
                                        "\" is of no shape a " + out.architecture.model_type +
                                        " model has");
    }
    for (places.expert = 0; places.expert < n_parts; places.expert++) {
        RowRecipe recipe;
        recipe.name = make_name(rule.hf, places);
        recipe.type = leaving_type(info, wanted);
        recipe.ne.assign(info.ne, info.ne + (experts ? 2 : info.n_dims));
        const uint64_t n_rows = info.n_rows / n_parts;
        recipe.sources.push_back(
            part_of_tensor(tensor, places.expert * n_rows, n_rows, heads && info.n_dims == 1));
        if (rule.change == Change::add_one) recipe.add = -1;
        if (heads) {
            const uint64_t n =
                rule.change == Change::query ? out.counts.n_heads : out.counts.n_kv_heads;
            recipe.order = RowOrder::pairs_to_halves;
            recipe.rows_per_head = n && recipe.ne.back() % n == 0 ? recipe.ne.back() / n : 0;
        }
        out.makers.emplace_back(out.rt.get(), std::move(recipe));
    }
}

// Takes RoPE factors, which are written to config.json.
bool take_factors(Export &out, const ggufx_tensor *tensor, const std::string &name) {
    std::vector<float> *into = name == "rope_freqs.weight"           ? &out.factors
                               : name == "rope_factors_long.weight"  ? &out.long_factors
                               : name == "rope_factors_short.weight" ? &out.short_factors
                                                                     : nullptr;
    if (!into) return false;
    const ggufx_tensor_facts info = tensor_facts(tensor);
    *into = row_floats(out.rt.get(), tensor, info, 0, info.n_rows);
    return true;
}

void plan_tensor(Export &out, size_t index, const std::optional<uint32_t> &wanted) {
    const ggufx_tensor *tensor = ggufx_file_tensor(out.file.get(), index);
    const std::string name = tensor_name(tensor_facts(tensor));
    for (const NameRule &rule : out.architecture.rules) {
        const std::optional<Places> places = match_name(rule.gguf, name);
        if (!places) continue;
        if (name == "output.weight") out.tied = false;
        if (is_factor(rule)) return add_factors(out, tensor, rule, *places);
        return add_tensor(out, tensor, rule, *places, wanted);
    }
    if (take_factors(out, tensor, name)) return;
    throw Failure(kUnsupported, "tensor \"" + escape(name) + "\" has no name in a model of type " +
                                    out.architecture.model_type);
}

uint64_t n_bytes(const RowMaker &maker) {
    return maker.n_rows() * maker.row_bytes();
}

Json metadata_json(const ggufx_file *file) {
    std::vector<Json::Member> out = {{"format", "pt"}};
    for (size_t i = 0; i < ggufx_file_meta_count(file); i++) {
        const ggufx_meta_facts entry = meta_entry(file, i);
        const std::string key(view(entry.key));
        const auto text = meta_text(file, key);
        const bool kept = key.starts_with("general.") && !key.starts_with("general.sampling.");
        if (kept && text && is_utf8(*text) && is_utf8(key)) out.push_back({key, *text});
    }
    return Json::object_of(std::move(out)); // keys of a file are unique
}

std::string header_of(const Json &metadata, const std::vector<RowMaker *> &makers) {
    std::vector<Json::Member> header = {{"__metadata__", metadata}};
    uint64_t at = 0;
    for (const RowMaker *maker : makers) {
        Json shape = Json::array(), place = Json::array();
        const std::vector<uint64_t> &ne = maker->recipe().ne;
        for (size_t d = ne.size(); d-- > 0;) shape.push_back(ne[d]);
        place.push_back(at);
        place.push_back(at += n_bytes(*maker));
        header.push_back({maker->recipe().name, Json{{"dtype", st_type_name(maker->recipe().type)},
                                                     {"shape", shape},
                                                     {"data_offsets", place}}});
    }
    std::string text = Json::object_of(std::move(header)).dump();
    text += std::string((8 - text.size() % 8) % 8, ' '); // the data begin at a multiple of 8
    std::string prefix;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        prefix += static_cast<char>(text.size() >> shift & 0xff);
    }
    return prefix + text;
}

void write_tensor(Output &out, RowMaker &maker, Progress &progress, uint64_t &done,
                  uint64_t total) {
    maker.make_all([&](std::string_view bytes) {
        out.write(bytes); // checks for Ctrl-C
        done += bytes.size();
        progress.update(done, total, escape(maker.recipe().name));
    });
}

using Shards = std::vector<std::vector<RowMaker *>>;

Shards shards_of(std::vector<RowMaker> &makers, uint64_t limit) {
    Shards shards(1);
    uint64_t size = 0;
    for (RowMaker &maker : makers) {
        if (size > 0 && size + n_bytes(maker) > limit) {
            shards.emplace_back();
            size = 0;
        }
        shards.back().push_back(&maker);
        size += n_bytes(maker);
    }
    return shards;
}

void write_shards(const Globals &globals, Export &out, const Shards &shards, bool force,
                  const std::function<std::string(size_t)> &path_of) {
    Progress progress(globals, "write");
    const Json metadata = metadata_json(out.file.get());
    uint64_t done = 0, total = 0, n_headers = 0;
    std::vector<std::string> headers;
    for (const RowMaker &maker : out.makers) total += n_bytes(maker);
    for (const auto &makers : shards) {
        headers.push_back(header_of(metadata, makers));
        n_headers += headers.back().size();
    }
    for (size_t i = 0; i < shards.size(); i++) {
        Output file(path_of(i), force);
        if (i == 0) file.require_space(n_headers + total); // for all files on one disk
        file.write(headers[i]);
        for (RowMaker *maker : shards[i]) write_tensor(file, *maker, progress, done, total);
        file.finish();
    }
}

std::string shard_name(size_t i, size_t n) {
    return n == 1 ? "model.safetensors" : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, n);
}

std::string index_json(const Shards &shards) {
    std::vector<Json::Member> map;
    uint64_t total = 0;
    for (size_t i = 0; i < shards.size(); i++) {
        for (const RowMaker *maker : shards[i]) {
            map.push_back({maker->recipe().name, shard_name(i, shards.size())});
            total += n_bytes(*maker);
        }
    }
    return json_text(
        {{"metadata", Json{{"total_size", total}}}, {"weight_map", Json::object_of(map)}}, 2);
}

Json numbers_json(const std::vector<float> &values) {
    Json out = Json::array();
    for (const float value : values) out.push_back(static_cast<double>(value));
    return out;
}

// Returns true if config.json can express the factors of the file.
bool set_rope(const Export &out, Json &config) {
    const std::string arch = out.architecture.gguf;
    if (!out.long_factors.empty() || !out.short_factors.empty()) {
        config["rope_scaling"] = {{"type", "longrope"},
                                  {"long_factor", numbers_json(out.long_factors)},
                                  {"short_factor", numbers_json(out.short_factors)}};
        if (const auto attention = meta_number(out.file.get(), arch + ".rope.scaling.attn_factor"))
            config["rope_scaling"]["attention_factor"] = *attention;
    }
    if (out.factors.empty()) return true;
    const double base = meta_number(out.file.get(), arch + ".rope.freq_base").value_or(10000);
    const Json scaling = rope_scaling_of(out.factors, base);
    if (!scaling.is_null()) config["rope_scaling"] = scaling;
    return !scaling.is_null();
}

void write_texts(OutputFolder &folder, const Export &out, const Json &config, Conversion &done) {
    folder.add_text("config.json", json_text(config, 2));
    if (const Json generation = generation_config(out.file.get()); !generation.is_null())
        folder.add_text("generation_config.json", json_text(generation, 2));
    for (const auto &[name, content] : pooling_files(out.file.get(), out.architecture.gguf))
        folder.add_text(name, json_text(content, 2));
    const auto vocabulary = vocabulary_of(out.file.get());
    if (!vocabulary) {
        if (const auto model = meta_text(out.file.get(), "tokenizer.ggml.model"))
            done.warnings.push_back("a vocabulary of kind \"" + *model +
                                    "\" is dropped; supported: "
                                    "llama, gpt2, bert");
        return;
    }
    if (vocabulary->model == "llama")
        folder.add_text("tokenizer.model", spm_bytes(*vocabulary));
    else
        folder.add_text("tokenizer.json", json_text(tokenizer_json(*vocabulary), 1));
    if (vocabulary->model == "gpt2" && pre_tokenizer_json(vocabulary->pre).is_null()) {
        done.remarks.push_back("how the pre-tokenizer \"" + vocabulary->pre +
                               "\" cuts text is not known: tokenizer.json has that of gpt-2");
    }
    folder.add_text("tokenizer_config.json", json_text(tokenizer_config(*vocabulary), 2));
}

// Exports factors that no setting expresses as a tensor of the same name, which convert reads back.
void add_raw_factors(Export &out) {
    RowRecipe recipe;
    recipe.name = "rope_freqs.weight";
    recipe.type = GGUFX_TYPE_F32;
    recipe.ne = {out.factors.size()};
    const ggufx_tensor *tensor = find_tensor(out.file.get(), recipe.name);
    recipe.sources.push_back(rows_of_tensor(tensor));
    out.makers.emplace_back(out.rt.get(), std::move(recipe));
}

} // namespace

Conversion export_safetensors(const Globals &globals, const ConvertOptions &options) {
    Runtime rt = make_runtime(globals);
    const ggufx_progress cancel = cancel_hook();
    File file = open_file(rt.get(), options.input, GGUFX_OPEN_LEGACY_V1, &cancel);
    const Architecture &architecture = architecture_of_file(file.get());
    const HeadCounts counts = head_counts_of_file(file.get(), architecture);
    Export out = {std::move(rt), std::move(file), architecture, counts};
    const std::optional<uint32_t> wanted = wanted_type(options);
    for (size_t i = 0; i < ggufx_file_tensor_count(out.file.get()); i++)
        plan_tensor(out, i, wanted);
    Conversion done = {architecture.gguf, 0, 0, {}};
    const uint32_t main_type = out.makers.empty() ? 0 : out.makers[0].recipe().type;
    const char *dtype = main_type == GGUFX_TYPE_F16    ? "float16"
                        : main_type == GGUFX_TYPE_BF16 ? "bfloat16"
                                                       : "float32";
    Json config = config_of_file(out.file.get(), architecture, dtype, out.tied);
    if (!set_rope(out, config)) {
        add_raw_factors(out);
        done.remarks.push_back(
            "rope_freqs.weight follows no scaling of config.json: kept as a tensor");
    }
    if (out.n_factors > 0)
        done.warnings.push_back(fmt::format("{} tensors of factors (.scale) are kept beside their "
                                            "matrices: other programs do not multiply by them",
                                            out.n_factors));
    done.n_tensors = out.makers.size();
    for (const RowMaker &maker : out.makers) done.n_bytes += n_bytes(maker);
    const uint64_t limit =
        options.max_shard.empty() ? UINT64_MAX : parse_size(options.max_shard, "--max-shard");
    if (globals.output.ends_with(".safetensors")) {
        write_shards(globals, out, shards_of(out.makers, UINT64_MAX), globals.force,
                     [&](size_t) { return globals.output; });
        return done;
    }
    OutputFolder folder(globals.output);
    const Shards shards = shards_of(out.makers, limit);
    write_shards(globals, out, shards, true, // overwrites what a killed run left
                 [&](size_t i) { return folder.add(shard_name(i, shards.size())); });
    if (shards.size() > 1) folder.add_text("model.safetensors.index.json", index_json(shards));
    write_texts(folder, out, config, done);
    folder.finish();
    return done;
}

} // namespace ggufx::cli
