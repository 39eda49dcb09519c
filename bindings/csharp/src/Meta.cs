// Keys and values of a file.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;

namespace Ggufx
{
    /// <summary>A key and its value; usable as long as its file.</summary>
    public sealed unsafe class Meta
    {
        private readonly GgufFile _file;
        private readonly UIntPtr _index;

        internal Meta(GgufFile file, long index)
        {
            _file = file;
            _index = Native.Size(index);
        }

        private NativeMetaEntry Entry
        {
            get
            {
                var o = default(NativeMetaEntry);
                o.struct_size = (uint)sizeof(NativeMetaEntry);
                NativeError e;
                Check.Ok(NativeMethods.ggufx_file_meta_at(&o, _file.Handle, _index, &e), &e);
                return o;
            }
        }

        /// <summary>Its number in the file.</summary>
        public long Index { get { return (long)_index; } }
        /// <summary>The key; "" for a nested array.</summary>
        public string Key
        {
            get
            {
                using (new Hold(_file.Handle))
                {
                    var entry = Entry;
                    return Native.Text(entry.key, (long)entry.key_length);
                }
            }
        }
        /// <summary>Type of the value.</summary>
        public MetaType Type { get { return (MetaType)Entry.type_; } }
        /// <summary>Element type of an array, else -1.</summary>
        public MetaType ElementType { get { return (MetaType)Entry.element_type; } }
        /// <summary>Elements of an array, bytes of a string, else 1.</summary>
        public ulong Count { get { return Entry.count; } }
        /// <summary>Offset of the value in the file.</summary>
        public ulong Offset { get { return Entry.offset; } }

        /// <summary>An integer that fits.</summary>
        public ulong ToUInt64()
        {
            ulong o;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_file_meta_u64(&o, _file.Handle, _index, &e), &e);
            return o;
        }

        /// <summary>An integer that fits.</summary>
        public long ToInt64()
        {
            long o;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_file_meta_i64(&o, _file.Handle, _index, &e), &e);
            return o;
        }

        /// <summary>A number that loses nothing.</summary>
        public double ToDouble()
        {
            double o;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_file_meta_f64(&o, _file.Handle, _index, &e), &e);
            return o;
        }

        /// <summary>A bool.</summary>
        public bool ToBoolean()
        {
            int o;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_file_meta_bool(&o, _file.Handle, _index, &e), &e);
            return o != 0;
        }

        /// <summary>A string's bytes, valid as long as the file.</summary>
        public ReadOnlySpan<byte> Bytes
        {
            get
            {
                byte* text;
                UIntPtr n;
                NativeError e;
                Check.Ok(NativeMethods.ggufx_file_meta_string(&text, &n, _file.Handle, _index, &e), &e);
                return new ReadOnlySpan<byte>(text, (int)n);
            }
        }

        /// <summary>A string; the key and type for other values.</summary>
        public override string ToString()
        {
            if (Type != MetaType.STRING) return Key + " (" + Type + ")";
            byte* text;
            UIntPtr n;
            NativeError e;
            using (new Hold(_file.Handle))
            {
                Check.Ok(NativeMethods.ggufx_file_meta_string(&text, &n, _file.Handle, _index, &e), &e);
                return Native.Text(text, (long)n);
            }
        }

        /// <summary>Elements first.. of an array of numbers or bools.</summary>
        public void CopyTo(Span<ulong> to, ulong first = 0)
        {
            NativeError e;
            fixed (ulong* p = &MemoryMarshal.GetReference(to))
                Check.Ok(NativeMethods.ggufx_file_meta_array_u64(p, _file.Handle, _index, first, Native.Size(to.Length), &e), &e);
        }

        /// <summary>Elements first.. of an array of numbers or bools.</summary>
        public void CopyTo(Span<long> to, ulong first = 0)
        {
            NativeError e;
            fixed (long* p = &MemoryMarshal.GetReference(to))
                Check.Ok(NativeMethods.ggufx_file_meta_array_i64(p, _file.Handle, _index, first, Native.Size(to.Length), &e), &e);
        }

        /// <summary>Elements first.. of an array of numbers or bools.</summary>
        public void CopyTo(Span<double> to, ulong first = 0)
        {
            NativeError e;
            fixed (double* p = &MemoryMarshal.GetReference(to))
                Check.Ok(NativeMethods.ggufx_file_meta_array_f64(p, _file.Handle, _index, first, Native.Size(to.Length), &e), &e);
        }

        /// <summary>String i of an array of strings.</summary>
        public string StringAt(ulong i)
        {
            byte* text;
            UIntPtr n;
            NativeError e;
            using (new Hold(_file.Handle))
            {
                Check.Ok(NativeMethods.ggufx_file_meta_array_string(&text, &n, _file.Handle, _index, i, &e), &e);
                return Native.Text(text, (long)n);
            }
        }

        /// <summary>Array i of an array of arrays.</summary>
        public Meta Nested(ulong i)
        {
            UIntPtr o;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_file_meta_array_nested(&o, _file.Handle, _index, i, &e), &e);
            return new Meta(_file, (long)o);
        }
    }
}
