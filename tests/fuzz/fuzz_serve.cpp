// Fuzz target: request bodies for `ggufx serve`. Each becomes a request within its limits, or a
// refusal with a status and a reason. Also host names and API keys of access checks. The bytes are
// a script for the scheduler, too, whose index and session always have the same tokens. With
// libFuzzer, omit main (-DGGUFX_FUZZER). Otherwise the seeds below are truncated and mutated by a
// fixed sequence.
// SPDX-License-Identifier: MIT
#include "../serve/fake_backend.hpp"
#include "replay.h"
#include "serve/guard.hpp"
#include "serve/request.hpp"

#include <cstdio>
#include <cstdlib>

using namespace ggufx::cli;
using ggufx::Json;

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
    const Json messages = parse_json(wanted.messages, "messages");
    if (!messages.is_array() || messages.size() == 0) abort();
    for (const Json &message : messages.elements()) {
        const Json *const content = message.find("content"); // string, list of parts, or null
        if (!message.find("role")->text() || !content) abort();
        if (!content->text() && !content->is_array() && !content->is_null()) abort();
    }
    if (!wanted.tools.empty() && !parse_json(wanted.tools, "tools").is_array()) abort();
    if ((wanted.form == AnswerForm::text) != wanted.schema.empty()) abort();
    for (const Callable &function : wanted.forced) {
        if (wanted.tools.empty() || !wanted.stop.empty() || wanted.form != AnswerForm::text)
            abort();
        if (function.name.empty() || function.name.find_first_of("\"\\") != std::string::npos)
            abort();
        if (!parse_json(function.schema, "schema").is_object()) abort();
    }
}

namespace {

// Runs requests, clients that leave, snapshots and faults, as the bytes say.
class Script {
public:
    Script() : machine_(3, 32), scheduler_(machine_, options(), [this] { return machine_.time; }) {}

    void run(const std::string &bytes) {
        constexpr size_t most = 256; // bytes that count
        for (size_t i = 0; i < std::min(bytes.size(), most); i++) {
            act(static_cast<uint8_t>(bytes[i]));
            if (!scheduler_.is_consistent()) abort();
        }
        machine_.faults.fail_at(-1, 0);
        for (int i = 0; !scheduler_.is_idle(); i++) {
            if (i == 100000) abort();
            scheduler_.step();
            if (!scheduler_.is_consistent()) abort();
        }
        for (const auto &writer : writers_)
            if (!writer->has_ended() && !writer->gone) abort();
    }

private:
    static SchedulerOptions options() {
        SchedulerOptions out;
        out.patience_seconds = 0.05;
        return out;
    }
    void act(uint8_t byte) {
        const uint8_t value = byte >> 3; // 0 .. 31
        switch (byte & 7) {
        case 0:
            add(value);
            break;
        case 1:
            restore(value);
            break;
        case 2:
            machine_.faults.fail_at(1 + value / 4, value % FaultPlan::kKinds);
            break;
        case 3:
            machine_.room = value > 15 ? 0 : 100 + 20u * value;
            break;
        case 4:
            if (!writers_.empty() && value % 2 == 0) writers_[value % writers_.size()]->gone = true;
            if (!writers_.empty() && value % 2 == 1) writers_[value % writers_.size()]->late = true;
            break;
        case 5:
            if (value == 0) scheduler_.stop("the end");
            if (value == 1) scheduler_.fail_all("a fault", Fault::internal);
            break;
        default:
            for (int i = 0; i <= value / 8; i++) scheduler_.step();
        }
    }
    void add(uint8_t value) {
        if (writers_.size() == 16) return;
        auto job = std::make_shared<Job>();
        job->prompt = made(1 + value % 3, 1 + 9u * value);
        job->owner = value % 2;
        job->scores = value % 7 == 0;
        writers_.push_back(std::make_shared<FakeWriter>(machine_, 1u + value));
        job->writer = writers_.back();
        scheduler_.add(std::move(job));
    }
    void restore(uint8_t value) {
        const uint32_t slot = value % 3;
        if (scheduler_.slot(slot).state != SlotView::State::free) return;
        std::vector<PrefixIndex::Code> codes;
        for (const int32_t id : made(1, 5u * value))
            codes.push_back(static_cast<PrefixIndex::Code>(id) * 2);
        std::string snapshot(reinterpret_cast<const char *>(codes.data()), codes.size() * 4);
        if (value % 4 == 1) snapshot += '!';
        if (value % 4 == 2 && !codes.empty()) codes.back()++;
        try {
            scheduler_.restore(slot, value % 2, codes, snapshot);
        } catch (const DecodeBackend::Refused &) {}
    }

    FakeMachine machine_;
    Scheduler scheduler_;
    std::vector<std::shared_ptr<FakeWriter>> writers_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::string copy(reinterpret_cast<const char *>(data), size); // exactly sized
    Script().run(copy);
    const bool lenient = size % 2 == 1;
    const SamplingDefaults defaults;
    Json body;
    const long before = g_read;
    attempt([&] { body = read_body(copy, {copy.size(), SIZE_MAX}, size % 3 > 0); });
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
    for (long i = 0; i < count; i++, n_run++) { // scripts
        std::string bytes(1 + next() % 256, '\0');
        for (char &byte : bytes) byte = static_cast<char>(next());
        replay_input(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
    }
    std::printf("%ld inputs\n", n_run);
    return 0;
}
#endif
