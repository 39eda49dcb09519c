// Makes a piece of rows at once: reads, reorders, changes and quantizes them.
// SPDX-License-Identifier: MIT
#include "models/row_maker.hpp"

#include "common/api.hpp"
#include "common/f32_bytes.hpp"
#include "common/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace ggufx::cli {

constexpr float kMaxF16 = 65504;
constexpr float kF16Overflow = 65520; // the first value that rounds to infinity

static uint64_t row_bytes_of(uint32_t type, uint64_t n) {
    uint64_t bytes = 0;
    call([&](ggufx_error *error) { return ggufx_type_row_bytes(&bytes, type, n, error); });
    return bytes;
}

RowMaker::RowMaker(const ggufx_runtime *rt, RowRecipe recipe)
    : rt_(rt), recipe_(std::move(recipe)), n_columns_(recipe_.sources.at(0).n_columns), n_rows_(0),
      row_bytes_(0), source_bytes_(0) {
    const auto refuse = [&](const std::string &why) {
        throw Failure(kInvalidFile, "tensor \"" + escape(recipe_.name) + "\": " + why);
    };
    uint64_t n = 1;
    for (const uint64_t ne : recipe_.ne) n *= ne;
    const RowSource &first = recipe_.sources[0];
    for (const RowSource &source : recipe_.sources) {
        if (source.type != first.type || source.n_rows != first.n_rows ||
            source.n_columns != n_columns_) {
            refuse("its parts are not of one shape and type");
        }
        n_rows_ += source.n_rows;
    }
    if (n != n_rows_ * n_columns_) refuse("its parts do not fill it");
    const uint64_t per_head = recipe_.rows_per_head;
    if (recipe_.order != RowOrder::as_stored &&
        (per_head == 0 || per_head % 2 != 0 || n_rows_ % per_head != 0)) {
        refuse(
            fmt::format("{} rows are not heads of an even number of rows ({})", n_rows_, per_head));
    }
    row_bytes_ = row_bytes_of(recipe_.type, n_columns_);
    source_bytes_ = row_bytes_of(first.type, n_columns_);
}

// Row i of the first half of a head is row 2 i in pairs order, row i of the second half 2 i + 1.
uint64_t RowMaker::source_row(uint64_t row) const {
    if (recipe_.order == RowOrder::as_stored) return row;
    const uint64_t n = recipe_.rows_per_head, head = row / n * n, i = row % n;
    if (recipe_.order == RowOrder::halves_to_pairs) return head + (i % 2) * (n / 2) + i / 2;
    return head + (i % (n / 2)) * 2 + i / (n / 2);
}

// Returns how many of the next n rows are consecutive in one source.
uint64_t RowMaker::run_length(uint64_t row, uint64_t n) const {
    if (recipe_.order != RowOrder::as_stored) return 1;
    const uint64_t per_source = recipe_.sources[0].n_rows;
    return std::min(n, per_source - row % per_source);
}

void RowMaker::read_rows(uint64_t first, uint64_t n, uint8_t *out) const {
    const uint64_t per_source = recipe_.sources[0].n_rows;
    for (uint64_t row = first, end = first + n; row < end;) {
        const uint64_t run = run_length(row, end - row);
        const uint64_t from = source_row(row);
        recipe_.sources[static_cast<size_t>(from / per_source)].read(from % per_source, run, out);
        out += run * source_bytes_;
        row += run;
    }
}

void RowMaker::check_range(const std::vector<float> &values, uint64_t first) const {
    if (recipe_.type != GGUFX_TYPE_F16) return;
    for (size_t i = 0; i < values.size(); i++) {
        if (!(std::abs(values[i]) >= kF16Overflow) || std::isinf(values[i])) continue;
        throw Failure(
            kUnsupported,
            fmt::format("tensor \"{}\", row {}, column {}: {} is beyond f16 (largest {}); "
                        "use --outtype bf16 or f32",
                        escape(recipe_.name), first + i / n_columns_, i % n_columns_, values[i],
                        kMaxF16));
    }
}

