// Functions that build the graph of each architecture.
// SPDX-License-Identifier: MIT
#pragma once

#include "graph/builder.hpp"

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
void qwen2moe(Builder &b);
void olmo2(Builder &b);
void olmoe(Builder &b);
void glm4(Builder &b);
void glm4moe(Builder &b);
void command_r(Builder &b);
void cohere2(Builder &b);
void exaone4(Builder &b);
void hunyuan(Builder &b);
void gpt2(Builder &b);
void starcoder2(Builder &b);
void phi2(Builder &b);
void falcon(Builder &b);
void nemotron(Builder &b);
void stablelm(Builder &b);
void seed_oss(Builder &b);
void ernie4_5(Builder &b);
void arcee(Builder &b);
void dots1(Builder &b);
void lfm2(Builder &b);
void qwen3next(Builder &b);
void mamba(Builder &b);
void mamba2(Builder &b);
void nemotron_h(Builder &b);
void llama4(Builder &b);
void bert(Builder &b);
void nomic_bert(Builder &b);
void nomic_bert_moe(Builder &b);
void jina_bert_v2(Builder &b);
void modern_bert(Builder &b);
void gemma_embedding(Builder &b);
void minimax_m2(Builder &b);
void mimo2(Builder &b);
void exaone_moe(Builder &b);
void afmoe(Builder &b);
void bailingmoe2(Builder &b);
void laguna(Builder &b);
void mellum(Builder &b);
void hy_v3(Builder &b);
void cohere2moe(Builder &b);
void step35(Builder &b);
void falcon_h1(Builder &b);
void jamba(Builder &b);

} // namespace ggufx::model::arch
