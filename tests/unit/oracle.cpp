// Implementation of oracle.hpp.
// SPDX-License-Identifier: MIT
#include "oracle.hpp"

#include <stdio.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

std::string g_root;
ggufx_runtime *g_runtime;
int g_failed, g_checks;

void begin_in(const std::string &root) {
    g_root = root;
    ggufx_error error;
    must(ggufx_runtime_create(&g_runtime, nullptr, &error), error, "runtime");
}

namespace {

bool begin(const char *variable, const char *wanted) {
    const char *root = getenv(variable);
    if (!root || !std::filesystem::exists(root + std::string(wanted))) {
        printf("skipped: no %s in %s \"%s\"\n", wanted, variable, root ? root : "");
        return false;
    }
    begin_in(root);
    return true;
}

} // namespace

bool begin_models() {
    return begin("GGUFX_TEST_MODELS", "/data/tiny");
}
bool begin_stored() {
    return begin("GGUFX_TEST_DATA", "/data/stories260K");
}

int end() {
    ggufx_runtime_destroy(g_runtime);
    printf("%d checks, %d failed\n", g_checks, g_failed);
    return g_failed ? 1 : 0;
}

void must(ggufx_status status, const ggufx_error &error, const char *what) {
    if (status == GGUFX_OK) return;
    fprintf(stderr, "%s: %s: %s\n", what, ggufx_status_name(status), error.message);
    exit(1);
}

Json read_json(const std::string &path) {
    return json_file(g_root + path);
}

std::string read_bytes(const std::string &path) {
    std::ifstream in(g_root + path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string from_hex(const std::string &hex) {
    std::string out;
    for (size_t i = 0; i + 1 < hex.size(); i += 2) {
        out.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
    return out;
}

std::string show(const Ids &ids) {
    std::string out;
    for (const int32_t id : ids) out += std::to_string(id) + " ";
    return out;
}

Ids tokenize(const ggufx_tokenizer *tokenizer, const std::string &text, uint32_t flags) {
    ggufx_error error;
    Ids ids(text.size() + 8);
    size_t n = 0;
    must(ggufx_tokenize(ids.data(), ids.size(), &n, tokenizer, text.data(), text.size(), flags,
                        &error),
         error, "tokenize");
    ids.resize(n);
    return ids;
}

std::string detokenize(const ggufx_tokenizer *tokenizer, const Ids &ids) {
    ggufx_error error;
    std::string out(64 + 64 * ids.size(), '\0');
    size_t n = 0;
    must(ggufx_detokenize(out.data(), out.size(), &n, tokenizer, ids.data(), ids.size(), 0, &error),
         error, "detokenize");
    out.resize(n);
    return out;
}

ggufx_session *new_session(const ggufx_model *model) {
    ggufx_session_options options = {};
    options.struct_size = sizeof options;
    options.flags = GGUFX_SESSION_HAS_TYPE_K | GGUFX_SESSION_HAS_TYPE_V;
    options.type_k = options.type_v = GGUFX_TYPE_F32; // cache type of the stored results
    ggufx_error error;
    ggufx_session *session = nullptr;
    must(ggufx_session_create(&session, model, &options, &error), error, "session");
    return session;
}
