// Written by bindings/raw.py from include/ggufx; a test compares them.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;

namespace Ggufx
{
    internal static unsafe partial class NativeMethods
    {
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_adapter_create(out AdapterHandle out_, ModelHandle model,
            FileHandle file, NativeAdapterOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_adapter_destroy(IntPtr handle);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_adapter_info(NativeAdapterFacts* out_, AdapterHandle
            adapter, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_session_set_adapters(SessionHandle session, uint sequence,
            NativeAdapterUse* uses, UIntPtr n_uses, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_embedder_set_adapters(EmbedderHandle embedder,
            NativeAdapterUse* uses, UIntPtr n_uses, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_adapter_has_tensor(AdapterHandle adapter, UIntPtr tensor);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_adapter_add_rows(float* rows, UIntPtr n, AdapterHandle
            adapter, UIntPtr tensor, ulong first_row, ulong n_rows, float scale, NativeError*
            error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern byte* ggufx_status_name(int status);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern byte* ggufx_version();
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern uint ggufx_abi_version();
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern UIntPtr ggufx_struct_size(byte* struct_name);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_has(byte* feature);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_runtime_create(out RuntimeHandle out_,
            NativeRuntimeOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_runtime_destroy(IntPtr handle);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_runtime_info(NativeRuntimeFacts* out_, RuntimeHandle rt,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_session_decode(SessionHandle session, NativeDecodeItem*
            items, UIntPtr n_items, NativeDecodeOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern ulong ggufx_session_length(SessionHandle session, uint sequence);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_session_truncate(SessionHandle session, uint sequence,
            ulong n_tokens, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_session_remove(SessionHandle session, uint sequence, ulong
            first, ulong n_tokens, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_session_shift(SessionHandle session, uint sequence, ulong
            first, ulong n_tokens, int delta, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_session_tokens(int* out_ids, int* out_positions,
            SessionHandle session, uint sequence, ulong first, ulong n_tokens, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_session_copy(SessionHandle session, uint from, uint to,
            ulong n_tokens, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_session_save(SessionHandle session, uint sequence, IntPtr
            write, void* user, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_session_load(SessionHandle session, uint sequence, IntPtr
            read, void* user, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_session_save_file(SessionHandle session, uint sequence,
            byte* path, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_session_load_file(SessionHandle session, uint sequence,
            byte* path, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_chat_template_create(out ChatTemplateHandle out_,
            RuntimeHandle rt, FileHandle file, NativeChatTemplateOptions* options, NativeError*
            error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_chat_template_destroy(IntPtr handle);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern byte* ggufx_chat_template_builtin_name(UIntPtr index);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_chat_template_render(byte* out_, UIntPtr capacity, UIntPtr*
            out_needed, ChatTemplateHandle chat, NativeChatRequest* request, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_chat_template_spans(NativeChatSpan* out_, UIntPtr capacity,
            UIntPtr* out_needed, ChatTemplateHandle chat, NativeChatRequest* request, NativeError*
            error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_chat_template_tokenize(int* out_ids, UIntPtr capacity,
            UIntPtr* out_needed, ChatTemplateHandle chat, TokenizerHandle tokenizer,
            NativeChatRequest* request, uint flags, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_chat_template_info(NativeChatTemplateFacts* out_,
            ChatTemplateHandle chat, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_chat_parser_create(out ChatParserHandle out_, RuntimeHandle
            rt, NativeChatParserOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_chat_parser_destroy(IntPtr handle);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_chat_parser_feed(ChatParserHandle parser, byte* text,
            UIntPtr length, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_chat_parser_finish(ChatParserHandle parser, NativeError*
            error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_chat_parser_poll(NativeEvent* out_, ChatParserHandle
            parser, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_chat_parser_info(NativeChatParserFacts* out_,
            ChatParserHandle parser, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_device_list(NativeDeviceFacts* out_, UIntPtr capacity,
            UIntPtr* out_needed, RuntimeHandle rt, NativeDeviceOptions* options, NativeError*
            error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_device_open(out DeviceHandle out_, RuntimeHandle rt, byte*
            id, NativeDeviceOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_device_create_vulkan(out DeviceHandle out_, RuntimeHandle
            rt, NativeVulkanOptions* handles, NativeDeviceOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_device_detach(DeviceHandle device);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_device_destroy(IntPtr handle);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_device_info(NativeDeviceFacts* out_, DeviceHandle device,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_tensor_upload(out TensorHandle out_, DeviceHandle device,
            TensorHandle w, NativeProgress* progress, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_tensor_download(void* out_, UIntPtr n, TensorHandle w,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_tensor_checksum(uint* out_, TensorHandle w, NativeError*
            error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_embedder_create(out EmbedderHandle out_, ModelHandle model,
            NativeEmbedOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_embedder_destroy(IntPtr handle);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_embedder_estimate(ulong* out_, RuntimeHandle rt, FileHandle
            file, NativeEmbedOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_embedder_info(NativeEmbedderFacts* out_, EmbedderHandle
            embedder, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_embed(float* out_, UIntPtr n_out, EmbedderHandle embedder,
            NativeTokenList* texts, UIntPtr n_texts, NativeProgress* progress, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_estimate(NativeEstimateFacts* out_, RuntimeHandle rt,
            FileHandle file, NativeEstimateOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_recommend(NativeEstimateFacts* out_, RuntimeHandle rt,
            FileHandle file, NativeEstimateOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_eval_perplexity(NativeEvalFacts* out_, SessionHandle
            session, int* tokens, UIntPtr n_tokens, uint n_context, int bos, NativeEvalOptions*
            options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_eval_merge(NativeEvalFacts* out_, RuntimeHandle rt,
            NativeEvalRow* rows, UIntPtr n_rows, ulong n_chunks, uint n_context, uint flags,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_eval_continuations(double* out_, SessionHandle session,
            int* context, UIntPtr n_context, NativeTokenList* continuations, UIntPtr
            n_continuations, NativeProgress* progress, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_moments_create(out MomentsHandle out_, RuntimeHandle rt,
            UIntPtr n_columns, uint flags, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_moments_destroy(IntPtr handle);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_moments_info(NativeMomentsFacts* out_, MomentsHandle
            moments, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_moments_add(MomentsHandle moments, NativeMomentsInputs*
            inputs, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_quantize_feedback(void* out_, UIntPtr n_bytes,
            RuntimeHandle rt, NativeFeedbackArgs* args, NativeFeedbackFacts* out_facts, NativeError*
            error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_open(out FileHandle out_, RuntimeHandle rt, byte* path,
            NativeOpenOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_open_fd(out FileHandle out_, RuntimeHandle rt, int fd,
            ulong offset, ulong length, NativeOpenOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_open_memory(out FileHandle out_, RuntimeHandle rt, void*
            data, UIntPtr size, IntPtr destroy, void* user, NativeOpenOptions* options, NativeError*
            error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_open_io(out FileHandle out_, RuntimeHandle rt, NativeIo*
            io, NativeOpenOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_file_destroy(IntPtr handle);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_file_info(NativeFileFacts* out_, FileHandle file,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_file_memory(NativeFileMemoryFacts* out_, FileHandle file,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern UIntPtr ggufx_file_meta_count(FileHandle file);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_file_meta_at(NativeMetaFacts* out_, FileHandle file,
            UIntPtr index, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_file_meta_find(UIntPtr* out_, FileHandle file, byte* key,
            UIntPtr length, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_file_meta_u64(ulong* out_, FileHandle file, UIntPtr index,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_file_meta_i64(long* out_, FileHandle file, UIntPtr index,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_file_meta_f64(double* out_, FileHandle file, UIntPtr index,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_file_meta_bool(int* out_, FileHandle file, UIntPtr index,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_file_meta_string(NativeText* out_, FileHandle file, UIntPtr
            index, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_file_meta_array_u64(ulong* out_, FileHandle file, UIntPtr
            index, ulong first, UIntPtr n, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_file_meta_array_i64(long* out_, FileHandle file, UIntPtr
            index, ulong first, UIntPtr n, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_file_meta_array_f64(double* out_, FileHandle file, UIntPtr
            index, ulong first, UIntPtr n, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_file_meta_array_string(NativeText* out_, FileHandle file,
            UIntPtr index, ulong i, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_file_meta_array_nested(UIntPtr* out_index, FileHandle file,
            UIntPtr index, ulong i, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern UIntPtr ggufx_file_tensor_count(FileHandle file);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern IntPtr ggufx_file_tensor(FileHandle file, UIntPtr index);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_file_tensor_find(UIntPtr* out_, FileHandle file, byte*
            name, UIntPtr length, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_tensor_info(NativeTensorFacts* out_, TensorHandle tensor,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void* ggufx_tensor_data(TensorHandle tensor);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_tensor_create(out TensorHandle out_, RuntimeHandle rt,
            NativeTensorOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_tensor_slice(out TensorHandle out_, TensorHandle tensor,
            uint dim, ulong first, ulong n, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_tensor_destroy(IntPtr handle);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_file_validate(FileHandle file, uint flags, IntPtr report,
            void* user, NativeProgress* progress, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_generator_create(out GeneratorHandle out_, SessionHandle
            session, NativeGeneratorOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_generator_destroy(IntPtr handle);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_chat_prompt_create(out ChatPromptHandle out_,
            NativeChatPromptOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_chat_prompt_destroy(IntPtr handle);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_chat_prompt_tokens(int* out_ids, UIntPtr capacity, UIntPtr*
            out_needed, ChatPromptHandle prompt, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_generator_set_prompt(GeneratorHandle generator,
            NativePrompt* prompt, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_generator_poll(NativeEvent* out_, GeneratorHandle
            generator, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_session_step(int* out_complete, SessionHandle session,
            NativeStepItem* items, UIntPtr n_items, NativeStepOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_generator_next(NativeEvent* out_, GeneratorHandle
            generator, NativeStepOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_generator_cancel(GeneratorHandle generator);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_generator_suspend(GeneratorHandle generator, NativeError*
            error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_generator_resume(ulong* out_n_reused, GeneratorHandle
            generator, uint sequence, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_generator_truncate(GeneratorHandle generator, ulong
            n_tokens, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_generator_fork(out GeneratorHandle out_, GeneratorHandle
            generator, NativeForkOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_generator_save(GeneratorHandle generator, IntPtr write,
            void* user, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_generator_load(out GeneratorHandle out_, SessionHandle
            session, NativeGeneratorOptions* options, IntPtr read, void* user, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_generator_tokens(int* out_ids, UIntPtr capacity, UIntPtr*
            out_needed, GeneratorHandle generator, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_generator_info(NativeGeneratorFacts* out_, GeneratorHandle
            generator, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_grammar_create(out GrammarHandle out_, RuntimeHandle rt,
            TokenizerHandle tokenizer, NativeGrammarOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_grammar_destroy(IntPtr handle);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_matcher_create(out MatcherHandle out_, GrammarHandle
            grammar, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_matcher_clone(out MatcherHandle out_, MatcherHandle
            matcher, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_matcher_destroy(IntPtr handle);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_matcher_accept(MatcherHandle matcher, int* ids, UIntPtr n,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_matcher_rollback(MatcherHandle matcher, ulong n_tokens,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_matcher_mask(uint* out_bits, UIntPtr n_words, MatcherHandle
            matcher, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_matcher_info(NativeMatcherFacts* out_, MatcherHandle
            matcher, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_writer_copy_shard(WriterHandle writer, FileHandle file,
            uint rank, uint n_ranks, uint* weights, uint flags, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_imatrix_open(out ImatrixHandle out_, RuntimeHandle rt,
            byte* path, NativeProgress* progress, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_imatrix_open_memory(out ImatrixHandle out_, RuntimeHandle
            rt, void* data, UIntPtr size, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_imatrix_destroy(IntPtr handle);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_imatrix_info(NativeImatrixFacts* out_, ImatrixHandle
            imatrix, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_imatrix_entry_at(NativeImatrixEntry* out_, ImatrixHandle
            imatrix, UIntPtr index, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_imatrix_find(UIntPtr* out_index, ImatrixHandle imatrix,
            byte* name, UIntPtr length, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_imatrix_dataset_at(NativeText* out_, ImatrixHandle imatrix,
            UIntPtr index, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_imatrix_keep_entries(ImatrixHandle imatrix, byte* keep,
            UIntPtr n, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_imatrix_merge(ImatrixHandle imatrix, ImatrixHandle other,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_imatrix_create(out ImatrixHandle out_, SessionHandle
            session, int* tokens, UIntPtr n_tokens, uint n_context, int bos, NativeImatrixOptions*
            options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_imatrix_write(ImatrixHandle imatrix, byte* path, int
            format, NativeProgress* progress, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_create(out KvHandle out_, RuntimeHandle rt,
            NativeKvOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_estimate(ulong* out_, RuntimeHandle rt, NativeKvOptions*
            options, ulong n_tokens, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_kv_destroy(IntPtr handle);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_reserve(KvHandle kv, uint sequence, ulong n_tokens,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_append(KvHandle kv, NativeKvTokens* tokens, NativeError*
            error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_attend(float* out_, UIntPtr n_out, float* lse, UIntPtr
            n_lse, KvHandle kv, NativeKvQueries* queries, NativeAttendOptions* options, NativeError*
            error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_read(float* k, UIntPtr n_k, float* v, UIntPtr n_v,
            KvHandle kv, NativeKvRange* range, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_scores(float* out_, UIntPtr n_out, KvHandle kv,
            NativeKvQueries* queries, float scale, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_length(ulong* out_, KvHandle kv, uint sequence,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_positions(int* out_, KvHandle kv, uint sequence, ulong
            first, ulong n, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_truncate(KvHandle kv, uint sequence, ulong n_tokens,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_begin(KvHandle kv, uint sequence, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_commit(KvHandle kv, uint sequence, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_rollback(KvHandle kv, uint sequence, NativeError*
            error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_remove(KvHandle kv, uint sequence, ulong first, ulong
            n_tokens, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_copy(KvHandle kv, uint from, uint to, ulong first, ulong
            n_tokens, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_shift(KvHandle kv, uint sequence, ulong first, ulong
            n_tokens, int delta, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_keep(KvHandle kv, uint sequence, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_calibrate(KvHandle kv, uint layer, float* mu_k, float*
            eq_k, UIntPtr n_k, float* mu_v, UIntPtr n_v, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_save(KvHandle kv, uint sequence, IntPtr write, void*
            user, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_load(KvHandle kv, uint sequence, IntPtr read, void*
            user, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_save_file(KvHandle kv, uint sequence, byte* path,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_load_file(KvHandle kv, uint sequence, byte* path,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_requantize(KvHandle kv, uint layer, uint type_k, uint
            type_v, NativeProgress* progress, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_compact(KvHandle kv, uint sequence, NativeProgress*
            progress, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_clear(KvHandle kv, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_kv_info(NativeKvFacts* out_, KvHandle kv, uint layer,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_matvec(float* y, UIntPtr n_y, RuntimeHandle rt,
            TensorHandle w, float* x, UIntPtr n_x, NativeMatmulOptions* options, NativeError*
            error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_matmul(RuntimeHandle rt, NativeProduct* products, UIntPtr
            n_products, NativeMatmulOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_tokenizer_create(out TokenizerHandle out_, FileHandle file,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_tokenizer_destroy(IntPtr handle);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_tokenize(int* out_ids, UIntPtr capacity, UIntPtr*
            out_needed, TokenizerHandle tokenizer, byte* text, UIntPtr length, uint flags,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_detokenize(byte* out_, UIntPtr capacity, UIntPtr*
            out_needed, TokenizerHandle tokenizer, int* ids, UIntPtr n_ids, uint flags, NativeError*
            error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_detokenize_stream(byte* out_, UIntPtr capacity, UIntPtr*
            out_needed, NativeDetokenizerState* state, TokenizerHandle tokenizer, int* ids, UIntPtr
            n_ids, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_token_info(NativeTokenFacts* out_, TokenizerHandle
            tokenizer, int id, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_tokenizer_info(NativeTokenizerFacts* out_, TokenizerHandle
            tokenizer, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern UIntPtr ggufx_pre_tokenizer_count();
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_pre_tokenizer_at(NativePreTokenizerFacts* out_, UIntPtr
            index, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_model_create(out ModelHandle out_, RuntimeHandle rt,
            FileHandle file, NativeModelOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_model_destroy(IntPtr handle);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_model_info(NativeModelFacts* out_, ModelHandle model,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_model_layer_info(NativeLayerFacts* out_, ModelHandle model,
            uint layer, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_model_describe_graph(byte* out_, UIntPtr capacity, UIntPtr*
            out_needed, FileHandle file, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_session_create(out SessionHandle out_, ModelHandle model,
            NativeSessionOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_session_destroy(IntPtr handle);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_session_info(NativeSessionFacts* out_, SessionHandle
            session, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_dequantize(float* out_, UIntPtr n_out, RuntimeHandle rt,
            TensorHandle tensor, ulong first_row, ulong n_rows, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_quantize(void* out_, UIntPtr n_bytes, RuntimeHandle rt,
            NativeQuantizeArgs* args, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern UIntPtr ggufx_file_type_count();
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_file_type_at(NativeFileTypeFacts* out_, UIntPtr index,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_file_type_find(uint* out_, byte* name, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_quantizer_create(out QuantizerHandle out_, RuntimeHandle
            rt, FileHandle file, uint file_type, NativeQuantizerOptions* options, NativeError*
            error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_quantizer_destroy(IntPtr handle);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_quantizer_info(NativeQuantizerFacts* out_, QuantizerHandle
            quantizer, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_quantizer_tensor_at(NativeQuantizerTensorFacts* out_,
            QuantizerHandle quantizer, UIntPtr index, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_quantizer_override_types(QuantizerHandle quantizer, uint*
            types, UIntPtr n, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_quantizer_tensor_error(double* out_, QuantizerHandle
            quantizer, UIntPtr index, uint type_, ulong max_values, NativeProgress* progress,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_quantizer_run(QuantizerHandle quantizer, byte* path,
            NativeQuantizerRunOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_quantizer_finish(QuantizerHandle quantizer, byte* path,
            NativeProgress* progress, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_sampler_create(out SamplerHandle out_, RuntimeHandle rt,
            uint n_vocab, ulong seed, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_sampler_destroy(IntPtr handle);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_sampler_sample(int* out_id, float* out_logprob,
            SamplerHandle sampler, MatcherHandle matcher, float* logits, UIntPtr n, NativeError*
            error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_sampler_accept(SamplerHandle sampler, int* ids, UIntPtr n,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_sampler_reset(SamplerHandle sampler, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_sampler_clone(out SamplerHandle out_, SamplerHandle
            sampler, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_sampler_add_top_k(SamplerHandle sampler, uint k,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_sampler_add_top_p(SamplerHandle sampler, float p,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_sampler_add_min_p(SamplerHandle sampler, float p,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_sampler_add_typical(SamplerHandle sampler, float p,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_sampler_add_top_n_sigma(SamplerHandle sampler, float
            n_sigma, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_sampler_add_xtc(SamplerHandle sampler, float probability,
            float threshold, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_sampler_add_temperature(SamplerHandle sampler, float
            temperature, NativeTemperatureOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_sampler_add_penalties(SamplerHandle sampler,
            NativePenaltyOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_sampler_add_dry(SamplerHandle sampler, NativeDryOptions*
            options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_sampler_add_logit_bias(SamplerHandle sampler,
            NativeLogitBias* biases, UIntPtr n_biases, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_sampler_add_mirostat(SamplerHandle sampler,
            NativeMirostatOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_sampler_add_host(SamplerHandle sampler, IntPtr apply, void*
            user, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_file_sampling(NativeSamplingFacts* out_, int*
            out_suppressed, UIntPtr capacity, FileHandle file, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_logprobs(int* out_ids, float* out_logprobs, UIntPtr k,
            RuntimeHandle rt, float* logits, UIntPtr n, int* tokens, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_type_info(NativeTypeFacts* out_, uint type_, NativeError*
            error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_type_find(uint* out_, byte* name, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_type_row_bytes(ulong* out_, uint type_, ulong n,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern byte* ggufx_runtime_kernel_name(RuntimeHandle rt, uint type_);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_writer_create(out WriterHandle out_, RuntimeHandle rt,
            NativeWriterOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern void ggufx_writer_destroy(IntPtr handle);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_writer_set_u64(WriterHandle writer, byte* key, UIntPtr
            length, int type_, ulong value, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_writer_set_i64(WriterHandle writer, byte* key, UIntPtr
            length, int type_, long value, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_writer_set_f64(WriterHandle writer, byte* key, UIntPtr
            length, int type_, double value, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_writer_set_bool(WriterHandle writer, byte* key, UIntPtr
            length, int value, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_writer_set_string(WriterHandle writer, byte* key, UIntPtr
            length, byte* text, UIntPtr n_text, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_writer_set_array(WriterHandle writer, byte* key, UIntPtr
            length, int element_type, void* elements, UIntPtr count, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_writer_set_array_string(WriterHandle writer, byte* key,
            UIntPtr length, byte** texts, UIntPtr* lengths, UIntPtr count, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_writer_set_value(WriterHandle writer, byte* key, UIntPtr
            length, int type_, void* value, UIntPtr n_bytes, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_writer_unset(WriterHandle writer, byte* key, UIntPtr
            length, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_writer_rename(WriterHandle writer, byte* key, UIntPtr
            length, byte* new_key, UIntPtr new_length, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_writer_copy_meta(WriterHandle writer, FileHandle file,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_writer_add_tensor(WriterHandle writer, TensorHandle tensor,
            byte* name, UIntPtr name_length, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_writer_copy_tensors(WriterHandle writer, FileHandle file,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_writer_add_stream(WriterHandle writer, byte* name, UIntPtr
            name_length, uint type_, uint n_dims, ulong* ne, NativeTensorStream* stream,
            NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_writer_info(NativeWriterFacts* out_, WriterHandle writer,
            NativeWriteOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_writer_write(WriterHandle writer, byte* path,
            NativeWriteOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_writer_write_stream(WriterHandle writer, IntPtr write,
            void* user, NativeWriteOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_writer_edit_info(NativeEditFacts* out_, WriterHandle
            writer, FileHandle file, NativeEditOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_writer_edit(NativeEditFacts* out_, WriterHandle writer,
            FileHandle file, byte* path, NativeEditOptions* options, NativeError* error);
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        internal static extern int ggufx_file_recover_edit(int* out_, RuntimeHandle rt, byte* path,
            NativeError* error);
    }
}
