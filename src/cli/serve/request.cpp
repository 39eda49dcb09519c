// See request.hpp.
// SPDX-License-Identifier: MIT
#include "serve/request_common.hpp"

namespace ggufx::cli {

namespace {

void read_stops(Fields &fields, Wanted &out) {
    const Json *const value = fields.take("stop");
    if (!value) return;
    if (value->text())
        out.stop.push_back(*value->text());
    else
        for (const Json &text : value->elements()) out.stop.push_back(*text.text());
}

void read_biases(Fields &fields, Wanted &out) {
    const Json *const value = fields.take("logit_bias");
    for (size_t i = 0; value && i < value->size(); i++)
        out.biases.push_back(
            {*token_id(value->keys()[i]), static_cast<float>(*value->elements()[i].number())});
}

std::vector<int32_t> read_ids(const Json &list) {
    if (list.numbers()) return {list.numbers()->begin(), list.numbers()->end()};
    std::vector<int32_t> out; // some of the numbers have a fraction of 0
    out.reserve(list.size());
    for (const Json &id : list.elements()) out.push_back(static_cast<int32_t>(*whole_of(id)));
    return out;
}

// Reads a string, token ids, or a list of either.
std::vector<TextOrIds> read_inputs(const Json &value) {
    std::vector<TextOrIds> out;
    const auto add = [&](const Json &one) {
        if (one.text())
            out.push_back({*one.text(), {}, false});
        else
            out.push_back({"", read_ids(one), true});
    };
    if (value.text() || value.numbers() || value.elements()[0].number())
        add(value);
    else
        for (const Json &one : value.elements()) add(one);
    return out;
}

void read_stream(Fields &fields, Wanted &out) {
    out.stream = *fields.truth("stream");
    auto options = fields.object("stream_options");
    if (!options) return;
    if (!out.stream) fields.refuse("stream_options", "needs \"stream\": true");
    out.include_usage = *options->truth("include_usage");
    options->finish();
}

void read_number(Fields &fields, Fields::NumberName name, float &value) {
    if (const auto number = fields.number(name)) value = static_cast<float>(*number);
}
void read_number(Fields &fields, Fields::WholeName name, uint32_t &value) {
    if (const auto count = fields.count(name)) value = *count;
}

} // namespace

void read_sampling(Fields &fields, Wanted &out, const SamplingDefaults &defaults) {
    out.sampling = defaults;
#define SERVED(KEY, field, type, off, least, most, long_name, help)                                \
    read_number(fields, #field, out.sampling.field);
#include "sampling/samplers.def"
    // Random seeds have 32 bits, so that JavaScript clients can send them back exactly.
    out.seed = fields.whole("seed");
}

void read_cache_use(Fields &fields, Wanted &out) {
    out.cache_prompt = *fields.truth("cache_prompt");
    out.conversation = fields.text("id_conversation").value_or("");
}

void read_common(Fields &fields, Wanted &out, const SamplingDefaults &defaults) {
    out.model = fields.text("model").value_or("");
    read_sampling(fields, out, defaults);
    out.frequency_penalty = static_cast<float>(*fields.number("frequency_penalty"));
    out.presence_penalty = static_cast<float>(*fields.number("presence_penalty"));
    out.n = out.best_of = *fields.count("n");
    read_cache_use(fields, out);
    read_stops(fields, out);
    read_biases(fields, out);
    read_stream(fields, out);
}

CompletionWanted read_completion(const Json &body, const SamplingDefaults &defaults, bool lenient) {
    Fields fields(body, group::completions, lenient);
    CompletionWanted out;
    read_common(fields, out, defaults);
    out.prompts = read_inputs(*fields.take("prompt"));
    out.suffix = fields.text("suffix");
    out.echo = *fields.truth("echo");
    // With a suffix (fill in the middle) the code may contain text that looks like a special token.
    out.parse_special = fields.truth("parse_special").value_or(!out.suffix);
    out.return_special = *fields.truth("return_special");
    out.max_tokens = fields.count("max_tokens");
    if (out.max_tokens == 0u && !out.echo) fields.refuse("max_tokens", "is 0, which needs echo");
    if (const auto n = fields.count("logprobs")) {
        out.logprobs = true;
        out.n_top = *n;
    }
    if (out.logprobs && out.echo && out.suffix)
        fields.refuse("logprobs", "is not supported together with echo and suffix");
    if (const auto best = fields.count("best_of")) {
        out.best_of = *best;
        if (out.best_of < out.n) fields.refuse("best_of", "is less than n");
        if (out.best_of > out.n && out.stream)
            fields.refuse("best_of", "is not supported with \"stream\": true");
    }
    fields.finish();
    return out;
}

EmbeddingsWanted read_embeddings(const Json &body, bool lenient) {
    Fields fields(body, group::embeddings, lenient);
    EmbeddingsWanted out;
    out.model = fields.text("model").value_or("");
    out.inputs = read_inputs(*fields.take("input"));
    out.base64 = fields.text("encoding_format") == "base64";
    out.dimensions = fields.count("dimensions");
    fields.finish();
    return out;
}

RerankWanted read_rerank(const Json &body, bool lenient) {
    Fields fields(body, group::rerank, lenient);
    RerankWanted out;
    out.model = fields.text("model").value_or("");
    out.query = *fields.text("query");
    for (const Json &one : fields.take("documents")->elements())
        out.documents.push_back(one.text() ? *one.text() : *one.find("text")->text());
    if (const auto n = fields.whole("top_n")) out.top_n = *n;
    out.return_documents = *fields.truth("return_documents");
    fields.finish();
    return out;
}

std::string read_slot_name(const Json &body, bool lenient) {
    return *Fields(body, group::slots, lenient).text("filename");
}

TokenizeWanted read_tokenize(const Json &body, bool lenient) {
    Fields fields(body, group::tokenize, lenient);
    TokenizeWanted out;
    out.content = *fields.text("content");
    out.add_special = *fields.truth("add_special");
    out.parse_special = *fields.truth("parse_special");
    out.with_pieces = *fields.truth("with_pieces");
    fields.finish();
    return out;
}

std::vector<int32_t> read_detokenize(const Json &body, bool lenient) {
    return read_ids(*Fields(body, group::detokenize, lenient).take("tokens"));
}

Json read_body(const std::string &bytes, const RequestMemory &memory, bool replaces_surrogates) {
    if (!is_utf8(bytes)) throw ApiError(400, "the body is not UTF-8", "", "invalid_utf8");
    static constexpr std::string_view long_lists[] = {"input", "prompt", "tokens"};
    try {
        return parse_json(bytes, "the body", {replaces_surrogates, memory.of_values(), long_lists});
    } catch (const Failure &failure) {
        throw ApiError(400, failure.what(), "",
                       failure.exit_code == kNoMemory ? "too_complex" : "invalid_json");
    }
}

} // namespace ggufx::cli
