// Implementation of rewrite.hpp.
// SPDX-License-Identifier: MIT
#include "rewrite.hpp"

#include "progress.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <sys/stat.h>

namespace ggufx::cli {

// What "", "B", "K", "KiB", "KB" count, in any case; 0 where it is none of them.
static uint64_t unit_bytes(std::string_view suffix) {
    std::string unit;
    for (const char c : suffix)
        unit += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (unit.empty() || unit == "B") return 1;
    const size_t power = std::string_view("KMGT").find(unit[0]);
    const std::string_view rest = std::string_view(unit).substr(1);
    if (power == std::string_view::npos) return 0;
    uint64_t out = 1;
    for (size_t i = 0; i <= power; ++i) out *= rest == "B" ? 1000u : 1024u;
    return rest.empty() || rest == "B" || rest == "IB" ? out : 0;
}

uint64_t parse_size(const std::string &text, const char *option) {
    const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    const size_t unit = digits < text.size() && text[digits] == ' ' ? digits + 1 : digits;
    const std::string_view number = std::string_view(text).substr(0, digits);
    const size_t point = std::min(number.find('.'), number.size());
    const uint64_t scale = unit_bytes(std::string_view(text).substr(unit));
    uint64_t whole = 0;
    double part = 0;
    const auto read = [](std::string_view from, auto &to) {
        const auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), to);
        return error == std::errc() && end == from.data() + from.size();
    };
    const std::string_view before = number.substr(0, point), behind = number.substr(point);
    const bool has_part = behind.size() > 1 && scale > 1; // no parts of bytes
    const bool good = (read(before, whole) || (before.empty() && has_part)) &&
                      (behind.empty() || (has_part && read(std::string("0").append(behind), part)));
    const auto more = static_cast<uint64_t>(std::llround(part * static_cast<double>(scale)));
    if (!good || scale == 0 || whole > (UINT64_MAX - more) / scale || whole * scale + more == 0) {
        throw Failure(kUsage, std::string(option) + ": \"" + escape(text) +
                                  "\" is not a size (1000, 64K, 1.5G, 8GiB, 16GB; G and GiB are "
                                  "2^30, GB is 10^9)");
    }
    return whole * scale + more;
}

Writer empty_writer(const ggufx_runtime *rt) {
    ggufx_writer *writer = nullptr;
    call([&](ggufx_error *error) { return ggufx_writer_create(&writer, rt, nullptr, error); });
    return Writer(writer);
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

void require_target(const Globals &globals, const std::string &path) {
    if (path == "-") throw Failure(kUsage, "the file to write must be a file, not a pipe");
    if (path == globals.output) {
        throw Failure(kUsage, "-o is for what is said about " + quoted(path) + ", not that file");
    }
    require_free(globals, path);
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
