// SPDX-License-Identifier: MIT
#include "distributed/rank_rows.hpp"

#include <algorithm>

namespace ggufx::model {

namespace {

// Returns for each weight of a graph whether an operation reads it.
Vector<uint8_t> used_weights(const Graph &graph) {
    Vector<uint8_t> used(graph.weights.size(), 0,
                         HostAllocator<uint8_t>(graph.weights.get_allocator()));
    for (const Op &s : graph.ops) {
        if (const auto *p = std::get_if<op::Product>(&s))
            for (uint32_t i = 0; i < p->n; i++) used[p->to[i].weights] = 1;
        if (const auto *h = std::get_if<op::HeadProduct>(&s)) used[h->weights] = 1;
        if (const auto *e = std::get_if<op::Embed>(&s)) used[e->weights] = 1;
        if (const auto *e = std::get_if<op::ExpertProduct>(&s))
            for (uint32_t i = 0; i < std::max(e->separate, 1u); i++) used[e->weights + i] = 1;
    }
    return used;
}

uint64_t rows_of_part(const WeightInfo &info) {
    return info.w.n_rows / info.n_parts;
}

// Returns the row of the tensor where a part begins.
uint64_t first_of_part(const WeightInfo &info, uint32_t part) {
    return info.first + part * (info.part_stride ? info.part_stride : rows_of_part(info));
}

// Binds the data of a weight; evenly spaced parts in the whole are evenly spaced in the file, too.
void bind(WeightInfo &info, const gguf::Tensor &t, const RankFile &part) {
    const uint64_t n_rows = rows_of_part(info);
    if (n_rows == 0) {
        info.w.data = t.data;
        return;
    }
    const uint64_t first = part.find(info.tensor, first_of_part(info, 0), n_rows);
    uint64_t step = n_rows;
    for (uint32_t i = 1; i < info.n_parts; i++) {
        const uint64_t at = part.find(info.tensor, first_of_part(info, i), n_rows);
        if (i == 1) step = at - first; // ranges are in order
        if (at == first + i * step) continue;
        fail(Status::split, {.index = info.tensor},
             "tensor %s: the file has fewer rows of each expert", Quoted(t.name).c_str());
    }
    if (info.part_stride) info.part_stride = step;
    // rows of other weights are between
    if (!info.part_stride && step != n_rows) info.part_stride = step;
    info.w.data = t.data ? t.data + first * info.w.stride : nullptr;
}

} // namespace

Vector<TensorRows> rows_of_rank(const Graph &graph, const gguf::File &file,
                                const Vector<uint8_t> &read_whole) {
    const HostAllocator<TensorRows> allocator(graph.weights.get_allocator());
    const Vector<uint8_t> used = used_weights(graph);
    Vector<TensorRows> all(allocator);
    for (size_t i = 0; i < file.n_tensors(); i++)
        if (read_whole[i]) all.push_back({i, {0, file.tensor(i).n_rows}});
    for (size_t i = 0; i < used.size(); i++) {
        const WeightInfo &info = graph.weights[i];
        if (!used[i] || read_whole[info.tensor] || info.w.n_rows == 0) continue;
        for (uint32_t part = 0; part < info.n_parts; part++)
            all.push_back({info.tensor, {first_of_part(info, part), rows_of_part(info)}});
    }
    std::sort(all.begin(), all.end(), [](const TensorRows &a, const TensorRows &b) {
        return a.tensor != b.tensor ? a.tensor < b.tensor : a.rows.first < b.rows.first;
    });
    Vector<TensorRows> out(allocator);
    size_t at = 0;
    for (size_t i = 0; i < file.n_tensors(); i++) {
        const size_t before = out.size();
        for (; at < all.size() && all[at].tensor == i; at++) {
            const RowRange &r = all[at].rows;
            if (out.size() == before || out.back().rows.first + out.back().rows.n < r.first) {
                out.push_back(all[at]);
                continue;
            }
            RowRange &last = out.back().rows;
            last.n = std::max(last.first + last.n, r.first + r.n) - last.first;
        }
        if (out.size() == before && file.tensor(i).n_rows > 0) out.push_back({i, {0, 1}});
    }
    return out;
}

void bind_rows(Graph &graph, const gguf::File &file, const RankFile &part) {
    const Vector<uint8_t> used = used_weights(graph);
    for (size_t i = 0; i < used.size(); i++)
        if (used[i]) bind(graph.weights[i], file.tensor(graph.weights[i].tensor), part);
}

} // namespace ggufx::model
