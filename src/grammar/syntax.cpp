// Nodes and rules of a grammar, see syntax.hpp.
// SPDX-License-Identifier: MIT
#include "grammar/syntax.hpp"

#include <algorithm>
#include <inttypes.h>
#include <stdarg.h>

namespace ggufx::grammar {

Syntax::Syntax(const Host *host, Work &work)
    : work_(work), nodes_(HostAllocator<Stored>(host)), counts_(HostAllocator<SyntaxCounts>(host)),
      children_(HostAllocator<Node>(host)), ranges_(HostAllocator<CharRange>(host)),
      texts_(HostAllocator<char>(host)), rules_(HostAllocator<Rule>(host)) {
    print_text(most_complex_, sizeof most_complex_, "the grammar is too complex");
}

void Syntax::set_most_complex(const char *pointer, std::string_view keyword) {
    print_text(most_complex_, sizeof most_complex_, "%s: '%s' makes the schema too complex",
               pointer, Quoted(keyword).c_str());
}

Node Syntax::add(Form form, uint32_t depth, size_t first, size_t n) {
    if (nodes_.size() >= kMostNodes)
        fail(Status::limit, {.limit = kMostNodes}, "the grammar has over %" PRIu32 " parts",
             kMostNodes);
    if (depth > kDeepest)
        fail(Status::limit, {.limit = kDeepest}, "the grammar is nested deeper than %" PRIu32,
             kDeepest);
    work_.add_steps(1);
    nodes_.push_back({form, static_cast<uint8_t>(depth), static_cast<uint32_t>(first),
                      static_cast<uint32_t>(n)});
    return static_cast<Node>(nodes_.size() - 1);
}

SyntaxNode Syntax::operator[](Node node) const {
    const Stored &stored = nodes_[node];
    SyntaxNode out = {{}, stored.form, stored.first, stored.n, kNoNode};
    if (stored.form == Form::repeat) {
        static_cast<SyntaxCounts &>(out) = counts_[stored.first];
        out.child = stored.n;
        out.first = out.n = 0;
    } else if (stored.form == Form::members) {
        static_cast<SyntaxCounts &>(out) = counts_[children_[stored.first - 1]];
    }
    return out;
}

Node Syntax::literal(std::string_view bytes) {
    const size_t first = texts_.size();
    if (bytes.size() > INT32_MAX - first) fail(Status::limit, {}, "the grammar has over 2 GiB");
    work_.add(bytes.size());
    texts_.insert(texts_.end(), bytes.begin(), bytes.end());
    return add(Form::literal, 1, first, bytes.size());
}

Node Syntax::set(const CharRange *ranges, size_t n) {
    const size_t first = ranges_.size();
    if (n > kMostRanges - first)
        fail(Status::limit, {.limit = kMostRanges}, "the grammar has over %" PRIu32 " ranges",
             kMostRanges);
    work_.add_steps(n);
    ranges_.insert(ranges_.end(), ranges, ranges + n);
    const size_t kept = merge_ranges(ranges_.data() + first, n);
    ranges_.resize(first + kept);
    return add(Form::set, 1, first, kept);
}

Node Syntax::group(Form form, const Node *nodes, size_t n) {
    if (n == 1) return nodes[0];
    const size_t first = children_.size();
    uint32_t depth = 0;
    work_.add(4 * n);
    for (size_t i = 0; i < n; i++) depth = std::max<uint32_t>(depth, nodes_[nodes[i]].depth);
    children_.insert(children_.end(), nodes, nodes + n);
    return add(form, depth + 1, first, n);
}

Node Syntax::sequence(const Node *nodes, size_t n) {
    return n == 0 ? empty() : group(Form::sequence, nodes, n);
}

Node Syntax::choice(const Node *nodes, size_t n) {
    return n == 0 ? set(nullptr, 0) : group(Form::choice, nodes, n);
}

Node Syntax::repeat(Node child, uint32_t min, uint32_t max) {
    const size_t first = counts_.size();
    counts_.push_back({min, max});
    return add(Form::repeat, nodes_[child].depth + 1u, first, child);
}

Node Syntax::rule(uint32_t number) {
    return add(Form::rule, 1, number, 0);
}

Node Syntax::members(const Members &of) {
    uint32_t depth = nodes_[of.between].depth;
    work_.add(4 * of.n);
    for (size_t i = 0; i < of.n; i++) depth = std::max<uint32_t>(depth, nodes_[of.items[i]].depth);
    children_.push_back(static_cast<uint32_t>(counts_.size()));
    counts_.push_back({of.min, of.max, of.n_required, of.n_once});
    const size_t first = children_.size();
    children_.push_back(of.between);
    children_.insert(children_.end(), of.items, of.items + of.n);
    return add(Form::members, depth + 1, first, of.n + 1);
}

uint32_t Syntax::add_rule(std::string_view name, uint64_t offset) {
    const size_t first = texts_.size();
    if (name.size() > INT32_MAX - first) fail(Status::limit, {}, "the grammar has over 2 GiB");
    work_.add_steps(1);
    texts_.insert(texts_.end(), name.begin(), name.end());
    rules_.push_back(
        {static_cast<uint32_t>(first), static_cast<uint32_t>(name.size()), kNoNode, offset});
    return static_cast<uint32_t>(rules_.size() - 1);
}

size_t merge_ranges(CharRange *ranges, size_t n) {
    std::sort(ranges, ranges + n, [](CharRange a, CharRange b) { return a.first < b.first; });
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && ranges[i].first <= ranges[kept - 1].last + 1)
            ranges[kept - 1].last = std::max(ranges[kept - 1].last, ranges[i].last);
        else
            ranges[kept++] = ranges[i];
    }
    return kept;
}

void negate_ranges(Vector<CharRange> &out, const CharRange *ranges, size_t n) {
    uint32_t next = 0;
    for (size_t i = 0; i < n; i++) {
        if (ranges[i].first > next) out.push_back({next, ranges[i].first - 1});
        next = ranges[i].last + 1;
    }
    if (next <= kLastCode) out.push_back({next, kLastCode});
}

void refuse_at(std::string_view source, uint64_t offset, Status status, const char *format, ...) {
    uint64_t line = 1, column = 1;
    for (uint64_t i = 0; i < offset && i < source.size(); i++) {
        const uint8_t c = static_cast<uint8_t>(source[i]);
        if (c == '\n')
            line++, column = 1;
        else if ((c & 0xc0) != 0x80)
            column++;
    }
    char text[300];
    va_list args;
    va_start(args, format);
    print_text_v(text, sizeof text, format, args);
    va_end(args);
    fail(status, {offset}, "line %" PRIu64 ", column %" PRIu64 ": %s", line, column, text);
}

} // namespace ggufx::grammar
