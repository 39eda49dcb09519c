// ggufx selftest: compares every kernel of every instruction set of this machine, or those of a
// device, with the scalar kernels through the public API. Exit code 6 unless the bits are equal.
// SPDX-License-Identifier: MIT
#include "bench/blocks.hpp"
#include "common/device.hpp"
#include "common/json.hpp"
#include "common/progress.hpp"
#include "common/signals.hpp"
#include "common/table.hpp"

#include <cstring>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

struct SelftestOptions {
    std::vector<std::string> types;
    uint64_t seed = 1;
    DeviceChoice device;
};

// An instruction set or a device.
struct Contender {
    std::string name;
    Runtime rt;
    Device device = nullptr;

    std::string kernel(uint32_t type) const {
        if (!device) return ggufx_runtime_kernel_name(rt.get(), type);
        return std::string("fma: ") + fma_name(device_facts(device.get()));
    }
};

struct Result {
    std::string type;
    std::string isa;
    std::string kernel;
    uint64_t checks = 0;
    uint64_t differences = 0;
    std::string first; // place of the first difference
};

// One product: a matrix at an odd address with an odd row stride, n vectors.
struct Case {
    uint64_t n_rows;
    uint64_t n_cols;
    size_t n;
    uint32_t flags;
    Blocks kind;

    std::string text() const {
        return fmt::format("{} x {}, n = {}, {}{}{}", n_rows, n_cols, n,
                           flags & GGUFX_MATMUL_F32 ? "f32" : "canonical",
                           flags & GGUFX_MATMUL_BATCH_INVARIANT ? ", row by row" : "",
                           kind == Blocks::wild ? ", any bytes" : "");
    }
};

struct Inputs {
    uint64_t row_stride;
    std::vector<uint8_t> weights;
    std::vector<float> x;
};

} // namespace

static Inputs make_inputs(const ggufx_runtime *rt, const ggufx_type_facts &type, const Case &c,
                          Random &random) {
    constexpr uint64_t kOffset = 1; // misaligned on purpose
    constexpr uint64_t kGap = 13;   // bytes between rows
    const uint64_t blocks = c.n_cols / type.block_values;
    const uint64_t row_bytes = blocks * type.block_bytes;
    Inputs in;
    in.row_stride = row_bytes + kGap;
    in.weights.resize(static_cast<size_t>(kOffset + in.row_stride * c.n_rows), 0xff);
    for (uint64_t row = 0; row < c.n_rows; row++) {
        const auto bytes = random_blocks(rt, type, static_cast<size_t>(blocks), c.kind, random);
        std::memcpy(in.weights.data() + kOffset + row * in.row_stride, bytes.data(), bytes.size());
    }
    in.x = random_vector(static_cast<size_t>(c.n_cols) * c.n, random);
    return in;
}

static Tensor uploaded(const ggufx_device *device, const ggufx_tensor *w) {
    ggufx_tensor *there = nullptr;
    call(
        [&](ggufx_error *error) { return ggufx_tensor_upload(&there, device, w, nullptr, error); });
    return Tensor(there);
}

static std::vector<float> product(const ggufx_runtime *rt, const ggufx_device *device,
                                  const ggufx_type_facts &type, const Case &c, const Inputs &in) {
    Tensor w = wrap_matrix(rt, type.id, c.n_cols, c.n_rows, in.row_stride, in.weights.data() + 1,
                           in.weights.size() - 1);
    if (device) w = uploaded(device, w.get());
    auto options = sized<ggufx_matmul_options>();
    options.flags = c.flags;
    std::vector<float> y(static_cast<size_t>(c.n_rows) * c.n);
    const ggufx_product product = product_of(w.get(), in.x, c.n, y);
    call([&](ggufx_error *error) { return ggufx_matmul(rt, &product, 1, &options, error); });
    return y;
}

static std::vector<float> decoded(const ggufx_runtime *rt, const ggufx_type_facts &type,
                                  const std::vector<uint8_t> &blocks) {
    std::vector<float> out(blocks.size() / type.block_bytes * type.block_values);
    dequantize_blocks(out, rt, type.id, blocks);
    return out;
}

