// What builds the program of each architecture.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/build/builder.hpp"

namespace ggufx::model::arch {

void llama(Builder &b);
void mistral3(Builder &b);
void qwen2(Builder &b);
void qwen3(Builder &b);
void qwen35(Builder &b);
void gemma(Builder &b);
void gemma2(Builder &b);
void gemma3(Builder &b);
void gemma4(Builder &b);
void phi3(Builder &b);
void gpt_oss(Builder &b);
void smollm3(Builder &b);
void granite(Builder &b);
void deepseek2(Builder &b);
void bert(Builder &b);
void nomic_bert(Builder &b);
void nomic_bert_moe(Builder &b);
void jina_bert_v2(Builder &b);
void modern_bert(Builder &b);
void gemma_embedding(Builder &b);

} // namespace ggufx::model::arch
