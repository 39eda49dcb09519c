// ggufx imatrix: shows, merges and converts importance matrices; imatrix_collect.cpp computes them.
// SPDX-License-Identifier: MIT
#include "quantize/imatrix.hpp"

#include "common/json.hpp"
#include "common/progress.hpp"
#include "common/table.hpp"
#include "models/rewrite.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace ggufx::cli {

Imatrix open_imatrix(const Globals &globals, const ggufx_runtime *rt, const std::string &path) {
    Progress progress(globals, "read");
    const ggufx_progress hook = progress.hook();
    ggufx_imatrix *imatrix = nullptr;
    ggufx_error error;
    const ggufx_status status = ggufx_imatrix_open(&imatrix, rt, path.c_str(), &hook, &error);
    if (status != GGUFX_OK) {
        const Failure failure(exit_code(status), error);
        const bool is_named = std::string_view(error.message).starts_with(path + ":");
        throw is_named ? failure : Failure(failure, path);
    }
    return Imatrix(imatrix);
}

ggufx_imatrix_facts imatrix_facts(const ggufx_imatrix *imatrix) {
    return facts<ggufx_imatrix_facts>([&](ggufx_imatrix_facts *out, ggufx_error *error) {
        return ggufx_imatrix_info(out, imatrix, error);
    });
}

ggufx_imatrix_entry imatrix_entry(const ggufx_imatrix *imatrix, size_t index) {
    return facts<ggufx_imatrix_entry>([&](ggufx_imatrix_entry *out, ggufx_error *error) {
        return ggufx_imatrix_entry_at(out, imatrix, index, error);
    });
}

std::vector<std::string> imatrix_datasets(const ggufx_imatrix *imatrix) {
    std::vector<std::string> names;
    for (uint64_t i = 0; i < imatrix_facts(imatrix).n_datasets; i++) {
        ggufx_text text = {};
        call(
            [&](ggufx_error *error) { return ggufx_imatrix_dataset_at(&text, imatrix, i, error); });
        names.emplace_back(view(text));
    }
    return names;
}

namespace {

// Statistics of one entry's values, the mean squared activations of its columns.
struct ImatrixStatistics {
    double sum = 0, mean = 0, deviation = 0, least = 0, largest = 0;
    double active = 0;  // share of columns above 1e-5
    double entropy = 0; // entropy of the values divided by their sum, relative to equal values
    double tokens = 0;  // tokens of the expert that was used most
};

} // namespace

static ImatrixStatistics statistics(const ggufx_imatrix_entry &entry) {
    ImatrixStatistics s;
    const auto n = static_cast<size_t>(entry.n_columns * entry.n_matrices);
    const auto size = static_cast<double>(n);
    s.least = s.largest = entry.values[0];
    for (size_t i = 0; i < n; i++) {
        const double v = entry.values[i];
        s.sum += v;
        s.least = std::min(s.least, v);
        s.largest = std::max(s.largest, v);
        s.active += v > 1e-5 ? 1 / size : 0;
    }
    s.mean = s.sum / size;
    for (size_t i = 0; i < n; i++) {
        const double v = entry.values[i], share = s.sum > 0 ? v / s.sum : 0;
        s.deviation += (v - s.mean) * (v - s.mean) / size;
        if (share > 0) s.entropy -= share * std::log2(share);
    }
    s.deviation = std::sqrt(s.deviation);
    s.entropy = n > 1 ? s.entropy / std::log2(size) : 0;
    for (uint64_t i = 0; i < entry.n_matrices; i++) {
        s.tokens = std::max(s.tokens, static_cast<double>(entry.counts[i]));
    }
    return s;
}

static Json entry_json(const ggufx_imatrix_entry &entry) {
    const ImatrixStatistics s = statistics(entry);
    return {{"name", json_bytes(view(entry.name))},
            {"columns", entry.n_columns},
            {"matrices", entry.n_matrices},
            {"tokens", s.tokens},
            {"sum", s.sum},
            {"mean", s.mean},
            {"deviation", s.deviation},
            {"min", s.least},
            {"max", s.largest},
            {"active", s.active},
            {"entropy", s.entropy}};
}

static Json card(const ggufx_imatrix *imatrix) {
    const ggufx_imatrix_facts info = imatrix_facts(imatrix);
    Json value = json_object();
    value.update(Json{{"format", info.format == GGUFX_IMATRIX_DAT ? "dat" : "gguf"},
                      {"entries", info.n_entries},
                      {"chunks", info.n_chunks},
                      {"chunk_tokens", info.chunk_tokens},
                      {"datasets", imatrix_datasets(imatrix)}});
    return value;
}

static void print_entries(Output &out, const Globals &globals, const ggufx_imatrix *imatrix) {
    Table table({"tensor", ">columns", ">tokens", ">sum", ">mean", ">deviation", ">min", ">max",
                 ">active %", ">entropy"});
    table.essential({"tensor", "sum", "active %"});
    table.dispensable({"entropy", "min", "max", "deviation", "columns", "tokens", "mean"});
    for (uint64_t i = 0; i < imatrix_facts(imatrix).n_entries; i++) {
        const ggufx_imatrix_entry entry = imatrix_entry(imatrix, i);
        const ImatrixStatistics s = statistics(entry);
        const auto number = [](double v) { return fmt::format("{:.4g}", v); };
        const std::string columns = entry.n_matrices > 1
                                        ? fmt::format("{} x {}", entry.n_columns, entry.n_matrices)
                                        : fmt::format("{}", entry.n_columns);
        table.row({escape(view(entry.name)), columns, number(s.tokens), number(s.sum),
                   number(s.mean), number(s.deviation), number(s.least), number(s.largest),
                   fmt::format("{:.1f}", 100 * s.active), fmt::format("{:.3f}", s.entropy)});
    }
    table.print(out, make_style(globals, out));
}

