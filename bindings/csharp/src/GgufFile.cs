// GGUF files: from bytes and streams, tensors by name.
// SPDX-License-Identifier: MIT
using System;
using System.IO;
using System.Runtime.InteropServices;

namespace Ggufx
{
    /// <summary>Streams as functions that a call reads and writes by.</summary>
    public static class Streams
    {
        /// <summary>Writes to a stream, which stays the caller's.</summary>
        public static WriteFunction Writer(Stream to)
        {
            return data =>
            {
                byte[] bytes = data.ToArray();
                to.Write(bytes, 0, bytes.Length);
            };
        }

        /// <summary>Reads from a stream, which stays the caller's.</summary>
        public static ReadFunction Reader(Stream from) { return data => ReadAll(from, data); }

        internal static void ReadAll(Stream stream, Span<byte> data)
        {
            var buffer = new byte[Math.Min(data.Length, 65536)];
            while (data.Length > 0)
            {
                int got = stream.Read(buffer, 0, Math.Min(data.Length, buffer.Length));
                if (got <= 0) throw new EndOfStreamException();
                new ReadOnlySpan<byte>(buffer, 0, got).CopyTo(data);
                data = data.Slice(got);
            }
        }
    }

    /// A stream as bytes at offsets.
    internal sealed class StreamSource
    {
        private readonly Stream _stream;

        internal StreamSource(Stream stream)
        {
            _stream = stream;
            Size = (ulong)stream.Length;
        }

        internal ulong Size { get; private set; }

        internal void Read(ulong offset, Span<byte> data)
        {
            _stream.Position = (long)offset;
            Streams.ReadAll(_stream, data);
        }
    }

    public sealed unsafe partial class GgufFile
    {
        /// <summary>Open a copy of bytes: the collector may move managed memory.</summary>
        public static GgufFile Open(Runtime rt, ReadOnlySpan<byte> data, OpenOptions options = null)
        {
            FileHandle made;
            NativeOpenOptions native;
            NativeError e;
            using (var scope = Scope.New())
            {
                (options ?? new OpenOptions()).Fill(&native, scope);
                native.flags |= (uint)OpenFlags.Copy;
                fixed (byte* bytes = &MemoryMarshal.GetReference(data))
                    scope.End(NativeMethods.ggufx_open_memory(out made, rt.Handle, bytes, Native.Size(data.Length), IntPtr.Zero, null, &native, &e), &e);
            }
            return new GgufFile(made);
        }

        /// <summary>Open a seekable stream from its start; it is read during this call only and
        /// stays the caller's.</summary>
        public static GgufFile Open(Runtime rt, Stream stream, OpenOptions options = null)
        {
            RuntimeHandle runtime = rt.Handle; // before the library owns anything
            FileHandle made;
            NativeOpenOptions native;
            NativeError e;
            var io = default(NativeIo);
            io.struct_size = (uint)sizeof(NativeIo);
            io.user = new Callback(new TensorStream(new StreamSource(stream).Read)).User; // the library closes it
            io.size = Functions.Size;
            io.read_at = Callbacks.TensorStreamRead;
            io.close = Functions.Destroy;
            using (var scope = Scope.New())
                scope.End(NativeMethods.ggufx_open_io(out made, runtime, &io, OpenOptions.Of(options, &native, scope), &e), &e);
            return new GgufFile(made);
        }

        /// <summary>Bytes of a string, valid as long as the file; MetaString is its text.</summary>
        public ReadOnlySpan<byte> MetaBytes(long index)
        {
            NativeText text;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_file_meta_string(&text, Handle, Native.Size(index), &e), &e);
            return new ReadOnlySpan<byte>(text.data, checked((int)text.size));
        }

        /// <summary>A tensor by its name.</summary>
        public Tensor Tensor(string name) { return Tensor(TensorFind(name)); }
    }
}
