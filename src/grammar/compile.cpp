// Compiler of grammars, see program.hpp. Nodes are compiled from their end: each gets the instruction that
// follows it.
// SPDX-License-Identifier: MIT
#include "base/utf8.hpp"
#include "grammar/program.hpp"
#include "grammar/properties.hpp"

#include <inttypes.h>

namespace ggufx::grammar {

namespace {

constexpr uint32_t kMostJoined = 256; // edges, or targets of a fork

class GrammarCompiler {
public:
    GrammarCompiler(GrammarProgram &program, const Syntax &syntax, const Properties &properties)
        : out_(program), syntax_(syntax), properties_(properties) {}
    void run();

private:
    uint32_t add(Instruction instruction);
    Instruction join(const uint32_t *targets, uint32_t n, uint32_t before);
    uint32_t add_join(const uint32_t *targets, uint32_t n, uint32_t before) {
        if (n == 1) return targets[0];
        return add(join(targets, n, before));
    }
    uint32_t n_code() const { return static_cast<uint32_t>(out_.code.size()); }
    uint32_t emit(Node node, uint32_t next); // recursive, at most kDeepest deep
    uint32_t emit_literal(std::string_view bytes, uint32_t next);
    uint32_t emit_set(const SyntaxNode &node, uint32_t next);
    uint32_t emit_choice(const SyntaxNode &node, uint32_t next);
    uint32_t emit_repeat(const SyntaxNode &node, uint32_t next);
    uint32_t emit_members(const SyntaxNode &node, uint32_t next);
    uint32_t emit_loop(Node child, bool at_least_once, uint32_t next);
    void find_classes();

