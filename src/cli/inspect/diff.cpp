// ggufx diff: keys, shapes, types and values of two models; exit code 6 if they differ.
// SPDX-License-Identifier: MIT
#include "common/progress.hpp"
#include "common/signals.hpp"
#include "common/table.hpp"
#include "inspect/info.hpp"
#include "inspect/tensor_diff.hpp"
#include "models/meta_json.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct DiffOptions {
    std::string a, b;
    std::string filter;
    float threshold = 0;
    bool kv = false, tensors = false, values = false;
};

// One side of a difference; an absent side has no text.
struct Side {
    std::string type;
    std::string text;
    bool present = false;
};

struct NamedDiff {
    std::string name;
    Side a, b;
};

struct ValueRow {
    std::string name, type_a, type_b;
    ValueDiff diff;
    bool over = false; // above the threshold
};

struct DiffReport {
    std::vector<NamedDiff> kv, tensors;
    std::vector<ValueRow> values;
    size_t n_equal = 0; // tensors with equal values

    bool equal() const {
        for (const ValueRow &row : values) {
            if (row.over) return false;
        }
        return kv.empty() && tensors.empty();
    }
};

// A tensor of both files, matched by the name in the first file.
struct Pair {
    const ggufx_tensor *a, *b;
    ggufx_tensor_facts info_a, info_b;
};

} // namespace

static Side key_side(const ggufx_file *file, size_t index) {
    const ggufx_meta_facts entry = meta_entry(file, index);
    std::string type = value_type_name(entry.type);
    if (entry.type == GGUFX_VALUE_ARRAY) {
        type = fmt::format("{}[{}]", value_type_name(entry.element_type), entry.count);
    }
    return {type, meta_value_text(file, index, kShownElements), true};
}

// Compares types, counts and all values. Arrays are compared completely, not only the part shown.
static bool same_value(const ggufx_file *a, size_t i, const ggufx_file *b, size_t j) {
    const ggufx_meta_facts entry_a = meta_entry(a, i), entry_b = meta_entry(b, j);
    if (entry_a.type != entry_b.type || entry_a.element_type != entry_b.element_type ||
        entry_a.count != entry_b.count) {
        return false;
    }
    return meta_value_json(a, i, UINT64_MAX).dump() == meta_value_json(b, j, UINT64_MAX).dump();
}

static std::string key_of(const ggufx_file *file, size_t index) {
    const ggufx_meta_facts entry = meta_entry(file, index);
    return std::string(view(entry.key));
}

static void compare_keys(DiffReport &report, const ggufx_file *a, const ggufx_file *b,
                         const NameFilter &filter) {
    for (size_t i = 0; i < ggufx_file_meta_count(a); i++) {
        const std::string key = key_of(a, i);
        size_t j = 0;
        if (!filter.matches(key)) continue;
        if (ggufx_file_meta_find(&j, b, key.data(), key.size(), nullptr) != GGUFX_OK) {
            report.kv.push_back({key, key_side(a, i), {}});
        } else if (!same_value(a, i, b, j)) {
            report.kv.push_back({key, key_side(a, i), key_side(b, j)});
        }
    }
    for (size_t j = 0; j < ggufx_file_meta_count(b); j++) {
        const std::string key = key_of(b, j);
        size_t i = 0;
        if (filter.matches(key) &&
            ggufx_file_meta_find(&i, a, key.data(), key.size(), nullptr) != GGUFX_OK) {
            report.kv.push_back({key, {}, key_side(b, j)});
        }
    }
}

static Side tensor_side(const ggufx_tensor_facts &info) {
    std::string shape;
    for (uint32_t d = 0; d < info.n_dims; d++) {
        shape += (d ? " x " : "") + std::to_string(info.ne[d]);
    }
    return {type_name(info.type), "[" + shape + "]", true};
}

static bool same_shape(const ggufx_tensor_facts &a, const ggufx_tensor_facts &b) {
    for (size_t d = 0; d < GGUFX_MAX_DIMS; d++) {
        if (a.ne[d] != b.ne[d]) return false;
    }
    return true;
}

