// Tensors: views, products, blocks.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;
using System.Threading;
using Microsoft.Win32.SafeHandles;

namespace Ggufx
{
    /// A tensor of a file keeps the file's handle; others are owned.
    internal sealed class TensorHandle : LibraryHandle
    {
        private FileHandle _file;

        private TensorHandle() { }

        internal TensorHandle(FileHandle file, IntPtr borrowed)
        {
            bool added = false;
            file.DangerousAddRef(ref added);
            _file = file;
            SetHandle(borrowed);
        }

        protected override bool ReleaseHandle()
        {
            if (_file != null) _file.DangerousRelease();
            else NativeMethods.ggufx_tensor_destroy(handle);
            return true;
        }
    }

    /// <summary>Facts of a tensor.</summary>
    public sealed class TensorInfo
    {
        /// <summary>Name of the tensor.</summary>
        public string Name { get; internal set; }
        /// <summary>Type of the tensor.</summary>
        public TensorType Type { get; internal set; }
        /// <summary>Number of dimensions.</summary>
        public uint Dims { get; internal set; }
        /// <summary>Values per dimension, [0] along a row; 1 beyond Dims.</summary>
        public ulong[] Ne { get; internal set; }
        /// <summary>Bytes of a row.</summary>
        public ulong RowBytes { get; internal set; }
        /// <summary>Bytes from row to row.</summary>
        public ulong RowStride { get; internal set; }
        /// <summary>Number of rows.</summary>
        public ulong Rows { get; internal set; }
        /// <summary>Bytes of all rows.</summary>
        public ulong Bytes { get; internal set; }
        /// <summary>Offset in its part's data; null when wrapped.</summary>
        public ulong? Offset { get; internal set; }
        /// <summary>Offset in its part's file; null when wrapped.</summary>
        public ulong? FileOffset { get; internal set; }
        /// <summary>Number of its part.</summary>
        public uint Part { get; internal set; }
    }

    /// <summary>A typed, shaped, strided view of weights; immutable.</summary>
    public sealed unsafe partial class Tensor : IDisposable
    {
        private readonly TensorHandle _made;

        internal TensorHandle Handle { get { return _made.Live(this); } }

        private Tensor(TensorHandle handle) { _made = handle; }

        internal static Tensor Of(GgufFile file, long index)
        {
            IntPtr p = NativeMethods.ggufx_file_tensor(file.Handle, Native.Size(index));
            if (p == IntPtr.Zero) throw new ArgumentOutOfRangeException(nameof(index));
            return new Tensor(new TensorHandle(file.Handle, p));
        }

        /// <summary>Wrap blocks in file format, without a copy: the array is pinned until the last
        /// user of the tensor is gone. rowStride 0: dense.</summary>
        public static Tensor Wrap(Runtime rt, TensorType type, ulong[] ne, byte[] data, string name, ulong rowStride = 0)
        {
            var pin = GCHandle.Alloc(data, GCHandleType.Pinned);
            var hook = new Hook { Pinned = pin };
            TensorHandle handle;
            NativeError e;
            fixed (byte* text = Native.Utf8(name))
            fixed (ulong* dims = ne)
                Check.Ok(NativeMethods.ggufx_tensor_wrap(out handle, rt.Handle, (uint)type, (uint)ne.Length, dims, rowStride, (void*)pin.AddrOfPinnedObject(), (ulong)data.Length, text, Functions.Destroy, hook.User, &e), &e);
            return new Tensor(handle);
        }

        /// <summary>Indices first .. first + n - 1 of a dimension; shares the data and keeps them
        /// alive.</summary>
        public Tensor Slice(uint dim, ulong first, ulong n)
        {
            TensorHandle handle;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_tensor_slice(out handle, Handle, dim, first, n, &e), &e);
            return new Tensor(handle);
        }

        /// <summary>Close it. Does not wait: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        private NativeTensorFacts Facts
        {
            get
            {
                var o = default(NativeTensorFacts);
                o.struct_size = (uint)sizeof(NativeTensorFacts);
                NativeError e;
                Check.Ok(NativeMethods.ggufx_tensor_info(&o, Handle, &e), &e);
                return o;
            }
        }

        /// <summary>Facts of it.</summary>
        public TensorInfo Info
        {
            get
            {
                using (new Hold(Handle)) return Of(Facts);
            }
        }

        private static TensorInfo Of(NativeTensorFacts o)
        {
            return new TensorInfo
            {
                Name = Native.Text(o.name, (long)o.name_length), Type = (TensorType)o.type_,
                Dims = o.n_dims, Ne = new[] { o.ne[0], o.ne[1], o.ne[2], o.ne[3] },
                RowBytes = o.row_bytes, RowStride = o.row_stride, Rows = o.n_rows,
                Bytes = o.n_bytes, Offset = Native.Present(o.offset),
                FileOffset = Native.Present(o.file_offset), Part = o.part,
            };
        }

        /// <summary>Bytes from the first row to the end of the last one, valid as long as the
        /// tensor; empty when they are not in memory or more than 2 GiB.</summary>
        public ReadOnlySpan<byte> Data
        {
            get
            {
                var facts = Facts;
                void* data = NativeMethods.ggufx_tensor_data(Handle);
                ulong n = facts.n_rows == 0 ? 0 : (facts.n_rows - 1) * facts.row_stride + facts.row_bytes;
                if (data == null || n > int.MaxValue) return default(ReadOnlySpan<byte>);
                return new ReadOnlySpan<byte>(data, (int)n);
            }
        }

