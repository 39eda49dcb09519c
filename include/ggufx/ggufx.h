/*
 * ggufx/ggufx.h: GGUF models through a stable C interface; includes every public header.
 *
 *   base.h    status codes, errors, host hooks, the runtime
 *   types.h   tensor types and KV types
 *   file.h    open a GGUF file, read its metadata, find its tensors
 *   write.h   write GGUF files and split sets
 *   quant.h   dequantize, quantize blocks
 *   imatrix.h importance matrices
 *   job.h     quantize a model
 *   matmul.h  quantized weights times f32 vectors and matrices
 *   device.h  graphics processors that multiply, with the processor's bits
 *   kv.h      the KV cache and attention over it
 *   model.h   tokenizer, model, session, sampler, perplexity
 *   batch.h   many conversations in one session
 *   group.h   one model on several processes or machines
 *   adapter.h LoRA adapters and control vectors, of a session's sequences
 *   embed.h   texts to vectors, scores of rerankers
 *   chat.h    conversations as the template of a model writes them
 *   grammar.h texts that fit a grammar: tokens a model may choose
 *   sampler.h  samplers as a chain, logarithms of probabilities, texts that end a generation
 *   speculate.h  several tokens of a text for the price of little more than one
 *   measure.h   perplexity, divergence from saved logits, which ending a model expects
 *   estimate.h  what fits into memory, and which recipe loses least
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
#include "file.h"
#include "grammar.h"
#include "group.h"
#include "imatrix.h"
#include "job.h"
#include "kv.h"
#include "matmul.h"
#include "measure.h"
#include "model.h"
#include "quant.h"
#include "sampler.h"
#include "speculate.h"
#include "types.h"
#include "version.h"
#include "write.h"

#endif
