// GGUF -> a folder of NumPy files, or one npz (a zip of them, stored).
// SPDX-License-Identifier: MIT
#include "common/npy.hpp"
#include "common/progress.hpp"
#include "common/signals.hpp"
#include "convert/convert.hpp"
#include "convert/output_folder.hpp"
#include "convert/zip_writer.hpp"
#include "models/tensor_rows.hpp"

namespace ggufx::cli {

namespace {

struct Arrays {
    Runtime rt;
    File file;
    std::vector<RowMaker> makers = {};
};

void add_array(Arrays &arrays, size_t index, const std::optional<uint32_t> &wanted) {
    const ggufx_tensor *tensor = ggufx_file_tensor(arrays.file.get(), index);
    const ggufx_tensor_facts info = tensor_facts(tensor);
    RowRecipe recipe;
    recipe.name = tensor_name(info);
    recipe.type = wanted ? *wanted : npy_descr(info.type) ? info.type : uint32_t{GGUFX_TYPE_F32};
    recipe.ne.assign(info.ne, info.ne + info.n_dims);
    recipe.sources.push_back(rows_of_tensor(tensor));
    if (recipe.name.empty() || recipe.name[0] == '.' || !is_utf8(recipe.name) ||
        recipe.name.find('/') != std::string::npos || recipe.name.find('\0') != std::string::npos) {
        throw Failure(kUnsupported,
                      "tensor \"" + escape(recipe.name) + "\" cannot be the name of a file");
    }
    if (info.n_rows * info.ne[0] > 0)
        arrays.makers.emplace_back(arrays.rt.get(), std::move(recipe));
}

Arrays read_arrays(const Globals &globals, const ConvertOptions &options) {
    const std::optional<uint32_t> wanted = wanted_type(options);
    if (wanted && !npy_descr(*wanted)) {
        throw Failure(kUsage, "--outtype " + options.outtype + ": NumPy has no such type");
    }
    Arrays arrays = {make_runtime(globals), nullptr};
    const ggufx_progress cancel = cancel_hook();
    arrays.file = open_file(arrays.rt.get(), options.input, GGUFX_OPEN_LEGACY_V1, &cancel);
    for (size_t i = 0; i < ggufx_file_tensor_count(arrays.file.get()); i++)
        add_array(arrays, i, wanted);
    return arrays;
}

std::string header_of(const RowMaker &maker) {
    const std::vector<uint64_t> &ne = maker.recipe().ne;
    return npy_header(npy_descr(maker.recipe().type), {ne.rbegin(), ne.rend()});
}

std::string file_name(const RowMaker &maker) {
    return maker.recipe().name + ".npy";
}

// Writes header and values of one array in pieces.
void make_array(RowMaker &maker, Progress &progress, uint64_t &done, uint64_t total,
                const std::function<void(std::string_view)> &write) {
    write(header_of(maker));
    maker.make_all([&](std::string_view bytes) {
        write(bytes);
        done += bytes.size();
        progress.update(done, total, escape(maker.recipe().name));
    });
}

} // namespace

Conversion export_numpy(const Globals &globals, const ConvertOptions &options) {
    Arrays arrays = read_arrays(globals, options);
    Progress progress(globals, "write");
    uint64_t done = 0, total = 0, n_around = 0;
    for (const RowMaker &maker : arrays.makers) {
        total += maker.n_rows() * maker.row_bytes();
        n_around += header_of(maker).size();
    }
    const bool zip =
        options.to == "npz" || (options.to.empty() && globals.output.ends_with(".npz"));
    if (zip) {
        Output out(globals);
        for (const RowMaker &maker : arrays.makers)
            n_around += ZipWriter::bytes_around(file_name(maker));
        out.require_space(total + n_around + ZipWriter::kEnd);
        ZipWriter archive([&](std::string_view bytes) { out.write(bytes); });
        for (RowMaker &maker : arrays.makers) {
            archive.begin(file_name(maker));
            make_array(maker, progress, done, total,
                       [&](std::string_view bytes) { archive.write(bytes); });
            archive.end();
        }
        archive.finish();
        out.finish();
    } else {
        OutputFolder folder(globals.output);
        for (RowMaker &maker : arrays.makers) {
            Output out(folder.add(file_name(maker)), true);
            if (done == 0) out.require_space(total + n_around); // for all arrays
            make_array(maker, progress, done, total,
                       [&](std::string_view bytes) { out.write(bytes); });
            out.finish();
        }
        folder.finish();
    }
    const std::string architecture =
        meta_text(arrays.file.get(), "general.architecture").value_or("");
    return {architecture, arrays.makers.size(), total, {}};
}

Conversion copy_gguf(const Globals &globals, const ConvertOptions &options) {
    if (options.endian.empty() || options.outtype != "auto") {
        throw Failure(kUsage, "GGUF to GGUF changes the byte order alone (--endian); for types of "
                              "tensors use ggufx quantize");
    }
    const Runtime rt = make_runtime(globals);
    const ggufx_progress cancel = cancel_hook();
    const File file = open_file(rt.get(), options.input, GGUFX_OPEN_LEGACY_V1, &cancel);
    auto made = sized<ggufx_writer_options>();
    made.flags = options.endian == "big" ? GGUFX_WRITE_BIG_ENDIAN : 0;
    ggufx_writer *raw = nullptr;
    call([&](ggufx_error *error) { return ggufx_writer_create(&raw, rt.get(), &made, error); });
    const FileWriter writer(raw);
    call([&](ggufx_error *error) { return ggufx_writer_copy_meta(raw, file.get(), error); });
    call([&](ggufx_error *error) { return ggufx_writer_copy_tensors(raw, file.get(), error); });
    write_model(globals, raw, globals.output, {});
    const std::string architecture = meta_text(file.get(), "general.architecture").value_or("");
    return {
        architecture, ggufx_file_tensor_count(file.get()), InputFile(globals.output).size(), {}};
}

} // namespace ggufx::cli
