// Written by bindings/raw.py from include/ggufx; a test compares them.
// SPDX-License-Identifier: MIT
using Microsoft.Win32.SafeHandles;

namespace Ggufx
{
    internal sealed class FileHandle : SafeHandleZeroOrMinusOneIsInvalid
    {
        private FileHandle() : base(true) { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_file_destroy(handle);
            return true;
        }
    }

    internal sealed class ImatrixHandle : SafeHandleZeroOrMinusOneIsInvalid
    {
        private ImatrixHandle() : base(true) { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_imatrix_destroy(handle);
            return true;
        }
    }

    internal sealed class JobHandle : SafeHandleZeroOrMinusOneIsInvalid
    {
        private JobHandle() : base(true) { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_job_destroy(handle);
            return true;
        }
    }

    internal sealed class KvHandle : SafeHandleZeroOrMinusOneIsInvalid
    {
        private KvHandle() : base(true) { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_kv_destroy(handle);
            return true;
        }
    }

    internal sealed class ModelHandle : SafeHandleZeroOrMinusOneIsInvalid
    {
        private ModelHandle() : base(true) { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_model_destroy(handle);
            return true;
        }
    }

    internal sealed class RuntimeHandle : SafeHandleZeroOrMinusOneIsInvalid
    {
        private RuntimeHandle() : base(true) { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_runtime_destroy(handle);
            return true;
        }
    }

    internal sealed class SamplerHandle : SafeHandleZeroOrMinusOneIsInvalid
    {
        private SamplerHandle() : base(true) { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_sampler_destroy(handle);
            return true;
        }
    }

    internal sealed class SessionHandle : SafeHandleZeroOrMinusOneIsInvalid
    {
        private SessionHandle() : base(true) { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_session_destroy(handle);
            return true;
        }
    }

    internal sealed class TokenizerHandle : SafeHandleZeroOrMinusOneIsInvalid
    {
        private TokenizerHandle() : base(true) { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_tokenizer_destroy(handle);
            return true;
        }
    }

    internal sealed class WriterHandle : SafeHandleZeroOrMinusOneIsInvalid
    {
        private WriterHandle() : base(true) { }

        protected override bool ReleaseHandle()
        {
            NativeMethods.ggufx_writer_destroy(handle);
            return true;
        }
    }
}
