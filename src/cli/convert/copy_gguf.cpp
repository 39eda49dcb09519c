// GGUF -> GGUF of the other byte order.
// SPDX-License-Identifier: MIT
#include "common/signals.hpp"
#include "convert/convert.hpp"

namespace ggufx::cli {

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
