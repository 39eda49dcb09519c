// New files: keys of any type by one name, and data that are generated while the file is written.
// SPDX-License-Identifier: MIT
using System;
using System.IO;
using System.Runtime.InteropServices;

namespace Ggufx
{
    /// <summary>Fills data with bytes offset .. of a dense tensor.</summary>
    public delegate void TensorSource(ulong offset, Span<byte> data);

    public sealed unsafe partial class Writer
    {
        /// <summary>Set a key to a value of the given type.</summary>
        public void Set(string key, ulong value, MetaType type = MetaType.U64) { SetU64(key, type, value); }

        /// <summary>Set a key to a value of the given type.</summary>
        public void Set(string key, long value, MetaType type = MetaType.I64) { SetI64(key, type, value); }

        /// <summary>Set a key to a value of the given type.</summary>
        public void Set(string key, double value, MetaType type = MetaType.F64) { SetF64(key, type, value); }

        /// <summary>Set a key to a bool.</summary>
        public void Set(string key, bool value) { SetBool(key, value); }

        /// <summary>Set a key to a string.</summary>
        public void Set(string key, string text) { SetString(key, text); }

        /// <summary>Set a key to an array of strings.</summary>
        public void Set(string key, string[] texts) { SetArrayString(key, texts); }

        /// <summary>Set a key to an array of numbers, whose type is that of the elements.</summary>
        public void Set<T>(string key, T[] elements) where T : struct
        {
            MetaType type = TypeOf(typeof(T));
            UIntPtr n;
            NativeError e;
            using (Handle.Changing())
                fixed (byte* k = Native.Text(key, out n))
                fixed (byte* bytes = &Native.First(MemoryMarshal.AsBytes(new ReadOnlySpan<T>(elements))))
                    Check.Ok(NativeMethods.ggufx_writer_set_array(Handle, k, n, (int)type, bytes, Native.Size(elements.Length), &e), &e);
        }

        private static MetaType TypeOf(Type type)
        {
            switch (Type.GetTypeCode(type))
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

        /// <summary>Add a tensor whose data are generated while the file is written.</summary>
        public void AddStream(string name, TensorType type, ReadOnlySpan<ulong> ne, TensorSource source)
        {
            Check.Given(source, "source");
            var stream = default(NativeTensorStream);
            stream.struct_size = (uint)sizeof(NativeTensorStream);
            stream.read = Functions.ReadAt;
            stream.destroy = Functions.Destroy;
            UIntPtr length;
            NativeError e;
            using (Handle.Changing())
                fixed (byte* text = Native.Text(name, out length))
                fixed (ulong* dims = &Native.First(ne))
                {
                    stream.user = new Callback(source).User; // the library destroys it, also after a failure
                    Check.Ok(NativeMethods.ggufx_writer_add_stream(Handle, text, length, (uint)type, (uint)ne.Length, dims, &stream, &e), &e);
                }
        }

        /// <summary>Write one file to a stream.</summary>
        public void WriteStream(Stream to, WriteOptions options = null)
        {
            var write = Streams.Writer(to);
            WriteStream((part, data) => write(data), options);
        }
    }
}
