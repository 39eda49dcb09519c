// New files.
// SPDX-License-Identifier: MIT
using System;
using System.IO;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

namespace Ggufx
{
    /// <summary>Result of a write.</summary>
    public sealed class WriterInfo
    {
        /// <summary>Number of keys.</summary>
        public ulong Metas { get; internal set; }
        /// <summary>Number of tensors.</summary>
        public ulong Tensors { get; internal set; }
        /// <summary>Number of files.</summary>
        public ulong Parts { get; internal set; }
        /// <summary>Bytes of all files.</summary>
        public ulong Bytes { get; internal set; }
    }

    /// <summary>How a file is written; all unset is one file.</summary>
    public sealed class WriteOptions
    {
        /// <summary>Bytes of a part at most; 0: no limit.</summary>
        public ulong MaxPartBytes { get; set; }
        /// <summary>Tensors of a part at most; 0: no limit.</summary>
        public ulong MaxPartTensors { get; set; }
        /// <summary>Ends the call when it is cancelled.</summary>
        public CancellationToken Token { get; set; }
        /// <summary>Receives the progress of the call.</summary>
        public IProgress<Progress> Progress { get; set; }
    }

    /// <summary>Fills data with bytes offset .. of a dense tensor.</summary>
    public delegate void TensorSource(ulong offset, Span<byte> data);

    /// <summary>Takes the next bytes of a part.</summary>
    public delegate void PartSink(int part, ReadOnlySpan<byte> data);

    /// <summary>A file to be: keys and tensors in the order they were added.</summary>
    public sealed unsafe partial class Writer : IDisposable
    {
        private readonly WriterHandle _made;

        internal WriterHandle Handle { get { return _made.Live(this); } }

        /// <summary>An empty writer: version 2 or 3 (0: 3), with room for later edits.</summary>
        public Writer(Runtime rt, WriterFlags flags = 0, uint version = 0, ulong reserveBytes = 0)
        {
            var o = default(NativeWriterOptions);
            o.struct_size = (uint)sizeof(NativeWriterOptions);
            o.flags = (uint)flags;
            o.version = version;
            o.reserve_bytes = reserveBytes;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_writer_create(out _made, rt.Handle, &o, &e), &e);
        }

        /// <summary>Close it. Does not wait: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        private static byte[] Bytes(string text, out UIntPtr n)
        {
            byte[] bytes = Encoding.UTF8.GetBytes(text + "\0");
            n = Native.Size(bytes.Length - 1);
            return bytes;
        }

        /// <summary>Set a key to a value of the given type.</summary>
        public void Set(string key, ulong value, MetaType type = MetaType.U64)
        {
            UIntPtr n;
            NativeError e;
            fixed (byte* k = Bytes(key, out n))
                Check.Ok(NativeMethods.ggufx_writer_set_u64(Handle, k, n, (int)type, value, &e), &e);
        }

        /// <summary>Set a key to a value of the given type.</summary>
        public void Set(string key, long value, MetaType type = MetaType.I64)
        {
            UIntPtr n;
            NativeError e;
            fixed (byte* k = Bytes(key, out n))
                Check.Ok(NativeMethods.ggufx_writer_set_i64(Handle, k, n, (int)type, value, &e), &e);
        }

        /// <summary>Set a key to a value of the given type.</summary>
        public void Set(string key, double value, MetaType type = MetaType.F64)
        {
            UIntPtr n;
            NativeError e;
            fixed (byte* k = Bytes(key, out n))
                Check.Ok(NativeMethods.ggufx_writer_set_f64(Handle, k, n, (int)type, value, &e), &e);
        }

        /// <summary>Set a key to a value of the given type.</summary>
        public void Set(string key, bool value)
        {
            UIntPtr n;
            NativeError e;
            fixed (byte* k = Bytes(key, out n))
                Check.Ok(NativeMethods.ggufx_writer_set_bool(Handle, k, n, value ? 1 : 0, &e), &e);
        }

        /// <summary>Set a key to a value of the given type.</summary>
        public void Set(string key, string text)
        {
            UIntPtr n, length;
            NativeError e;
            fixed (byte* k = Bytes(key, out n))
            fixed (byte* t = Bytes(text, out length))
                Check.Ok(NativeMethods.ggufx_writer_set_string(Handle, k, n, t, length, &e), &e);
        }

