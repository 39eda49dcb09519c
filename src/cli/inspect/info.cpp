// ggufx info: a summary of a file, its metadata and its tensors. Only --sha256 reads tensor data.
// SPDX-License-Identifier: MIT
#include "inspect/info.hpp"
#include "common/signals.hpp"
#include "common/table.hpp"
#include "inspect/graph_text.hpp"
#include "models/meta_json.hpp"
#include "models/sampling_defaults.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace ggufx::cli {

namespace {

struct TypeShare {
    std::string name;
    uint64_t tensors = 0;
    uint64_t bytes = 0;
};

} // namespace

// Returns the tensor types, most bytes first.
static std::vector<TypeShare> type_shares(const ggufx_file *file) {
    std::map<uint32_t, TypeShare> by_type;
    for (size_t i = 0; i < ggufx_file_tensor_count(file); i++) {
        const ggufx_tensor_facts info = tensor_facts(ggufx_file_tensor(file, i));
        TypeShare &share = by_type[info.type];
        share.tensors += 1;
        share.bytes += info.n_bytes;
    }
    std::vector<TypeShare> out;
    for (auto &[type, share] : by_type) {
        const std::string name = type_name(type);
        share.name = name == "unknown" ? fmt::format("type {}", type) : name;
        out.push_back(share);
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const TypeShare &a, const TypeShare &b) { return a.bytes > b.bytes; });
    return out;
}

static void print_histogram(Output &out, const ggufx_file *file, uint64_t total,
                            const Style &style) {
    constexpr uint64_t kBar = 30; // characters of a full bar
    for (const TypeShare &share : type_shares(file)) {
        const double part =
            total ? static_cast<double>(share.bytes) / static_cast<double>(total) : 0;
        std::string bar;
        for (uint64_t i = 0; i < kBar; i++) bar += static_cast<double>(i) < part * kBar ? "█" : "·";
        out.write(fmt::format("  {:<8} {}{}{} {:5.1f} %  {} in {} tensor{}\n", share.name,
                              style.accent, bar, style.reset, part * 100, bytes_text(share.bytes),
                              share.tensors, share.tensors == 1 ? "" : "s"));
    }
}

static std::optional<uint64_t> number_of(const ggufx_file *file, std::string_view key) {
    size_t index = 0;
    uint64_t value = 0;
    if (ggufx_file_meta_find(&index, file, key.data(), key.size(), nullptr) != GGUFX_OK ||
        ggufx_file_meta_u64(&value, file, index, nullptr) != GGUFX_OK)
        return {};
    return value;
}

static std::string set_text(const ggufx_file *file, const ggufx_file_facts &info) {
    if (info.n_parts > 1) return fmt::format(", {} files", info.n_parts);
    const uint64_t count = number_of(file, "split.count").value_or(0);
    if (count >= 2) return fmt::format(", one of {} files (--set shows all)", count);
    const auto rank = number_of(file, "ggufx.rank.no"), ranks = number_of(file, "ggufx.rank.count");
    if (!rank || !ranks) return "";
    if (number_of(file, "ggufx.rank.layers"))
        return fmt::format(", the layers of rank {} of {}", *rank, *ranks);
    return fmt::format(", for rank {} of {}", *rank, *ranks);
}

// Returns how the weights lie in memory when the file is mapped, by some pages that are touched.
static std::string memory_text(const ggufx_runtime *rt, const std::string &path) {
    constexpr size_t kTouched = 16; // tensors
    const ggufx_progress cancel = cancel_hook();
    const File file = open_file(
        rt, path, GGUFX_OPEN_SINGLE | GGUFX_OPEN_LEGACY_V1 | GGUFX_OPEN_UNKNOWN_TYPES, &cancel);
    const size_t n = ggufx_file_tensor_count(file.get()), most = std::min(n, kTouched);
    for (size_t i = 0; i < most; i++) {
        const void *data = ggufx_tensor_data(ggufx_file_tensor(file.get(), i * n / most));
        if (data) (void)*static_cast<const volatile char *>(data);
    }
    const ggufx_file_memory_facts memory = file_memory(file.get());
    if (memory.mapped_bytes == 0) return "copied";
    if (memory.huge_bytes == GGUFX_NONE) return "memory-mapped";
    return fmt::format("memory-mapped, {} of {} that were read are in huge pages",
                       bytes_text(memory.huge_bytes), bytes_text(memory.resident_bytes));
}

