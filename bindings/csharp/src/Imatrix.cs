// Importance matrices (imatrix): weight of each column of a tensor.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

namespace Ggufx
{
    /// <summary>Facts of an importance matrix.</summary>
    public sealed class ImatrixInfo
    {
        /// <summary>Number of weight tensors.</summary>
        public ulong Entries { get; internal set; }
        /// <summary>Number of data sets it was computed from.</summary>
        public ulong Datasets { get; internal set; }
        /// <summary>Chunks of those data sets.</summary>
        public ulong Chunks { get; internal set; }
        /// <summary>Tokens of a chunk.</summary>
        public uint ChunkTokens { get; internal set; }
        /// <summary>Format of its file.</summary>
        public ImatrixFormat Format { get; internal set; }
    }

    /// <summary>A copy of what one weight tensor's columns are worth, [Matrices][Columns].</summary>
    public sealed class ImatrixEntry
    {
        /// <summary>Name of the weight tensor.</summary>
        public string Name { get; internal set; }
        /// <summary>Columns of the weight.</summary>
        public int Columns { get; internal set; }
        /// <summary>Matrices of the weight: its experts.</summary>
        public int Matrices { get; internal set; }
        /// <summary>Squared activations, [Matrices][Columns].</summary>
        public float[] Sums { get; internal set; }
        /// <summary>Tokens, [Matrices].</summary>
        public float[] Counts { get; internal set; }
        /// <summary>Sums over counts, for Blocks.Quantize.</summary>
        public float[] Values { get; internal set; }
    }

    /// <summary>Entries in the order of their file.</summary>
    public sealed unsafe class Imatrix : IDisposable
    {
        private readonly ImatrixHandle _made;

        internal ImatrixHandle Handle { get { return _made.Live(this); } }

        /// <summary>Read a file of either format.</summary>
        public Imatrix(Runtime rt, string path, CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            NativeProgress native;
            NativeError e;
            using (var hook = Hook.Watching(token, progress))
                fixed (byte* text = Native.Utf8(path))
                    Hook.End(hook, NativeMethods.ggufx_imatrix_open(out _made, rt.Handle, text, Hook.Fill(hook, &native), &e), &e);
        }

        /// <summary>Read bytes, which are not needed afterwards.</summary>
        public Imatrix(Runtime rt, ReadOnlySpan<byte> data)
        {
            NativeError e;
            fixed (byte* from = &MemoryMarshal.GetReference(data))
                Check.Ok(NativeMethods.ggufx_imatrix_open_memory(out _made, rt.Handle, from, Native.Size(data.Length), &e), &e);
        }

        private Imatrix(ImatrixHandle made) { _made = made; }

        /// <summary>Run a session's model over tokens in chunks of nContext, bos (unless -1) first
        /// in each, and sum the squares of the inputs of its matrices; output: the matrix of the
        /// logits, too. dataset names the text and may be null. The session must be empty; it is
        /// empty again afterwards.</summary>
        public static Imatrix Collect(Session session, ReadOnlySpan<int> tokens, uint nContext, int bos = -1, bool output = false,
            string dataset = null, CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            var o = default(NativeImatrixOptions);
            o.struct_size = (uint)sizeof(NativeImatrixOptions);
            o.flags = output ? (uint)CollectFlags.Output : 0;
            ImatrixHandle made;
            NativeProgress native;
            NativeError e;
            using (var hook = Hook.Watching(token, progress))
                fixed (int* from = &MemoryMarshal.GetReference(tokens))
                fixed (byte* name = dataset == null ? null : Native.Utf8(dataset))
                {
                    o.dataset = name;
                    o.progress = Hook.Fill(hook, &native);
                    Hook.End(hook, NativeMethods.ggufx_imatrix_collect(out made, session.Handle, from, Native.Size(tokens.Length),
                        nContext, bos, &o, &e), &e);
                }
            return new Imatrix(made);
        }

        /// <summary>Close it. Does not wait: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Facts of it.</summary>
        public ImatrixInfo Info
        {
            get
            {
                var o = default(NativeImatrixFacts);
                o.struct_size = (uint)sizeof(NativeImatrixFacts);
                NativeError e;
                Check.Ok(NativeMethods.ggufx_imatrix_info(&o, Handle, &e), &e);
                return new ImatrixInfo { Entries = o.n_entries, Datasets = o.n_datasets, Chunks = o.n_chunks, ChunkTokens = o.chunk_tokens, Format = (ImatrixFormat)o.format };
            }
        }

        private static float[] Copy(float* from, int n)
        {
            var to = new float[n];
            if (n != 0) Marshal.Copy((IntPtr)from, to, 0, n);
            return to;
        }

        /// <summary>Entry i.</summary>
        public ImatrixEntry At(long i)
        {
            var o = default(NativeImatrixEntry);
            o.struct_size = (uint)sizeof(NativeImatrixEntry);
            NativeError e;
            using (new Hold(Handle))
            {
                Check.Ok(NativeMethods.ggufx_imatrix_at(&o, Handle, Native.Size(i), &e), &e);
                int columns = checked((int)o.n_columns), matrices = checked((int)o.n_matrices);
                return new ImatrixEntry
                {
                    Name = Native.Text(o.name, (long)o.name_length), Columns = columns, Matrices = matrices,
                    Sums = Copy(o.sums, checked(columns * matrices)), Counts = Copy(o.counts, matrices),
                    Values = Copy(o.values, columns * matrices),
                };
            }
        }

        /// <summary>The entry of a weight tensor.</summary>
        public ImatrixEntry Find(string name)
        {
            UIntPtr o;
            NativeError e;
            byte[] bytes = Encoding.UTF8.GetBytes(name + "\0");
            fixed (byte* text = bytes)
                Check.Ok(NativeMethods.ggufx_imatrix_find(&o, Handle, text, Native.Size(bytes.Length - 1), &e), &e);
            return At((long)o);
        }

        /// <summary>Name of a data set it was computed from.</summary>
        public string Dataset(long i)
        {
            byte* text;
            UIntPtr n;
            NativeError e;
            using (new Hold(Handle))
            {
                Check.Ok(NativeMethods.ggufx_imatrix_dataset(&text, &n, Handle, Native.Size(i), &e), &e);
                return Native.Text(text, (long)n);
            }
        }

        /// <summary>Keep the entries whose element of keep is not 0.</summary>
        public void Select(ReadOnlySpan<byte> keep)
        {
            NativeError e;
            fixed (byte* p = &MemoryMarshal.GetReference(keep))
                Check.Ok(NativeMethods.ggufx_imatrix_select(Handle, p, Native.Size(keep.Length), &e), &e);
        }

        /// <summary>Add another one.</summary>
        public void Merge(Imatrix other)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_imatrix_merge(Handle, other.Handle, &e), &e);
        }

        /// <summary>Write a file, whole or not at all.</summary>
        public void Write(string path, ImatrixFormat format, CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            NativeProgress native;
            NativeError e;
            using (var hook = Hook.Watching(token, progress))
                fixed (byte* text = Native.Utf8(path))
                    Hook.End(hook, NativeMethods.ggufx_imatrix_write(Handle, text, (int)format, Hook.Fill(hook, &native), &e), &e);
        }
    }
}
