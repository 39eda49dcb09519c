// GGUF files and their keys.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.IO;
using System.Runtime.InteropServices;
using System.Threading;

namespace Ggufx
{
    /// <summary>How a file is opened; all unset is the default.</summary>
    public sealed class OpenOptions
    {
        /// <summary>Flags; none is the default.</summary>
        public OpenFlags Flags { get; set; }
        /// <summary>How tensor data get into memory.</summary>
        public IoMode Io { get; set; }
        /// <summary>Refuse larger metadata; 0: 1 GiB.</summary>
        public ulong MaxMetadataBytes { get; set; }
        /// <summary>Refuse more keys; 0: 1,048,576.</summary>
        public ulong MaxKeys { get; set; }
        /// <summary>Refuse more tensors of one file; 0: 1,048,576.</summary>
        public ulong MaxTensors { get; set; }
        /// <summary>Refuse longer keys and strings; 0: 1 GiB.</summary>
        public ulong MaxStringBytes { get; set; }
        /// <summary>Ends the call when it is cancelled.</summary>
        public CancellationToken Token { get; set; }
        /// <summary>Receives the progress of the call.</summary>
        public IProgress<Progress> Progress { get; set; }
    }

    /// <summary>Facts of a file.</summary>
    public sealed class FileInfo
    {
        /// <summary>Version of the format: 1, 2 or 3.</summary>
        public uint Version { get; internal set; }
        /// <summary>Whether numbers are stored big-endian.</summary>
        public bool BigEndian { get; internal set; }
        /// <summary>Alignment of tensor data.</summary>
        public ulong Alignment { get; internal set; }
        /// <summary>Files of the set.</summary>
        public ulong Parts { get; internal set; }
        /// <summary>End of the first part's tensor list.</summary>
        public ulong MetaEnd { get; internal set; }
        /// <summary>Start of the tensor data in the first file.</summary>
        public ulong DataOffset { get; internal set; }
        /// <summary>Bytes of all files.</summary>
        public ulong FileSize { get; internal set; }
        /// <summary>Number of keys.</summary>
        public ulong Metas { get; internal set; }
        /// <summary>Number of tensors.</summary>
        public ulong Tensors { get; internal set; }
        /// <summary>Values of all tensors.</summary>
        public ulong Values { get; internal set; }
        /// <summary>Bytes of all tensor data.</summary>
        public ulong Bytes { get; internal set; }
        /// <summary>Missing bytes of tensor data after the ends of the files; not 0 only when the
        /// head of a file was opened for its metadata alone.</summary>
        public ulong Missing { get; internal set; }
    }

    /// <summary>A remark of Validate.</summary>
    public sealed unsafe class Finding
    {
        /// <summary>Weight.</summary>
        public LogLevel Severity { get; private set; }
        /// <summary>Status that open would return; Ok for a note.</summary>
        public Status Status { get; private set; }
        /// <summary>Byte offset in the file.</summary>
        public ulong? Offset { get; private set; }
        /// <summary>Number of the key or tensor.</summary>
        public ulong? Index { get; private set; }
        /// <summary>The sentence.</summary>
        public string Text { get; private set; }
        /// <summary>Name of the key or tensor; empty when there is none.</summary>
        public string Name { get; private set; }

        internal Finding(NativeFinding* f)
        {
            Severity = (LogLevel)f->severity;
            Status = (Status)f->status;
            Offset = Native.Present(f->offset);
            Index = Native.Present(f->index);
            Text = Native.Text(f->text);
            Name = Native.Text(f->name, (long)f->name_length);
        }
    }

    /// <summary>An opened GGUF, one file or a split set; immutable.</summary>
    public sealed unsafe class GgufFile : IDisposable
    {
        private readonly FileHandle _made;

        internal FileHandle Handle { get { return _made.Live(this); } }

        private enum Way { Path, Fd, Memory, Io }

        private GgufFile(Runtime rt, Way way, byte* source, ulong n, ulong offset, int fd, NativeIo* io, OpenOptions options)
        {
            options = options ?? new OpenOptions();
            var native = default(NativeOpenOptions);
            native.struct_size = (uint)sizeof(NativeOpenOptions);
            native.flags = (uint)(options.Flags | (way == Way.Memory ? OpenFlags.Copy : 0));
            native.io = (int)options.Io;
            native.max_metadata_bytes = options.MaxMetadataBytes;
            native.max_keys = options.MaxKeys;
            native.max_tensors = options.MaxTensors;
            native.max_string_bytes = options.MaxStringBytes;
            NativeProgress progress;
            NativeError e;
            int status;
            using (var hook = Hook.Watching(options.Token, options.Progress))
            {
                native.progress = Hook.Fill(hook, &progress);
                switch (way)
                {
                    case Way.Path:
                        status = NativeMethods.ggufx_open(out _made, rt.Handle, source, &native, &e);
                        break;
                    case Way.Fd:
                        status = NativeMethods.ggufx_open_fd(out _made, rt.Handle, fd, offset, n, &native, &e);
                        break;
                    case Way.Memory:
                        status = NativeMethods.ggufx_open_memory(out _made, rt.Handle, source, (UIntPtr)n, IntPtr.Zero, null, &native, &e);
                        break;
                    default:
                        status = NativeMethods.ggufx_open_io(out _made, rt.Handle, io, &native, &e);
                        break;
                }
                Hook.End(hook, status, &e);
            }
        }

        /// <summary>Open a path; any name of a split set opens the whole set.</summary>
        public static GgufFile Open(Runtime rt, string path, OpenOptions options = null)
        {
            fixed (byte* text = Native.Utf8(path))
                return new GgufFile(rt, Way.Path, text, 0, 0, 0, null, options);
        }

