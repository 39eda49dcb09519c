// Written by bindings/raw.py from include/ggufx; a test compares them.
// SPDX-License-Identifier: MIT
#pragma warning disable 169, 649
using System.Collections.Generic;
using System;
using System.Runtime.InteropServices;

namespace Ggufx
{
    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeAdapterOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal uint first_layer;
        internal uint last_layer;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeAdapterFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal uint kind;
        internal uint n_targets;
        internal uint rank;
        internal uint reserved;
        internal double alpha;
        internal ulong fingerprint;
        internal ulong memory_bytes;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeAdapterUse
    {
        internal IntPtr adapter;
        internal float scale;
        internal uint reserved;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeError
    {
        internal int status;
        internal int system_error;
        internal ulong offset;
        internal ulong index;
        internal ulong value;
        internal ulong limit;
        internal fixed ulong reserved[3];
        internal fixed byte message[448];
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeAllocator
    {
        internal uint struct_size;
        internal uint flags;
        internal void* user;
        internal IntPtr alloc;
        internal IntPtr free;
        internal IntPtr destroy;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeLog
    {
        internal uint struct_size;
        internal uint flags;
        internal void* user;
        internal IntPtr write;
        internal IntPtr destroy;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeExecutor
    {
        internal uint struct_size;
        internal uint flags;
        internal uint max_workers;
        internal uint reserved;
        internal void* user;
        internal IntPtr parallel_for;
        internal IntPtr destroy;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeText
    {
        internal byte* data;
        internal UIntPtr size;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeProgress
    {
        internal IntPtr report;
        internal void* user;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeRuntimeOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal NativeAllocator* allocator;
        internal NativeLog* log;
        internal NativeExecutor* executor;
        internal uint threads;
        internal int isa;
        internal ulong workspace_bytes;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeRuntimeFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal int isa;
        internal uint threads;
        internal ulong features;
        internal byte* isa_name;
        internal byte* allocator_name;
        internal ulong workspace_bytes;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeDecodeItem
    {
        internal uint struct_size;
        internal uint flags;
        internal uint sequence;
        internal uint reserved;
        internal int* tokens;
        internal UIntPtr n_tokens;
        internal float* input_rows;
        internal UIntPtr n_input_rows;
        internal int* positions;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeAttentionHook
    {
        internal uint struct_size;
        internal uint flags;
        internal void* user;
        internal IntPtr layer;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeDecodeOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal NativeProgress* progress;
        internal float* logits;
        internal UIntPtr n_logits;
        internal uint matmul_flags;
        internal uint reserved;
        internal float* hidden;
        internal UIntPtr n_hidden;
        internal NativeAttentionHook* attention;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeChatTemplateOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal NativeText text;
        internal NativeText name;
        internal NativeText format;
        internal NativeText bos_token;
        internal NativeText eos_token;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeChatMessage
    {
        internal uint struct_size;
        internal uint flags;
        internal NativeText role;
        internal NativeText content;
        internal NativeText parts;
        internal NativeText tool_calls;
        internal NativeText extra;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeChatRequest
    {
        internal uint struct_size;
        internal uint flags;
        internal NativeChatMessage* messages;
        internal UIntPtr n_messages;
        internal NativeText messages_json;
        internal NativeText tools;
        internal NativeText documents;
        internal NativeText variables;
        internal NativeText reasoning_effort;
        internal long unix_time;
        internal ulong max_steps;
        internal ulong max_memory;
        internal ulong max_output;
        internal NativeProgress* progress;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeChatSpan
    {
        internal ulong end;
        internal ulong user;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeChatTemplateFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal uint call_form;
        internal uint call_notation;
        internal byte* reasoning_open;
        internal byte* reasoning_close;
        internal byte* call_prefix;
        internal byte* call_middle;
        internal byte* call_end;
        internal byte* call_before_key;
        internal byte* call_after_key;
        internal byte* call_after_key_other;
        internal byte* call_after_value;
        internal byte* call_quote;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeChatParserOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal IntPtr chat;
        internal NativeText prompt;
        internal NativeText tools;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeChatParserFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal ulong n_calls;
        internal byte* reasoning_close;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeDeviceOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal byte* plugin_path;
        internal IntPtr cache_load;
        internal IntPtr cache_store;
        internal void* cache_user;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeDeviceFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal uint fma;
        internal uint reserved;
        internal ulong memory_bytes;
        internal ulong free_bytes;
        internal ulong used_bytes;
        internal ulong max_allocation;
        internal ulong n_launches;
        internal fixed byte id[40];
        internal fixed byte name[128];
        internal fixed byte driver[96];
        internal fixed byte reason[224];
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeVulkanOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal void* get_instance_proc_addr;
        internal void* instance;
        internal void* physical_device;
        internal void* device;
        internal void* queue;
        internal uint queue_family;
        internal uint reserved;
        internal IntPtr lock_;
        internal IntPtr unlock;
        internal void* user;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeEmbedOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal uint n_context;
        internal uint n_batch;
        internal uint pooling;
        internal uint dimensions;
        internal uint matmul_flags;
        internal uint reserved;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeEmbedderFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal uint n_context;
        internal uint n_batch;
        internal uint pooling;
        internal uint dimensions;
        internal uint full_dimensions;
        internal uint reserved;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeEstimateOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal uint file_type;
        internal uint n_context;
        internal uint n_batch;
        internal uint n_sessions;
        internal uint type_k;
        internal uint type_v;
        internal NativeQuantizerOptions* quantizer;
        internal ulong memory_bytes;
        internal double bandwidth;
        internal ulong n_context_total;
        internal uint n_checkpoints;
        internal uint n_sequences;
        internal IntPtr* adapters;
        internal UIntPtr n_adapters;
        internal ulong device_memory_bytes;
        internal uint* weights;
        internal uint n_ranks;
        internal uint rank;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeEstimateFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal uint file_type;
        internal uint n_context;
        internal uint n_batch;
        internal uint n_sessions;
        internal uint type_k;
        internal uint type_v;
        internal uint max_context;
        internal uint n_messages;
        internal ulong n_parameters;
        internal ulong weight_bytes;
        internal ulong file_bytes;
        internal ulong runtime_bytes;
        internal ulong model_bytes;
        internal ulong kv_bytes;
        internal ulong session_bytes;
        internal ulong total_bytes;
        internal ulong token_weight_bytes;
        internal ulong token_kv_bytes;
        internal double bits_per_weight;
        internal double weight_error;
        internal double loss;
        internal double tokens_per_second;
        internal double tokens_per_second_full;
        internal ulong adapter_file_bytes;
        internal ulong adapter_bytes;
        internal ulong device_bytes;
        internal ulong device_bytes_all;
        internal uint n_device_layers;
        internal uint n_layers;
        internal ulong rank_weight_bytes;
        internal ulong received_bytes;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeEvalRow
    {
        internal double loss;
        internal double reference_loss;
        internal double kl_divergence;
        internal uint flags;
        internal int token;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeEvalFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal double perplexity;
        internal double standard_error;
        internal ulong n_chunks;
        internal ulong n_tokens;
        internal ulong n_scored;
        internal double reference_perplexity;
        internal double reference_error;
        internal double log_ratio;
        internal double log_ratio_error;
        internal double kl;
        internal double kl_error;
        internal double kl_median;
        internal double kl_median_error;
        internal double kl_99;
        internal double kl_99_error;
        internal double kl_max;
        internal double same_top_token;
        internal double same_top_token_error;
        internal double rms_delta_p;
        internal double rms_delta_p_error;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeEvalOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal uint stride;
        internal uint reserved;
        internal byte* save_path;
        internal IntPtr write;
        internal void* write_user;
        internal byte* reference_path;
        internal IntPtr read;
        internal void* read_user;
        internal IntPtr report;
        internal void* report_user;
        internal NativeProgress* progress;
        internal IntPtr rows;
        internal void* rows_user;
        internal ulong reference_chunk;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeLogprob
    {
        internal int id;
        internal float logprob;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeEventToken
    {
        internal int id;
        internal float logprob;
        internal ulong offset;
        internal NativeLogprob* top;
        internal UIntPtr n_top;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeEvent
    {
        internal uint struct_size;
        internal uint flags;
        internal uint kind;
        internal uint end;
        internal int status;
        internal uint index;
        internal NativeText text;
        internal NativeEventToken* tokens;
        internal UIntPtr n_tokens;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeMomentsFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal ulong n_columns;
        internal ulong n_inputs;
        internal ulong memory_bytes;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeMomentsInputs
    {
        internal uint struct_size;
        internal uint flags;
        internal UIntPtr n;
        internal UIntPtr n_columns;
        internal float* rows;
        internal float* source_rows;
        internal NativeProgress* progress;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeFeedbackArgs
    {
        internal uint struct_size;
        internal uint flags;
        internal uint type_;
        internal uint n_passes;
        internal UIntPtr n_rows;
        internal UIntPtr n_cols;
        internal float* rows;
        internal IntPtr moments;
        internal IntPtr kept_out;
        internal double damping;
        internal NativeProgress* progress;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeFeedbackFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal int is_used;
        internal uint reserved;
        internal double error_before;
        internal double error_after;
        internal double kept_out_change;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeOpenOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal int dialect;
        internal int io;
        internal NativeProgress* progress;
        internal ulong max_metadata_bytes;
        internal ulong max_keys;
        internal ulong max_tensors;
        internal ulong max_string_bytes;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeIo
    {
        internal uint struct_size;
        internal uint flags;
        internal void* user;
        internal IntPtr size;
        internal IntPtr read_at;
        internal IntPtr map;
        internal IntPtr unmap;
        internal IntPtr close;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeFileFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal uint version;
        internal uint big_endian;
        internal ulong alignment;
        internal ulong n_parts;
        internal ulong meta_end;
        internal ulong data_offset;
        internal ulong file_size;
        internal ulong n_meta;
        internal ulong n_tensors;
        internal ulong n_values;
        internal ulong n_bytes;
        internal ulong n_missing;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeFileMemoryFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal ulong mapped_bytes;
        internal ulong copied_bytes;
        internal ulong resident_bytes;
        internal ulong huge_bytes;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeMetaFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal int type_;
        internal int element_type;
        internal NativeText key;
        internal ulong count;
        internal ulong offset;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeTensorFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal uint type_;
        internal uint n_dims;
        internal fixed ulong ne[4];
        internal ulong row_bytes;
        internal ulong row_stride;
        internal ulong n_rows;
        internal ulong n_bytes;
        internal ulong offset;
        internal ulong file_offset;
        internal uint part;
        internal uint memory_kind;
        internal NativeText name;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeTensorOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal uint type_;
        internal uint n_dims;
        internal fixed ulong ne[4];
        internal ulong row_stride;
        internal void* data;
        internal ulong n_bytes;
        internal byte* name;
        internal IntPtr destroy;
        internal void* user;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeFindingFacts
    {
        internal uint struct_size;
        internal int severity;
        internal int status;
        internal uint reserved;
        internal ulong offset;
        internal ulong index;
        internal byte* text;
        internal NativeText name;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeDraftOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal IntPtr session;
        internal uint sequence;
        internal uint n_draft;
        internal uint n_match;
        internal uint reserved;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeGeneratorOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal uint sequence;
        internal uint max_tokens;
        internal IntPtr tokenizer;
        internal IntPtr sampler;
        internal IntPtr grammar;
        internal IntPtr chat;
        internal NativeText* stops;
        internal UIntPtr n_stops;
        internal NativeDraftOptions* draft;
        internal uint n_logprobs;
        internal uint max_reasoning;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeGrammarSource
    {
        internal uint struct_size;
        internal uint flags;
        internal void* user;
        internal IntPtr find;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeChatPromptOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal IntPtr chat;
        internal IntPtr tokenizer;
        internal NativeChatRequest* request;
        internal uint tool_choice;
        internal uint grammar_flags;
        internal NativeText tool_name;
        internal NativeText tools;
        internal NativeText call_id;
        internal NativeText schema;
        internal NativeGrammarSource* grammars;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativePromptPart
    {
        internal uint struct_size;
        internal uint flags;
        internal NativeText text;
        internal int* tokens;
        internal UIntPtr n_tokens;
        internal float* rows;
        internal UIntPtr n_rows;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativePrompt
    {
        internal uint struct_size;
        internal uint flags;
        internal NativeText text;
        internal int* tokens;
        internal UIntPtr n_tokens;
        internal NativeChatRequest* messages;
        internal NativePromptPart* parts;
        internal UIntPtr n_parts;
        internal IntPtr chat;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeStepItem
    {
        internal uint struct_size;
        internal uint flags;
        internal IntPtr generator;
        internal uint n_tokens;
        internal uint reserved;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeStepOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal ulong budget_us;
        internal NativeProgress* progress;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeForkOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal uint sequence;
        internal uint reserved;
        internal ulong seed;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeGeneratorFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal uint state;
        internal uint end;
        internal uint sequence;
        internal uint n_events;
        internal ulong n_prompt;
        internal ulong n_prompt_reused;
        internal ulong n_prompt_left;
        internal ulong n_tokens;
        internal ulong n_reasoning;
        internal ulong n_drafted;
        internal ulong n_accepted;
        internal ulong memory_bytes;
        internal double sum_logprobs;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeGrammarOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal uint kind;
        internal uint reserved;
        internal NativeText text;
        internal NativeProgress* progress;
        internal ulong max_steps;
        internal ulong max_memory;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeMatcherFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal ulong n_tokens;
        internal uint n_vocab;
        internal uint n_words;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeGroup
    {
        internal uint struct_size;
        internal uint flags;
        internal void* user;
        internal uint rank;
        internal uint size;
        internal IntPtr allgather;
        internal IntPtr allgatherv;
        internal IntPtr broadcast;
        internal IntPtr barrier;
        internal IntPtr abort;
        internal IntPtr destroy;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeGroupOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal NativeGroup* group;
        internal uint* weights;
        internal uint timeout_ms;
        internal uint start_timeout_ms;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeImatrixFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal ulong n_entries;
        internal ulong n_datasets;
        internal ulong n_chunks;
        internal uint chunk_tokens;
        internal int format;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeImatrixEntry
    {
        internal uint struct_size;
        internal uint flags;
        internal NativeText name;
        internal ulong n_columns;
        internal ulong n_matrices;
        internal float* sums;
        internal float* counts;
        internal float* values;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeImatrixOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal byte* dataset;
        internal NativeProgress* progress;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeKvLayerOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal uint type_k;
        internal uint type_v;
        internal uint window;
        internal uint window_kind;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeKvOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal uint n_layers;
        internal uint n_kv_heads;
        internal uint n_q_heads;
        internal uint head_dim_k;
        internal uint head_dim_v;
        internal uint type_k;
        internal uint type_v;
        internal uint n_sequences;
        internal ulong max_tokens;
        internal uint n_sink_tokens;
        internal uint rope_style;
        internal uint rope_dims;
        internal float rope_base;
        internal float rope_scale;
        internal uint n_layer_options;
        internal NativeKvLayerOptions* layers;
        internal ulong model;
        internal double* rope_frequencies;
        internal UIntPtr n_rope_frequencies;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeKvTokens
    {
        internal uint struct_size;
        internal uint flags;
        internal uint layer;
        internal uint sequence;
        internal uint type_;
        internal uint reserved;
        internal UIntPtr n_tokens;
        internal uint* sequences;
        internal int* positions;
        internal void* k;
        internal UIntPtr n_k;
        internal void* v;
        internal UIntPtr n_v;
        internal UIntPtr k_stride;
        internal UIntPtr v_stride;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeAttendOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal float scale;
        internal float softcap;
        internal uint window;
        internal uint window_kind;
        internal float* alibi_slopes;
        internal UIntPtr n_alibi_slopes;
        internal float* sink_logits;
        internal UIntPtr n_sink_logits;
        internal NativeProgress* progress;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeKvQueries
    {
        internal uint struct_size;
        internal uint flags;
        internal uint layer;
        internal uint sequence;
        internal UIntPtr n_queries;
        internal uint* sequences;
        internal int* positions;
        internal float* q;
        internal UIntPtr n_q;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeKvRange
    {
        internal uint struct_size;
        internal uint flags;
        internal uint layer;
        internal uint sequence;
        internal ulong first;
        internal ulong n_tokens;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeKvFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal uint type_k;
        internal uint type_v;
        internal ulong n_tokens;
        internal ulong n_pages;
        internal ulong n_plain_pages;
        internal ulong n_shared_pages;
        internal ulong page_bytes;
        internal ulong bytes_per_token;
        internal double bits_per_value;
        internal double k_error;
        internal double v_error;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeMatmulOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal NativeProgress* progress;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeProduct
    {
        internal uint struct_size;
        internal uint flags;
        internal IntPtr w;
        internal float* x;
        internal UIntPtr n_x;
        internal UIntPtr ldx;
        internal UIntPtr n;
        internal float* y;
        internal UIntPtr n_y;
        internal UIntPtr ldy;
        internal uint* ids;
        internal UIntPtr n_used;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeTokenList
    {
        internal int* tokens;
        internal UIntPtr n_tokens;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeDetokenizerState
    {
        internal ulong waiting;
        internal uint flags;
        internal uint reserved;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeTokenFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal int id;
        internal float score;
        internal NativeText text;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeTokenizerFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal byte* kind;
        internal uint n_tokens;
        internal int bos;
        internal int eos;
        internal int unknown;
        internal byte* pre;
        internal int eot;
        internal int eom;
        internal int separator;
        internal int pad;
        internal int mask;
        internal int fim_prefix;
        internal int fim_suffix;
        internal int fim_middle;
        internal int fim_pad;
        internal int fim_repository;
        internal int fim_separator;
        internal uint reserved;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativePreTokenizerFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal byte* name;
        internal byte* rules;
        internal NativeText pipeline;
        internal byte* unicode;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeModelOverride
    {
        internal byte* key;
        internal byte* value;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeModelOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal NativeModelOverride* overrides;
        internal UIntPtr n_overrides;
        internal NativeProgress* progress;
        internal NativeGroupOptions* group;
        internal IntPtr device;
        internal uint n_device_layers;
        internal uint reserved;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeModelFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal byte* architecture;
        internal ulong n_parameters;
        internal ulong weight_bytes;
        internal uint n_vocab;
        internal uint n_context;
        internal uint n_embedding;
        internal uint n_layers;
        internal uint n_heads;
        internal uint n_kv_heads;
        internal uint head_dim;
        internal uint n_device_layers;
        internal ulong identity;
        internal ulong device_bytes;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeLayerFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal uint kind;
        internal uint n_heads;
        internal uint n_kv_heads;
        internal uint head_dim_k;
        internal uint head_dim_v;
        internal uint window;
        internal uint kv_layer;
        internal float scale;
        internal float softcap;
        internal uint reserved;
        internal ulong state_bytes;
        internal float* sink_logits;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeSessionOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal uint n_context;
        internal uint n_batch;
        internal uint type_k;
        internal uint type_v;
        internal uint matmul_flags;
        internal uint reserved;
        internal ulong n_context_total;
        internal uint n_checkpoints;
        internal uint n_sequences;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeSessionFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal uint n_context;
        internal uint n_batch;
        internal uint type_k;
        internal uint type_v;
        internal uint n_sequences;
        internal uint reserved;
        internal ulong n_context_total;
        internal ulong cache_bytes;
        internal ulong n_pages;
        internal ulong n_shared_pages;
        internal ulong n_tokens;
        internal ulong n_tokens_left;
        internal ulong embedded_bytes;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeQuantizeArgs
    {
        internal uint struct_size;
        internal uint flags;
        internal uint type_;
        internal int mode;
        internal UIntPtr n_rows;
        internal UIntPtr n_cols;
        internal float* rows;
        internal float* imatrix;
        internal NativeProgress* progress;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeFileTypeFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal byte* name;
        internal uint file_type;
        internal uint type_;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeQuantizerFeedback
    {
        internal uint struct_size;
        internal uint flags;
        internal int* tokens;
        internal UIntPtr n_tokens;
        internal uint n_context;
        internal int bos;
        internal uint n_passes;
        internal uint reserved;
        internal double damping;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeQuantizerOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal uint output_type;
        internal uint embedding_type;
        internal IntPtr imatrix;
        internal byte* imatrix_name;
        internal ulong reserve_bytes;
        internal NativeQuantizerFeedback* feedback;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeQuantizerFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal ulong n_tensors;
        internal ulong n_parts;
        internal ulong n_values;
        internal ulong bytes_in;
        internal ulong bytes_out;
        internal ulong file_bytes;
        internal ulong n_fallbacks;
        internal ulong n_missing;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeQuantizerTensorFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal NativeText name;
        internal fixed ulong ne[4];
        internal uint n_dims;
        internal uint from;
        internal uint to;
        internal uint wanted;
        internal int reason;
        internal int imatrix;
        internal uint part;
        internal uint reserved;
        internal ulong bytes_in;
        internal ulong bytes_out;
        internal double rmse;
        internal double seconds;
        internal double error_before;
        internal double error_after;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeQuantizerRunOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal NativeProgress* progress;
        internal IntPtr tensor_done;
        internal void* user;
        internal uint shard;
        internal uint n_shards;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeTemperatureOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal float range;
        internal float exponent;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativePenaltyOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal float repeat;
        internal float frequency;
        internal float presence;
        internal uint last_n;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeDryOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal float multiplier;
        internal float base_;
        internal uint allowed_length;
        internal uint last_n;
        internal int* sequence_breakers;
        internal UIntPtr n_sequence_breakers;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeLogitBias
    {
        internal int id;
        internal float bias;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeMirostatOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal uint version;
        internal uint m;
        internal float tau;
        internal float eta;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeCandidate
    {
        internal int id;
        internal float logit;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeSamplingFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal uint ignored;
        internal uint top_k;
        internal float temperature;
        internal float top_p;
        internal float min_p;
        internal float xtc_probability;
        internal float xtc_threshold;
        internal float repeat;
        internal uint last_n;
        internal uint mirostat;
        internal float tau;
        internal float eta;
        internal uint n_samplers;
        internal fixed uint samplers[16];
        internal uint reserved;
        internal ulong n_suppressed;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeTypeFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal uint id;
        internal uint block_values;
        internal uint block_bytes;
        internal uint reserved;
        internal byte* name;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeWriterOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal uint version;
        internal uint reserved;
        internal ulong reserve_bytes;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeTensorStream
    {
        internal uint struct_size;
        internal uint flags;
        internal void* user;
        internal IntPtr read;
        internal IntPtr destroy;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeWriteOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal NativeProgress* progress;
        internal ulong max_part_bytes;
        internal ulong max_part_tensors;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeWriterFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal ulong n_meta;
        internal ulong n_tensors;
        internal ulong n_parts;
        internal ulong n_bytes;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeEditOptions
    {
        internal uint struct_size;
        internal uint flags;
        internal NativeProgress* progress;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct NativeEditFacts
    {
        internal uint struct_size;
        internal uint flags;
        internal uint in_place;
        internal uint reserved;
        internal ulong n_bytes;
        internal ulong reserve_bytes;
        internal ulong n_written;
    }

    internal static unsafe class NativeSizes
    {
        internal static readonly Dictionary<string, int> All = new Dictionary<string, int>
        {
            { "ggufx_adapter_options", sizeof(NativeAdapterOptions) },
            { "ggufx_adapter_facts", sizeof(NativeAdapterFacts) },
            { "ggufx_adapter_use", sizeof(NativeAdapterUse) },
            { "ggufx_error", sizeof(NativeError) },
            { "ggufx_allocator", sizeof(NativeAllocator) },
            { "ggufx_log", sizeof(NativeLog) },
            { "ggufx_executor", sizeof(NativeExecutor) },
            { "ggufx_text", sizeof(NativeText) },
            { "ggufx_progress", sizeof(NativeProgress) },
            { "ggufx_runtime_options", sizeof(NativeRuntimeOptions) },
            { "ggufx_runtime_facts", sizeof(NativeRuntimeFacts) },
            { "ggufx_decode_item", sizeof(NativeDecodeItem) },
            { "ggufx_attention_hook", sizeof(NativeAttentionHook) },
            { "ggufx_decode_options", sizeof(NativeDecodeOptions) },
            { "ggufx_chat_template_options", sizeof(NativeChatTemplateOptions) },
            { "ggufx_chat_message", sizeof(NativeChatMessage) },
            { "ggufx_chat_request", sizeof(NativeChatRequest) },
            { "ggufx_chat_span", sizeof(NativeChatSpan) },
            { "ggufx_chat_template_facts", sizeof(NativeChatTemplateFacts) },
            { "ggufx_chat_parser_options", sizeof(NativeChatParserOptions) },
            { "ggufx_chat_parser_facts", sizeof(NativeChatParserFacts) },
            { "ggufx_device_options", sizeof(NativeDeviceOptions) },
            { "ggufx_device_facts", sizeof(NativeDeviceFacts) },
            { "ggufx_vulkan_options", sizeof(NativeVulkanOptions) },
            { "ggufx_embed_options", sizeof(NativeEmbedOptions) },
            { "ggufx_embedder_facts", sizeof(NativeEmbedderFacts) },
            { "ggufx_estimate_options", sizeof(NativeEstimateOptions) },
            { "ggufx_estimate_facts", sizeof(NativeEstimateFacts) },
            { "ggufx_eval_row", sizeof(NativeEvalRow) },
            { "ggufx_eval_facts", sizeof(NativeEvalFacts) },
            { "ggufx_eval_options", sizeof(NativeEvalOptions) },
            { "ggufx_logprob", sizeof(NativeLogprob) },
            { "ggufx_event_token", sizeof(NativeEventToken) },
            { "ggufx_event", sizeof(NativeEvent) },
            { "ggufx_moments_facts", sizeof(NativeMomentsFacts) },
            { "ggufx_moments_inputs", sizeof(NativeMomentsInputs) },
            { "ggufx_feedback_args", sizeof(NativeFeedbackArgs) },
            { "ggufx_feedback_facts", sizeof(NativeFeedbackFacts) },
            { "ggufx_open_options", sizeof(NativeOpenOptions) },
            { "ggufx_io", sizeof(NativeIo) },
            { "ggufx_file_facts", sizeof(NativeFileFacts) },
            { "ggufx_file_memory_facts", sizeof(NativeFileMemoryFacts) },
            { "ggufx_meta_facts", sizeof(NativeMetaFacts) },
            { "ggufx_tensor_facts", sizeof(NativeTensorFacts) },
            { "ggufx_tensor_options", sizeof(NativeTensorOptions) },
            { "ggufx_finding_facts", sizeof(NativeFindingFacts) },
            { "ggufx_draft_options", sizeof(NativeDraftOptions) },
            { "ggufx_generator_options", sizeof(NativeGeneratorOptions) },
            { "ggufx_grammar_source", sizeof(NativeGrammarSource) },
            { "ggufx_chat_prompt_options", sizeof(NativeChatPromptOptions) },
            { "ggufx_prompt_part", sizeof(NativePromptPart) },
            { "ggufx_prompt", sizeof(NativePrompt) },
            { "ggufx_step_item", sizeof(NativeStepItem) },
            { "ggufx_step_options", sizeof(NativeStepOptions) },
            { "ggufx_fork_options", sizeof(NativeForkOptions) },
            { "ggufx_generator_facts", sizeof(NativeGeneratorFacts) },
            { "ggufx_grammar_options", sizeof(NativeGrammarOptions) },
            { "ggufx_matcher_facts", sizeof(NativeMatcherFacts) },
            { "ggufx_group", sizeof(NativeGroup) },
            { "ggufx_group_options", sizeof(NativeGroupOptions) },
            { "ggufx_imatrix_facts", sizeof(NativeImatrixFacts) },
            { "ggufx_imatrix_entry", sizeof(NativeImatrixEntry) },
            { "ggufx_imatrix_options", sizeof(NativeImatrixOptions) },
            { "ggufx_kv_layer_options", sizeof(NativeKvLayerOptions) },
            { "ggufx_kv_options", sizeof(NativeKvOptions) },
            { "ggufx_kv_tokens", sizeof(NativeKvTokens) },
            { "ggufx_attend_options", sizeof(NativeAttendOptions) },
            { "ggufx_kv_queries", sizeof(NativeKvQueries) },
            { "ggufx_kv_range", sizeof(NativeKvRange) },
            { "ggufx_kv_facts", sizeof(NativeKvFacts) },
            { "ggufx_matmul_options", sizeof(NativeMatmulOptions) },
            { "ggufx_product", sizeof(NativeProduct) },
            { "ggufx_token_list", sizeof(NativeTokenList) },
            { "ggufx_detokenizer_state", sizeof(NativeDetokenizerState) },
            { "ggufx_token_facts", sizeof(NativeTokenFacts) },
            { "ggufx_tokenizer_facts", sizeof(NativeTokenizerFacts) },
            { "ggufx_pre_tokenizer_facts", sizeof(NativePreTokenizerFacts) },
            { "ggufx_model_override", sizeof(NativeModelOverride) },
            { "ggufx_model_options", sizeof(NativeModelOptions) },
            { "ggufx_model_facts", sizeof(NativeModelFacts) },
            { "ggufx_layer_facts", sizeof(NativeLayerFacts) },
            { "ggufx_session_options", sizeof(NativeSessionOptions) },
            { "ggufx_session_facts", sizeof(NativeSessionFacts) },
            { "ggufx_quantize_args", sizeof(NativeQuantizeArgs) },
            { "ggufx_file_type_facts", sizeof(NativeFileTypeFacts) },
            { "ggufx_quantizer_feedback", sizeof(NativeQuantizerFeedback) },
            { "ggufx_quantizer_options", sizeof(NativeQuantizerOptions) },
            { "ggufx_quantizer_facts", sizeof(NativeQuantizerFacts) },
            { "ggufx_quantizer_tensor_facts", sizeof(NativeQuantizerTensorFacts) },
            { "ggufx_quantizer_run_options", sizeof(NativeQuantizerRunOptions) },
            { "ggufx_temperature_options", sizeof(NativeTemperatureOptions) },
            { "ggufx_penalty_options", sizeof(NativePenaltyOptions) },
            { "ggufx_dry_options", sizeof(NativeDryOptions) },
            { "ggufx_logit_bias", sizeof(NativeLogitBias) },
            { "ggufx_mirostat_options", sizeof(NativeMirostatOptions) },
            { "ggufx_candidate", sizeof(NativeCandidate) },
            { "ggufx_sampling_facts", sizeof(NativeSamplingFacts) },
            { "ggufx_type_facts", sizeof(NativeTypeFacts) },
            { "ggufx_writer_options", sizeof(NativeWriterOptions) },
            { "ggufx_tensor_stream", sizeof(NativeTensorStream) },
            { "ggufx_write_options", sizeof(NativeWriteOptions) },
            { "ggufx_writer_facts", sizeof(NativeWriterFacts) },
            { "ggufx_edit_options", sizeof(NativeEditOptions) },
            { "ggufx_edit_facts", sizeof(NativeEditFacts) },
        };
    }
}
