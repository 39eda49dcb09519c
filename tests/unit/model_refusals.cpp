// Files that open but are no usable models or vocabularies are refused with the right status and a
// message: those of tests/gguf/make_files.py, and those of ${GGUFX_TEST_DATA}/data if it exists.
// usage: model_refusals MADE/files.txt
// SPDX-License-Identifier: MIT
#include "oracle.hpp"

#include <stdio.h>
#include <string.h>

#include <fstream>

namespace {

// Files that open but are no usable models: model_create or tokenizer_create refuses each with the
// status recorded for the case.
void test_hostile_models() {
    const Json expected = read_json("/data/malformed/expected.json");
    size_t n = 0;
    for (const Json &c : expected.at("cases").elements()) {
        const std::string name = text_at(c, "name"), expect = text_at(c, "expect");
        if (expect.rfind("open_ok_model_", 0) != 0) continue;
        const std::string path = g_root + "/data/malformed/" + text_at(c, "file");
        if (!std::ifstream(path)) continue; // not in this copy of the data
        n++;
        ggufx_error error;
        ggufx_file *file = nullptr;
        ggufx_model *model = nullptr;
        ggufx_tokenizer *tokenizer = nullptr;
        std::string codes = "|"; // gcc 12 warns about "|" + codes
        codes += text_at(c, "code") + "|";
        const auto names = [&](const std::string &code) {
            return codes.find("|" + code + "|") != std::string::npos;
        };
        const auto listed = [&](ggufx_status status) {
            // Stored files of earlier snapshots have another name of this status.
            return names(ggufx_status_name(status)) ||
                   (status == GGUFX_E_HYPERPARAMETER && names("HPARAM"));
        };
        const bool either = expect == "open_ok_model_either";
        const ggufx_status opened = ggufx_open(&file, g_runtime, path.c_str(), nullptr, &error);
        if (opened != GGUFX_OK) {
            CHECK(either && listed(opened), "%s: open: %s: %s", name.c_str(),
                  ggufx_status_name(opened), error.message);
            continue;
        }
        ggufx_error vocab_error;
        const ggufx_status vocab = ggufx_tokenizer_create(&tokenizer, file, &vocab_error);
        const ggufx_status bound = ggufx_model_create(&model, g_runtime, file, nullptr, &error);
        // Faults of the vocabulary are the tokenizer's to refuse, all others the model's.
        const bool of_vocab = codes.find("|VOCAB|") != std::string::npos || c.find("of");
        const ggufx_status got = of_vocab ? vocab : bound;
        CHECK(listed(got) || (either && got == GGUFX_OK), "%s: %s: %s", name.c_str(),
              ggufx_status_name(got), of_vocab ? vocab_error.message : error.message);
        if (!of_vocab && codes.find("|SPLIT|") == std::string::npos) {
            CHECK(vocab == GGUFX_OK, "%s: tokenizer: %s", name.c_str(), vocab_error.message);
        }
        ggufx_tokenizer_destroy(tokenizer);
        ggufx_model_destroy(model);
        ggufx_file_destroy(file);
    }
    CHECK(n >= 15, "only %zu hostile models", n);
}

// Well-formed models of other kinds are refused by name; their vocabularies are accepted.
void test_unsupported_files() {
    const struct {
        const char *file, *model;
    } cases[] = {
        {"tokenizer/vocab-rwkv.gguf", "rwkv7"},
        {"tokenizer/vocab-ugm-t5.gguf", "t5"},
    };
    for (const auto &c : cases) {
        Opened opened(std::string("/data/") + c.file);
        ggufx_error error;
        const ggufx_status status =
            ggufx_model_create(&opened.model, g_runtime, opened.file, nullptr, &error);
        CHECK(status == GGUFX_E_UNSUPPORTED && strstr(error.message, c.model), "%s: %s: %s", c.file,
              ggufx_status_name(status), error.message);
        opened.with_tokenizer();
    }
}

// Each generated model has one fault; the model without it is valid.
void test_the_model_without_a_fault() {
    Opened("/data/malformed/public/model_sound.gguf").with_tokenizer().with_model();
}

} // namespace

// The generated files in the folder of INDEX.JSON, or "stored": those of GGUFX_TEST_DATA.
int main(int n_arguments, char **arguments) {
    if (n_arguments != 2) return 2;
    const std::string what = arguments[1];
    if (what == "stored") {
        if (!begin_stored()) return 77;
    } else {
        begin_in(what.substr(0, what.rfind('/')));
        test_the_model_without_a_fault();
    }
    test_hostile_models();
    test_unsupported_files();
    return end();
}
