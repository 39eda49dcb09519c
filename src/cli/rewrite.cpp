// Implementation of rewrite.hpp.
// SPDX-License-Identifier: MIT
#include "rewrite.hpp"

#include "progress.hpp"

#include <cctype>
#include <charconv>
#include <sys/stat.h>

namespace ggufx::cli {

uint64_t parse_size(const std::string &text, const char *option) {
    uint64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    const std::string suffix(end, static_cast<const char *>(text.data() + text.size()));
    unsigned shift = 0;
    if (suffix.size() == 1) {
        const auto at = std::string_view("KMGT").find(
            static_cast<char>(std::toupper(static_cast<unsigned char>(suffix[0]))));
        shift = at == std::string_view::npos ? 0 : 10 * static_cast<unsigned>(at + 1);
    }
    const bool good = error == std::errc() && n > 0 && suffix.size() == (shift ? 1 : 0);
    if (!good || n > UINT64_MAX >> shift) {
        throw Failure(kUsage, std::string(option) + ": \"" + escape(text) +
                                  "\" is not a size (64K, 4G, 1000)");
    }
    return n << shift;
}

Writer make_writer(const ggufx_runtime *rt, const ggufx_file *file, uint64_t reserve_bytes) {
    const ggufx_file_facts info = file_facts(file);
    ggufx_writer_options options;
    ggufx_writer_options_init(&options);
    options.version = info.version == 1 ? 3 : info.version;
    options.flags = info.big_endian ? GGUFX_WRITE_BIG_ENDIAN : 0;
    options.reserve_bytes = reserve_bytes;
    ggufx_writer *writer = nullptr;
    call([&](ggufx_error *error) { return ggufx_writer_create(&writer, rt, &options, error); });
    return Writer(writer);
}

void require_free(const Globals &globals, const std::string &path) {
    struct stat info = {};
    if (!globals.force && stat(path.c_str(), &info) == 0) {
        throw Failure(kRuntimeError, "\"" + escape(path) + "\" exists; use --force to replace it");
    }
}

static ggufx_write_options options_of(const SplitLimits &limits) {
    ggufx_write_options options;
    ggufx_write_options_init(&options);
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

void write_model(const Globals &globals, ggufx_writer *writer, const std::string &path,
                 const SplitLimits &limits) {
    Progress progress(globals, "write");
    const ggufx_progress hook = progress.hook();
    ggufx_write_options options = options_of(limits);
    options.progress = &hook;
    call([&](ggufx_error *error) {
        return ggufx_writer_write(writer, path.c_str(), &options, error);
    });
}

} // namespace ggufx::cli