void RowMaker::make(uint64_t first, uint64_t n, void *out) {
    const uint32_t from = recipe_.sources[0].type;
    if (from == recipe_.type && recipe_.add == 0) {
        return read_rows(first, n, static_cast<uint8_t *>(out));
    }
    std::vector<uint8_t> raw(static_cast<size_t>(n * source_bytes_));
    read_rows(first, n, raw.data());
    std::vector<float> values(static_cast<size_t>(n * n_columns_));
    dequantize_blocks(values, rt_, from, raw);
    if (recipe_.add != 0) {
        for (float &value : values) value += recipe_.add;
    }
    const auto n_bytes = static_cast<size_t>(n * row_bytes_);
    if (recipe_.type == GGUFX_TYPE_F32) {
        std::memcpy(out, f32_bytes(values).data(), n_bytes);
        return;
    }
    check_range(values, first);
    ggufx_error error;
    auto args = sized<ggufx_quantize_args>();
    args.type = recipe_.type;
    args.rows = values.data();
    args.n_rows = static_cast<size_t>(n);
    args.n_cols = static_cast<size_t>(n_columns_);
    const ggufx_status status = ggufx_quantize(out, n_bytes, rt_, &args, &error);
    if (status != GGUFX_OK) {
        throw Failure(Failure(exit_code(status), error),
                      fmt::format("tensor \"{}\", rows from {}", escape(recipe_.name), first));
    }
}

void RowMaker::make_all(const std::function<void(std::string_view)> &write) {
    constexpr uint64_t kPiece = 1u << 20;
    const uint64_t step = std::max<uint64_t>(1, kPiece / std::max<uint64_t>(1, row_bytes_));
    std::string bytes;
    for (uint64_t row = 0; row < n_rows_; row += step) {
        const uint64_t n = std::min(step, n_rows_ - row);
        bytes.resize(static_cast<size_t>(n * row_bytes_));
        make(row, n, bytes.data());
        write(bytes);
    }
}

void RowMaker::make_bytes(uint64_t offset, void *out, size_t n) {
    auto *to = static_cast<uint8_t *>(out);
    if (offset % row_bytes_ == 0 && n % row_bytes_ == 0) {
        return make(offset / row_bytes_, n / row_bytes_, to);
    }
    while (n > 0) {
        const uint64_t row = offset / row_bytes_, column = offset % row_bytes_;
        if (row != row_at_) {
            row_.resize(static_cast<size_t>(row_bytes_));
            make(row, 1, row_.data());
            row_at_ = row;
        }
        const auto step = static_cast<size_t>(std::min<uint64_t>(n, row_bytes_ - column));
        std::memcpy(to, row_.data() + column, step);
        to += step;
        offset += step;
        n -= step;
    }
}

// Context of the writer's callback. It stores exceptions, which must not pass through the library.
namespace {

struct Stream {
    RowMaker maker;
    RowFault fault;

    static ggufx_status read(void *user, uint64_t offset, void *out, size_t n) {
        auto *stream = static_cast<Stream *>(user);
        try {
            stream->maker.make_bytes(offset, out, n);
            return GGUFX_OK;
        } catch (...) {
            *stream->fault = std::current_exception();
            return GGUFX_E_IO;
        }
    }
    static void destroy(void *user) { delete static_cast<Stream *>(user); }
};

} // namespace

uint64_t add_rows(ggufx_writer *writer, const ggufx_runtime *rt, RowRecipe recipe,
                  const RowFault &fault) {
    const std::string name = recipe.name;
    const std::vector<uint64_t> ne = recipe.ne;
    const uint32_t type = recipe.type;
    auto stream = std::make_unique<Stream>(Stream{RowMaker(rt, std::move(recipe)), fault});
    const uint64_t n_bytes = stream->maker.n_rows() * stream->maker.row_bytes();
    ggufx_tensor_stream hooks = {};
    hooks.struct_size = sizeof hooks;
    hooks.user = stream.release(); // the library owns it from here on, even if it fails
    hooks.read = Stream::read;
    hooks.destroy = Stream::destroy;
    call([&](ggufx_error *error) {
        return ggufx_writer_add_stream(writer, name.data(), name.size(), type,
                                       static_cast<uint32_t>(ne.size()), ne.data(), &hooks, error);
    });
    return n_bytes;
}

void write_made(const Globals &globals, ggufx_writer *writer, const std::string &path,
                const RowFault &fault) {
    try {
        write_model(globals, writer, path, {});
    } catch (const Failure &) {
        if (*fault) std::rethrow_exception(*fault);
        throw;
    }
}

} // namespace ggufx::cli
