// Replies of /v1/responses: a list of items (reasoning, message, function calls), or the events
// that build one.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/reply.hpp"

namespace ggufx::cli {

class ResponsesReply final : public Reply {
public:
    // `asked`: members that repeat the request.
    ResponsesReply(std::shared_ptr<Exchange> exchange, ReplyShape shape, Json asked)
        : Reply(std::move(exchange), std::move(shape), "resp_", 32), asked_(std::move(asked)) {}

    void open() override;
    void put(uint32_t text, Delta delta) override;
    void finish(uint32_t text, const Ending &ending) override;

private:
    void end_stream(const ApiError &error) override;
    enum class Kind { reasoning, message, call };
    struct Item {
        Kind kind;
        std::string id, text; // text: arguments for a call
        std::string call_id, name;
        std::vector<TokenLogprob> logprobs;
    };
    Json response(const char *status, const Ending &ending) const;
    Json item_json(const Item &item, const char *status) const;
    static Json part_json(const Item &item, const Json &logprobs);
    Json event(const char *type) const;
    Json item_event(const char *type) const; // event about the last item
    void send(Json event);
    Item &item_of(Kind kind, const CallPart *call);
    void add(Kind kind, const std::string &text, const std::vector<TokenLogprob> &logprobs,
             const CallPart *call);
    void keep(Delta &delta);
    void close_item(const char *status);
    void send_item_done(const Item &item, const char *status);

    const Json asked_;
    std::vector<Item> items_;
    std::vector<TokenLogprob> kept_; // log-probabilities of tokens whose text follows
    bool item_is_open_ = false;
    uint64_t n_events_ = 0;
};

} // namespace ggufx::cli
