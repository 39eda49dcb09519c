// Keys and values of a file.
// SPDX-License-Identifier: MIT
using System;

namespace Ggufx
{
    /// <summary>A key and its value; usable as long as its file.</summary>
    public sealed unsafe class Meta
    {
        private readonly GgufFile _file;

        internal Meta(GgufFile file, long index)
        {
            _file = file;
            Index = index;
        }

        /// <summary>Its number in the file.</summary>
        public long Index { get; private set; }
        /// <summary>Facts of it.</summary>
        public MetaFacts Info { get { return _file.MetaAt(Index); } }
        /// <summary>The key; empty for a nested array.</summary>
        public string Key { get { return Info.Key; } }
        /// <summary>Type of the value.</summary>
        public MetaType Type { get { return Info.Type; } }
        /// <summary>An integer that fits.</summary>
        public ulong ToUInt64() { return _file.MetaU64(Index); }
        /// <summary>An integer that fits.</summary>
        public long ToInt64() { return _file.MetaI64(Index); }
        /// <summary>A number that loses nothing.</summary>
        public double ToDouble() { return _file.MetaF64(Index); }
        /// <summary>A bool.</summary>
        public bool ToBoolean() { return _file.MetaBool(Index); }
        /// <summary>A string; the key and type for other values.</summary>
        public override string ToString() { return Type == MetaType.STRING ? _file.MetaString(Index) : Key + " (" + Type + ")"; }
        /// <summary>A string's bytes, valid as long as the file.</summary>
        public ReadOnlySpan<byte> Bytes
        {
            get
            {
                NativeText text;
                NativeError e;
                Check.Ok(NativeMethods.ggufx_file_meta_string(&text, _file.Handle, Native.Size(Index), &e), &e);
                return new ReadOnlySpan<byte>(text.data, checked((int)text.size));
            }
        }
        /// <summary>Elements first .. first + n - 1 of an array of numbers or bools.</summary>
        public ulong[] ToUInt64s(ulong first, long n) { return _file.MetaArrayU64(Index, first, n); }
        /// <summary>Elements first .. first + n - 1 of an array of numbers or bools.</summary>
        public long[] ToInt64s(ulong first, long n) { return _file.MetaArrayI64(Index, first, n); }
        /// <summary>Elements first .. first + n - 1 of an array of numbers or bools.</summary>
        public double[] ToDoubles(ulong first, long n) { return _file.MetaArrayF64(Index, first, n); }
        /// <summary>String i of an array of strings.</summary>
        public string StringAt(ulong i) { return _file.MetaArrayString(Index, i); }
        /// <summary>Array i of an array of arrays.</summary>
        public Meta Nested(ulong i) { return new Meta(_file, _file.MetaArrayNested(Index, i)); }
    }
}