    GrammarProgram &out_;
    const Syntax &syntax_;
    const Properties &properties_;
    uint32_t n_emitted_ = 0;
    size_t n_joined_ = 0; // edges that were copied
};

uint32_t GrammarCompiler::add(Instruction instruction) {
    if (out_.code.size() >= kMostInstructions)
        fail(Status::limit, {.limit = kMostInstructions}, "the grammar has over %" PRIu32 " steps",
             kMostInstructions);
    syntax_.work().add_steps(1);
    out_.code.push_back(instruction);
    return static_cast<uint32_t>(out_.code.size() - 1);
}

// Builds a fork. Targets that begin with a byte become one instruction, and targets of forks within
// it its own, so that positions have fewer stacks. Forks before `before` are not finished yet.
Instruction GrammarCompiler::join(const uint32_t *targets, uint32_t n, uint32_t before) {
    Vector<uint32_t> alternatives{out_.targets.get_allocator()}, bytes(alternatives);
    size_t n_edges = 0;
    const auto take = [&](uint32_t target) {
        const Instruction in = out_.code[target];
        if (in.op == Op::edges) n_edges += in.b;
        if (in.op != Op::fail) (in.op == Op::edges ? bytes : alternatives).push_back(target);
    };
    for (uint32_t i = 0; i < n; i++) {
        const Instruction in = out_.code[targets[i]];
        if (in.op != Op::fork || targets[i] < before || in.b > kMostJoined) {
            take(targets[i]);
            continue;
        }
        for (uint32_t k = 0; k < in.b; k++) take(out_.targets[in.a + k]);
    }
    // Nested choices copy their edges repeatedly; the copies are limited to twice all edges.
    if (bytes.size() > 1 && n_edges <= kMostJoined && n_joined_ + n_edges < 2 * out_.edges.size()) {
        n_joined_ += n_edges;
        syntax_.work().add_steps(n_edges / 4);
        const auto first = static_cast<uint32_t>(out_.edges.size());
        for (const uint32_t target : bytes) {
            const Instruction in = out_.code[target];
            for (uint32_t k = 0; k < in.b; k++) {
                const Edge edge = out_.edges[in.a + k];
                out_.edges.push_back(edge);
            }
        }
        const Instruction joined = {Op::edges, first, static_cast<uint32_t>(n_edges)};
        if (alternatives.empty()) return joined;
        bytes.assign(1, add(joined));
    }
    alternatives.insert(alternatives.end(), bytes.begin(), bytes.end());
    const auto first = static_cast<uint32_t>(out_.targets.size());
    out_.targets.insert(out_.targets.end(), alternatives.begin(), alternatives.end());
    return {Op::fork, first, static_cast<uint32_t>(alternatives.size())};
}

uint32_t GrammarCompiler::emit_literal(std::string_view bytes, uint32_t next) {
    for (size_t i = bytes.size(); i-- > 0;) {
        const uint8_t byte = static_cast<uint8_t>(bytes[i]);
        out_.edges.push_back({byte, byte, next});
        next = add({Op::edges, static_cast<uint32_t>(out_.edges.size() - 1), 1});
    }
    return next;
}

// Splits ranges of characters into sequences of byte ranges: UTF-8 without surrogates. After the
// last byte in which two ends differ, any continuation bytes follow, which sequences share.
class ByteRanges {
public:
    struct Sequence {
        uint8_t n, first[4], last[4];
    };
    explicit ByteRanges(const Host *host) : found_(HostAllocator<Sequence>(host)) {}
    void add(uint32_t first, uint32_t last) {
        static constexpr CharRange lengths[] = {
            {0, 0x7f}, {0x80, 0x7ff}, {0x800, 0xd7ff}, {0xe000, 0xffff}, {0x10000, kLastCode}};
        for (const CharRange r : lengths)
            if (first <= r.last && last >= r.first)
                cut(first > r.first ? first : r.first, last < r.last ? last : r.last);
    }
    const Vector<Sequence> &found() const { return found_; }

private:
    // Splits a range of one encoded length until the ranges of its bytes are independent.
    void cut(uint32_t first, uint32_t last) {
        while (first <= last) {
            uint32_t end = last;
            for (unsigned shift = 18; shift > 0; shift -= 6) {
                const uint32_t low = (uint32_t{1} << shift) - 1;
                if ((first & ~low) == (end & ~low)) continue;
                if (first & low)
                    end = first | low;
                else if ((end & low) != low)
                    end = (end & ~low) - 1;
            }
            put(first, end);
            first = end + 1;
        }
    }
    void put(uint32_t first, uint32_t last) {
        char a[4], b[4];
        Sequence s = {};
        s.n = static_cast<uint8_t>(put_utf8(a, first));
        put_utf8(b, last);
        for (uint8_t i = 0; i < s.n; i++) {
            s.first[i] = static_cast<uint8_t>(a[i]);
            s.last[i] = static_cast<uint8_t>(b[i]);
        }
        found_.push_back(s);
    }
    Vector<Sequence> found_;
};

uint32_t GrammarCompiler::emit_set(const SyntaxNode &node, uint32_t next) {
    ByteRanges bytes(syntax_.host());
    for (uint32_t i = 0; i < node.n; i++)
        bytes.add(syntax_.ranges(node)[i].first, syntax_.ranges(node)[i].last);
    uint32_t any[4] = {next, kFail, kFail, kFail}; // any[i]: i continuation bytes, then next
    Vector<Edge> heads{HostAllocator<Edge>(syntax_.host())};
    syntax_.work().add_steps(4 * bytes.found().size());
    for (const ByteRanges::Sequence &s : bytes.found()) {
        uint32_t at = next;
        uint8_t i = s.n;
        for (; i > 1 && s.first[i - 1] == 0x80 && s.last[i - 1] == 0xbf; i--) {
            uint32_t &shared = any[s.n - i + 1];
            if (shared == kFail) {
                out_.edges.push_back({0x80, 0xbf, at});
                shared = add({Op::edges, static_cast<uint32_t>(out_.edges.size() - 1), 1});
            }
            at = shared;
        }
        for (; i > 1; i--) {
            out_.edges.push_back({s.first[i - 1], s.last[i - 1], at});
            at = add({Op::edges, static_cast<uint32_t>(out_.edges.size() - 1), 1});
        }
        heads.push_back({s.first[0], s.last[0], at});
    }
    const auto first = static_cast<uint32_t>(out_.edges.size());
    out_.edges.insert(out_.edges.end(), heads.begin(), heads.end());
    return add({Op::edges, first, static_cast<uint32_t>(heads.size())});
}

uint32_t GrammarCompiler::emit_choice(const SyntaxNode &node, uint32_t next) {
    Vector<uint32_t> targets{HostAllocator<uint32_t>(syntax_.host())};
    const uint32_t before = n_code();
    for (uint32_t i = 0; i < node.n; i++) {
        const Node child = syntax_.children(node)[i];
        if (properties_.fits[child]) targets.push_back(emit(child, next));
    }
    return add_join(targets.data(), static_cast<uint32_t>(targets.size()), before);
}

uint32_t GrammarCompiler::emit_loop(Node child, bool at_least_once, uint32_t next) {
    const uint32_t fork = add({Op::fork, 0, 0});
    const uint32_t alternatives[2] = {emit(child, fork), next};
    const Instruction joined = join(alternatives, 2, fork + 1);
    out_.code[fork] = joined;
    return at_least_once ? alternatives[0] : fork;
}

uint32_t GrammarCompiler::emit_repeat(const SyntaxNode &node, uint32_t next) {
    const Node child = node.child;
    if (node.max == 0 || !properties_.fits[child]) return next; // min is 0 then
    const bool empty = properties_.empty[child];
    const uint32_t min = empty ? 0 : node.min;
    if (node.max == kMany && min <= 1) return emit_loop(child, min == 1, next);
    if (node.max == 1) {
        const uint32_t before = n_code();
        const uint32_t targets[2] = {emit(child, next), next};
        return min == 1 ? targets[0] : add_join(targets, 2, before);
    }
    if (empty) { // counting a body that may be empty would not end
        for (uint32_t i = 0, before = kFail; i < node.max && next != before; i++) {
            before = next;
            next = emit(child, next);
        }
        return next;
    }
    const uint32_t body = emit(child, kReturn);
    out_.repetitions.push_back({body, min, node.max});
    return add({Op::count, static_cast<uint32_t>(out_.repetitions.size() - 1), next});
}

// Members that cannot be completed are left out: none of them is required.
uint32_t GrammarCompiler::emit_members(const SyntaxNode &node, uint32_t next) {
    const Node *const children = syntax_.children(node);
    Vector<uint32_t> items{HostAllocator<uint32_t>(syntax_.host())};
    Pick pick = {
        emit(children[0], kReturn), 0, 0, node.n_required, node.n_once, node.min, node.max};
    for (uint32_t i = 0; i + 1 < node.n; i++) {
        if (properties_.fits[children[i + 1]])
            items.push_back(emit(children[i + 1], kReturn));
        else if (i < node.n_once)
            pick.n_once--;
    }
    pick.first = static_cast<uint32_t>(out_.targets.size());
    pick.n = static_cast<uint32_t>(items.size());
    out_.targets.insert(out_.targets.end(), items.begin(), items.end());
    out_.picks.push_back(pick);
    return add({Op::pick, static_cast<uint32_t>(out_.picks.size() - 1), next});
}

uint32_t GrammarCompiler::emit(Node node, uint32_t next) {
    const SyntaxNode &n = syntax_[node];
    syntax_.work().add_steps(1);
    if (++n_emitted_ > 2 * kMostInstructions) // a repeated empty node adds no instruction
        fail(Status::limit, {.limit = kMostInstructions}, "the grammar has over %" PRIu32 " steps",
             kMostInstructions);
    if (!properties_.fits[node]) return kFail;
    switch (n.form) {
    case Form::literal:
        return emit_literal(syntax_.bytes(n), next);
    case Form::set:
        return emit_set(n, next);
    case Form::sequence:
        for (uint32_t i = n.n; i-- > 0;) next = emit(syntax_.children(n)[i], next);
        return next;
    case Form::choice:
        return emit_choice(n, next);
    case Form::repeat:
        return emit_repeat(n, next);
    case Form::members:
        return emit_members(n, next);
    case Form::rule:
        break;
    }
    return add({Op::call, n.first, next}); // run() replaces the rule by its entry
}

// Finds byte classes: bytes between which no edge begins or ends.
void GrammarCompiler::find_classes() {
    bool cut[257] = {true};
    for (const Edge &edge : out_.edges) cut[edge.first] = cut[edge.last + 1] = true;
    uint16_t n = 0;
    for (unsigned byte = 0; byte < 256; byte++) {
        if (cut[byte]) out_.sample[n++] = static_cast<uint8_t>(byte);
        out_.classes[byte] = static_cast<uint8_t>(n - 1);
    }
    out_.n_classes = n;
}

void GrammarCompiler::run() {
    out_.code.push_back({Op::ret, 0, 0});
    out_.code.push_back({Op::fail, 0, 0});
    for (const Rule &rule : syntax_.rules())
        out_.entries.push_back(properties_.fits[rule.body] ? emit(rule.body, kReturn) : kFail);
    for (Instruction &instruction : out_.code)
        if (instruction.op == Op::call) instruction.a = out_.entries[instruction.a];
    out_.root = out_.entries[syntax_.root()];
    find_classes();
}

} // namespace

void compile(GrammarProgram &program, const Syntax &syntax, std::string_view source) {
    Properties properties(syntax.host());
    find_properties(properties, syntax);
    if (!properties.fits[syntax.rules()[syntax.root()].body])
        fail(Status::value, {}, "no text fits the grammar");
    refuse_left_recursion(syntax, properties, source);
    GrammarCompiler(program, syntax, properties).run();
    find_runs(program, syntax.work());
}

} // namespace ggufx::grammar
