// Checks of metadata and layout: findings that a reader accepts but a writer should avoid. Strict
// mode adds what ggml's own reader rejects.
// SPDX-License-Identifier: MIT
#include "gguf/check.hpp"

#include "base/checked.hpp"
#include "base/utf8.hpp"
#include "formats/format.hpp"
#include "gguf/sort.hpp"

#include <inttypes.h>
#include <stdarg.h>

namespace ggufx::gguf {

namespace {

bool is_nested(const MetaEntry &entry) {
    return entry.type == ValueType::array && entry.element == ValueType::array;
}

} // namespace

void Checker::report(LogLevel severity, Status status, uint64_t offset, uint64_t index,
                     std::string_view name, const char *format, ...) {
    char text[320];
    va_list args;
    va_start(args, format);
    print_text_v(text, sizeof text, format, args);
    va_end(args);
    const int32_t result =
        options_.report(options_.user, {severity, status, offset, index, text, name});
    if (result != 0) fail(ended_by_host(result), {}, "the report callback ended the check");
}

void Checker::check_metadata() {
    const Directory &dir = file_.part(0).directory;
    if (options_.strict && dir.wire.big_endian)
        report(LogLevel::error, Status::endian, 4, kNone, {}, "the file is big-endian");
    if (options_.strict && dir.version == 1)
        report(LogLevel::error, Status::version, 4, kNone, {}, "version 1 is no longer supported");
    if (dir.alignment % 8 != 0)
        report(LogLevel::warning, Status::alignment, kNone, kNone, "general.alignment",
               "alignment %" PRIu64 " is not a multiple of 8", dir.alignment);
    if (file_.find_meta("general.architecture") == kNotFound)
        report(LogLevel::info, Status::ok, kNone, kNone, "general.architecture",
               "the key general.architecture is missing: not a model that can run");
    for (size_t i = 0; i < file_.n_meta(); i++) {
        if (i % 256 == 0) step(0);
        check_key(i);
    }
}

void Checker::check_key(size_t index) {
    const MetaEntry entry = file_.meta(index);
    if (first_invalid(entry.key) < entry.key.size())
        report(LogLevel::warning, Status::key, entry.offset, index, entry.key,
               "the key is not valid UTF-8");
    if (entry.key.size() > 65535)
        report(LogLevel::warning, Status::length, entry.offset, index, entry.key,
               "a key of %zu bytes; the format allows 65535", entry.key.size());
    if (is_nested(entry))
        report(options_.strict ? LogLevel::error : LogLevel::info,
               options_.strict ? Status::kvtype : Status::ok, entry.offset, index, entry.key,
               "an array of arrays: ggml's reader refuses the file");
    check_bools(index, entry);
}

// Bools are one byte, 0 or 1; readers take any other byte as true.
void Checker::check_bools(size_t index, const MetaEntry &entry) {
    const bool is_array = entry.type == ValueType::array;
    if ((is_array ? entry.element : entry.type) != ValueType::boolean) return;
    for (uint64_t i = 0; i < entry.count; i++) {
        const uint8_t byte = file_.get_bool_byte(index, i);
        if (byte <= 1) continue;
        report(LogLevel::warning, Status::value, entry.offset, index, entry.key,
               "a bool with the value %u (element %" PRIu64 ")", unsigned{byte}, i);
        return; // one finding per key
    }
}

void Checker::check_tensors() {
    bool quantized = false;
    for (size_t i = 0; i < file_.n_tensors(); i++) {
        if (i % 256 == 0) step(0);
        const Tensor t = file_.tensor(i);
        const fmt::TypeInfo *type = fmt::type_info(t.type);
        if (!type)
            report(LogLevel::warning, Status::type, t.info_offset, i, t.name,
                   "type %" PRIu32 " is not known; its data cannot be read", t.type);
        if (type && type->kind == fmt::Kind::kActivation)
            report(LogLevel::warning, Status::type, t.info_offset, i, t.name,
                   "type %s is made for activations, not for files", type->name);
        if (type && type->kind == fmt::Kind::kQuantized) quantized = true;
        if (first_invalid(t.name) < t.name.size())
            report(LogLevel::warning, Status::name, t.info_offset, i, t.name,
                   "the name is not valid UTF-8");
        if (t.name.empty())
            report(LogLevel::info, Status::ok, t.info_offset, i, t.name, "the name is empty");
    }
    if (quantized && file_.find_meta("general.quantization_version") == kNotFound)
        report(LogLevel::info, Status::ok, kNone, kNone, "general.quantization_version",
               "tensors are quantized, but general.quantization_version is missing");
    check_names_as_text();
}

// Programs that treat names as C strings stop at a NUL byte: two names may become one.
void Checker::check_names_as_text() {
    const auto as_text = [&](uint32_t i) {
        const std::string_view name = file_.tensor_name(i);
        const size_t nul = name.find('\0');
        return nul == std::string_view::npos ? name : name.substr(0, nul);
    };
    NameOrder order((HostAllocator<uint64_t>(file_.host().get())));
    NamePair same{};
    if (sort_by_name(order, file_.n_tensors(), as_text, &same)) return;
    const Tensor t = file_.tensor(same.second);
    report(options_.strict ? LogLevel::error : LogLevel::warning, Status::duplicate, t.info_offset,
           same.second, t.name,
           "the name up to its NUL byte is the same as that of tensor %" PRIu32, same.first);
}

void Checker::check_layout() {
    for (uint32_t i = 0; i < file_.n_parts(); i++) {
        const Part &part = file_.part(i);
        check_part(i, part.first_tensor, part.first_tensor + part.directory.tensors.size());
    }
}

// ggml writes and requires tensors one after the other, each padded to the alignment.
void Checker::check_part(uint32_t number, size_t first, size_t last) {
    const Part &part = file_.part(number);
    const Directory &dir = part.directory;
    if (dir.n_tensors == 0) return;
    uint64_t expected = 0, end = 0;
    bool orderly = true;
    for (size_t i = first; i < last; i++) {
        const Tensor t = file_.tensor(i);
        if (t.offset != expected && orderly) {
            report(options_.strict ? LogLevel::error : LogLevel::info,
                   options_.strict ? Status::offset : Status::ok, t.info_offset, i, t.name,
                   "offset %" PRIu64 " leaves a gap or is out of order; ggml expects %" PRIu64,
                   t.offset, expected);
            orderly = false; // one finding per part
        }
        if (t.end() > end) end = t.end();
        if (!checked::round_up(&expected, t.end(), dir.alignment)) return;
    }
    if (part.n_missing > 0) {
        report(LogLevel::error, Status::bounds, part.size, kNone, {},
               "the file ends %" PRIu64 " bytes before its last tensor does", part.n_missing);
        return;
    }
    uint64_t padded = 0;
    if (!checked::round_up(&padded, end, dir.alignment)) return;
    const uint64_t have = part.size - dir.data_offset;
    if (have < padded && have >= end)
        report(options_.strict ? LogLevel::error : LogLevel::info,
               options_.strict ? Status::truncated : Status::ok, part.size, kNone, {},
               "the padding after the last tensor is missing: %" PRIu64 " bytes", padded - have);
    if (have > padded)
        report(LogLevel::info, Status::ok, dir.data_offset + padded, kNone, {},
               "%" PRIu64 " bytes after the last tensor", have - padded);
}

void Checker::step(uint64_t n) {
    done_ += n;
    if (options_.progress.cancelled(done_, total_))
        fail(Status::cancelled, {}, "the check was cancelled");
}

void check_file(const File &file, const CheckOptions &options) {
    if (options.deep && file.metadata_only())
        fail(Status::unsupported, {},
             "a deep check needs the tensor data, and the file was opened metadata-only");
    Checker checker(file, options);
    checker.check_metadata();
    checker.check_tensors();
    checker.check_layout();
    if (options.deep) checker.check_data();
}

} // namespace ggufx::gguf
