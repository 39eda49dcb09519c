// Fuzz target: request bodies for `ggufx serve`. Each becomes a request within its limits, or a
// refusal with a status and a reason. Also host names and API keys of access checks. With
// libFuzzer, omit main (-DGGUFX_FUZZER). Otherwise the seeds below are truncated and mutated by a
// fixed sequence.
// SPDX-License-Identifier: MIT
#include "replay.h"
#include "serve/guard.hpp"
#include "serve/request.hpp"

#include <cstdio>
#include <cstdlib>

using namespace ggufx::cli;

static long g_read = 0; // valid requests

template <class Read> static void attempt(Read &&read) {
    try {
        read();
        g_read++;
    } catch (const ApiError &error) {
        if (error.status != 400 || !*error.what() || error.code.empty()) abort();
        if (!is_utf8(error.to_json().dump())) abort();
    }
}

static void check(const Wanted &wanted) {
    if (wanted.n < 1 || wanted.n > 8 || wanted.stop.size() > 16 || wanted.n_top > 20) abort();
    if (wanted.include_usage && !wanted.stream) abort();
    if (!(wanted.sampling.temperature >= 0) || !(wanted.sampling.top_p <= 1)) abort();
    if (wanted.best_of < wanted.n || wanted.best_of > 8 || wanted.conversation.size() > 128)
        abort();
    for (const ggufx_logit_bias &bias : wanted.biases)
        if (bias.id < 0 || !(bias.bias >= -100 && bias.bias <= 100)) abort();
}

static void check(const ChatWanted &wanted) {
    check(static_cast<const Wanted &>(wanted));
    if (wanted.max_tokens && *wanted.max_tokens == 0) abort();
    const Json messages = Json::parse(wanted.messages, "messages");
    if (!messages.is_array() || messages.size() == 0) abort();
    for (const Json &message : messages.elements()) {
        const Json *const content = message.find("content"); // string, list of parts, or null
        if (!message.find("role")->text() || !content) abort();
        if (!content->text() && !content->is_array() && !content->is_null()) abort();
    }
    if (!wanted.tools.empty() && !Json::parse(wanted.tools, "tools").is_array()) abort();
    if ((wanted.form == AnswerForm::text) != wanted.schema.empty()) abort();
    for (const Callable &function : wanted.forced) {
        if (wanted.tools.empty() || !wanted.stop.empty() || wanted.form != AnswerForm::text)
            abort();
        if (function.name.empty() || function.name.find_first_of("\"\\") != std::string::npos)
            abort();
        if (!Json::parse(function.schema, "schema").is_object()) abort();
    }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string copy(reinterpret_cast<const char *>(data), size); // exactly sized
    const bool lenient = size % 2 == 1;
    const SamplingDefaults defaults;
    Json body;
    const long before = g_read;
    attempt([&] { body = read_body(copy); });
    if (g_read == before) return 0;
    g_read = before;
    attempt([&] { check(read_chat(body, defaults, lenient)); });
    attempt([&] {
        const CompletionWanted wanted = read_completion(body, defaults, lenient);
        check(wanted);
        if (wanted.prompts.empty() || wanted.prompts.size() > 2048) abort();
        if (wanted.max_tokens && *wanted.max_tokens == 0 && !wanted.echo) abort();
    });
    attempt([&] {
        const ResponsesWanted wanted = read_responses(body, defaults, lenient);
        check(wanted);
        if (!wanted.asked.is_object() || !wanted.asked.find("tools")) abort();
    });
    attempt([&] {
        const RerankWanted wanted = read_rerank(body, lenient);
        if (wanted.documents.empty() || wanted.documents.size() > 2048 || wanted.top_n == 0)
            abort();
    });
    attempt([&] {
        const std::string name = read_slot_name(body, lenient);
        if (name.empty() || name[0] == '.' || name.find('/') != std::string::npos) abort();
    });
    attempt([&] {
        for (const TextOrIds &input : read_embeddings(body, lenient).inputs)
            if (input.is_ids && input.ids.empty()) abort();
    });
    attempt([&] { read_tokenize(body, lenient); });
    attempt([&] { read_detokenize(body, lenient); });
    attempt([&] { read_template(body, lenient); });
    return 0;
}

