// Tensors: views of the caller's memory, products, blocks.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;

namespace Ggufx
{
    /// A pinned array, which stays until the library lets go of it.
    internal sealed class Pinned : IDisposable
    {
        private GCHandle _handle;

        internal Pinned(byte[] data) { _handle = GCHandle.Alloc(data, GCHandleType.Pinned); }

        internal IntPtr Address { get { return _handle.AddrOfPinnedObject(); } }

        public void Dispose() { _handle.Free(); }
    }

    public sealed unsafe partial class Tensor
    {
        /// <summary>Wrap blocks in file format, without a copy: the array is pinned until the last
        /// user of the tensor is gone. rowStride 0: dense.</summary>
        public static Tensor Wrap(Runtime rt, TensorType type, ReadOnlySpan<ulong> ne, byte[] data, string name, ulong rowStride = 0)
        {
            RuntimeHandle runtime = rt.Handle; // before anything is pinned
            byte[] title = Native.Utf8(name);
            var pin = new Pinned(data);
            TensorHandle made;
            NativeError e;
            fixed (byte* text = title)
            fixed (ulong* dims = &Native.First(ne))
                Check.Ok(NativeMethods.ggufx_tensor_wrap(out made, runtime, (uint)type, (uint)ne.Length, dims, rowStride, (void*)pin.Address, (ulong)data.Length, text, Functions.Destroy, new Callback(pin).User, &e), &e);
            return new Tensor(made);
        }

        /// <summary>Bytes from the first row to the end of the last one, valid as long as the
        /// tensor; empty when they are not in memory or more than 2 GiB.</summary>
        public ReadOnlySpan<byte> Data
        {
            get
            {
                TensorFacts facts = Info;
                void* data = NativeMethods.ggufx_tensor_data(Handle);
                ulong n = facts.Rows == 0 ? 0 : (facts.Rows - 1) * facts.RowStride + facts.RowBytes;
                if (data == null || n > int.MaxValue) return default(ReadOnlySpan<byte>);
                return new ReadOnlySpan<byte>(data, (int)n);
            }
        }

        /// <summary>y = W x, in a new array; Runtime.Matvec fills one of the caller.</summary>
        public float[] MatVec(Runtime rt, ReadOnlySpan<float> x, MatmulOptions options = null)
        {
            var y = new float[Info.Rows];
            rt.Matvec(y, this, x, options);
            return y;
        }
    }

    public sealed unsafe partial class Runtime
    {
        /// <summary>Products of several matrices and one vector; concatenated in y, rows[i] values
        /// each. At most 64 matrices.</summary>
        public void MatvecMany(Span<float> y, int[] rows, Tensor[] w, ReadOnlySpan<float> x, MatmulOptions options = null)
        {
            const int most = (int)Constants.MatvecMaxMatrices;
            if (rows.Length != w.Length || w.Length > most) throw Check.Argument($"ARGUMENT: {rows.Length} results of {w.Length} matrices, at most {most}");
            float** to = stackalloc float*[most];
            UIntPtr* counts = stackalloc UIntPtr[most];
            IntPtr* matrices = stackalloc IntPtr[most];
            NativeMatmulOptions native;
            NativeError e;
            var scope = options == null ? null : Scope.New();
            int held = 0;
            try
            {
                for (; held < w.Length; held++)
                {
                    bool added = false;
                    w[held].Handle.DangerousAddRef(ref added);
                    matrices[held] = w[held].Handle.DangerousGetHandle();
                }
                fixed (float* first = &MemoryMarshal.GetReference(y))
                fixed (float* from = &MemoryMarshal.GetReference(x))
                {
                    int total = 0;
                    for (int i = 0; i < w.Length; i++)
                    {
                        if (rows[i] < 0 || rows[i] > y.Length - total) throw Check.Argument($"ARGUMENT: {rows[i]} rows after {total} of {y.Length} values");
                        to[i] = first + total;
                        counts[i] = Native.Size(rows[i]);
                        total += rows[i];
                    }
                    Scope.End(scope, NativeMethods.ggufx_matvec_many(to, counts, Handle, matrices, Native.Size(w.Length), from, Native.Size(x.Length),
                        MatmulOptions.Of(options, &native, scope), &e), &e);
                }
            }
            finally
            {
                while (held > 0) w[--held].Handle.DangerousRelease();
                if (scope != null) scope.Dispose();
            }
        }
    }
}