        /// <summary>Open bytes at an offset of a descriptor, which stays the caller's; 0: to the
        /// end.</summary>
        public static GgufFile OpenFd(Runtime rt, int fd, ulong offset, ulong length, OpenOptions options = null)
        {
            return new GgufFile(rt, Way.Fd, null, length, offset, fd, null, options);
        }

        /// <summary>Open a copy of bytes: the collector may move managed memory.</summary>
        public static GgufFile Open(Runtime rt, ReadOnlySpan<byte> data, OpenOptions options = null)
        {
            fixed (byte* bytes = &MemoryMarshal.GetReference(data))
                return new GgufFile(rt, Way.Memory, bytes, (ulong)data.Length, 0, 0, null, options);
        }

        /// <summary>Open a seekable stream from its start; it is read during this call only and
        /// stays the caller's.</summary>
        public static GgufFile Open(Runtime rt, Stream stream, OpenOptions options = null)
        {
            var hook = new Hook { Size = (ulong)stream.Length };
            hook.OnRead = (offset, data, n) =>
            {
                stream.Position = (long)offset;
                ReadAll(stream, data, n);
            };
            var io = default(NativeIo);
            io.struct_size = (uint)sizeof(NativeIo);
            io.user = hook.User;
            io.size = Functions.Size;
            io.read_at = Functions.ReadAt;
            io.close = Functions.Destroy;
            try
            {
                return new GgufFile(rt, Way.Io, null, 0, 0, 0, &io, options);
            }
            catch (GgufxIOException e) when (hook.Caught != null)
            {
                throw new GgufxIOException(e.Failure, hook.Caught);
            }
        }

        internal static void ReadAll(Stream stream, byte* data, int n)
        {
            var buffer = new byte[Math.Min(n, 65536)];
            for (int done = 0; done < n;)
            {
                int got = stream.Read(buffer, 0, Math.Min(n - done, buffer.Length));
                if (got <= 0) throw new EndOfStreamException();
                Marshal.Copy(buffer, 0, (IntPtr)(data + done), got);
                done += got;
            }
        }

        /// <summary>Close it. Does not wait: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Readable description of the model's graph: one line per operation.</summary>
        public string Graph()
        {
            var bytes = new byte[4096];
            for (;;)
            {
                UIntPtr needed;
                NativeError e;
                int status;
                fixed (byte* to = bytes)
                    status = NativeMethods.ggufx_file_graph(to, Native.Size(bytes.Length), &needed, Handle, &e);
                if (status != (int)Status.Capacity || (int)needed <= bytes.Length)
                {
                    Check.Ok(status, &e);
                    return System.Text.Encoding.UTF8.GetString(bytes, 0, (int)needed);
                }
                bytes = new byte[(int)needed];
            }
        }

        /// <summary>Facts of it.</summary>
        public FileInfo Info
        {
            get
            {
                var o = default(NativeFileFacts);
                o.struct_size = (uint)sizeof(NativeFileFacts);
                NativeError e;
                Check.Ok(NativeMethods.ggufx_file_info(&o, Handle, &e), &e);
                return new FileInfo
                {
                    Version = o.version, BigEndian = o.big_endian != 0, Alignment = o.alignment,
                    Parts = o.n_parts, MetaEnd = o.meta_end, DataOffset = o.data_offset,
                    FileSize = o.file_size, Metas = o.n_meta, Tensors = o.n_tensors,
                    Values = o.n_values, Bytes = o.n_bytes, Missing = o.n_missing,
                };
            }
        }

        /// <summary>Number of keys.</summary>
        public int MetaCount { get { return (int)NativeMethods.ggufx_file_meta_count(Handle); } }

        /// <summary>All keys in file order.</summary>
        public IEnumerable<Meta> Metas
        {
            get { for (int i = 0; i < MetaCount; i++) yield return new Meta(this, i); }
        }

        /// <summary>A key.</summary>
        public Meta this[string key]
        {
            get
            {
                UIntPtr o;
                NativeError e;
                byte[] bytes = System.Text.Encoding.UTF8.GetBytes(key + "\0");
                fixed (byte* text = bytes)
                    Check.Ok(NativeMethods.ggufx_file_meta_find(&o, Handle, text, Native.Size(bytes.Length - 1), &e), &e);
                return new Meta(this, (long)o);
            }
        }

        /// <summary>Number of tensors over all parts.</summary>
        public int TensorCount { get { return (int)NativeMethods.ggufx_file_tensor_count(Handle); } }

        /// <summary>All tensors in file order.</summary>
        public IEnumerable<Tensor> Tensors
        {
            get { for (int i = 0; i < TensorCount; i++) yield return Ggufx.Tensor.Of(this, i); }
        }

        /// <summary>A tensor by its name.</summary>
        public Tensor Tensor(string name)
        {
            UIntPtr o;
            NativeError e;
            byte[] bytes = System.Text.Encoding.UTF8.GetBytes(name + "\0");
            fixed (byte* text = bytes)
                Check.Ok(NativeMethods.ggufx_file_tensor_find(&o, Handle, text, Native.Size(bytes.Length - 1), &e), &e);
            return Ggufx.Tensor.Of(this, (long)o);
        }

        /// <summary>Check the file beyond what open refuses; report returns false to stop.</summary>
        public void Validate(ValidateFlags flags, Func<Finding, bool> report,
            CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            NativeProgress native;
            NativeError e;
            using (var hook = new Hook { OnFinding = report, Token = token, Reports = progress })
                Hook.End(hook, NativeMethods.ggufx_validate(Handle, (uint)flags, Functions.Finding, hook.User, Hook.Fill(hook, &native), &e), &e);
        }
    }
}