static std::vector<Pair> match_tensors(DiffReport &report, bool tell, const ggufx_file *a,
                                       const ggufx_file *b, const NameFilter &filter) {
    std::vector<Pair> pairs;
    for (size_t i = 0; i < ggufx_file_tensor_count(a); i++) {
        const ggufx_tensor *tensor = ggufx_file_tensor(a, i);
        const ggufx_tensor_facts info = tensor_facts(tensor);
        size_t j = 0;
        if (!filter.matches(view(info.name))) continue;
        if (ggufx_file_tensor_find(&j, b, info.name.data, info.name.size, nullptr) != GGUFX_OK) {
            if (tell) report.tensors.push_back({tensor_name(info), tensor_side(info), {}});
            continue;
        }
        const ggufx_tensor *other = ggufx_file_tensor(b, j);
        const ggufx_tensor_facts info_b = tensor_facts(other);
        const bool fits = same_shape(info, info_b);
        if (tell && (!fits || info.type != info_b.type)) {
            report.tensors.push_back({tensor_name(info), tensor_side(info), tensor_side(info_b)});
        }
        if (fits) pairs.push_back({tensor, other, info, info_b});
    }
    for (size_t j = 0; tell && j < ggufx_file_tensor_count(b); j++) {
        const ggufx_tensor_facts info = tensor_facts(ggufx_file_tensor(b, j));
        size_t i = 0;
        if (filter.matches(view(info.name)) &&
            ggufx_file_tensor_find(&i, a, info.name.data, info.name.size, nullptr) != GGUFX_OK) {
            report.tensors.push_back({tensor_name(info), {}, tensor_side(info)});
        }
    }
    return pairs;
}

static void compare_values(DiffReport &report, const Globals &globals, const ggufx_runtime *rt,
                           const std::vector<Pair> &pairs, double threshold) {
    Progress progress(globals, "compare");
    uint64_t total = 0, done = 0;
    for (const Pair &pair : pairs) total += pair.info_a.n_bytes + pair.info_b.n_bytes;
    for (const Pair &pair : pairs) {
        progress.update(done, total, escape(tensor_name(pair.info_a)));
        ValueRow row = {tensor_name(pair.info_a), type_name(pair.info_a.type),
                        type_name(pair.info_b.type), tensor_diff(rt, pair.a, pair.b), false};
        done += pair.info_a.n_bytes + pair.info_b.n_bytes;
        row.over = row.diff.n_invalid || row.diff.relative() > threshold;
        if (row.diff.n_different) {
            report.values.push_back(row);
        } else {
            report.n_equal++;
        }
    }
}

static Json side_json(const Side &side, const char *what) {
    if (!side.present) return {};
    return {{"type", side.type}, {what, json_bytes(side.text)}};
}

static Json named_json(const std::vector<NamedDiff> &diffs, const char *name, const char *what) {
    Json out = Json::array();
    for (const NamedDiff &diff : diffs) {
        out.push_back({{name, json_bytes(diff.name)},
                       {"a", side_json(diff.a, what)},
                       {"b", side_json(diff.b, what)}});
    }
    return out;
}

static Json value_json(const ValueRow &row) {
    return {{"name", json_bytes(row.name)},
            {"type_a", row.type_a},
            {"type_b", row.type_b},
            {"n", row.diff.n},
            {"n_different", row.diff.n_different},
            {"n_invalid", row.diff.n_invalid},
            {"rmse", row.diff.rmse()},
            {"rel_rmse", row.diff.relative()},
            {"max_abs", row.diff.max_abs},
            {"max_row", row.diff.max_row},
            {"max_column", row.diff.max_column},
            {"over", row.over}};
}

static void print_diff_json(Output &out, const DiffOptions &options, const DiffReport &report) {
    Json values = Json::array();
    for (const ValueRow &row : report.values) values.push_back(value_json(row));
    Json line = json_object();
    line.update(Json{{"a", json_bytes(options.a)},
                     {"b", json_bytes(options.b)},
                     {"equal", report.equal()},
                     {"threshold", static_cast<double>(options.threshold)},
                     {"kv", named_json(report.kv, "key", "text")},
                     {"tensors", named_json(report.tensors, "name", "shape")},
                     {"values", values},
                     {"n_equal", report.n_equal}});
    print_json(out, line);
}

