// ggufx bench make-model: a model of a known shape with random weights, for measurements.
//
// A header of the shape is planned as by `quantize`. Then each tensor's values are made, quantized
// and written, one piece at a time.
// SPDX-License-Identifier: MIT
#include "bench/bench.hpp"
#include "bench/random_values.hpp"
#include "common/json.hpp"
#include "common/table.hpp"
#include "common/text.hpp"
#include "models/shapes.hpp"

#include <fmt/format.h>
#include <map>
#include <new>

namespace ggufx::cli {

namespace {

struct MakeOptions {
    std::string shape, type = "Q4_K_M", out;
    uint64_t seed = 1;
    unsigned layers = 0; // 0 = the shape's
    bool list = false;
};

using Job = std::unique_ptr<ggufx_quantizer, Destroyer<ggufx_quantizer_destroy>>;

// A tensor whose values are made while it is written.
class MadeTensor {
public:
    MadeTensor(const ggufx_runtime *rt, const ShapeTensor &shape, uint32_t type, uint64_t seed)
        : rt_(rt), values_(shape, seed), type_(type_facts(type)), columns_(shape.ne[0]) {
        call([&](ggufx_error *error) {
            return ggufx_type_row_bytes(&row_bytes_, type, columns_, error);
        });
        if (type_.flags & GGUFX_TYPE_IS_QUANTIZED)
            importance_.assign(static_cast<size_t>(columns_), 1.0f);
    }

    // Callback of ggufx_tensor_stream: makes whole rows, or blocks of one row.
    static ggufx_status read(void *user, uint64_t offset, void *dst, size_t n) {
        try {
            return static_cast<MadeTensor *>(user)->make(offset, dst, n);
        } catch (const std::bad_alloc &) { return GGUFX_E_MEMORY; }
    }

private:
    ggufx_status make(uint64_t offset, void *dst, size_t n) {
        const uint64_t first = offset / type_.block_bytes * type_.block_values;
        const size_t count = n / type_.block_bytes * type_.block_values;
        const bool whole = offset % row_bytes_ == 0 && n % row_bytes_ == 0;
        const size_t columns = whole ? static_cast<size_t>(columns_) : count;
        rows_.resize(count);
        values_.fill(rows_.data(), first, count);
        auto args = sized<ggufx_quantize_args>();
        args.type = type_.id;
        args.rows = rows_.data();
        args.n_rows = count / columns;
        args.n_cols = columns;
        if (!importance_.empty()) args.imatrix = importance_.data(); // some types need one
        return ggufx_quantize(dst, n, rt_, &args, nullptr);
    }

