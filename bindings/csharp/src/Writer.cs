// New files: keys of any type by one name, and one file as a stream.
// SPDX-License-Identifier: MIT
using System;
using System.IO;
using System.Runtime.InteropServices;

namespace Ggufx
{
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

        /// <summary>Write one file to a stream.</summary>
        public void WriteStream(Stream to, WriteOptions options = null)
        {
            var write = Streams.Writer(to);
            WriteStream((part, data) => write(data), options);
        }
    }
}
