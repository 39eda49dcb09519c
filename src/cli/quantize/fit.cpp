// ggufx fit: which recipe, KV cache types and context fit into memory. --shape needs no file.
// SPDX-License-Identifier: MIT
#include "quantize/fit.hpp"

#include "common/machine_memory.hpp"
#include "common/size.hpp"
#include "models/shapes.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

// The options of library calls, and the data that they point to.
struct Asked {
    ggufx_quantizer_options quantizer;
    ggufx_estimate_options options;
    bool common_caches = false; // KV cache types that other programs also read
    bool keeps_types = false;   // the file is quantized already: other recipes are no candidates

    Asked() {
        quantizer = sized<ggufx_quantizer_options>();
        options = sized<ggufx_estimate_options>();
    }
};

} // namespace

// KV cache types (K/V) that other programs also read, most bytes first: no other pair of such types
// has both fewer bytes and less loss (tests/bench/fit.md).
static constexpr const char *kCommonPairs[] = {"f16",         "q8_0",        "q8_0/q5_0", "q5_1",
                                               "q5_1/iq4_nl", "q5_0/iq4_nl", "iq4_nl",    "q4_0"};

static void set_kv(ggufx_estimate_options &out, const std::string &kv) {
    const size_t slash = kv.find('/');
    out.flags |= GGUFX_ESTIMATE_HAS_TYPE_K | GGUFX_ESTIMATE_HAS_TYPE_V;
    out.type_k = kv_type_from_name(kv.substr(0, slash), "--kv");
    out.type_v =
        slash == std::string::npos ? out.type_k : kv_type_from_name(kv.substr(slash + 1), "--kv");
}

static bool is_quantized(const ggufx_file *file) {
    for (size_t i = 0; i < ggufx_file_tensor_count(file); i++) {
        const uint32_t type = tensor_facts(ggufx_file_tensor(file, i)).type;
        if (type_facts(type).flags & GGUFX_TYPE_IS_QUANTIZED) return true;
    }
    return false;
}

static uint64_t memory_of(const FitOptions &in) {
    if (in.ram.empty()) return 0;
    if (in.ram != "auto") return parse_size(in.ram, "--ram");
    const uint64_t n_bytes = machine_memory();
    if (n_bytes == 0)
        throw Failure(kRuntimeError,
                      "--ram auto: the memory of this machine is not known; use --ram SIZE");
    return n_bytes;
}

// Returns the margin of --margin, or the default: 5 % of memory, for page tables and caches of
// large machines. At least 512 MiB, for a system without a desktop; at most a quarter, for small
// machines.
static uint64_t margin_of(const FitOptions &in, uint64_t memory_bytes) {
    constexpr uint64_t kLeast = 512u << 20;
    if (in.margin.empty()) return std::min(std::max(memory_bytes / 20, kLeast), memory_bytes / 4);
    if (memory_bytes == 0) throw Failure(kUsage, "--margin needs --ram");
    const uint64_t n_bytes = in.margin == "0" ? 0 : parse_size(in.margin, "--margin");
    if (n_bytes < memory_bytes) return n_bytes;
    throw Failure(kUsage, fmt::format("--margin: {} leave nothing of --ram {}", bytes_text(n_bytes),
                                      bytes_text(memory_bytes)));
}

static void read_options(Asked &asked, const FitOptions &in, const ggufx_file *file) {
    ggufx_estimate_options &out = asked.options;
    out.quantizer = &asked.quantizer;
    if (in.allow_requantize) asked.quantizer.flags |= GGUFX_QUANTIZER_ALLOW_REQUANTIZE;
    if (in.with_imatrix) out.flags |= GGUFX_ESTIMATE_IMATRIX;
    if (!in.kv.empty() && in.kv != "all") set_kv(out, in.kv);
    asked.common_caches = in.kv.empty();
    out.n_batch = in.batch;
    out.n_sessions = in.slots;
    if (!in.vram.empty()) out.device_memory_bytes = parse_size(in.vram, "--vram");
    out.bandwidth = static_cast<double>(in.bandwidth) * 1e9;
    out.n_ranks = in.nodes;
    if (in.pipeline) out.flags |= GGUFX_ESTIMATE_LAYERS;
    asked.keeps_types = in.type.empty() && !in.allow_requantize && is_quantized(file);
    if (in.type.empty()) return;
    out.flags |= GGUFX_ESTIMATE_HAS_FILE_TYPE;
    ggufx_error error;
    if (ggufx_file_type_find(&out.file_type, in.type.c_str(), &error) != GGUFX_OK) {
        throw Failure(Failure(kUsage, error), "--type");
    }
}

