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
            if (ne.Length > 4) throw Check.Argument($"ARGUMENT: {ne.Length} dimensions, at most 4");
            TensorHandle made;
            NativeError e;
            var options = new NativeTensorOptions { struct_size = (uint)sizeof(NativeTensorOptions), type_ = (uint)type, n_dims = (uint)ne.Length, row_stride = rowStride };
            for (int i = 0; i < ne.Length; i++) options.ne[i] = ne[i];
            options.data = (void*)pin.Address;
            options.n_bytes = (ulong)data.Length;
            options.destroy = Functions.Destroy;
            options.user = new Callback(pin).User;
            fixed (byte* text = title)
            {
                options.name = text;
                Check.Ok(NativeMethods.ggufx_tensor_create(out made, runtime, &options, &e), &e);
            }
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
        /// <summary>Products of a matrix and n columns, ldx apart; results are ldy apart. 0: dense.</summary>
        public void Matmul(Span<float> y, long ldy, Tensor w, ReadOnlySpan<float> x, long ldx, long n, MatmulOptions options = null)
        {
            Multiply(y, ldy, w, default(ReadOnlySpan<uint>), 0, x, ldx, n, options);
        }

        /// <summary>Products of n columns and the matrices of experts, nUsed experts per column.</summary>
        public void MatmulId(Span<float> y, long ldy, Tensor w, ReadOnlySpan<uint> ids, long nUsed, ReadOnlySpan<float> x,
            long ldx, long n, MatmulOptions options = null)
        {
            Check.Length(ids.Length, checked(n * nUsed), "ids");
            if (ids.Length > 0) Multiply(y, ldy, w, ids, nUsed, x, ldx, n, options);
        }

        private void Multiply(Span<float> y, long ldy, Tensor w, ReadOnlySpan<uint> ids, long nUsed, ReadOnlySpan<float> x,
            long ldx, long n, MatmulOptions options)
        {
            var product = new NativeProduct { struct_size = (uint)sizeof(NativeProduct), ldx = Native.Size(ldx, "ldx"), n = Native.Size(n, "n"),
                ldy = Native.Size(ldy, "ldy"), n_used = Native.Size(nUsed, "nUsed"), n_x = Native.Size(x.Length), n_y = Native.Size(y.Length) };
            fixed (float* to = &MemoryMarshal.GetReference(y))
            fixed (float* from = &MemoryMarshal.GetReference(x))
            fixed (uint* chosen = &MemoryMarshal.GetReference(ids))
            {
                product.y = to;
                product.x = from;
                product.ids = ids.Length == 0 ? null : chosen;
                Multiply(&product, 1, w, null, options);
            }
        }

        /// The matrices of products are set here.
        private void Multiply(NativeProduct* products, int n, Tensor one, Tensor[] all, MatmulOptions options)
        {
            NativeMatmulOptions native;
            NativeError e;
            var scope = options == null ? null : Scope.New();
            int held = 0;
            try
            {
                for (; held < n; held++)
                {
                    bool added = false;
                    TensorHandle w = (all == null ? one : all[held]).Handle;
                    w.DangerousAddRef(ref added);
                    products[held].w = w.DangerousGetHandle();
                }
                Scope.End(scope, NativeMethods.ggufx_matmul(Handle, products, Native.Size(n), MatmulOptions.Of(options, &native, scope), &e), &e);
            }
            finally
            {
                while (held-- > 0) (all == null ? one : all[held]).Handle.DangerousRelease();
                if (scope != null) scope.Dispose();
            }
        }

        /// <summary>Products of several matrices and one vector; concatenated in y, rows[i] values
        /// each. At most 64 matrices.</summary>
        public void MatvecMany(Span<float> y, int[] rows, Tensor[] w, ReadOnlySpan<float> x, MatmulOptions options = null)
        {
            const int most = (int)Constants.MatmulMaxProducts;
            if (rows.Length != w.Length || w.Length > most) throw Check.Argument($"ARGUMENT: {rows.Length} results of {w.Length} matrices, at most {most}");
            NativeProduct* products = stackalloc NativeProduct[most];
            fixed (float* first = &MemoryMarshal.GetReference(y))
            fixed (float* from = &MemoryMarshal.GetReference(x))
            {
                int total = 0;
                for (int i = 0; i < w.Length; i++)
                {
                    if (rows[i] < 0 || rows[i] > y.Length - total) throw Check.Argument($"ARGUMENT: {rows[i]} rows after {total} of {y.Length} values");
                    products[i] = new NativeProduct { struct_size = (uint)sizeof(NativeProduct), x = from, n_x = Native.Size(x.Length),
                        n = Native.Size(1), y = first + total, n_y = Native.Size(rows[i]) };
                    total += rows[i];
                }
                Multiply(products, w.Length, null, w, options);
            }
        }
    }
}