static void print_card(Output &out, const ggufx_file *file, const std::string &path,
                       const Style &style, const std::string &memory) {
    const ggufx_file_facts info = file_facts(file);
    const auto line = [&](const char *name, const std::string &value) {
        out.write(fmt::format("{}{:<13}{} {}\n", style.dim, name, style.reset, value));
    };
    out.write(fmt::format("{}{}{}\n", style.bold, escape(path), style.reset));
    line("format",
         fmt::format("GGUF {}, {}-endian, alignment {}{}", info.version,
                     info.big_endian ? "big" : "little", info.alignment, set_text(file, info)));
    for (const char *key : {"general.architecture", "general.name", "general.type"}) {
        if (const auto text = meta_text(file, key)) line(key + 8, shorten(*text, 60));
    }
    line("size", fmt::format("{} ({} bytes)", bytes_text(info.file_size), info.file_size));
    line("metadata", fmt::format("{} keys, {}", info.n_meta, bytes_text(info.meta_end)));
    line("tensors", fmt::format("{}, {} ({} values)", info.n_tensors, bytes_text(info.n_bytes),
                                count_text(info.n_values)));
    if (info.n_values > 0) {
        const double bits =
            8.0 * static_cast<double>(info.n_bytes) / static_cast<double>(info.n_values);
        line("bits/value", fmt::format("{:.3f}", bits));
    }
    if (!memory.empty()) line("memory", memory);
    const ModelSampling sampling = model_sampling(file);
    if (!sampling.is_empty()) line("sampling", sampling_text(sampling));
    if (info.n_tensors > 0) print_histogram(out, file, info.n_bytes, style);
}

static void print_table(Output &out, const Table &table, const InfoOptions &options,
                        const Style &style, size_t left_out, const char *what) {
    if (options.markdown) {
        table.print_markdown(out);
    } else {
        table.print(out, style);
    }
    if (left_out && out.is_terminal()) out.write(fmt::format("… and {} more {}\n", left_out, what));
    out.write("\n");
}

static void print_kv(Output &out, const ggufx_file *file, const InfoOptions &options,
                     const Style &style) {
    constexpr uint64_t kCut = 6; // elements of an array shown without --array-full
    const NameFilter filter(options.filter);
    Table table({"key", "type", "value"});
    size_t shown = 0;
    size_t left_out = 0;
    for (size_t i = 0; i < ggufx_file_meta_count(file); i++) {
        const ggufx_meta_facts entry = meta_entry(file, i);
        const std::string_view key = view(entry.key);
        if (!filter.matches(key)) continue;
        if (options.limit && shown == options.limit) {
            left_out++;
            continue;
        }
        shown++;
        std::string type = value_type_name(entry.type);
        if (entry.type == GGUFX_VALUE_ARRAY) {
            type = fmt::format("{}[{}]", value_type_name(entry.element_type), entry.count);
        }
        table.row(
            {escape(key), type, meta_value_text(file, i, options.array_full ? UINT64_MAX : kCut)});
    }
    print_table(out, table, options, style, left_out, "keys");
}

static std::string shape_text(const ggufx_tensor_facts &info) {
    if (info.n_dims == 0) return "scalar";
    std::string text;
    for (uint32_t d = 0; d < info.n_dims; d++) {
        if (d > 0) text += " x ";
        text += fmt::format("{}", info.ne[d]);
    }
    return text;
}

static void print_tensors(Output &out, const ggufx_file *file, const InfoOptions &options,
                          const Style &style) {
    const NameFilter filter(options.filter);
    const ggufx_file_facts file_info = file_facts(file);
    Table table({"tensor", "type", "shape", ">offset", ">bytes", ""});
    size_t shown = 0;
    size_t left_out = 0;
    for (size_t i = 0; i < ggufx_file_tensor_count(file); i++) {
        const ggufx_tensor_facts info = tensor_facts(ggufx_file_tensor(file, i));
        const std::string_view name = view(info.name);
        if (!filter.matches(name)) continue;
        if (options.limit && shown == options.limit) {
            left_out++;
            continue;
        }
        shown++;
        std::string type = type_name(info.type);
        if (type == "unknown") type = fmt::format("type {}", info.type);
        table.row({escape(name), type, shape_text(info), fmt::format("{}", info.file_offset),
                   fmt::format("{}", info.n_bytes),
                   is_complete(file_info, info) ? "" : "data missing"});
    }
    table.essential({"type", ""}); // the last column says that data are missing
    table.dispensable({"offset"});
    print_table(out, table, options, style, left_out, "tensors");
}

