// Emits the bytes of the parts in order through one buffer: memory use does not grow with the
// model.
// SPDX-License-Identifier: MIT
#include "formats/format.hpp"
#include "gguf/split_name.hpp"
#include "gguf/writer.hpp"

#include <inttypes.h>
#include <string.h>

namespace ggufx::gguf {

namespace {

class Emitter {
public:
    Emitter(const Writer &writer, const WritePlan &plan, Sink &sink, const Progress &progress)
        : writer_(writer), plan_(plan), sink_(sink), progress_(progress),
          split_id_(plan.splits() ? plan.split_id() : 0), buffer_(writer.host(), io::kChunk) {}

    void run() {
        poll();
        for (size_t i = 0; i < plan_.parts().size(); i++) {
            sink_.begin(i);
            put_part(i, plan_.parts()[i]);
            flush();
            sink_.end();
            poll();
        }
        sink_.commit();
    }

    void run_head(size_t part) {
        put_head(part, plan_.parts()[part]);
        flush();
    }

private:
    void poll() const {
        if (progress_.cancelled(done_, plan_.n_bytes()))
            fail(Status::cancelled, {},
                 "writing was cancelled after %" PRIu64 " of %" PRIu64 " bytes", done_,
                 plan_.n_bytes());
    }

    // At most one chunk between two polls.
    void write_out(const uint8_t *data, size_t n) {
        sink_.write(data, n);
        done_ += n;
        poll();
    }

    void flush() {
        if (const size_t n = std::exchange(held_, 0)) write_out(buffer_.data(), n);
    }

    void put(const void *data, uint64_t n) {
        const auto *from = static_cast<const uint8_t *>(data);
        while (n > 0) {
            if (held_ == 0 && n >= io::kChunk) { // bypasses the buffer
                write_out(from, io::kChunk);
                from += io::kChunk;
                n -= io::kChunk;
                continue;
            }
            const size_t room = io::kChunk - held_;
            const size_t step = n < room ? static_cast<size_t>(n) : room;
            memcpy(buffer_.data() + held_, from, step);
            held_ += step;
            from += step;
            n -= step;
            if (held_ == io::kChunk) flush();
        }
    }

    void put_zeros(uint64_t n) {
        static constexpr uint8_t kZeros[512] = {};
        for (; n > sizeof kZeros; n -= sizeof kZeros) put(kZeros, sizeof kZeros);
        put(kZeros, n);
    }

    void put_u(uint64_t v, unsigned n_bytes) {
        uint8_t p[8];
        store_number(p, writer_.wire(), v, n_bytes);
        put(p, n_bytes);
    }

    void put_text(std::string_view text) {
        put_u(text.size(), 8);
        put(text.data(), text.size());
    }

    void put_key(std::string_view name, ValueType type) {
        put_text(name);
        put_u(static_cast<uint64_t>(type), 4);
    }

    void put_part(size_t number, const PartPlan &part) {
        put_head(number, part);
        for (size_t i = 0; i < part.n_tensors; i++) {
            const WriterTensor &t = writer_.tensors()[part.first + i];
            put_tensor(t, part.first + i);
            put_zeros(padding(t.view.n_bytes));
        }
    }

    void put_head(size_t number, const PartPlan &part) {
        put("GGUF", 4);
        put_u(writer_.options().version, 4);
        put_u(part.n_tensors, 8);
        put_u(part.n_keys, 8);
        put_keys(number);
        uint64_t offset = 0;
        for (size_t i = 0; i < part.n_tensors; i++)
            put_entry(writer_.tensors()[part.first + i], &offset);
        put_zeros(part.data_offset - part.meta_end);
    }

    uint64_t padding(uint64_t n) const { return (0 - n) & (plan_.alignment() - 1); }

