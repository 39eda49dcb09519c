// See request.hpp.
// SPDX-License-Identifier: MIT
#include "serve/request_common.hpp"

#include <charconv>
#include <limits>

namespace ggufx::cli {

namespace {

constexpr size_t kMostInputs = 2048; // maximum inputs per request
constexpr uint64_t kMostIds = 1u << 24;

void read_stops(Fields &fields, Wanted &out) {
    const Json *const value = fields.take("stop");
    if (!value) return;
    std::vector<Json> texts;
    if (value->is_array())
        texts = value->elements();
    else
        texts.push_back(*value);
    if (texts.size() > kMostStops) fields.refuse("stop", "has more than 16 strings");
    for (const Json &text : texts) {
        if (!text.text() || text.text()->empty() || text.text()->size() > kMostStopBytes)
            fields.refuse("stop",
                          "is neither a string of 1 to 4096 bytes nor a list of such strings");
        out.stop.push_back(*text.text());
    }
}

void read_biases(Fields &fields, Wanted &out) {
    const Json *const value = fields.take("logit_bias");
    if (!value) return;
    if (!value->is_object() || value->size() > kMostBiases)
        fields.refuse("logit_bias", "is not an object of at most 4096 token ids");
    for (size_t i = 0; i < value->size(); i++) {
        const std::string &key = value->keys()[i];
        ggufx_logit_bias bias = {};
        const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), bias.id);
        const auto number = value->elements()[i].number();
        if (error != std::errc() || end != key.data() + key.size() || bias.id < 0 || !number ||
            !(*number >= -100 && *number <= 100))
            fields.refuse("logit_bias",
                          "has an entry that is not a token id with a number from -100 to 100");
        bias.bias = static_cast<float>(*number);
        out.biases.push_back(bias);
    }
}

std::vector<int32_t> read_ids(const Json &list, const std::string &what) {
    std::vector<int32_t> out;
    out.reserve(list.size());
    for (const Json &id : list.elements()) {
        const auto whole = id.whole();
        if (!whole || *whole > std::numeric_limits<int32_t>::max() || out.size() >= kMostIds)
            throw ApiError(400, what + " is not a list of token ids", what, "invalid_value");
        out.push_back(static_cast<int32_t>(*whole));
    }
    return out;
}

bool begins_with(const Json &list, bool (*is)(const Json &)) {
    return list.is_array() && list.size() > 0 && is(list.elements()[0]);
}

// Reads a string, token ids, or a list of either.
std::vector<TextOrIds> read_inputs(Fields &fields, const char *name) {
    const Json *const value = fields.take(name);
    if (!value) fields.refuse(name, "is missing");
    std::vector<TextOrIds> out;
    const auto add = [&](const Json &one) {
        if (one.text()) {
            out.push_back({*one.text(), {}, false});
        } else if (begins_with(one, [](const Json &e) { return e.whole().has_value(); })) {
            out.push_back({"", read_ids(one, name), true});
        } else {
            fields.refuse(name,
                          "is neither a string, nor a list of token ids, nor a list of these");
        }
    };
    const bool many = begins_with(*value, [](const Json &e) { return !e.whole(); });
    if (!many) {
        add(*value);
        return out;
    }
    if (value->size() > kMostInputs) fields.refuse(name, "has more than 2048 prompts");
    for (const Json &one : value->elements()) add(one);
    return out;
}

void read_stream(Fields &fields, Wanted &out) {
    out.stream = fields.truth("stream").value_or(false);
    const Json *const options = fields.take("stream_options");
    if (!options) return;
    if (!out.stream) fields.refuse("stream_options", "needs \"stream\": true");
    Fields of = fields.within(*options, "stream_options");
    out.include_usage = of.truth("include_usage").value_or(false);
    of.no_effect("include_obfuscation", {false});
    of.finish();
}

} // namespace

void read_sampling(Fields &fields, Wanted &out, const SamplingDefaults &defaults) {
    constexpr uint64_t most = std::numeric_limits<uint32_t>::max();
    out.sampling = defaults;
    const auto set = [&](const char *name, float &value, double low, double high) {
        if (const auto number = fields.number(name, low, high)) value = static_cast<float>(*number);
    };
    set("temperature", out.sampling.temperature, 0, 1e6);
    set("top_p", out.sampling.top_p, 0, 1);
    set("min_p", out.sampling.min_p, 0, 1);
    if (const auto k = fields.whole("top_k", 0, most))
        out.sampling.top_k = static_cast<uint32_t>(*k);
    // Random seeds have 32 bits, so that JavaScript clients can send them back exactly.
    out.seed = fields.whole("seed", 0, std::numeric_limits<int64_t>::max());
}

void read_cache_use(Fields &fields, Wanted &out) {
    out.cache_prompt = fields.truth("cache_prompt").value_or(true);
    out.conversation = fields.text("id_conversation").value_or("");
    if (out.conversation.size() > kMostNameBytes)
        fields.refuse("id_conversation", "has more than 128 bytes");
}

void read_common(Fields &fields, Wanted &out, const SamplingDefaults &defaults) {
    out.model = fields.text("model").value_or("");
    read_sampling(fields, out, defaults);
    const auto penalty = [&](const char *name) {
        return static_cast<float>(fields.number(name, -2, 2).value_or(0));
    };
    out.frequency_penalty = penalty("frequency_penalty");
    out.presence_penalty = penalty("presence_penalty");
    out.n = out.best_of = static_cast<uint32_t>(fields.whole("n", 1, kMostTexts).value_or(1));
    read_cache_use(fields, out);
    read_stops(fields, out);
    read_biases(fields, out);
    read_stream(fields, out);
    fields.text("user");
}