        /// <summary>Set a key to an array of numbers, whose type is that of the elements.</summary>
        public void Set<T>(string key, T[] elements) where T : struct
        {
            MetaType type = TypeOf(typeof(T));
            UIntPtr n;
            NativeError e;
            var pin = GCHandle.Alloc(elements, GCHandleType.Pinned);
            try
            {
                fixed (byte* k = Bytes(key, out n))
                    Check.Ok(NativeMethods.ggufx_writer_set_array(Handle, k, n, (int)type, (void*)pin.AddrOfPinnedObject(), Native.Size(elements.Length), &e), &e);
            }
            finally { pin.Free(); }
        }

        private static MetaType TypeOf(Type type)
        {
            switch (System.Type.GetTypeCode(type))
            {
                case TypeCode.Byte: return MetaType.U8;
                case TypeCode.SByte: return MetaType.I8;
                case TypeCode.UInt16: return MetaType.U16;
                case TypeCode.Int16: return MetaType.I16;
                case TypeCode.UInt32: return MetaType.U32;
                case TypeCode.Int32: return MetaType.I32;
                case TypeCode.UInt64: return MetaType.U64;
                case TypeCode.Int64: return MetaType.I64;
                case TypeCode.Single: return MetaType.F32;
                case TypeCode.Double: return MetaType.F64;
                default: throw Check.Argument("ARGUMENT: no number of a file: " + type);
            }
        }

        /// <summary>Set a key to a value of the given type.</summary>
        public void Set(string key, string[] texts)
        {
            var pins = new GCHandle[texts.Length];
            var at = new byte*[texts.Length + 1];
            var lengths = new UIntPtr[texts.Length + 1];
            UIntPtr n;
            NativeError e;
            try
            {
                for (int i = 0; i < texts.Length; i++)
                {
                    pins[i] = GCHandle.Alloc(Bytes(texts[i], out lengths[i]), GCHandleType.Pinned);
                    at[i] = (byte*)pins[i].AddrOfPinnedObject();
                }
                fixed (byte* k = Bytes(key, out n))
                fixed (byte** first = at)
                fixed (UIntPtr* l = lengths)
                    Check.Ok(NativeMethods.ggufx_writer_set_array_string(Handle, k, n, first, l, Native.Size(texts.Length), &e), &e);
            }
            finally
            {
                foreach (var pin in pins)
                    if (pin.IsAllocated) pin.Free();
            }
        }

        /// <summary>Set a key to a value of any type, given as bytes of a little-endian file.</summary>
        public void SetValue(string key, MetaType type, byte[] value)
        {
            UIntPtr n;
            NativeError e;
            fixed (byte* k = Bytes(key, out n))
            fixed (byte* v = value)
                Check.Ok(NativeMethods.ggufx_writer_set_value(Handle, k, n, (int)type, v, Native.Size(value.Length), &e), &e);
        }

        /// <summary>Remove a key.</summary>
        public void Unset(string key)
        {
            UIntPtr n;
            NativeError e;
            fixed (byte* k = Bytes(key, out n))
                Check.Ok(NativeMethods.ggufx_writer_unset(Handle, k, n, &e), &e);
        }

        /// <summary>Rename a key.</summary>
        public void Rename(string key, string newKey)
        {
            UIntPtr n, m;
            NativeError e;
            fixed (byte* k = Bytes(key, out n))
            fixed (byte* to = Bytes(newKey, out m))
                Check.Ok(NativeMethods.ggufx_writer_rename(Handle, k, n, to, m, &e), &e);
        }