// Returns the best candidate that fits with these options. Otherwise sets `refusal` to the reason.
static std::optional<ggufx_estimate_facts> best_of(const ggufx_runtime *rt, const ggufx_file *file,
                                                   const ggufx_estimate_options &options,
                                                   std::string &refusal) {
    ggufx_estimate_facts facts = {};
    facts.struct_size = sizeof facts;
    ggufx_error error;
    const ggufx_status status = ggufx_recommend(&facts, rt, file, &options, &error);
    if (status == GGUFX_OK) return facts;
    if (status != GGUFX_E_CAPACITY) throw Failure(exit_code(status), error);
    refusal = error.message;
    return std::nullopt;
}

// Returns whether KV cache types support the model's heads. Types that do not are skipped, which is
// no error while other types remain.
static bool takes_heads(const ggufx_runtime *rt, const ggufx_file *file,
                        ggufx_estimate_options options) {
    options.flags &= ~GGUFX_ESTIMATE_HAS_FILE_TYPE;
    options.file_type = 0;
    ggufx_estimate_facts facts = {};
    facts.struct_size = sizeof facts;
    return ggufx_estimate(&facts, rt, file, &options, nullptr) != GGUFX_E_ARGUMENT;
}

// Like best_of(), over the common pairs of KV cache types unless --kv is given.
static std::optional<ggufx_estimate_facts> recommend(const ggufx_runtime *rt,
                                                     const ggufx_file *file, const Asked &asked,
                                                     ggufx_estimate_options options,
                                                     std::string &refusal) {
    if (!asked.common_caches) return best_of(rt, file, options, refusal);
    std::optional<ggufx_estimate_facts> best;
    for (const char *pair : kCommonPairs) {
        set_kv(options, pair);
        if (pair != kCommonPairs[0] && !takes_heads(rt, file, options)) continue;
        const auto found = best_of(rt, file, options, refusal);
        const bool better =
            found && (!best || found->loss < best->loss ||
                      (found->loss == best->loss && found->total_bytes < best->total_bytes));
        if (better) best = found;
    }
    return best;
}

// Returns one line of the table; nothing if the recipe has no type for some rows. A fixed type that
// does not fit gets the best KV cache types that fit.
static std::optional<ggufx_estimate_facts> candidate(const ggufx_runtime *rt,
                                                     const ggufx_file *file, const Asked &asked,
                                                     const ggufx_estimate_options &options) {
    std::string refusal;
    ggufx_estimate_facts facts = {};
    facts.struct_size = sizeof facts;
    ggufx_error error;
    const ggufx_status status = ggufx_estimate(&facts, rt, file, &options, &error);
    if (status == GGUFX_E_SHAPE) return std::nullopt;
    if (status != GGUFX_OK) throw Failure(exit_code(status), error);
    const bool alone = asked.keeps_types || (options.flags & GGUFX_ESTIMATE_HAS_FILE_TYPE);
    if ((facts.flags & GGUFX_ESTIMATE_FITS) || !alone) return facts;
    const auto best = recommend(rt, file, asked, options, refusal);
    return best ? best : facts;
}

// Adds the candidates of one context: the file as it is (not for a shape), then each recipe.
static void list_candidates(FitReport &report, const ggufx_runtime *rt, const ggufx_file *file,
                            const Asked &asked, const Nodes &nodes, bool has_file) {
    ggufx_estimate_options options = asked.options;
    const auto add = [&] {
        auto facts = candidate(rt, file, asked, options);
        if (facts && report.link) add_link(*facts, rt, file, options, nodes, *report.link);
        if (facts) report.candidates.push_back(*facts);
    };
    if (options.flags & GGUFX_ESTIMATE_HAS_FILE_TYPE) return add();
    if (has_file) add();
    if (asked.keeps_types) return;
    options.flags |= GGUFX_ESTIMATE_HAS_FILE_TYPE;
    for (size_t i = 0; i < ggufx_file_type_count(); i++) {
        const auto recipe =
            facts<ggufx_file_type_facts>([&](ggufx_file_type_facts *out, ggufx_error *error) {
                return ggufx_file_type_at(out, i, error);
            });
        options.file_type = recipe.file_type;
        add();
    }
}