#ifndef GGUFX_FUZZER
static const char *const kSeeds[] = {
    R"({"model":"m","messages":[{"role":"system","content":"be brief"},{"role":"user","content":[{"type":"text","text":"hi"}]},)"
    R"({"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},)"
    R"({"role":"tool","tool_call_id":"a","content":"3"}],"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],)"
    R"("stream":true,"stream_options":{"include_usage":true},"seed":7,"n":2})",
    R"({"messages":[{"role":"user","content":"x"}],"temperature":0.5,"top_p":0.9,"top_k":3,"min_p":0.1,"stop":["a","b"],"logprobs":true,)"
    R"("top_logprobs":3,"logit_bias":{"5":-100,"6":1.5},"max_tokens":4,"response_format":{"type":"json_schema","json_schema":)"
    R"({"name":"n","schema":{"type":"object"},"strict":true}},"store":false,"metadata":{}})",
    R"({"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}},)"
    R"({"type":"function","function":{"name":"g"}}],"tool_choice":"required","parallel_tool_calls":false})",
    R"({"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","description":"d","strict":true}}],)"
    R"("tool_choice":{"type":"function","function":{"name":"f"}}})",
    R"({"input":"x","tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"function","name":"f"}})",
    R"({"prompt":["a",[1,2,3]],"max_tokens":3,"logprobs":2,"best_of":1,"suffix":"z","echo":false,"stop":"q"})",
    R"({"input":[[1,2],[3]],"encoding_format":"base64","dimensions":8,"user":"u"})",
    R"({"content":"text","add_special":true,"with_pieces":true})",
    R"({"tokens":[1,2,3]})",
    R"({"query":"q","documents":["a",{"text":"b"}],"top_n":1,"return_documents":true})",
    R"({"filename":"a-b_c.1"})",
    R"({"input":[{"role":"user","content":[{"type":"input_text","text":"x"}]},{"type":"reasoning","summary":[],"content":[]},)"
    R"({"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"o"}],)"
    R"("instructions":"i","tools":[{"type":"function","name":"f","parameters":{}}],"text":{"format":{"type":"text"}},)"
    R"("reasoning":{"effort":"low"},"include":["message.output_text.logprobs"],"top_logprobs":2,"max_output_tokens":3,"stream":true})",
};

static void check_guard() {
    const struct {
        Asker asker;
        int status; // 0: allowed
    } cases[] = {{{"localhost:1", "", ""}, 0},
                 {{"127.0.0.1", "http://127.0.0.1", ""}, 0},
                 {{"[::1]:5", "", ""}, 0},
                 {{"box.example", "", ""}, 0},
                 {{"evil.example", "", ""}, 403},
                 {{"localhost.evil", "", ""}, 403},
                 {{"[::1", "", ""}, 403},
                 {{"localhost", "http://other", ""}, 403},
                 {{"localhost", "https://a.b", ""}, 0},
                 {{"", "null", ""}, 403}};
    GuardOptions options;
    options.hosts = {"BOX.example"};
    options.origins = {"https://a.b"};
    const Guard guard(options);
    for (const auto &one : cases) {
        int status = 0;
        try {
            guard.check(one.asker, true);
        } catch (const ApiError &error) { status = error.status; }
        if (status != one.status) {
            std::printf("\"%s\" gave %d\n", one.asker.host.c_str(), status);
            std::exit(1);
        }
    }
}

int main(int argc, char **argv) {
    check_guard();
    uint32_t state = 7;
    const auto next = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
    static const char letters[] = "{}[]\",:0-1.e\\utn \xff\xc3";
    long n_run = replay_archives(&argc, &argv);
    const long count =
        argc > 1 ? std::strtol(argv[1], nullptr, 10) : replay_count(3000); // for each seed
    for (const std::string good : kSeeds) {
        g_read = 0;
        replay_input(reinterpret_cast<const uint8_t *>(good.data()), good.size());
        if (g_read == 0) {
            std::printf("no request: %s\n", good.c_str());
            return 1;
        }
        for (long i = 0; i < count; i++, n_run++) {
            std::string bytes = good;
            for (uint32_t k = next() % 3; k > 0; k--) {
                const char to =
                    next() % 2 ? letters[next() % (sizeof letters - 1)] : static_cast<char>(next());
                bytes[next() % bytes.size()] = to;
            }
            if (next() % 4 == 0) bytes.resize(next() % (bytes.size() + 1));
            if (next() % 4 == 0) bytes.erase(next() % (bytes.size() + 1), next() % 9);
            if (next() % 8 == 0) bytes.insert(next() % (bytes.size() + 1), good.substr(0, 40));
            replay_input(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
        }
    }
    std::printf("%ld inputs\n", n_run);
    return 0;
}
#endif
