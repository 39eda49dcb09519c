// Fuzz target: command lines of the tool, words separated by zeros. Each is parsed, or refused with
// the exit code of a usage error. Also shell completion, patterns and sizes. No command is run.
// SPDX-License-Identifier: MIT
#include "chat_main.h"
#include "common/name_pattern.hpp"
#include "common/size.hpp"
#include "completion.hpp"
#include "verbs.hpp"

#include <cstdlib>
#include <string>
#include <vector>

using namespace ggufx::cli;

// Words are separated by newlines here and by zeros in an input, because seeds cannot contain
// zeros.
const char *const chat_seeds[] = {
    "info\nmodel.gguf\n--json\n-t\n4",
    "run\nm.gguf\n-p\nOnce upon a time\n--temp\n0\n-n\n16\n--seed\n7",
    "bench\nmatvec\n-t\n1,2,4\n--isa\navx2,avx512",
    "quantize\nin.gguf\nout.gguf\nQ4_K\n--tensor-type\nre:attn_.*=Q6_K",
    "set\nm.gguf\ngeneral.name=x\n--force",
    "serve\nm.gguf\n--port\n8080\n--host\n::1",
    "--help",
    "completion\nbash\n-q\n--color=never\n--progress\njson",
    "chat\n--tools\nt.json\nm.gguf\n--kv\nq8_0",
    "split\n--max-part\n1.5GiB\n-o-\n--\n-odd",
    nullptr,
};
const char chat_seed_end[] = "";
const size_t chat_seed_end_length = 0;

static std::vector<std::string> words(const uint8_t *data, size_t size) {
    std::vector<std::string> out(1);
    for (size_t i = 0; i < size; i++) {
        if (data[i] == 0 || data[i] == '\n') {
            out.emplace_back();
        } else {
            out.back() += static_cast<char>(data[i]);
        }
    }
    return out;
}

static void parse(std::vector<std::string> arguments) {
    Globals globals;
    CommandLine line("ggufx", "Open, check, run and measure GGUF models.", "0");
    Tool tool = {line.root(), globals, {}, line};
    add_verbs(tool, arguments.empty() ? "" : arguments[0]);
    if (!arguments.empty() && arguments[0] == "--complete") {
        arguments.erase(arguments.begin());
        if (arguments.empty()) return;
        for (const Candidate &c : complete(line.describe(), arguments).words)
            if (c.word.empty()) abort();
        return;
    }
    std::string name = "ggufx";
    std::vector<char *> argv = {name.data()};
    for (std::string &word : arguments) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::optional<int> code = line.parse(static_cast<int>(argv.size()) - 1, argv.data());
    if (code && *code != kOk && *code != kUsage) abort();
    size_t n_given = 0;
    for (const auto &[verb, action] : tool.verbs) n_given += verb.was_given();
    if (!code && n_given != 1) abort();
}

template <class Read> static void attempt(Read &&read) {
    try {
        read();
    } catch (const Failure &failure) {
        if (failure.exit_code != kUsage || !*failure.what()) abort();
    }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const std::vector<std::string> arguments = words(data, size);
    for (const std::string &word : arguments) {
        attempt([&] { parse_size(word, "--size"); });
        attempt([&] { (void)NamePattern("--filter", word).matches("blk.0.attn_q.weight"); });
    }
    parse(arguments);
    return 0;
}
