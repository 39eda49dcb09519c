/* Semantic search: finds the text most similar to a question by cosine similarity of embeddings.
 * SPDX-License-Identifier: MIT */
#include "example.h"

#include <string.h>

enum { kTexts = 4, kMost = 256 };

static float cosine(const float *a, const float *b, size_t n) {
    float sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

int main(int argc, char **argv) {
    const char *texts[kTexts] = {"The old book was under the bed.",
                                 "Nib and Nib played in the village.",
                                 "The sun was warm and the sky was blue.", "Where is the book?"};
    ggufx_runtime *rt = NULL;
    ggufx_file *file = open_file(&rt, argc, argv);
    ggufx_model *model = NULL;
    ggufx_tokenizer *tokenizer = NULL;
    ggufx_embedder *embedder = NULL;
    must(ggufx_model_create(&model, rt, file, NULL, &error));
    must(ggufx_tokenizer_create(&tokenizer, file, &error));
    ggufx_embed_options options = {.struct_size = sizeof options};
    options.pooling = GGUFX_POOLING_MEAN;
    options.flags = GGUFX_EMBED_NORMALIZE;
    must(ggufx_embedder_create(&embedder, model, &options, &error));
    ggufx_embedder_facts info = {.struct_size = sizeof info};
    must(ggufx_embedder_info(&info, embedder, &error));
    int32_t ids[kMost];
    ggufx_token_list lists[kTexts];
    size_t n = 0, width = info.dimensions;
    for (int i = 0; i < kTexts; n += lists[i++].n_tokens) {
        lists[i].tokens = ids + n;
        must(ggufx_tokenize(ids + n, kMost - n, &lists[i].n_tokens, tokenizer, texts[i],
                            strlen(texts[i]), 0, &error));
    }
    float *rows = malloc(kTexts * width * sizeof *rows);
    if (!rows) return 1;
    must(ggufx_embed(rows, kTexts * width, embedder, lists, kTexts, NULL, &error));
    const float *question = rows + (kTexts - 1) * width;
    for (int rank = 0; rank < kTexts - 1; rank++) {
        int best = -1;
        float most = -2;
        for (int i = 0; i < kTexts - 1; i++) {
            const float at = cosine(rows + (size_t)i * width, question, width);
            if (texts[i] && at > most) best = i, most = at;
        }
        printf("%.3f %s\n", (double)most, texts[best]);
        texts[best] = NULL;
    }
    free(rows);
    ggufx_embedder_destroy(embedder);
    ggufx_tokenizer_destroy(tokenizer);
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
    return 0;
}
