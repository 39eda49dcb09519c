// Blocks to floats and back.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;
using System.Threading;

namespace Ggufx
{
    public sealed unsafe partial class Tensor
    {
        /// <summary>Rows first .. first + n - 1 as floats.</summary>
        public void Dequantize(Runtime rt, Span<float> to, ulong first, ulong n)
        {
            NativeError e;
            fixed (float* p = &MemoryMarshal.GetReference(to))
                Check.Ok(NativeMethods.ggufx_dequantize(p, Native.Size(to.Length), rt.Handle, Handle, first, n, &e), &e);
        }
    }

    /// <summary>Blocks in memory.</summary>
    public static unsafe class Blocks
    {
        /// <summary>Whole blocks as floats.</summary>
        public static void Dequantize(Runtime rt, Span<float> to, TensorType type, ReadOnlySpan<byte> blocks)
        {
            NativeError e;
            fixed (float* p = &MemoryMarshal.GetReference(to))
            fixed (byte* from = &MemoryMarshal.GetReference(blocks))
                Check.Ok(NativeMethods.ggufx_dequantize_blocks(p, Native.Size(to.Length), rt.Handle, (uint)type, from, Native.Size(blocks.Length), &e), &e);
        }

        /// <summary>Rows of nCols values as blocks; imatrix is empty, or a weight per column.</summary>
        public static void Quantize(Runtime rt, Span<byte> to, TensorType type, ReadOnlySpan<float> rows, int nCols,
            ReadOnlySpan<float> imatrix = default(ReadOnlySpan<float>), QuantizeMode mode = QuantizeMode.Reference,
            CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            if (nCols <= 0 || rows.Length % nCols != 0) throw Check.Argument($"ARGUMENT: {rows.Length} values in rows of {nCols}");
            if (imatrix.Length != 0) Check.Length(imatrix.Length, nCols, "weights");
            var o = default(NativeQuantizeOptions);
            o.struct_size = (uint)sizeof(NativeQuantizeOptions);
            o.mode = (int)mode;
            NativeProgress native;
            NativeError e;
            var hook = Hook.Watching(token, progress);
            o.progress = Hook.Fill(hook, &native);
            try
            {
                fixed (byte* p = &MemoryMarshal.GetReference(to))
                fixed (float* from = &MemoryMarshal.GetReference(rows))
                fixed (float* weights = &MemoryMarshal.GetReference(imatrix))
                {
                    o.imatrix = imatrix.Length == 0 ? null : weights;
                    Hook.End(hook, NativeMethods.ggufx_quantize_blocks(p, Native.Size(to.Length), rt.Handle, (uint)type, from, Native.Size(rows.Length / nCols), Native.Size(nCols), &o, &e), &e);
                }
            }
            finally { if (hook != null) hook.Dispose(); }
        }
    }
}
