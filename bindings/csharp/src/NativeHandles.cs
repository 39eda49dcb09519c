// Written by bindings/raw.py from include/ggufx; a test compares them.
// SPDX-License-Identifier: MIT

namespace Ggufx
{
    internal sealed class AdapterHandle : LibraryHandle
    {
        internal static readonly AdapterHandle None = new AdapterHandle();

        private AdapterHandle() { }

        protected override void Destroy() { NativeMethods.ggufx_adapter_destroy(handle); }
    }

    internal sealed class ChatParserHandle : LibraryHandle
    {
        internal static readonly ChatParserHandle None = new ChatParserHandle();

        private ChatParserHandle() { }

        protected override void Destroy() { NativeMethods.ggufx_chat_parser_destroy(handle); }
    }

    internal sealed class ChatPromptHandle : LibraryHandle
    {
        internal static readonly ChatPromptHandle None = new ChatPromptHandle();

        private ChatPromptHandle() { }

        protected override void Destroy() { NativeMethods.ggufx_chat_prompt_destroy(handle); }
    }

    internal sealed class ChatTemplateHandle : LibraryHandle
    {
        internal static readonly ChatTemplateHandle None = new ChatTemplateHandle();

        private ChatTemplateHandle() { }

        protected override void Destroy() { NativeMethods.ggufx_chat_template_destroy(handle); }
    }

    internal sealed class DeviceHandle : LibraryHandle
    {
        internal static readonly DeviceHandle None = new DeviceHandle();

        private DeviceHandle() { }

        protected override void Destroy() { NativeMethods.ggufx_device_destroy(handle); }
    }

    internal sealed class EmbedderHandle : LibraryHandle
    {
        internal static readonly EmbedderHandle None = new EmbedderHandle();

        private EmbedderHandle() { }

        protected override void Destroy() { NativeMethods.ggufx_embedder_destroy(handle); }
    }

    internal sealed class FileHandle : LibraryHandle
    {
        internal static readonly FileHandle None = new FileHandle();

        private FileHandle() { }

        protected override void Destroy() { NativeMethods.ggufx_file_destroy(handle); }
    }

    internal sealed class GeneratorHandle : LibraryHandle
    {
        internal static readonly GeneratorHandle None = new GeneratorHandle();

        private GeneratorHandle() { }

        protected override void Destroy() { NativeMethods.ggufx_generator_destroy(handle); }
    }

    internal sealed class GrammarHandle : LibraryHandle
    {
        internal static readonly GrammarHandle None = new GrammarHandle();

        private GrammarHandle() { }

        protected override void Destroy() { NativeMethods.ggufx_grammar_destroy(handle); }
    }

    internal sealed class ImatrixHandle : LibraryHandle
    {
        internal static readonly ImatrixHandle None = new ImatrixHandle();

        private ImatrixHandle() { }

        protected override void Destroy() { NativeMethods.ggufx_imatrix_destroy(handle); }
    }

    internal sealed class KvHandle : LibraryHandle
    {
        internal static readonly KvHandle None = new KvHandle();

        private KvHandle() { }

        protected override void Destroy() { NativeMethods.ggufx_kv_destroy(handle); }
    }

    internal sealed class MatcherHandle : LibraryHandle
    {
        internal static readonly MatcherHandle None = new MatcherHandle();

        private MatcherHandle() { }

        protected override void Destroy() { NativeMethods.ggufx_matcher_destroy(handle); }
    }

    internal sealed class ModelHandle : LibraryHandle
    {
        internal static readonly ModelHandle None = new ModelHandle();

        private ModelHandle() { }

        protected override void Destroy() { NativeMethods.ggufx_model_destroy(handle); }
    }

    internal sealed class MomentsHandle : LibraryHandle
    {
        internal static readonly MomentsHandle None = new MomentsHandle();

        private MomentsHandle() { }

        protected override void Destroy() { NativeMethods.ggufx_moments_destroy(handle); }
    }

    internal sealed class QuantizerHandle : LibraryHandle
    {
        internal static readonly QuantizerHandle None = new QuantizerHandle();

        private QuantizerHandle() { }

        protected override void Destroy() { NativeMethods.ggufx_quantizer_destroy(handle); }
    }

    internal sealed class RuntimeHandle : LibraryHandle
    {
        internal static readonly RuntimeHandle None = new RuntimeHandle();

        private RuntimeHandle() { }

        protected override void Destroy() { NativeMethods.ggufx_runtime_destroy(handle); }
    }

    internal sealed class SamplerHandle : LibraryHandle
    {
        internal static readonly SamplerHandle None = new SamplerHandle();

        private SamplerHandle() { }

        protected override void Destroy() { NativeMethods.ggufx_sampler_destroy(handle); }
    }

    internal sealed class SessionHandle : LibraryHandle
    {
        internal static readonly SessionHandle None = new SessionHandle();

        private SessionHandle() { }

        protected override void Destroy() { NativeMethods.ggufx_session_destroy(handle); }
    }

    internal sealed class TokenizerHandle : LibraryHandle
    {
        internal static readonly TokenizerHandle None = new TokenizerHandle();

        private TokenizerHandle() { }

        protected override void Destroy() { NativeMethods.ggufx_tokenizer_destroy(handle); }
    }

    internal sealed class WriterHandle : LibraryHandle
    {
        internal static readonly WriterHandle None = new WriterHandle();

        private WriterHandle() { }

        protected override void Destroy() { NativeMethods.ggufx_writer_destroy(handle); }
    }
}
