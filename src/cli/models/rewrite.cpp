// Writers with a file's version and byte order, checks of output names, writes with progress.
// SPDX-License-Identifier: MIT
#include "models/rewrite.hpp"

#include "common/progress.hpp"

#include <cerrno>
#include <sys/stat.h>

namespace ggufx::cli {

FileWriter empty_writer(const ggufx_runtime *rt) {
    ggufx_writer *writer = nullptr;
    call([&](ggufx_error *error) { return ggufx_writer_create(&writer, rt, nullptr, error); });
    return FileWriter(writer);
}

FileWriter make_writer(const ggufx_runtime *rt, const ggufx_file *file, uint64_t reserve_bytes) {
    const ggufx_file_facts info = file_facts(file);
    auto options = sized<ggufx_writer_options>();
    options.version = info.version == 1 ? 3 : info.version;
    options.flags = info.big_endian ? GGUFX_WRITE_BIG_ENDIAN : 0;
    options.reserve_bytes = reserve_bytes;
    ggufx_writer *writer = nullptr;
    call([&](ggufx_error *error) { return ggufx_writer_create(&writer, rt, &options, error); });
    return FileWriter(writer);
}

void require_free(const Globals &globals, const std::string &path) {
    struct stat info = {};
    if (!globals.force && stat(path.c_str(), &info) == 0) {
        throw Failure(kRuntimeError, "\"" + escape(path) + "\" exists; use --force to replace it");
    }
}

void require_target(const Globals &globals, const std::string &path) {
    if (path == "-") throw Failure(kUsage, "the file to write must be a file, not a pipe");
    if (path == globals.output) {
        throw Failure(kUsage,
                      "-o is for what is said about " + in_quotes(path) + ", not that file");
    }
    require_free(globals, path);
}

static ggufx_write_options options_of(const SplitLimits &limits) {
    auto options = sized<ggufx_write_options>();
    options.max_part_bytes = limits.max_bytes;
    options.max_part_tensors = limits.max_tensors;
    return options;
}

ggufx_writer_facts plan(const ggufx_writer *writer, const SplitLimits &limits) {
    const ggufx_write_options options = options_of(limits);
    return facts<ggufx_writer_facts>([&](ggufx_writer_facts *out, ggufx_error *error) {
        return ggufx_writer_info(out, writer, &options, error);
    });
}

void call_to_write(const std::function<ggufx_status(ggufx_error *)> &write) {
    ggufx_error error;
    const ggufx_status status = write(&error);
    if (status == GGUFX_OK) return;
    const Failure failure(exit_code(status), error);
    if (status != GGUFX_E_IO || error.system_error != EEXIST) throw failure;
    Failure said(failure.exit_code,
                 std::string(error.message) +
                     ": another run wrote it meanwhile; use --force to replace it");
    said.detail = failure.detail;
    throw said;
}

void write_model(const Globals &globals, ggufx_writer *writer, const std::string &path,
                 const SplitLimits &limits) {
    Progress progress(globals, "write");
    const ggufx_progress hook = progress.hook();
    ggufx_write_options options = options_of(limits);
    options.progress = &hook;
    if (!globals.force) options.flags |= GGUFX_WRITE_NO_REPLACE;
    call_to_write([&](ggufx_error *error) {
        return ggufx_writer_write(writer, path.c_str(), &options, error);
    });
}

} // namespace ggufx::cli
