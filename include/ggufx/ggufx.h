/*
 * ggufx/ggufx.h: includes every public header of the library.
 *
 * Basics:
 *
 *   base.h       status codes, errors, host hooks, the runtime
 *   types.h      tensor types and KV cache types
 *
 * Files:
 *
 *   file.h       open a GGUF file, read its metadata, find its tensors
 *   write.h      write and edit GGUF files and split sets
 *
 * Quantization:
 *
 *   quant.h      dequantize, quantize blocks
 *   imatrix.h    importance matrices
 *   feedback.h   blocks for inputs
 *   quantizer.h  quantize a model
 *   estimate.h   memory of a model, recommended quantization mix and KV cache types
 *
 * Matrix products and attention:
 *
 *   matmul.h     quantized weights times f32 vectors and matrices
 *   device.h     GPU devices for matrix products
 *   kv.h         KV cache and attention over it
 *
 * Models:
 *
 *   model.h      tokenizer, model, session
 *   batch.h      many sequences in one session
 *   group.h      tensor and pipeline parallelism
 *   adapter.h    LoRA adapters and control vectors
 *
 * Chat:
 *
 *   chat.h       chat templates, parser for reasoning and tool calls
 *
 * Generation:
 *
 *   generator.h  generate text with a model: events of one or many sequences
 *   event.h      events of generators and parsers
 *   grammar.h    constrained decoding by GBNF grammars and JSON Schema
 *   sampler.h    sampler chain, log-probabilities
 *
 * Evaluation:
 *
 *   embed.h      embeddings and scores of rerankers
 *   eval.h       perplexity, KL divergence, multiple-choice continuations
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_GGUFX_H
#define GGUFX_GGUFX_H

#include "adapter.h"
#include "base.h"
#include "batch.h"
#include "chat.h"
#include "device.h"
#include "embed.h"
#include "estimate.h"
#include "eval.h"
#include "event.h"
#include "feedback.h"
#include "file.h"
#include "generator.h"
#include "grammar.h"
#include "group.h"
#include "imatrix.h"
#include "kv.h"
#include "matmul.h"
#include "model.h"
#include "quant.h"
#include "quantizer.h"
#include "sampler.h"
#include "types.h"
#include "version.h"
#include "write.h"

#endif