    void put_keys(size_t number) {
        plan_.each_key(number,
                       [&](const WriterKey &key) { put(key.bytes.data(), key.bytes.size()); });
        if (plan_.splits()) {
            put_key("split.no", ValueType::u16), put_u(number, 2);
            put_key("split.count", ValueType::u16), put_u(plan_.parts().size(), 2);
            put_key("split.tensors.count", ValueType::i32), put_u(writer_.tensors().size(), 4);
            put_key(kSplitId, ValueType::u64), put_u(split_id_, 8);
        }
        if (const uint64_t room = writer_.options().reserve_bytes; room && number == 0) {
            put_key(kReserveKey, ValueType::array);
            put_u(static_cast<uint64_t>(ValueType::u8), 4);
            put_u(room, 8);
            put_zeros(room);
        }
    }

    void put_entry(const WriterTensor &t, uint64_t *offset) {
        put_text(t.name());
        put_u(t.view.n_dims, 4);
        for (uint32_t i = 0; i < t.view.n_dims; i++) put_u(t.view.ne[i], 8);
        put_u(t.view.type, 4);
        put_u(*offset, 8);
        *offset += t.view.n_bytes + padding(t.view.n_bytes);
    }

    void put_tensor(const WriterTensor &t, size_t index) {
        if (t.view.n_bytes == 0) return;
        const fmt::TypeInfo &type = *fmt::type_info(t.view.type);
        const bool swap = writer_.wire().big_endian && type.swap.n_bytes > 1;
        if (t.stream.read || swap)
            put_pieces(t, index, type, swap);
        else if (t.view.row_stride == t.view.row_bytes)
            put(t.view.data, t.view.n_bytes);
        else
            for (uint64_t row = 0; row < t.view.n_rows; row++)
                put(t.view.data + row * t.view.row_stride, t.view.row_bytes);
    }

    // Writes whole rows if a chunk holds one, else whole blocks of a row.
    void put_pieces(const WriterTensor &t, size_t index, const fmt::TypeInfo &type, bool swap) {
        const uint64_t row_bytes = t.view.row_bytes;
        const bool rows = row_bytes <= io::kChunk;
        const uint64_t piece = rows ? io::kChunk / row_bytes * row_bytes
                                    : io::kChunk / type.block_bytes * type.block_bytes;
        for (uint64_t at = 0; at < t.view.n_bytes;) {
            const uint64_t end = rows ? t.view.n_bytes : (at / row_bytes + 1) * row_bytes;
            const auto n = static_cast<size_t>(end - at < piece ? end - at : piece);
            flush();
            if (t.stream.read)
                ask(t, index, at, n);
            else
                gather(t.view, at, n);
            if (swap) fmt::swap_blocks(buffer_.data(), type, n / type.block_bytes);
            held_ = n;
            at += n;
        }
    }

    void ask(const WriterTensor &t, size_t index, uint64_t at, size_t n) {
        const int32_t status = t.stream.read(t.stream.user, at, buffer_.data(), n);
        if (status != 0)
            fail(Status::io, {.offset = at, .index = index},
                 "tensor %zu \"%s\": its read callback failed with status %d for %zu bytes at "
                 "offset %" PRIu64,
                 index, Quoted(t.name()).c_str(), status, n, at);
    }

    // Copies n dense bytes of rows, which may be strided, into the buffer.
    void gather(const Tensor &t, uint64_t at, size_t n) {
        uint8_t *out = buffer_.data();
        while (n > 0) {
            const uint64_t row = at / t.row_bytes, column = at % t.row_bytes;
            const uint64_t left = t.row_bytes - column;
            const size_t step = n < left ? n : static_cast<size_t>(left);
            memcpy(out, t.data + row * t.row_stride + column, step);
            out += step;
            at += step;
            n -= step;
        }
    }

    const Writer &writer_;
    const WritePlan &plan_;
    Sink &sink_;
    const Progress &progress_;
    const uint64_t split_id_; // 0 if not split
    Buffer buffer_;
    size_t held_ = 0; // bytes in the buffer
    uint64_t done_ = 0;
};

} // namespace

void emit(const Writer &writer, const WritePlan &plan, Sink &sink, const Progress &progress) {
    Emitter(writer, plan, sink, progress).run();
}

void emit_head(const Writer &writer, const WritePlan &plan, size_t part, Sink &sink) {
    Emitter(writer, plan, sink, Progress()).run_head(part);
}

} // namespace ggufx::gguf