        /// <summary>y = W x, in a new array.</summary>
        public float[] MatVec(Runtime rt, ReadOnlySpan<float> x, MatmulFlags flags = 0)
        {
            var y = new float[Facts.n_rows];
            MatVec(rt, y, x, flags);
            return y;
        }

        /// <summary>y = W x; allocates nothing unless it is followed.</summary>
        public void MatVec(Runtime rt, Span<float> y, ReadOnlySpan<float> x, MatmulFlags flags = 0,
            CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            NativeMatmulOptions o;
            NativeProgress native;
            NativeError e;
            var hook = Begin(&o, &native, flags, token, progress);
            try
            {
                fixed (float* to = &MemoryMarshal.GetReference(y))
                fixed (float* from = &MemoryMarshal.GetReference(x))
                    Hook.End(hook, NativeMethods.ggufx_matvec(to, Native.Size(y.Length), rt.Handle, Handle, from, Native.Size(x.Length), &o, &e), &e);
            }
            finally { if (hook != null) hook.Dispose(); }
        }

        internal static Hook Begin(NativeMatmulOptions* o, NativeProgress* native, MatmulFlags flags, CancellationToken token, IProgress<Progress> progress)
        {
            *o = default(NativeMatmulOptions);
            o->struct_size = (uint)sizeof(NativeMatmulOptions);
            o->flags = (uint)flags;
            var hook = Hook.Watching(token, progress);
            o->progress = Hook.Fill(hook, native);
            return hook;
        }

        /// <summary>Y = W X for n columns, ldx and ldy floats apart; 0: dense.</summary>
        public void MatMul(Runtime rt, Span<float> y, int ldy, ReadOnlySpan<float> x, int ldx, int n,
            MatmulFlags flags = 0, CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            NativeMatmulOptions o;
            NativeProgress native;
            NativeError e;
            var hook = Begin(&o, &native, flags, token, progress);
            try
            {
                fixed (float* to = &MemoryMarshal.GetReference(y))
                fixed (float* from = &MemoryMarshal.GetReference(x))
                    Hook.End(hook, NativeMethods.ggufx_matmul(to, Native.Size(ldy), Native.Size(y.Length), rt.Handle, Handle, from, Native.Size(ldx), Native.Size(x.Length), Native.Size(n), &o, &e), &e);
            }
            finally { if (hook != null) hook.Dispose(); }
        }

        /// <summary>Experts: result j * nUsed + i is expert ids[j * nUsed + i] times column j.</summary>
        public void MatMulId(Runtime rt, Span<float> y, int ldy, ReadOnlySpan<uint> ids, int nUsed,
            ReadOnlySpan<float> x, int ldx, MatmulFlags flags = 0, CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            if (nUsed <= 0 || ids.Length % nUsed != 0) throw Check.Argument($"ARGUMENT: {ids.Length} ids, {nUsed} of a column");
            NativeMatmulOptions o;
            NativeProgress native;
            NativeError e;
            var hook = Begin(&o, &native, flags, token, progress);
            try
            {
                fixed (float* to = &MemoryMarshal.GetReference(y))
                fixed (uint* chosen = &MemoryMarshal.GetReference(ids))
                fixed (float* from = &MemoryMarshal.GetReference(x))
                    Hook.End(hook, NativeMethods.ggufx_matmul_id(to, Native.Size(ldy), Native.Size(y.Length), rt.Handle, Handle, chosen, Native.Size(nUsed), from, Native.Size(ldx), Native.Size(x.Length), Native.Size(ids.Length / nUsed), &o, &e), &e);
            }
            finally { if (hook != null) hook.Dispose(); }
        }

        /// <summary>Products of several matrices and one vector; concatenated in y, rows[i] values
        /// each. At most 64 matrices.</summary>
        public static void MatVecMany(Runtime rt, Span<float> y, int[] rows, Tensor[] w, ReadOnlySpan<float> x,
            MatmulFlags flags = 0, CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            const int most = (int)Constants.MatvecMaxMatrices;
            if (rows.Length != w.Length || w.Length > most) throw Check.Argument($"ARGUMENT: {rows.Length} results of {w.Length} matrices, at most {most}");
            float** to = stackalloc float*[most];
            UIntPtr* counts = stackalloc UIntPtr[most];
            IntPtr* matrices = stackalloc IntPtr[most];
            NativeMatmulOptions o;
            NativeProgress native;
            NativeError e;
            var hook = Begin(&o, &native, flags, token, progress);
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
                        if (rows[i] < 0 || rows[i] > y.Length - total) throw Check.Argument($"ARGUMENT: {rows[i]} rows behind {total} of {y.Length} values");
                        to[i] = first + total;
                        counts[i] = Native.Size(rows[i]);
                        total += rows[i];
                    }
                    Hook.End(hook, NativeMethods.ggufx_matvec_many(to, counts, rt.Handle, matrices, Native.Size(w.Length), from, Native.Size(x.Length), &o, &e), &e);
                }
            }
            finally
            {
                while (held > 0) w[--held].Handle.DangerousRelease();
                if (hook != null) hook.Dispose();
            }
        }
    }
}