        /// <summary>Set all keys of a file.</summary>
        public void CopyMeta(GgufFile file)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_writer_copy_meta(Handle, file.Handle, &e), &e);
        }

        /// <summary>Add a tensor under a name; null: its own. Its data are kept alive.</summary>
        public void Add(Tensor tensor, string name = null)
        {
            UIntPtr n = UIntPtr.Zero;
            NativeError e;
            fixed (byte* text = name == null ? null : Bytes(name, out n))
                Check.Ok(NativeMethods.ggufx_writer_add_tensor(Handle, tensor.Handle, text, n, &e), &e);
        }

        /// <summary>Add all tensors of a file, or none.</summary>
        public void CopyTensors(GgufFile file)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_writer_copy_tensors(Handle, file.Handle, &e), &e);
        }

        /// <summary>Set the keys and add the tensors of a file for one of nRanks ranks of a group: the rows
        /// that it reads, or its layers where the group has whole ones. Speeds of all ranks; null: all the
        /// same.</summary>
        public void CopyRank(GgufFile file, uint rank, uint nRanks, uint[] speeds = null, bool layers = false)
        {
            if (speeds != null && speeds.Length != nRanks)
                throw Check.Argument(speeds.Length + " speeds of " + nRanks + " ranks");
            NativeError e;
            uint flags = layers ? (uint)GroupOptionsFlags.Layers : 0;
            fixed (uint* s = speeds)
                Check.Ok(NativeMethods.ggufx_writer_copy_rank(Handle, file.Handle, rank, nRanks, s, flags, &e), &e);
        }

        /// <summary>Add a tensor whose data are generated while the file is written.</summary>
        public void Add(string name, TensorType type, ulong[] ne, TensorSource source)
        {
            var hook = new Hook { OnRead = (offset, data, n) => source(offset, new Span<byte>(data, n)) };
            var stream = default(NativeTensorStream);
            stream.struct_size = (uint)sizeof(NativeTensorStream);
            stream.user = hook.User;
            stream.read = Functions.ReadAt;
            stream.destroy = Functions.Destroy;
            UIntPtr length;
            NativeError e;
            fixed (byte* text = Bytes(name, out length))
            fixed (ulong* dims = ne)
                Check.Ok(NativeMethods.ggufx_writer_add_stream(Handle, text, length, (uint)type, (uint)ne.Length, dims, &stream, &e), &e);
        }

        private static NativeWriteOptions Options(WriteOptions options)
        {
            var o = default(NativeWriteOptions);
            o.struct_size = (uint)sizeof(NativeWriteOptions);
            o.max_part_bytes = options.MaxPartBytes;
            o.max_part_tensors = options.MaxPartTensors;
            return o;
        }

        /// <summary>Describes the result of a write with these options.</summary>
        public WriterInfo Info(WriteOptions options = null)
        {
            var o = Options(options ?? new WriteOptions());
            var facts = default(NativeWriterFacts);
            facts.struct_size = (uint)sizeof(NativeWriterFacts);
            NativeError e;
            Check.Ok(NativeMethods.ggufx_writer_info(&facts, Handle, &o, &e), &e);
            return new WriterInfo { Metas = facts.n_meta, Tensors = facts.n_tensors, Parts = facts.n_parts, Bytes = facts.n_bytes };
        }

        /// <summary>Write to a path, whole or not at all.</summary>
        public void Write(string path, WriteOptions options = null)
        {
            options = options ?? new WriteOptions();
            var o = Options(options);
            NativeProgress native;
            NativeError e;
            using (var hook = Hook.Watching(options.Token, options.Progress))
            {
                o.progress = Hook.Fill(hook, &native);
                fixed (byte* text = Native.Utf8(path))
                    Hook.End(hook, NativeMethods.ggufx_writer_write(Handle, text, &o, &e), &e);
            }
        }

        /// <summary>Pass the parts in order, each one's bytes in order, to a function.</summary>
        public void Write(PartSink sink, WriteOptions options = null)
        {
            options = options ?? new WriteOptions();
            var o = Options(options);
            NativeProgress native;
            NativeError e;
            using (var hook = new Hook { Token = options.Token, Reports = options.Progress })
            {
                hook.OnWrite = (part, data, n) => sink(part, new ReadOnlySpan<byte>(data, n));
                o.progress = Hook.Fill(hook, &native);
                Hook.End(hook, NativeMethods.ggufx_writer_write_stream(Handle, Functions.WritePart, hook.User, &o, &e), &e);
            }
        }

        /// <summary>Write one file to a stream.</summary>
        public void Write(Stream to)
        {
            Write((part, data) =>
            {
                var bytes = data.ToArray();
                to.Write(bytes, 0, bytes.Length);
            });
        }
    }
}
