// Logits with KV caches of each type against those of llama.cpp with the same types: the library's
// must be as close to an F32 cache's. Reads ${GGUFX_TEST_DATA}/data; exits with 77 if it is absent.
// SPDX-License-Identifier: MIT
#include "decode_ids.h"
#include "stored_json.hpp"

#include <ggufx/ggufx.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fstream>
#include <string>
#include <vector>

using Ids = std::vector<int32_t>;
using Logits = std::vector<float>; // [rows of the prompt][vocabulary]

namespace {

// Largest allowed ratios of the library's distances to llama.cpp's, which stores all tokens in the
// same type.
struct Pair {
    const char *type;
    double nmse, divergence;
};
constexpr Pair kPairs[] = {{"f16", 1.0, 1.05}, // KL 4.5e-9, from the order of sums
                           {"bf16", 1.0, 1.0},  {"q8_0", 1.0, 1.0}, {"q5_1", 1.0, 1.0},
                           {"q5_0", 1.0, 1.0},  {"q4_1", 1.0, 1.0}, {"q4_0", 1.0, 1.0},
                           {"iq4_nl", 1.0, 1.0}};
// A smaller ratio would mean that the type was not used. Only the second page of the 151 tokens is
// read quantized, by the tokens of the third.
constexpr double kLeast = 0.02;

int g_failed;

void expect(bool ok, const char *type, const char *what, double value, double limit) {
    if (ok) return;
    g_failed++;
    fprintf(stderr, "%s: %s: %.4g, limit %.4g\n", type, what, value, limit);
}

void must(ggufx_status status, const ggufx_error &error, const char *what) {
    if (status == GGUFX_OK) return;
    fprintf(stderr, "%s: %s: %s\n", what, ggufx_status_name(status), error.message);
    exit(1);
}

struct Oracle {
    Ids prompt;
    size_t n_vocab;
    Logits logits; // prompt only, because later tokens depend on the cache
};

Oracle read_oracle(const std::string &folder) {
    const Json facts = json_file(folder + "/kv_long.json");
    Oracle oracle = {numbers_of(facts.at("prompt_tokens")), facts.at("n_vocab").natural(), {}};
    oracle.logits.resize(oracle.prompt.size() * oracle.n_vocab);
    std::ifstream in(folder + "/kv_long.logits.f32", std::ios::binary);
    for (float &value : oracle.logits) { // little-endian
        unsigned char b[4] = {};
        in.read(reinterpret_cast<char *>(b), 4);
        const uint32_t u = b[0] | uint32_t{b[1]} << 8 | uint32_t{b[2]} << 16 | uint32_t{b[3]} << 24;
        memcpy(&value, &u, 4);
    }
    if (!in) {
        fprintf(stderr, "%s: cut short\n", folder.c_str());
        exit(1);
    }
    return oracle;
}

Logits run(const ggufx_model *model, const Oracle &oracle, const char *type) {
    ggufx_error error;
    ggufx_session_options options = {};
    options.struct_size = sizeof options;
    must(ggufx_type_find(&options.type_k, type, &error), error, type);
    options.flags = GGUFX_SESSION_HAS_TYPE_K | GGUFX_SESSION_HAS_TYPE_V;
    options.type_v = options.type_k;
    ggufx_session *session = nullptr;
    must(ggufx_session_create(&session, model, &options, &error), error, "session");
    Logits logits(oracle.logits.size());
    must(decode_all(session, oracle.prompt.data(), oracle.prompt.size(), logits.data(),
                    logits.size(), &error),
         error, "decode");
    ggufx_session_destroy(session);
    return logits;
}

struct Distance {
    double nmse = 0, divergence = 0;
};

double log_sum(const float *row, size_t n) {
    double most = row[0], sum = 0;
    for (size_t i = 1; i < n; i++) most = fmax(most, double{row[i]});
    for (size_t i = 0; i < n; i++) sum += exp(double{row[i]} - most);
    return most + log(sum);
}

Distance distance(const Logits &from, const Logits &to, size_t n_vocab) {
    Distance d;
    double squares = 0, divergence = 0;
    for (size_t at = 0; at < from.size(); at += n_vocab) {
        const double a = log_sum(&from[at], n_vocab), b = log_sum(&to[at], n_vocab);
        for (size_t i = at; i < at + n_vocab; i++) {
            const double x = double{from[i]}, y = double{to[i]};
            d.nmse += (x - y) * (x - y);
            squares += x * x;
            divergence += exp(x - a) * ((x - a) - (y - b));
        }
    }
    d.nmse /= squares;
    d.divergence = divergence * static_cast<double>(n_vocab) / static_cast<double>(from.size());
    return d;
}

void test_pair(const ggufx_model *model, const std::string &folder, const Oracle &reference,
               const Pair &pair) {
    const Oracle theirs = read_oracle(folder + pair.type);
    const Distance want = distance(reference.logits, theirs.logits, theirs.n_vocab);
    const Distance got =
        distance(reference.logits, run(model, reference, pair.type), reference.n_vocab);
    const double nmse = got.nmse / want.nmse, divergence = got.divergence / want.divergence;
    printf("%-7s NMSE %.3g (%.2f of llama.cpp's), KL %.3g (%.2f)\n", pair.type, got.nmse, nmse,
           got.divergence, divergence);
    expect(nmse <= pair.nmse, pair.type, "NMSE over llama.cpp's", nmse, pair.nmse);
    expect(divergence <= pair.divergence, pair.type, "KL over llama.cpp's", divergence,
           pair.divergence);
    expect(nmse >= kLeast, pair.type, "NMSE too small for the type", nmse, kLeast);
}

} // namespace

int main() {
    const char *root = getenv("GGUFX_TEST_DATA");
    const std::string data = std::string(root ? root : "../shared") + "/data/tinymodel/";
    if (!std::ifstream(data + "oracle-kv/f32/kv_long.json")) {
        printf("skipped: no %soracle-kv\n", data.c_str());
        return 77;
    }
    ggufx_error error;
    ggufx_runtime *rt = nullptr;
    ggufx_file *file = nullptr;
    ggufx_model *model = nullptr;
    must(ggufx_runtime_create(&rt, nullptr, &error), error, "runtime");
    must(ggufx_open(&file, rt, (data + "tiny-stories-f32.gguf").c_str(), nullptr, &error), error,
         "open");
    must(ggufx_model_create(&model, rt, file, nullptr, &error), error, "model");
    const Oracle reference = read_oracle(data + "oracle-kv/f32");
    const Distance exact =
        distance(reference.logits, run(model, reference, "f32"), reference.n_vocab);
    printf("f32     NMSE %.3g\n", exact.nmse);
    expect(exact.nmse <= 1e-11, "f32", "NMSE", exact.nmse, 1e-11); // rounding of two f32 programs
    for (const Pair &pair : kPairs) test_pair(model, data + "oracle-kv/", reference, pair);
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
    return g_failed ? 1 : 0;
}