    const ggufx_runtime *rt_;
    RandomValues values_;
    ggufx_type_facts type_;
    uint64_t columns_, row_bytes_ = 0;
    std::vector<float> importance_, rows_;
};

// The tensors of a model and its writer, which reads from them.
struct Made {
    std::vector<std::unique_ptr<MadeTensor>> tensors;
    FileWriter writer;
};

struct MadeFacts {
    uint64_t n_tensors, n_bytes;
};

} // namespace

static Job plan_of(const ggufx_runtime *rt, const ggufx_file *header, const std::string &type,
                   uint32_t *file_type) {
    ggufx_error error;
    if (ggufx_file_type_find(file_type, type.c_str(), &error) != GGUFX_OK)
        throw Failure(Failure(kUsage, error), "--type");
    ggufx_quantizer *job = nullptr;
    call([&](ggufx_error *e) {
        return ggufx_quantizer_create(&job, rt, header, *file_type, nullptr, e);
    });
    return Job(job);
}

static void add_tensors(Made &made, const ggufx_runtime *rt, const ggufx_quantizer *job,
                        const Shape &shape, uint64_t seed) {
    std::map<std::string, ShapeTensor> shapes;
    for (const ShapeTensor &t : shape_tensors(shape)) shapes.emplace(t.name, t);
    for (size_t i = 0; i < shapes.size(); i++) {
        const auto planned = facts<ggufx_quantizer_tensor_facts>(
            [&](ggufx_quantizer_tensor_facts *out, ggufx_error *e) {
                return ggufx_quantizer_tensor_at(out, job, i, e);
            });
        const ShapeTensor &t = shapes.at(std::string(view(planned.name)));
        made.tensors.push_back(std::make_unique<MadeTensor>(rt, t, planned.to, seed));
        ggufx_tensor_stream stream = {};
        stream.struct_size = sizeof stream;
        stream.user = made.tensors.back().get();
        stream.read = MadeTensor::read;
        call([&](ggufx_error *error) {
            return ggufx_writer_add_stream(made.writer.get(), t.name.data(), t.name.size(),
                                           planned.to, static_cast<uint32_t>(t.ne.size()),
                                           t.ne.data(), &stream, error);
        });
    }
}

static MadeFacts make_model_file(const Globals &globals, const MakeOptions &options,
                                 const Shape &shape) {
    const Runtime rt = make_runtime(globals);
    const File header = open_shape(rt.get(), shape);
    uint32_t file_type = 0;
    const Job job = plan_of(rt.get(), header.get(), options.type, &file_type);
    Made made;
    made.writer = empty_writer(rt.get());
    KeyWriter keys(made.writer.get());
    write_shape_keys(keys, shape);
    keys.text("general.name", fmt::format("random {}, seed {}", shape.name, options.seed));
    keys.u32("general.quantization_version", 2);
    keys.u32("general.file_type", file_type);
    write_random_vocabulary(keys, shape);
    add_tensors(made, rt.get(), job.get(), shape, options.seed);
    const ggufx_writer_facts planned = plan(made.writer.get(), {});
    write_model(globals, made.writer.get(), options.out, {});
    return {planned.n_tensors, planned.n_bytes};
}

static int list_shapes(const Globals &globals) {
    Output out(globals);
    Table table({"shape", "architecture", ">layers", ">parameters", ">context"});
    for (const Shape &s : all_shapes()) {
        const uint64_t n = shape_parameters(s);
        table.row({s.name, s.architecture, fmt::format("{}", s.n_layers), fmt::format("{}", n),
                   fmt::format("{}", s.n_context)});
        if (!globals.json) continue;
        Json line = json_object();
        line.update({{"shape", s.name},
                     {"architecture", s.architecture},
                     {"layers", s.n_layers},
                     {"parameters", n},
                     {"ctx", s.n_context}});
        print_json_line(out, line);
    }
    if (!globals.json) table.print(out, make_style(globals, out));
    out.finish();
    return kOk;
}

static int make_model_verb(const Globals &globals, const MakeOptions &options) {
    if (options.list) {
        if (!options.out.empty() || !options.shape.empty())
            throw Failure(kUsage, "--list writes no model: remove --shape and OUT");
        return list_shapes(globals);
    }
    if (options.shape.empty() || options.out.empty())
        throw Failure(kUsage, "make-model needs --shape NAME and OUT, or --list");
    Shape shape = find_shape(options.shape);
    if (options.layers) shape.n_layers = options.layers;
    require_target(globals, options.out);
    Output out(globals);
    const MadeFacts made = make_model_file(globals, options, shape);
    if (globals.json) {
        Json value = json_object();
        value.update({{"output", json_bytes(options.out)},
                      {"shape", shape.name},
                      {"type", options.type},
                      {"seed", options.seed},
                      {"layers", shape.n_layers},
                      {"parameters", shape_parameters(shape)},
                      {"tensors", made.n_tensors},
                      {"bytes", made.n_bytes}});
        print_json(out, value);
    } else if (!globals.quiet) {
        out.write(fmt::format("{}: {} tensors, {}\n", escape(options.out), made.n_tensors,
                              bytes_text(made.n_bytes)));
    }
    out.finish();
    return kOk;
}

void add_bench_make_model(Tool &tool, Command &bench) {
    auto options = std::make_shared<MakeOptions>();
    Command sub =
        bench.add_command("make-model", "write a model of a known shape with random weights");
    sub.option("OUT", options->out, "file to write").value("FILE");
    sub.option("--shape", options->shape, "known model: tinyllama-1.1b; --list prints all")
        .value("NAME");
    sub.option("--type", options->type, "quantization mix (default Q4_K_M)").value("RECIPE");
    sub.option("--seed", options->seed, "random seed of the weights (default 1)");
    sub.option("--layers", options->layers, "number of layers (default that of the model)")
        .between(1u, 4096u);
    sub.flag("--list", options->list, "print the known models");
    sub.examples("  ggufx bench make-model --shape tinyllama-1.1b --type Q4_K_M tiny.gguf\n"
                 "  ggufx bench make-model --shape gpt-oss-4l --type MXFP4_MOE oss.gguf\n"
                 "  ggufx bench make-model --list");
    tool.verbs.emplace_back(sub,
                            [&tool, options] { return make_model_verb(tool.globals, *options); });
}

} // namespace ggufx::cli
