// Written by bindings/raw.py from include/ggufx; a test compares them.
// SPDX-License-Identifier: MIT

namespace Ggufx
{
    internal sealed class AdapterHandle : LibraryHandle
    {
        private AdapterHandle() { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_adapter_destroy(handle);
            return true;
        }
    }

    internal sealed class ChatHandle : LibraryHandle
    {
        private ChatHandle() { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_chat_destroy(handle);
            return true;
        }
    }

    internal sealed class ChatParserHandle : LibraryHandle
    {
        private ChatParserHandle() { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_chat_parser_destroy(handle);
            return true;
        }
    }

    internal sealed class DeviceHandle : LibraryHandle
    {
        private DeviceHandle() { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_device_destroy(handle);
            return true;
        }
    }

    internal sealed class EmbedderHandle : LibraryHandle
    {
        private EmbedderHandle() { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_embedder_destroy(handle);
            return true;
        }
    }

    internal sealed class FileHandle : LibraryHandle
    {
        private FileHandle() { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_file_destroy(handle);
            return true;
        }
    }

    internal sealed class GeneratorHandle : LibraryHandle
    {
        private GeneratorHandle() { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_generator_destroy(handle);
            return true;
        }
    }

    internal sealed class GrammarHandle : LibraryHandle
    {
        private GrammarHandle() { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_grammar_destroy(handle);
            return true;
        }
    }

    internal sealed class ImatrixHandle : LibraryHandle
    {
        private ImatrixHandle() { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_imatrix_destroy(handle);
            return true;
        }
    }

    internal sealed class JobHandle : LibraryHandle
    {
        private JobHandle() { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_job_destroy(handle);
            return true;
        }
    }

    internal sealed class KvHandle : LibraryHandle
    {
        private KvHandle() { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_kv_destroy(handle);
            return true;
        }
    }

    internal sealed class MatcherHandle : LibraryHandle
    {
        private MatcherHandle() { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_matcher_destroy(handle);
            return true;
        }
    }

    internal sealed class ModelHandle : LibraryHandle
    {
        private ModelHandle() { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_model_destroy(handle);
            return true;
        }
    }

    internal sealed class RuntimeHandle : LibraryHandle
    {
        private RuntimeHandle() { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_runtime_destroy(handle);
            return true;
        }
    }

    internal sealed class SamplerHandle : LibraryHandle
    {
        private SamplerHandle() { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_sampler_destroy(handle);
            return true;
        }
    }

    internal sealed class SessionHandle : LibraryHandle
    {
        private SessionHandle() { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_session_destroy(handle);
            return true;
        }
    }

    internal sealed class SpeculatorHandle : LibraryHandle
    {
        private SpeculatorHandle() { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_speculator_destroy(handle);
            return true;
        }
    }

    internal sealed class StopHandle : LibraryHandle
    {
        private StopHandle() { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_stop_destroy(handle);
            return true;
        }
    }

    internal sealed class TokenizerHandle : LibraryHandle
    {
        private TokenizerHandle() { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_tokenizer_destroy(handle);
            return true;
        }
    }

    internal sealed class WriterHandle : LibraryHandle
    {
        private WriterHandle() { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_writer_destroy(handle);
            return true;
        }
    }
}