static std::string side_cell(const Side &side) {
    return side.present ? side.type + " " + shorten(side.text, 60) : "(absent)";
}

static void print_named(Output &out, const Style &style, const char *title,
                        const std::vector<NamedDiff> &diffs) {
    if (diffs.empty()) return;
    Table table({title, "a", "b"});
    for (const NamedDiff &diff : diffs) {
        table.row({escape(diff.name), side_cell(diff.a), side_cell(diff.b)});
    }
    table.print(out, style);
}

static void print_tables(Output &out, const Style &style, const DiffReport &report, bool values) {
    print_named(out, style, "key", report.kv);
    print_named(out, style, "tensor", report.tensors);
    if (!report.values.empty()) {
        Table table({"values", "a", "b", ">rmse", ">relative", ">max abs", ">different", ""});
        table.essential({"different", ""}); // the last column says what the threshold allows
        table.dispensable({"max abs", "relative"});
        for (const ValueRow &row : report.values) {
            table.row({escape(row.name), row.type_a, row.type_b,
                       fmt::format("{:.4g}", row.diff.rmse()),
                       fmt::format("{:.4g}", row.diff.relative()),
                       fmt::format("{:.4g}", row.diff.max_abs),
                       fmt::format("{} of {}", row.diff.n_different, row.diff.n),
                       row.over ? "" : "within threshold"});
        }
        table.print(out, style);
    }
    if (values) out.write(fmt::format("{} tensors have equal values\n", report.n_equal));
    out.write(report.equal() ? "no differences\n" : "");
}

static int diff(const Globals &globals, const DiffOptions &options) {
    const Runtime rt = make_runtime(globals);
    const NameFilter filter(options.filter);
    const bool all = !options.kv && !options.tensors && !options.values;
    const bool values = all || options.values;
    const ggufx_progress cancel = cancel_hook();
    const uint32_t flags =
        GGUFX_OPEN_LEGACY_V1 | (values ? 0 : GGUFX_OPEN_METADATA_ONLY | GGUFX_OPEN_UNKNOWN_TYPES);
    const File a = open_file(rt.get(), options.a, flags, &cancel);
    const File b = open_file(rt.get(), options.b, flags, &cancel);
    DiffReport report;
    if (all || options.kv) compare_keys(report, a.get(), b.get(), filter);
    const std::vector<Pair> pairs =
        match_tensors(report, all || options.tensors, a.get(), b.get(), filter);
    if (values) {
        compare_values(report, globals, rt.get(), pairs, static_cast<double>(options.threshold));
    }
    Output out(globals);
    if (globals.json) {
        print_diff_json(out, options, report);
    } else {
        print_tables(out, make_style(globals, out), report, values);
    }
    out.finish();
    return report.equal() ? kOk : kCheckFailed;
}

void add_diff(Tool &tool) {
    auto options = std::make_shared<DiffOptions>();
    Command sub =
        tool.app.add_command("diff", "compare keys, shapes, types and values of two models");
    sub.option("A", options->a, "GGUF file; errors are relative to it").required();
    sub.option("B", options->b, "GGUF file").required();
    sub.flag("--kv", options->kv, "metadata only (may be combined)");
    sub.flag("--tensors", options->tensors, "names, types and shapes of tensors only");
    sub.flag("--values", options->values, "values of tensors of equal name and shape only");
    sub.option("--threshold", options->threshold,
               "relative rmse (to the rms of A) above which values differ (default 0)")
        .within(0, 1e9);
    sub.option("--filter", options->filter,
               "only names that match: glob:PATTERN over the whole name (*, ?, [a-z]), or "
               "re:PATTERN, a regular expression of RE2 anywhere in it; a PATTERN alone "
               "is " GGUFX_PLAIN_PATTERN)
        .value("PATTERN");
    sub.examples("  ggufx diff model-f16.gguf model-Q8_0.gguf\n"
                 "  ggufx diff a.gguf b.gguf --values --threshold 0.01 --json");
    tool.verbs.emplace_back(sub, [&tool, options] { return diff(tool.globals, *options); });
}

} // namespace ggufx::cli