CompletionWanted read_completion(const Json &body, const SamplingDefaults &defaults, bool lenient) {
    Fields fields(body, lenient);
    CompletionWanted out;
    read_common(fields, out, defaults);
    out.prompts = read_inputs(fields, "prompt");
    out.suffix = fields.text("suffix");
    out.echo = fields.truth("echo").value_or(false);
    // With a suffix (fill in the middle) the code may contain text that looks like a special token.
    out.parse_special = fields.truth("parse_special").value_or(!out.suffix);
    out.return_special = fields.truth("return_special").value_or(false);
    out.max_tokens = 16; // default of the published API
    if (const auto n =
            fields.whole("max_tokens", out.echo ? 0 : 1, std::numeric_limits<uint32_t>::max()))
        out.max_tokens = static_cast<uint32_t>(*n);
    if (const auto n = fields.whole("logprobs", 0, kMostTop)) {
        out.logprobs = true;
        out.n_top = static_cast<uint32_t>(*n);
    }
    if (out.logprobs && out.echo && out.suffix)
        fields.refuse("logprobs", "is not supported together with echo and suffix");
    if (const auto best = fields.whole("best_of", 1, kMostTexts)) {
        out.best_of = static_cast<uint32_t>(*best);
        if (out.best_of < out.n) fields.refuse("best_of", "is less than n");
        if (out.best_of > out.n && out.stream)
            fields.refuse("best_of", "is not supported with \"stream\": true");
    }
    fields.finish();
    return out;
}

EmbeddingsWanted read_embeddings(const Json &body, bool lenient) {
    Fields fields(body, lenient);
    EmbeddingsWanted out;
    out.model = fields.text("model").value_or("");
    out.inputs = read_inputs(fields, "input");
    const std::string format = fields.text("encoding_format").value_or("float");
    if (format != "float" && format != "base64")
        fields.refuse("encoding_format", "is neither \"float\" nor \"base64\"");
    out.base64 = format == "base64";
    if (const auto n = fields.whole("dimensions", 1, std::numeric_limits<uint32_t>::max()))
        out.dimensions = static_cast<uint32_t>(*n);
    fields.text("user");
    fields.finish();
    return out;
}

RerankWanted read_rerank(const Json &body, bool lenient) {
    Fields fields(body, lenient);
    RerankWanted out;
    out.model = fields.text("model").value_or("");
    const auto query = fields.text("query");
    if (!query) fields.refuse("query", "is missing");
    out.query = *query;
    const Json *const documents = fields.take("documents");
    if (!documents || !documents->is_array() || documents->size() == 0 ||
        documents->size() > kMostInputs)
        fields.refuse("documents", "is not a list of 1 to 2048 strings");
    for (size_t i = 0; i < documents->size(); i++) {
        const Json &one = documents->elements()[i];
        std::optional<std::string> text;
        if (one.is_object()) {
            Fields of = fields.within(one, index_of("documents", i));
            text = of.text("text");
            of.finish();
        } else if (one.text()) {
            text = *one.text();
        }
        if (!text) fields.refuse("documents", "has an entry that is not a string");
        out.documents.push_back(std::move(*text));
    }
    if (const auto n = fields.whole("top_n", 1, kMostInputs)) out.top_n = *n;
    out.return_documents = fields.truth("return_documents").value_or(false);
    fields.text("user");
    fields.finish();
    return out;
}

std::string read_slot_name(const Json &body, bool lenient) {
    Fields fields(body, lenient);
    const auto name = fields.text("filename");
    constexpr std::string_view letters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    if (!name || name->empty() || name->size() > kMostNameBytes || (*name)[0] == '.' ||
        name->find_first_not_of(letters) != std::string::npos)
        fields.refuse("filename", "is not a name of 1 to 128 letters, digits, '.', '_' and '-'");
    fields.finish();
    return *name;
}

TokenizeWanted read_tokenize(const Json &body, bool lenient) {
    Fields fields(body, lenient);
    TokenizeWanted out;
    const auto content = fields.text("content");
    if (!content) fields.refuse("content", "is missing");
    out.content = *content;
    out.add_special = fields.truth("add_special").value_or(false);
    out.parse_special = fields.truth("parse_special").value_or(true);
    out.with_pieces = fields.truth("with_pieces").value_or(false);
    fields.finish();
    return out;
}

std::vector<int32_t> read_detokenize(const Json &body, bool lenient) {
    Fields fields(body, lenient);
    const Json *const tokens = fields.take("tokens");
    if (!tokens || !tokens->is_array()) fields.refuse("tokens", "is not a list of token ids");
    fields.finish();
    return read_ids(*tokens, "tokens");
}

Json read_body(const std::string &bytes) {
    if (!is_utf8(bytes)) throw ApiError(400, "the body is not UTF-8", "", "invalid_utf8");
    try {
        return Json::parse(bytes, "the body");
    } catch (const Failure &failure) { throw ApiError(400, failure.what(), "", "invalid_json"); }
}

} // namespace ggufx::cli
