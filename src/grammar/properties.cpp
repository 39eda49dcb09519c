// Solver of properties. Both are least fixed points of "all children" or "one child", found from
// the leaves up: a node waits for a number of its children, which notify it.
// SPDX-License-Identifier: MIT
#include "grammar/properties.hpp"

namespace ggufx::grammar {

namespace {

// Role of a child for its parent.
enum class Role : uint8_t {
    needed, // the parent waits for it
    once,   // a member that may appear once
    often,  // a member that may appear again
};

// Calls visit(child, role) for the children of a node; a rule's body is one.
template <class Visit> void each_child(const Syntax &syntax, const SyntaxNode &node, Visit visit) {
    if (node.form == Form::sequence || node.form == Form::choice) {
        for (uint32_t i = 0; i < node.n; i++) visit(syntax.children(node)[i], Role::needed);
    } else if (node.form == Form::members) {
        for (uint32_t i = 0; i + 1 < node.n; i++)
            visit(syntax.children(node)[i + 1], i < node.n_required ? Role::needed
                                                : i < node.n_once   ? Role::once
                                                                    : Role::often);
    } else if (node.form == Form::repeat) {
        visit(node.child, Role::needed);
    } else if (node.form == Form::rule) {
        visit(syntax.rules()[node.first].body, Role::needed);
    }
}

using Numbers = Vector<uint32_t>;

class Solver {
public:
    explicit Solver(const Syntax &syntax)
        : syntax_(syntax), first_(numbers()), parents_(numbers()), waits_(numbers()),
          members_(numbers()), ready_(numbers()), roles_(HostAllocator<Role>(syntax.host())) {
        const size_t n = syntax.size();
        syntax.work().add_steps(4 * n);
        first_.assign(n + 1, 0);
        for (Node i = 0; i < n; i++)
            each_child(syntax, syntax[i], [&](Node child, Role) { first_[child + 1]++; });
        for (size_t i = 0; i < n; i++) first_[i + 1] += first_[i];
        parents_.resize(first_[n]);
        roles_.resize(first_[n]);
        Numbers next(first_);
        for (Node i = 0; i < n; i++)
            each_child(syntax, syntax[i], [&](Node child, Role role) {
                roles_[next[child]] = role;
                parents_[next[child]++] = i;
            });
        waits_.resize(n);
        members_.resize(n);
        ready_.reserve(n);
    }

    // holds(leaf): the property of a literal or set.
    template <class Holds> void solve(Vector<uint8_t> &out, Holds holds) {
        out.assign(syntax_.size(), 0);
        syntax_.work().add_steps(2 * syntax_.size() + parents_.size());
        ready_.clear();
        const auto tell = [&](Node node) {
            if (!out[node]) out[node] = 1, ready_.push_back(node);
        };
        for (Node i = 0; i < syntax_.size(); i++) {
            const SyntaxNode &node = syntax_[i];
            const bool members = node.form == Form::members;
            waits_[i] = node.form == Form::sequence ? node.n : members ? node.n_required : 1;
            members_[i] = members && node.min > node.n_required ? node.min - node.n_required : 0;
            const bool leaf = node.form == Form::literal || node.form == Form::set;
            const bool at_once = leaf                        ? holds(node)
                                 : node.form == Form::repeat ? node.min == 0
                                                             : is_done(i);
            if (at_once) tell(i);
        }
        while (!ready_.empty()) {
            const Node node = ready_.back();
            ready_.pop_back();
            for (uint32_t k = first_[node]; k < first_[node + 1]; k++) {
                const Node parent = parents_[k];
                if (is_done(parent)) continue;
                if (roles_[k] == Role::needed && waits_[parent] > 0) waits_[parent]--;
                if (roles_[k] == Role::once && members_[parent] > 0) members_[parent]--;
                if (roles_[k] == Role::often) members_[parent] = 0;
                if (is_done(parent)) tell(parent);
            }
        }
    }

private:
    bool is_done(Node node) const { return waits_[node] == 0 && members_[node] == 0; }
    Numbers numbers() const { return Numbers(HostAllocator<uint32_t>(syntax_.host())); }
    const Syntax &syntax_;
    // waits_: children that are still needed; members_: number of further members.
    Numbers first_, parents_, waits_, members_, ready_;
    Vector<Role> roles_; // [parents of a node]
};

} // namespace

void find_properties(Properties &out, const Syntax &syntax) {
    Solver solver(syntax);
    solver.solve(out.fits, [](const SyntaxNode &n) { return n.form == Form::literal || n.n > 0; });
    solver.solve(out.empty,
                 [](const SyntaxNode &n) { return n.form == Form::literal && n.n == 0; });
}

void refuse_left_recursion(const Syntax &syntax, const Properties &properties,
                           std::string_view source) {
    enum : uint8_t { fresh, open, done };
    Vector<uint8_t> state(syntax.size(), fresh, HostAllocator<uint8_t>(syntax.host()));
    struct Step {
        Node node;
        uint32_t child; // the next one to look at
    };
    Vector<Step> path{HostAllocator<Step>(syntax.host())};
    // Returns the i-th child that a node can begin with, or none.
    const auto begins = [&](const SyntaxNode &node, uint32_t i) {
        if (node.form == Form::choice) return i < node.n ? syntax.children(node)[i] : kNoNode;
        if (node.form == Form::members)
            return i + 1 < node.n ? syntax.children(node)[i + 1] : kNoNode;
        if (node.form == Form::sequence) {
            if (i >= node.n || (i > 0 && !properties.empty[syntax.children(node)[i - 1]]))
                return kNoNode;
            return syntax.children(node)[i];
        }
        if (i > 0 || node.form == Form::literal || node.form == Form::set) return kNoNode;
        if (node.form == Form::rule) return syntax.rules()[node.first].body;
        return node.max > 0 ? node.child : kNoNode;
    };
    syntax.work().add_steps(syntax.size());
    for (Node root = 0; root < syntax.size(); root++) {
        if (state[root] != fresh) continue;
        path.push_back({root, 0});
        state[root] = open;
        while (!path.empty()) {
            Step &step = path.back();
            const Node child = begins(syntax[step.node], step.child++);
            if (child == kNoNode) {
                state[step.node] = done;
                path.pop_back();
            } else if (state[child] == fresh && properties.fits[child]) {
                state[child] = open;
                path.push_back({child, 0});
            } else if (state[child] == open) {
                size_t i = path.size() - 1; // a cycle goes through a rule
                while (syntax[path[i].node].form != Form::rule) i--;
                const uint32_t rule = syntax[path[i].node].first;
                const std::string_view name = syntax.name(rule);
                refuse_at(source, syntax.rules()[rule].offset, Status::unsupported,
                          "rule '%s' can begin with itself (left recursion)", Quoted(name).c_str());
            }
        }
    }
}

} // namespace ggufx::grammar