static int fit(const Globals &globals, const FitOptions &options) {
    if (options.model.empty() == options.shape.empty()) {
        throw Failure(kUsage, "fit needs a model or --shape NAME, one of them");
    }
    if ((options.nodes > 1) != !options.link.empty())
        throw Failure(kUsage, "--nodes (2 or more) and --link need each other");
    if (options.pipeline && options.link.empty())
        throw Failure(kUsage, "--pipeline needs --nodes and --link");
    const Link *const link = find_link(options.link);
    const Runtime rt = make_runtime(globals);
    const bool has_file = options.shape.empty();
    const File file = has_file ? open_file(rt.get(), options.model,
                                           GGUFX_OPEN_METADATA_ONLY | GGUFX_OPEN_LEGACY_V1)
                               : open_shape(rt.get(), find_shape(options.shape));
    Asked asked;
    read_options(asked, options, file.get());
    FitReport report;
    report.link = link;
    if (link) report.n_nodes = options.nodes;
    report.name = has_file ? options.model : options.shape;
    report.memory_bytes = memory_of(options);
    report.margin_bytes = margin_of(options, report.memory_bytes);
    asked.options.memory_bytes = report.memory_bytes - report.margin_bytes;
    report.device_bytes = asked.options.device_memory_bytes;
    std::vector<unsigned> contexts = options.contexts;
    if (contexts.empty()) contexts.push_back(0);   // the default of a session
    std::sort(contexts.rbegin(), contexts.rend()); // the largest context is preferred
    for (const unsigned n_context : contexts) {
        asked.options.n_context = n_context;
        const Nodes nodes = link ? nodes_of(rt.get(), file.get(), asked.options) : Nodes();
        asked.options.rank = nodes.largest;
        list_candidates(report, rt.get(), file.get(), asked, nodes, has_file);
        if (report.memory_bytes == 0 || report.recommended) continue;
        report.recommended = recommend(rt.get(), file.get(), asked, asked.options, report.refusal);
        if (!report.recommended || !link) continue;
        ggufx_estimate_options chosen = asked.options;
        if (report.recommended->file_type != GGUFX_ESTIMATE_AS_IS) {
            chosen.flags |= GGUFX_ESTIMATE_HAS_FILE_TYPE;
            chosen.file_type = report.recommended->file_type;
        }
        add_link(*report.recommended, rt.get(), file.get(), chosen, nodes, *link);
    }
    print_fit(globals, options, report);
    if (report.memory_bytes == 0 || report.recommended) return kOk;
    if (!globals.quiet && !globals.json)
        fmt::print(stderr, "ggufx: {} ({})\n", escape(report.refusal), margin_text(report));
    return kNoMemory;
}

void add_fit(Tool &tool) {
    auto options = std::make_shared<FitOptions>();
    FitOptions &o = *options;
    Command sub = tool.app.add_command(
        "fit", "find the quantization mix, KV cache and context that fit into memory");
    sub.option("MODEL", o.model, "GGUF file; only its metadata is read");
    sub.option("--shape", o.shape, "known model instead of a file: llama3.1-8b, qwen3-4b, ...")
        .value("NAME");
    sub.option("--ram", o.ram,
               "memory of the machine: 8G, or auto = of this machine; --margin of it stays free; "
               "without --ram only sizes are shown")
        .value("SIZE");
    sub.option("--margin", o.margin,
               "memory of --ram to leave free for the system and other programs; 0 = --ram is for "
               "the model alone (default the larger of 5 % and 512M, at most a quarter)")
        .value("SIZE");
    sub.option("--vram", o.vram,
               "free memory of a device (GPU), without a margin; shows how many last layers fit "
               "there, for --device-layers")
        .value("SIZE");
    sub.option("--ctx", o.contexts,
               "context sizes in tokens (default 8192, or the trained context if that is less)")
        .list()
        .between(1, INT32_MAX);
    sub.option("--kv", o.kv,
               "KV cache types (q8_0, gx4/gx3), or all = the best that fit, including those that "
               "only this library reads (default the best of the other types)")
        .value("KVTYPE");
    sub.option("--type", o.type, "only this quantization mix: Q4_K_M").value("RECIPE");
    sub.option("--slots", o.slots, "number of parallel sequences (default 1)").between(1, 1u << 20);
    sub.option("--batch", o.batch, "maximum number of tokens computed at once (default 512)")
        .between(1, INT32_MAX);
    sub.option("--bandwidth", o.bandwidth,
               "memory bandwidth in GB/s, as bench read measures it; shows tokens per second")
        .within(0.001, 1e9);
    sub.option("--nodes", o.nodes,
               "number of machines that run the model together, as --group mpi does; memory is "
               "that of the machine that needs most")
        .between(1, 256);
    sub.option("--link", o.link,
               "network between them: Ethernet of so many Gbit/s; rdma = RoCE or InfiniBand at 100 "
               "Gbit/s, ndr = 400 Gbit/s")
        .one_of(link_names());
    sub.flag("--pipeline", o.pipeline,
             "pipeline parallelism: whole layers per machine, as --group mpi --pipeline does; for "
             "slow links");
    sub.flag("--with-imatrix", o.with_imatrix, "assume an importance matrix");
    sub.flag("--allow-requantize", o.allow_requantize, "allow a file that is quantized already");
    sub.examples("  ggufx fit model.gguf --ram 8G --ctx 8192\n"
                 "  ggufx fit --shape llama3.1-70b --ram 48G --ctx 32768,8192 --with-imatrix\n"
                 "  ggufx fit model.gguf --vram 8G\n"
                 "  ggufx fit --shape qwen3-4b --ram 6G --ctx 4096 --kv gx4/gx3 --bandwidth 40\n"
                 "  ggufx fit --shape llama3.1-70b --nodes 4 --link 10g --ram 16G --bandwidth 40");
    tool.verbs.emplace_back(sub, [&tool, options] { return fit(tool.globals, *options); });
}

} // namespace ggufx::cli
