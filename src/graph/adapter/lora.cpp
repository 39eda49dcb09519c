// SPDX-License-Identifier: MIT
#include "graph/adapter/lora.hpp"

#include "formats/format.hpp"

#include <algorithm>
#include <charconv>
#include <inttypes.h>
#include <math.h>
#include <string.h>

namespace ggufx::model {

namespace {

constexpr std::string_view kSuffixA = ".lora_a", kSuffixB = ".lora_b";
constexpr uint64_t kMostRank = 1u << 16; // far above any known adapter
constexpr uint64_t kRowsAtOnce = 512;    // rows of B, for each token

Quoted quoted(std::string_view text) {
    return {text.data(), text.size()};
}

// Shape as text: "[64, 16, 1]".
struct Sizes {
    char text[80];
    explicit Sizes(const gguf::Tensor &t) {
        print_text(text, sizeof text, "[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", t.ne[0], t.ne[1],
                   t.ne[2]);
    }
};

void check_type(const gguf::Tensor &t) {
    const fmt::TypeInfo *type = fmt::type_info(t.type);
    const bool usable = type && (type->kind == fmt::Kind::kQuantized ||
                                 (type->kind == fmt::Kind::kFloat && type->block_bytes <= 4));
    if (!usable)
        fail(Status::type, {t.info_offset},
             "tensor \"%s\" of the adapter is of type %s, which has no matrix product",
             quoted(t.name).c_str(), type ? type->name : "unknown");
}

matmul::Weights weights_of(const gguf::Tensor &t) {
    return {t.type, t.data, t.row_stride, t.n_rows, t.ne[0]};
}

} // namespace

// Returns whether a tensor is in a layer after those of the graph: multi-token prediction heads.
bool LoraBinder::is_not_run(std::string_view name) const {
    constexpr std::string_view prefix = "blk.";
    uint32_t layer = 0;
    if (!name.starts_with(prefix)) return false;
    const char *const end = name.data() + name.size();
    const auto [next, error] = std::from_chars(name.data() + prefix.size(), end, layer);
    return error == std::errc() && next != end && layer >= adapter_.graph_.shape.n_layers;
}

LoraBinder::LoraBinder(Adapter &adapter, const gguf::File &model)
    : adapter_(adapter), file_(*adapter.file_), model_(model),
      uses_(adapter.graph_.weights.size(), Use(), HostAllocator<Use>(adapter.host_.get())),
      first_of_(model.n_tensors(), kNoIndex, HostAllocator<uint32_t>(adapter.host_.get())),
      next_of_(uses_.size(), kNoIndex, HostAllocator<uint32_t>(adapter.host_.get())),
      turned_(HostAllocator<Turned>(adapter.host_.get())) {
    find_uses();
    for (size_t i = uses_.size(); i-- > 0;) {
        uint32_t &first = first_of_[adapter.graph_.weights[i].tensor];
        next_of_[i] = first;
        first = static_cast<uint32_t>(i);
    }
}

void LoraBinder::note(uint32_t weights, uint32_t columns) {
    uses_[weights].product = true;
    uses_[weights].columns = std::max(uses_[weights].columns, columns);
}

void LoraBinder::find_uses() {
    for (const Op &op : adapter_.graph_.ops) {
        if (const auto *embed = std::get_if<op::Embed>(&op)) {
            uses_[embed->weights].row = true;
        } else if (const auto *product = std::get_if<op::Product>(&op)) {
            for (uint32_t i = 0; i < product->n; i++) note(product->to[i].weights, 1);
        } else if (const auto *heads = std::get_if<op::HeadProduct>(&op)) {
            note(heads->weights, heads->heads);
        } else if (const auto *experts = std::get_if<op::ExpertProduct>(&op)) {
            const uint32_t n = std::max(experts->separate, 1u);
            for (uint32_t i = 0; i < n; i++) note(experts->weights + i, experts->used);
        }
    }
}

void LoraBinder::bind() {
    adapter_.of_.assign(uses_.size(), kNoIndex);
    for (size_t i = 0; i < file_.n_tensors(); i++) {
        const gguf::Tensor t = file_.tensor(i);
        std::string_view name = t.name;
        const bool is_a = name.ends_with(kSuffixA), is_b = name.ends_with(kSuffixB);
        if (!is_a && !is_b)
            fail(Status::unsupported, {t.info_offset, i},
                 "tensor \"%s\" of the adapter is neither \".lora_a\" nor \".lora_b\" of a matrix: "
                 "adapters with it are not supported",
                 quoted(t.name).c_str());
        name.remove_suffix(kSuffixA.size());
        const size_t target = model_.find_tensor(name);
        const bool used = target != gguf::kNotFound && first_of_[target] != kNoIndex;
        if (!used && (target == gguf::kNotFound || !is_not_run(name)))
            fail(Status::mismatch, {t.info_offset, i},
                 target == gguf::kNotFound
                     ? "tensor \"%s\" of the adapter belongs to no tensor of the model"
                     : "tensor \"%s\" of the adapter belongs to a tensor that is not a matrix of "
                       "the model's graph",
                 quoted(t.name).c_str());
        Pair pair = find_pair(t, name);
        if (!is_a) continue;
        pair.target = model_.tensor(target);
        bind_pair(pair, target);
    }
    if (adapter_.targets_.empty())
        fail(Status::missing, {}, "the adapter has no tensors of name \"NAME.lora_a\"");
    place_turned();
}

// Finds the pair that a tensor belongs to; `t` is either half of it.
LoraBinder::Pair LoraBinder::find_pair(const gguf::Tensor &t, std::string_view name) const {
    char other[1024];
    const bool is_a = t.name.ends_with(kSuffixA);
    const std::string_view suffix = is_a ? kSuffixB : kSuffixA;
    const int n = static_cast<int>(std::min(name.size(), sizeof other - suffix.size() - 1));
    print_text(other, sizeof other, "%.*s%.*s", n, name.data(), static_cast<int>(suffix.size()),
               suffix.data());
    const size_t index = file_.find_tensor(other);
    if (index == gguf::kNotFound)
        fail(Status::missing, {t.info_offset},
             "tensor \"%s\" of the adapter has no \"%s\" beside it", quoted(t.name).c_str(),
             quoted(other).c_str());
    Pair pair;
    pair.a = is_a ? t : file_.tensor(index);
    pair.b = is_a ? file_.tensor(index) : t;
    return pair;
}

// Checks shapes: the update of a matrix is B A, with rank ne1 of A. For a table, the files of other
// tools have its rows in A, with rank ne0 of A.
void LoraBinder::check_pair(Pair &pair, bool is_table) const {
    const gguf::Tensor &a = pair.a, &b = pair.b, &t = pair.target;
    const bool one_each = a.ne[2] == 1 && b.ne[2] == 1;
    pair.by_rows =
        is_table && one_each && a.ne[0] == b.ne[0] && a.ne[1] == t.ne[1] && b.ne[1] == t.ne[0];
    const bool parts = b.ne[2] == t.ne[2] && (a.ne[2] == 1 || a.ne[2] == t.ne[2]);
    const bool plain = a.ne[0] == t.ne[0] && b.ne[1] == t.ne[1] && a.ne[1] == b.ne[0] && parts;
    if (a.ne[3] != 1 || b.ne[3] != 1 || !(plain || pair.by_rows))
        fail(Status::mismatch, {a.info_offset},
             "tensors \"%s\" %s and \".lora_b\" %s do not fit the model's, which is %s",
             quoted(a.name).c_str(), Sizes(a).text, Sizes(b).text, Sizes(t).text);
    const uint64_t rank = b.ne[0];
    if (rank < 1 || rank > kMostRank)
        fail(Status::value, {a.info_offset},
             "tensor \"%s\" of the adapter has rank %" PRIu64 ", not 1 to %" PRIu64,
             quoted(a.name).c_str(), rank, kMostRank);
    check_type(a);
    check_type(b);
    if (!a.data || !b.data) adapter_.has_data_ = false;
}

void LoraBinder::bind_pair(Pair &pair, size_t target) {
    Use all;
    for (uint32_t w = first_of_[target]; w != kNoIndex; w = next_of_[w]) {
        all.row |= uses_[w].row;
        all.product |= uses_[w].product;
    }
    check_pair(pair, all.row);
    const uint32_t whole = static_cast<uint32_t>(adapter_.pairs_.size());
    const LowRank made = low_rank_of(pair, all);
    adapter_.pairs_.push_back(made);
    adapter_.targets_.push_back({target, whole});
    for (uint32_t w = first_of_[target]; w != kNoIndex; w = next_of_[w])
        bind_weight(whole, pair.target, w);
    adapter_.rank_ = std::max(adapter_.rank_, made.rank);
}

// Transposes [n][m] to floats [m][n]. Without data it only counts them.
matmul::Weights LoraBinder::turn(const gguf::Tensor &t, bool is_a) {
    const uint64_t n_cols = t.ne[0], n_rows = t.ne[1], start = adapter_.n_floats_;
    adapter_.n_floats_ += n_cols * n_rows; // below 2^16 * 2^24 each, and there are two
    const matmul::Weights out = {fmt::id::F32, nullptr, n_rows * sizeof(float), n_cols, n_rows};
    if (!t.data) return out;
    turned_.push_back(
        {static_cast<uint32_t>(adapter_.pairs_.size()), is_a, static_cast<size_t>(start)});
    Vector<float> &all = adapter_.floats_;
    Vector<float> row(static_cast<size_t>(n_cols), all.get_allocator());
    all.resize(static_cast<size_t>(start + n_cols * n_rows));
    for (uint64_t r = 0; r < n_rows; r++) {
        fmt::decode_row(row.data(), *fmt::type_info(t.type), t.data + r * t.row_stride, row.size());
        for (uint64_t c = 0; c < n_cols; c++) all[start + c * n_rows + r] = row[c];
    }
    return out;
}

void LoraBinder::place_turned() {
    adapter_.floats_.shrink_to_fit();
    for (const Turned &t : turned_) {
        LowRank &pair = adapter_.pairs_[t.pair];
        (t.is_a ? pair.a : pair.columns).data =
            reinterpret_cast<const uint8_t *>(adapter_.floats_.data() + t.first);
    }
}

LowRank LoraBinder::low_rank_of(const Pair &pair, const Use &use) {
    LowRank out;
    out.rank = static_cast<uint32_t>(pair.b.ne[0]);
    out.n_cols = pair.target.ne[0];
    out.n_parts = static_cast<uint32_t>(pair.target.ne[2]);
    out.a_parts = static_cast<uint32_t>(pair.by_rows ? 1 : pair.a.ne[2]);
    if (adapter_.alpha_ != 0) out.scale = static_cast<float>(adapter_.alpha_ / out.rank);
    if (pair.by_rows) {
        out.b = weights_of(pair.a);
        out.columns = weights_of(pair.b);
        if (use.product) out.a = turn(pair.b, true);
    } else {
        out.a = weights_of(pair.a);
        out.b = weights_of(pair.b);
        if (use.row) out.columns = turn(pair.a, false);
    }
    return out;
}

// Binds the whole target, or the rows of it that the weight has.
void LoraBinder::bind_weight(uint32_t whole, const gguf::Tensor &target, uint32_t weights) {
    const WeightInfo &info = adapter_.graph_.weights[weights];
    const uint64_t columns = uses_[weights].columns, rank = adapter_.pairs_[whole].rank;
    uint64_t n_rows = info.w.n_rows / info.n_parts;
    uint32_t index = whole;
    if (info.w.n_rows != target.n_rows) {
        LowRank part = adapter_.pairs_[whole];
        if (part.b.data) part.b.data += info.first * part.b.stride;
        part.b.n_rows = info.w.n_rows;
        index = static_cast<uint32_t>(adapter_.pairs_.size());
        adapter_.pairs_.push_back(part);
    }
    adapter_.of_[weights] = index;
    if (uses_[weights].row) n_rows = std::max(n_rows, info.w.n_cols);
    adapter_.room_.widen({columns * rank, columns * std::min(n_rows, kRowsAtOnce),
                          info.n_parts > 1 ? columns * n_rows : 0});
}

} // namespace ggufx::model