static void print_text(Output &out, const Globals &globals, const ggufx_runtime *rt,
                       const ggufx_file *file, const std::string &path,
                       const InfoOptions &options) {
    const Style style = make_style(globals, out);
    if (options.graph) {
        out.write(graph_text(file));
        return;
    }
    if (!options.kv && !options.tensors) {
        const ggufx_file_facts info = file_facts(file);
        const bool has_data = path != "-" && info.n_missing == 0 && info.n_bytes > 0;
        print_card(out, file, path, style,
                   globals.verbose && has_data ? memory_text(rt, path) : "");
        out.write("\n");
    }
    if (options.show_kv() && ggufx_file_meta_count(file) > 0) print_kv(out, file, options, style);
    if (options.show_tensors() && ggufx_file_tensor_count(file) > 0) {
        print_tensors(out, file, options, style);
    }
}

namespace {

// An opened file, and its dump if JSON is requested.
struct OpenedDump {
    File file;
    Json dump;
};

} // namespace

static OpenedDump open_one(const ggufx_runtime *rt, const Globals &globals, const std::string &path,
                           const InfoOptions &options) {
    const ggufx_progress cancel = cancel_hook();
    uint32_t flags = GGUFX_OPEN_METADATA_ONLY | GGUFX_OPEN_LEGACY_V1 | GGUFX_OPEN_UNKNOWN_TYPES;
    if (!options.set) flags |= GGUFX_OPEN_SINGLE;
    if (options.sha256 && path == "-") throw Failure(kUsage, "--sha256 needs a file, not -");
    OpenedDump opened = {open_file(rt, path, flags, &cancel), {}};
    if (globals.json) opened.dump = info_json(opened.file.get(), path, options);
    return opened;
}

// Prints all files. An invalid file among several is reported and skipped; the exit code is that of
// the first one.
static int print_info(const Globals &globals, const InfoOptions &options) {
    const NameFilter checked(options.filter); // checks the pattern before anything is printed
    const Runtime rt = make_runtime(globals);
    Output out(globals);
    int code = kOk;
    for (const std::string &path : options.files) {
        OpenedDump opened;
        try {
            opened = open_one(rt.get(), globals, path, options);
        } catch (const Failure &failure) {
            if (options.files.size() == 1 || pending_signal()) throw;
            out.flush(); // keeps the order on a terminal
            tell(globals, failure, path);
            if (code == kOk) code = failure.exit_code;
            continue;
        }
        if (!globals.json) {
            print_text(out, globals, rt.get(), opened.file.get(), path, options);
        } else if (options.files.size() == 1) {
            print_json(out, opened.dump);
        } else {
            print_json_line(out, opened.dump);
        }
    }
    out.finish();
    return code;
}

void add_info(Tool &tool) {
    auto options = std::make_shared<InfoOptions>();
    Command sub = tool.app.add_command("info", "show metadata and tensors of a file");
    sub.option("FILE", options->files, "GGUF files (- = stdin)").required();
    Option kv = sub.flag("--kv", options->kv, "metadata only");
    Option tensors = sub.flag("--tensors", options->tensors, "tensors only");
    sub.option("--filter", options->filter,
               "only names that match: glob:PATTERN over the whole name (*, ?, [a-z]), or "
               "re:PATTERN, a regular expression of RE2 anywhere in it; a PATTERN alone "
               "is " GGUFX_PLAIN_PATTERN)
        .value("PATTERN");
    sub.flag("--graph", options->graph,
             "show the graph of the model, operation by operation, instead")
        .excludes(kv)
        .excludes(tensors);
    sub.option("--limit", options->limit, "maximum number of rows per table");
    sub.flag("--array-full", options->array_full, "show all elements of arrays");
    sub.flag("--md", options->markdown, "print tables in Markdown");
    Option set = sub.flag("--set", options->set, "all files of a split set, not this file alone");
    sub.flag("--sha256", options->sha256, "hash tensor data (with --json); reads all of it")
        .excludes(set);
    sub.examples("  ggufx info model.gguf\n  ggufx info model.gguf --tensors --filter 'ffn_.*'\n"
                 "  ggufx info model.gguf --json | jq '.kv[].key'");
    tool.verbs.emplace_back(sub, [&tool, options] { return print_info(tool.globals, *options); });
}

} // namespace ggufx::cli
