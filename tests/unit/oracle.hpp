// Shared by the tests against stored results: the data, opened files, token ids, counted checks.
// SPDX-License-Identifier: MIT
#pragma once

#include "counted_check.hpp"
#include "decode_ids.h"
#include "stored_json.hpp"

#include <ggufx/ggufx.h>

#include <stdint.h>

#include <string>
#include <vector>

using Ids = std::vector<int32_t>;

extern std::string g_root; // parent of the data/ that is read
extern ggufx_runtime *g_runtime;
extern int g_failed, g_checks;

// Finds data/tiny of GGUFX_TEST_MODELS, or stored results of other engines in GGUFX_TEST_DATA, and
// creates the runtime. Returns false if the folder is absent; the exit code is then 77.
bool begin_models();
bool begin_stored();
// The same with a folder that the build generated.
void begin_in(const std::string &root);
int end(); // returns the exit code

void must(ggufx_status status, const ggufx_error &error, const char *what);
Json read_json(const std::string &path);
std::string read_bytes(const std::string &path);
std::string from_hex(const std::string &hex);
std::string show(const Ids &ids);

// An opened file and objects created from it.
struct Opened {
    ggufx_file *file = nullptr;
    ggufx_tokenizer *tokenizer = nullptr;
    ggufx_model *model = nullptr;
    explicit Opened(const std::string &path) {
        ggufx_error error;
        must(ggufx_open(&file, g_runtime, (g_root + path).c_str(), nullptr, &error), error,
             path.c_str());
    }
    Opened(const Opened &) = delete;
    ~Opened() {
        ggufx_model_destroy(model);
        ggufx_tokenizer_destroy(tokenizer);
        ggufx_file_destroy(file);
    }
    Opened &with_tokenizer() {
        ggufx_error error;
        must(ggufx_tokenizer_create(&tokenizer, file, &error), error, "tokenizer");
        return *this;
    }
    Opened &with_model() {
        ggufx_error error;
        must(ggufx_model_create(&model, g_runtime, file, nullptr, &error), error, "model");
        return *this;
    }
};

Ids tokenize(const ggufx_tokenizer *tokenizer, const std::string &text, uint32_t flags);
std::string detokenize(const ggufx_tokenizer *tokenizer, const Ids &ids);
ggufx_session *new_session(const ggufx_model *model); // with the cache type of the stored results
