// ggufx split: a file to shards, or to one file per rank of a group. ggufx merge: shards to one
// file, or LoRA adapters merged into the weights of a model.
// SPDX-License-Identifier: MIT
#include "common/size.hpp"
#include "edit/merge_adapters.hpp"
#include "models/rank_names.hpp"
#include "models/rank_speeds.hpp"
#include "models/rewrite.hpp"

#include <fmt/format.h>
#include <utility>

namespace ggufx::cli {

namespace {

struct SplitOptions {
    std::string file;
    std::string out;
    std::string max_size;
    uint64_t max_tensors = 0;
    uint32_t ranks = 0; // 0: shards of the whole model
    std::string weights;
    bool by_layers = false;
    bool dry_run = false;
};

struct MergeOptions {
    SplitOptions files;
    AdapterOptions adapters;
    std::string type;
};

} // namespace

static void copy_all(ggufx_writer *writer, const ggufx_file *file) {
    call([&](ggufx_error *error) { return ggufx_writer_copy_meta(writer, file, error); });
    call([&](ggufx_error *error) { return ggufx_writer_copy_tensors(writer, file, error); });
}

static std::vector<std::string> part_names(std::string prefix, uint64_t n_parts) {
    constexpr std::string_view kSuffix = ".gguf";
    if (prefix.ends_with(kSuffix)) prefix.resize(prefix.size() - kSuffix.size());
    std::vector<std::string> names;
    for (uint64_t i = 1; i <= n_parts; i++) {
        names.push_back(fmt::format("{}-{:05}-of-{:05}.gguf", prefix, i, n_parts));
    }
    return names;
}

static void print_result(Output &out, const Globals &globals, const SplitOptions &options,
                         const ggufx_writer_facts &made, const std::vector<std::string> &names,
                         std::optional<size_t> n_merged = {}) {
    if (globals.json) {
        Json outputs = Json::array();
        for (const std::string &name : names) outputs.push_back(json_bytes(name));
        Json line = json_object();
        line.update(Json{{"file", json_bytes(options.file)},
                         {"outputs", outputs},
                         {"tensors", made.n_tensors},
                         {"bytes", made.n_bytes},
                         {"written", !options.dry_run}});
        if (n_merged) line["merged"] = *n_merged;
        print_json(out, line);
    } else {
        for (const std::string &name : names) out.write(escape(name) + "\n");
        if (!globals.quiet) {
            const std::string merged =
                n_merged ? fmt::format(" ({} of them changed)", *n_merged) : std::string();
            out.write(fmt::format("{} {}, {} tensors{}, {}{}\n", names.size(),
                                  names.size() == 1 ? "file" : "files", made.n_tensors, merged,
                                  bytes_text(made.n_bytes),
                                  options.dry_run ? " (dry run: nothing was written)" : ""));
        }
    }
    out.finish();
}

static std::vector<uint32_t> speeds_of(const SplitOptions &options) {
    if (options.weights.empty()) return {};
    std::vector<uint32_t> speeds = parse_speeds(options.weights);
    if (speeds.size() == options.ranks) return speeds;
    throw Failure(kUsage, fmt::format("--weights has {} numbers, --ranks is {}", speeds.size(),
                                      options.ranks));
}

static int split_ranks(const Globals &globals, const SplitOptions &options) {
    if (!options.max_size.empty() || options.max_tensors)
        throw Failure(kUsage, "--ranks excludes --max-size and --max-tensors");
    const std::vector<uint32_t> speeds = speeds_of(options);
    const Runtime rt = make_runtime(globals);
    const File file = open_file(rt.get(), options.file, GGUFX_OPEN_LEGACY_V1);
    const auto writer_of = [&](uint32_t rank) {
        FileWriter writer = make_writer(rt.get(), file.get(), 0);
        call([&](ggufx_error *error) {
            return ggufx_writer_copy_shard(writer.get(), file.get(), rank, options.ranks,
                                           speeds.empty() ? nullptr : speeds.data(),
                                           options.by_layers ? GGUFX_GROUP_PIPELINE : 0, error);
        });
        return writer;
    };
    const std::vector<std::string> names = rank_names(options.out, options.ranks);
    ggufx_writer_facts all = {};
    for (uint32_t rank = 0; rank < options.ranks; rank++) { // a writer holds all keys
        const ggufx_writer_facts made = plan(writer_of(rank).get(), {});
        all.n_tensors = made.n_tensors; // each rank has some rows of all tensors
        all.n_bytes += made.n_bytes;
    }
    Output out(globals); // fails before the files are written
    if (!options.dry_run) {
        for (const std::string &name : names) require_target(globals, name);
        for (uint32_t rank = 0; rank < options.ranks; rank++)
            write_model(globals, writer_of(rank).get(), names[rank], {});
    }
    print_result(out, globals, options, all, names);
    return kOk;
}

static int split(const Globals &globals, const SplitOptions &options) {
    if (options.ranks) return split_ranks(globals, options);
    if (!options.weights.empty()) throw Failure(kUsage, "--weights needs --ranks");
    if (options.by_layers) throw Failure(kUsage, "--pipeline needs --ranks");
    SplitLimits limits;
    limits.max_tensors = options.max_tensors;
    if (!options.max_size.empty()) limits.max_bytes = parse_size(options.max_size, "--max-size");
    if (!limits.max_bytes && !limits.max_tensors) limits.max_tensors = 128; // default of gguf-split
    const Runtime rt = make_runtime(globals);
    const File file = open_file(rt.get(), options.file, GGUFX_OPEN_LEGACY_V1);
    const FileWriter writer = make_writer(rt.get(), file.get(), 0);
    copy_all(writer.get(), file.get());
    const ggufx_writer_facts made = plan(writer.get(), limits);
    const std::vector<std::string> names = part_names(options.out, made.n_parts);
    Output out(globals); // fails before the shards are written
    if (!options.dry_run) {
        try_to_recover(rt.get(), names[0]);
        for (const std::string &name : names) require_target(globals, name);
        write_model(globals, writer.get(), options.out, limits);
    }
    print_result(out, globals, options, made, names);
    return kOk;
}

static int merge_set(const Globals &globals, const SplitOptions &options) {
    const Runtime rt = make_runtime(globals);
    const File file = open_file(rt.get(), options.file, GGUFX_OPEN_LEGACY_V1);
    if (file_facts(file.get()).n_parts < 2) {
        throw Failure(kUsage, options.file + ": not a part of a split set (its parts are named "
                                             "NAME-00001-of-0000N.gguf)");
    }
    const FileWriter writer = make_writer(rt.get(), file.get(), 0);
    copy_all(writer.get(), file.get());
    const ggufx_writer_facts made = plan(writer.get(), {});
    Output out(globals); // as above
    if (!options.dry_run) {
        require_target(globals, options.out);
        write_model(globals, writer.get(), options.out, {});
    }
    print_result(out, globals, options, made, {options.out});
    return kOk;
}

static int merge_adapters(const Globals &globals, const MergeOptions &options) {
    const SplitOptions &files = options.files;
    const Runtime rt = make_runtime(globals);
    const File file = open_file(rt.get(), files.file, GGUFX_OPEN_LEGACY_V1);
    std::optional<uint32_t> type;
    if (!options.type.empty()) type = type_from_name(options.type, "--type");
    const MergedModel model(rt.get(), file.get(), options.adapters, type);
    const RowFault fault = std::make_shared<std::exception_ptr>();
    const FileWriter writer = make_writer(rt.get(), file.get(), 0);
    call([&](ggufx_error *error) {
        return ggufx_writer_copy_meta(writer.get(), file.get(), error);
    });
    model.copy_to(writer.get(), fault);
    const ggufx_writer_facts made = plan(writer.get(), {});
    Output out(globals); // as above
    if (!files.dry_run) {
        require_target(globals, files.out);
        write_made(globals, writer.get(), files.out, fault);
    }
    print_result(out, globals, files, made, {files.out}, model.n_merged());
    return kOk;
}

// The model's name is OUT or that of -o; messages about it go to standard output.
static Globals take_output(const Globals &globals, SplitOptions &files) {
    Globals rest = globals;
    if (files.out.empty() && globals.output.empty())
        throw Failure(kUsage, "OUT is required, as an argument or by -o");
    if (!files.out.empty() && !globals.output.empty())
        throw Failure(kUsage, "the file to write is given twice: " + in_quotes(files.out) +
                                  " and -o " + in_quotes(globals.output));
    if (files.out.empty()) files.out = std::exchange(rest.output, "");
    return rest;
}

static int merge(const Globals &globals, MergeOptions &options) {
    const Globals rest = take_output(globals, options.files);
    if (!options.adapters.loras.empty()) return merge_adapters(rest, options);
    if (!options.type.empty()) throw Failure(kUsage, "--type needs --lora");
    return merge_set(rest, options.files);
}

void add_split(Tool &tool) {
    auto options = std::make_shared<SplitOptions>();
    Command sub = tool.app.add_command("split", "split a model into a set of files");
    sub.option("FILE", options->file, "GGUF file, or a set to split again").required();
    sub.option("PREFIX", options->out, "prefix of the files: PREFIX-00001-of-0000N.gguf")
        .required();
    sub.option("--max-size", options->max_size, "maximum bytes per file: 4G, 500M").value("SIZE");
    sub.option("--max-tensors", options->max_tensors,
               "maximum number of tensors per file (default 128 without --max-size)")
        .between(1, INT32_MAX);
    sub.option("--ranks", options->ranks,
               "write a file per rank of --group: PREFIX-rank-00001-of-0000N.gguf")
        .value("N")
        .between(2u, 256u);
    sub.option("--weights", options->weights,
               "share of rows or layers per rank: 3,1 (default equal)")
        .value("LIST");
    sub.flag("--pipeline", options->by_layers,
             "pipeline parallelism: whole layers per rank, as --group --pipeline has them");
    sub.flag("--dry-run", options->dry_run, "print the names of the files only");
    sub.examples("  ggufx split model.gguf model --max-size 4G\n"
                 "  ggufx split model.gguf parts/model --max-tensors 64 --dry-run\n"
                 "  ggufx split model.gguf model --ranks 4");
    tool.verbs.emplace_back(sub, [&tool, options] { return split(tool.globals, *options); });
}

void add_merge(Tool &tool) {
    auto options = std::make_shared<MergeOptions>();
    Command sub = tool.app.add_command("merge", "merge a split set, or LoRA adapters into a model");
    sub.option("FILE", options->files.file, "any file of the set; with --lora any model")
        .required();
    sub.option("OUT", options->files.out, "file to write, as -o OUT");
    add_lora_option(sub, options->adapters);
    sub.option("--type", options->type,
               "type of the tensors that --lora changes (default their own)")
        .value("TYPE");
    sub.flag("--dry-run", options->files.dry_run, "check the set and print the size only");
    sub.examples("  ggufx merge model-00001-of-00003.gguf -o model.gguf\n"
                 "  ggufx merge model.gguf -o tuned.gguf --lora adapter.gguf:0.8 --type f16");
    tool.verbs.emplace_back(sub, [&tool, options] { return merge(tool.globals, *options); });
}

} // namespace ggufx::cli
