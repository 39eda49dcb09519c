// SPDX-License-Identifier: MIT
#include "distributed/rank_writer.hpp"

#include "distributed/rank_graph.hpp"
#include "distributed/rank_rows.hpp"
#include "gguf/shape.hpp"

#include <algorithm>
#include <inttypes.h>
#include <string.h>

namespace ggufx::model {

namespace {

// Streams some rows of a file's tensor.
class RowStream {
public:
    RowStream(Ref<gguf::File> file, const gguf::Tensor &t)
        : host_(file->host()), file_(std::move(file)), tensor_(t),
          ranges_(HostAllocator<Range>(host_.get())) {}

    void add(const RowRange &rows) {
        ranges_.push_back({rows, n_rows_});
        n_rows_ += rows.n;
    }
    uint64_t n_rows() const { return n_rows_; }

    static int32_t read(void *user, uint64_t offset, void *dst, size_t n) {
        static_cast<const RowStream *>(user)->copy(offset, static_cast<uint8_t *>(dst), n);
        return 0;
    }
    static void destroy(void *user) {
        RowStream *const self = static_cast<RowStream *>(user);
        const Ref<Host> host = self->host_;
        unmake(*host, self);
    }

private:
    struct Range {
        RowRange rows;
        uint64_t at; // row of the stream
    };
    void copy(uint64_t offset, uint8_t *dst, size_t n) const {
        const uint64_t bytes = tensor_.row_bytes;
        auto range = std::upper_bound(ranges_.begin(), ranges_.end(), offset / bytes,
                                      [](uint64_t row, const Range &r) { return row < r.at; });
        for (--range; n > 0; ++range) {
            const uint64_t from = offset - range->at * bytes; // rows in files have no gaps
            const uint64_t left = range->rows.n * bytes - from;
            const size_t some = static_cast<size_t>(std::min<uint64_t>(left, n));
            memcpy(dst, tensor_.data + range->rows.first * bytes + from, some);
            dst += some;
            n -= some;
            offset += some;
        }
    }

    Ref<Host> host_;
    Ref<gguf::File> file_;
    gguf::Tensor tensor_;
    Vector<Range> ranges_;
    uint64_t n_rows_ = 0;
};

void release_file(void *kept) {
    static_cast<gguf::File *>(kept)->release();
}

// Values of the rank keys.
struct Directory {
    explicit Directory(const Host *host)
        : speeds(HostAllocator<uint32_t>(host)), tensors(HostAllocator<uint64_t>(host)),
          rows(HostAllocator<uint64_t>(host)) {}
    Vector<uint32_t> speeds;
    Vector<uint64_t> tensors, rows;
};

// rows [n]: row ranges of this tensor.
void add_tensor(gguf::Writer &writer, const Ref<gguf::File> &file, const gguf::Tensor &t,
                const TensorRows *rows, size_t n) {
    RowStream *const stream = make<RowStream>(*file->host(), file, t);
    io::OnEnd end(RowStream::destroy, stream);
    for (size_t i = 0; i < n; i++) stream->add(rows[i].rows);
    if (stream->n_rows() == t.n_rows) {
        file->retain();
        return writer.add_tensor(t.name, t, {}, {release_file, file.get()});
    }
    const uint64_t ne[] = {t.ne[0], stream->n_rows()};
    writer.add_tensor(t.name, gguf::shaped_tensor(t.type, 2, ne), {stream, RowStream::read},
                      std::move(end));
}

void add_tensors(gguf::Writer &writer, const Ref<gguf::File> &file, const Vector<TensorRows> &rows,
                 Directory &directory) {
    writer.reserve_tensors(file->n_tensors());
    size_t at = 0;
    for (size_t i = 0; i < file->n_tensors(); i++) {
        const gguf::Tensor t = file->tensor(i);
        if (t.n_bytes > 0 && !t.data)
            fail(Status::unsupported, {.index = i},
                 "tensor \"%s\": its data are not in memory (opened for metadata only?)",
                 Quoted(t.name).c_str());
        const size_t first = at;
        for (; at < rows.size() && rows[at].tensor == i; at++)
            for (const uint64_t v : {rows[at].rows.first, rows[at].rows.n})
                directory.rows.push_back(v);
        for (const uint64_t v : {t.ne[1], t.ne[2], t.ne[3], head_sum_of(t), uint64_t{at - first}})
            directory.tensors.push_back(v);
        add_tensor(writer, file, t, rows.data() + first, at - first);
    }
}

Vector<TensorRows> rows_of(const gguf::File &file, const RankOptions &ranks) {
    const HostAllocator<uint8_t> allocator(file.host().get());
    Vector<uint8_t> whole(file.n_tensors(), 0, allocator);
    BuildOptions options;
    options.read_whole = &whole;
    // Ranks compare the whole model's vectors, so each rank's file has all of them.
    if (!build_rank_graph(file, {}, options).predicts())
        fail(Status::unsupported, {}, "ranks of a group do not compute embeddings");
    const Graph graph = build_rank_graph(file, ranks, options);
    return rows_of_rank(graph, file, whole);
}

} // namespace

void copy_rank(gguf::Writer &writer, const Ref<gguf::File> &file, const RankOptions &ranks) {
    const RankFile part(*file);
    if (part.is_part())
        fail(Status::unsupported, {},
             "the file is for rank %" PRIu32 " of %" PRIu32 ", it is not a whole model",
             part.ranks().rank, part.ranks().size);
    const Vector<TensorRows> rows = rows_of(*file, ranks);
    Directory directory(file->host().get());
    for (uint32_t i = 0; i < ranks.size; i++)
        directory.speeds.push_back(ranks.speeds ? ranks.speeds[i] : 1);
    const size_t before = writer.tensors().size();
    try {
        add_tensors(writer, file, rows, directory);
        using gguf::ValueType;
        const uint32_t by_layers = 1;
        const gguf::NumberKey keys[] = {
            {rank_key::kRank, ValueType::u32, &ranks.rank, 1, false},
            {rank_key::kSize, ValueType::u32, &ranks.size, 1, false},
            {rank_key::kSpeeds, ValueType::u32, directory.speeds.data(), directory.speeds.size()},
            {rank_key::kTensors, ValueType::u64, directory.tensors.data(),
             directory.tensors.size()},
            {rank_key::kRows, ValueType::u64, directory.rows.data(), directory.rows.size()},
            {rank_key::kLayers, ValueType::u32, &by_layers, 1, false}};
        writer.copy_meta(*file, keys, std::size(keys) - (ranks.by_layers ? 0 : 1));
    } catch (...) {
        writer.drop_tensors(before);
        throw;
    }
}

} // namespace ggufx::model
