// SPDX-License-Identifier: MIT
#include "serve/history.hpp"

#include "serve/preparation.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>
#include <unordered_set>

namespace ggufx::cli {

namespace {

const std::string *text_of(const Json &object, const char *name) {
    const Json *const value = object.find(name);
    return value ? value->text() : nullptr;
}

class Linker {
public:
    explicit Linker(std::vector<Json> messages) : messages_(std::move(messages)) {
        for (const Json &message : messages_)
            if (const Json *const calls = message.find("tool_calls"))
                for (const Json &call : calls->elements())
                    if (const std::string *const id = text_of(call, "id")) taken_.insert(*id);
    }

    Json link() {
        for (size_t i = 0; i < messages_.size(); i++) {
            if (!messages_[i].find("tool_calls")) continue;
            name_calls(messages_[i]);
            size_t end = i + 1;
            while (end < messages_.size() && is_result(messages_[end])) end++;
            link_results(i + 1, end);
        }
        Json out = Json::array();
        for (Json &message : messages_) out.push_back(std::move(message));
        return out;
    }

private:
    struct Call {
        std::string id, name;
    };

    static bool is_result(const Json &message) {
        const std::string *const role = text_of(message, "role");
        return role && *role == "tool";
    }

    void name_calls(Json &message) {
        calls_.clear();
        order_.clear();
        Json calls = Json::array();
        for (Json call : message.find("tool_calls")->elements()) {
            const std::string *const given = text_of(call, "id");
            const std::string id = given && !given->empty() ? *given : new_id();
            call["id"] = id;
            order_.emplace(id, calls_.size());
            calls_.push_back({id, *text_of(*call.find("function"), "name")});
            calls.push_back(std::move(call));
        }
        message["tool_calls"] = std::move(calls);
    }

    // Returns nine letters and digits, the form that the strictest templates require.
    std::string new_id() {
        std::string id;
        do id = fmt::format("call{:05}", ++n_made_);
        while (taken_.contains(id));
        return id;
    }

    void link_results(size_t begin, size_t end) {
        std::vector<size_t> of; // index of the call for each result
        std::vector<bool> has_result(calls_.size());
        for (size_t i = begin; i < end; i++) {
            const std::string *const id = text_of(messages_[i], "tool_call_id");
            const auto found = id ? order_.find(*id) : order_.end();
            of.push_back(found == order_.end() ? kUnknown : found->second);
            if (of.back() != kUnknown) has_result[of.back()] = true;
        }
        size_t next = 0;
        for (size_t i = begin; i < end; i++) {
            size_t &call = of[i - begin];
            const std::string *const id = text_of(messages_[i], "tool_call_id");
            if (call == kUnknown && (!id || id->empty())) {
                while (next < calls_.size() && has_result[next]) next++;
                if (next < calls_.size()) call = next++;
            }
            if (call == kUnknown) continue;
            messages_[i]["tool_call_id"] = calls_[call].id;
            if (!messages_[i].find("name")) messages_[i]["name"] = calls_[call].name;
        }
        sort_results(begin, of);
    }

    void sort_results(size_t begin, const std::vector<size_t> &of) {
        std::vector<size_t> order(of.size());
        for (size_t i = 0; i < order.size(); i++) order[i] = i;
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return of[a] < of[b]; });
        std::vector<Json> sorted;
        for (const size_t i : order) sorted.push_back(std::move(messages_[begin + i]));
        std::move(sorted.begin(), sorted.end(),
                  messages_.begin() + static_cast<std::ptrdiff_t>(begin));
    }

    static constexpr size_t kUnknown = SIZE_MAX;
    std::vector<Json> messages_;
    std::unordered_set<std::string> taken_;
    std::vector<Call> calls_; // calls of the last message that has some
    std::unordered_map<std::string, size_t> order_;
    uint64_t n_made_ = 0;
};

bool is_object_text(const std::string &text, const std::string &path) {
    const RequestMemory *const memory = Preparation::memory();
    try {
        JsonReading reading;
        if (memory) reading.most_bytes = memory->of_values();
        return parse_json(text, path, reading).is_object();
    } catch (const Failure &failure) {
        if (failure.exit_code == kNoMemory)
            throw ApiError(400, failure.what(), path, "too_complex");
        return false;
    }
}

} // namespace

Json call_arguments(Fields &call) {
    const Json *const given = call.take("arguments");
    if (!given) return Json::object();
    if (given->is_object()) return *given;
    const std::string &text = *given->text();
    const size_t first = text.find_first_not_of(" \t\r\n");
    const size_t end = text.find_last_not_of(" \t\r\n") + 1;
    if (first == std::string::npos || text.substr(first, end - first) == "null")
        return Json::object();
    if (is_object_text(text, call.path("arguments"))) return *given;
    call.refuse("arguments", fmt::format("is not a JSON object or the text of one, but \"{}\"",
                                         escape(text.substr(0, 80))));
}

Json link_results(std::vector<Json> messages) {
    return Linker(std::move(messages)).link();
}

} // namespace ggufx::cli