static bool same_bits(const std::vector<float> &a, const std::vector<float> &b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

static void note(Result &result, bool same, const std::string &what) {
    result.checks++;
    if (same) return;
    if (result.differences++ == 0) result.first = what;
}

static std::vector<Case> cases_of(const ggufx_type_facts &type) {
    const uint64_t block = type.block_values;
    std::vector<uint64_t> widths = {block, 2 * block, 3 * block, 9 * block};
    if (block < 256) widths.insert(widths.end(), {512, 1024 + block});
    std::vector<Case> cases;
    for (const uint64_t n_cols : widths) {
        for (const size_t n : {size_t{1}, size_t{2}, size_t{3}, size_t{4}, size_t{9}}) {
            for (const uint32_t flags : {0u, GGUFX_MATMUL_F32}) {
                cases.push_back({7 + n_cols % 11, n_cols, n, flags, Blocks::tame});
            }
        }
        // Row-wise products take a few columns at a time.
        cases.push_back({33, n_cols, 17, GGUFX_MATMUL_BATCH_INVARIANT, Blocks::tame});
        cases.push_back({33, n_cols, 1, 0, Blocks::wild});
        cases.push_back({33, n_cols, 5, 0, Blocks::wild});
        cases.push_back({33, n_cols, 1, GGUFX_MATMUL_F32, Blocks::wild});
    }
    return cases;
}

static void test_type(const ggufx_type_facts &type, const ggufx_runtime *scalar,
                      const std::vector<Contender> &contenders, uint64_t seed,
                      std::vector<Result> &results) {
    Random random(seed + type.id);
    const size_t first = results.size();
    for (const Contender &c : contenders) {
        results.push_back({type.name, c.name, c.kernel(type.id), 0, 0, ""});
    }
    const std::vector<uint8_t> blocks = random_blocks(scalar, type, 97, Blocks::wild, random);
    const std::vector<float> values = decoded(scalar, type, blocks);
    for (size_t i = 0; i < contenders.size(); i++) {
        if (contenders[i].device) continue; // devices only multiply
        note(results[first + i], same_bits(values, decoded(contenders[i].rt.get(), type, blocks)),
             "dequantize");
    }
    for (const Case &c : cases_of(type)) {
        check_interrupt();
        const Inputs in = make_inputs(scalar, type, c, random);
        const std::vector<float> expected = product(scalar, nullptr, type, c, in);
        for (size_t i = 0; i < contenders.size(); i++) {
            const Contender &other = contenders[i];
            const bool same =
                same_bits(expected, product(other.rt.get(), other.device.get(), type, c, in));
            note(results[first + i], same, c.text());
        }
    }
}

static std::vector<Contender> make_contenders(const Globals &globals, const DeviceChoice &choice) {
    std::vector<Contender> contenders;
    if (choice.any()) {
        Runtime rt = make_runtime(globals);
        Device device = open_device(rt.get(), choice);
        const std::string id = device_facts(device.get()).id;
        contenders.push_back({id, std::move(rt), std::move(device)});
        return contenders;
    }
    const bool all = globals.isa == "all" || globals.isa == "best";
    for (const IsaName &isa : kIsaNames) {
        if (isa.isa == GGUFX_ISA_BEST || isa.isa == GGUFX_ISA_SCALAR) continue;
        if (!all && globals.isa != isa.name) continue;
        if (Runtime rt = try_runtime(isa.isa, globals.threads)) {
            contenders.push_back({isa.name, std::move(rt)});
        } else if (!all) {
            throw Failure(kUnsupported, "this machine has no " + globals.isa);
        }
    }
    // Without other instruction sets: scalar with several threads against scalar with one.
    if (contenders.empty()) contenders.push_back({"scalar", try_runtime(GGUFX_ISA_SCALAR, 4)});
    return contenders;
}

static int report(const Globals &globals, const SelftestOptions &options,
                  const std::vector<Result> &results) {
    uint64_t checks = 0;
    uint64_t differences = 0;
    Table table({"type", "isa", "kernel", ">checks", ">differences", "first difference"});
    table.essential({"type", "isa", "differences", "first difference"});
    table.dispensable({"checks"});
    Json rows = Json::array();
    for (const Result &r : results) {
        checks += r.checks;
        differences += r.differences;
        table.row({r.type, r.isa, r.kernel, fmt::format("{}", r.checks),
                   fmt::format("{}", r.differences), r.first});
        rows.push_back({{"type", r.type},
                        {"isa", r.isa},
                        {"kernel", r.kernel},
                        {"checks", r.checks},
                        {"differences", r.differences},
                        {"bits_equal", r.differences == 0}});
    }
    Output out(globals);
    if (globals.json) {
        Json line = json_object();
        line.update(Json{{"ok", differences == 0},
                         {"seed", options.seed},
                         {"checks", checks},
                         {"differences", differences}});
        line["results"] = rows;
        print_json(out, line);
    } else {
        if (!globals.quiet || differences) table.print(out, make_style(globals, out));
        out.write(fmt::format("{} checks, {} differences: {}\n", checks, differences,
                              differences ? "FAILED" : "every kernel gives the scalar bits"));
    }
    out.finish();
    return differences ? kCheckFailed : kOk;
}

static int selftest(const Globals &globals, const SelftestOptions &options) {
    if (globals.isa != "all") isa_from_name(globals.isa);
    std::vector<ggufx_type_facts> types;
    for (const std::string &name : options.types)
        types.push_back(type_facts(type_from_name(name, "--type")));
    if (types.empty()) types = all_types();
    const Runtime scalar = try_runtime(GGUFX_ISA_SCALAR, 1);
    const std::vector<Contender> contenders = make_contenders(globals, options.device);
    std::vector<Result> results;
    Progress progress(globals, "selftest");
    for (size_t i = 0; i < types.size(); i++) {
        progress.update(i, types.size(), types[i].name);
        if (!(types[i].flags & GGUFX_TYPE_HAS_MATVEC)) continue;
        test_type(types[i], scalar.get(), contenders, options.seed, results);
    }
    progress.update(types.size(), types.size());
    return report(globals, options, results);
}

void add_selftest(Tool &tool) {
    auto options = std::make_shared<SelftestOptions>();
    Command sub = tool.app.add_command("selftest", "compare all kernels with the scalar ones");
    sub.option("--type", options->types, "only this type (default all)").value("TYPE").repeatable();
    sub.option("--seed", options->seed, "random seed of the weights (default 1)");
    add_device(sub, options->device);
    sub.examples("  ggufx selftest\n  ggufx selftest --isa avx2 --type q4_k\n"
                 "  ggufx selftest --device auto");
    tool.verbs.emplace_back(sub, [&tool, options] { return selftest(tool.globals, *options); });
}

} // namespace ggufx::cli