static int show(const Globals &globals, const std::string &file) {
    const Runtime rt = make_runtime(globals);
    const Imatrix imatrix = open_imatrix(globals, rt.get(), file);
    Output out(globals);
    if (globals.json) {
        Json value = card(imatrix.get());
        Json entries = Json::array();
        for (uint64_t i = 0; i < imatrix_facts(imatrix.get()).n_entries; i++) {
            entries.push_back(entry_json(imatrix_entry(imatrix.get(), i)));
        }
        value["tensors"] = entries;
        print_json(out, value);
    } else {
        const ggufx_imatrix_facts info = imatrix_facts(imatrix.get());
        out.write(fmt::format("{} entries, {} chunks of {} tokens, {} file\n", info.n_entries,
                              info.n_chunks, info.chunk_tokens,
                              info.format == GGUFX_IMATRIX_DAT ? ".dat" : "GGUF"));
        for (const std::string &name : imatrix_datasets(imatrix.get())) {
            out.write("from " + escape(name) + "\n");
        }
        print_entries(out, globals, imatrix.get());
    }
    out.finish();
    return kOk;
}

static int write_to(const Globals &globals, const Imatrix &imatrix, const std::string &path,
                    int32_t format) {
    require_target(globals, path);
    Output out(globals);
    {
        Progress progress(globals, "write");
        const ggufx_progress hook = progress.hook();
        const int32_t how = format | (globals.force ? 0 : GGUFX_IMATRIX_NO_REPLACE);
        call_to_write([&](ggufx_error *error) {
            return ggufx_imatrix_write(imatrix.get(), path.c_str(), how, &hook, error);
        });
    }
    if (globals.json) {
        Json value = card(imatrix.get());
        value["format"] = format == GGUFX_IMATRIX_DAT ? "dat" : "gguf";
        value["output"] = json_bytes(path);
        print_json(out, value);
    } else if (!globals.quiet) {
        out.write(
            fmt::format("{}: {} entries\n", escape(path), imatrix_facts(imatrix.get()).n_entries));
    }
    out.finish();
    return kOk;
}

static int merge(const Globals &globals, const std::vector<std::string> &files,
                 const std::string &to) {
    const Runtime rt = make_runtime(globals);
    const Imatrix imatrix = open_imatrix(globals, rt.get(), files[0]);
    for (size_t i = 1; i < files.size(); i++) {
        const Imatrix other = open_imatrix(globals, rt.get(), files[i]);
        ggufx_error error;
        const ggufx_status status = ggufx_imatrix_merge(imatrix.get(), other.get(), &error);
        if (status != GGUFX_OK) throw Failure(Failure(exit_code(status), error), files[i]);
    }
    return write_to(globals, imatrix, to,
                    to.ends_with(".dat") ? GGUFX_IMATRIX_DAT : GGUFX_IMATRIX_GGUF);
}

static int convert(const Globals &globals, const std::vector<std::string> &paths, int32_t format) {
    const Runtime rt = make_runtime(globals);
    return write_to(globals, open_imatrix(globals, rt.get(), paths[0]), paths[1], format);
}

static void add_convert(Tool &tool, Command group, const std::string &name, int32_t format,
                        const std::string &help) {
    auto paths = std::make_shared<std::vector<std::string>>(2);
    Command sub = group.add_command(name, help);
    sub.option("FILE", (*paths)[0], "imatrix file, GGUF or .dat").required();
    sub.option("OUT", (*paths)[1], "file to write").required();
    tool.verbs.emplace_back(
        sub, [&tool, paths, format] { return convert(tool.globals, *paths, format); });
}

void add_imatrix(Tool &tool) {
    Command group =
        tool.app.add_command("imatrix", "collect, show, merge and convert importance matrices");
    group.require_command();
    add_imatrix_collect(tool, group);
    auto file = std::make_shared<std::string>();
    Command shows = group.add_command("show", "show the entries of an imatrix file");
    shows.option("FILE", *file, "imatrix file, GGUF or .dat").required();
    shows.examples("  ggufx imatrix show model.imatrix.gguf");
    tool.verbs.emplace_back(shows, [&tool, file] { return show(tool.globals, *file); });

    auto files = std::make_shared<std::vector<std::string>>();
    auto to = std::make_shared<std::string>();
    Command merges = group.add_command("merge", "merge imatrix files");
    merges.option("FILE", *files, "imatrix files, GGUF or .dat").required();
    merges.option("--to", *to, "file to write; NAME.dat gets the older format")
        .value("FILE")
        .required();
    merges.examples("  ggufx imatrix merge part1.gguf part2.dat --to all.gguf");
    tool.verbs.emplace_back(merges,
                            [&tool, files, to] { return merge(tool.globals, *files, *to); });
    add_convert(tool, group, "to-gguf", GGUFX_IMATRIX_GGUF, "write an imatrix as GGUF");
    add_convert(tool, group, "to-dat", GGUFX_IMATRIX_DAT, "write an imatrix in the older format");
}

} // namespace ggufx::cli
