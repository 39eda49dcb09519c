// The library as P/Invoke finds it: ggufx.dll, libggufx.so or libggufx.dylib beside the program or
// on the system's path; mono looks in ggufx.dll.config for the name of an installed library.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;
using System.Text;

namespace Ggufx
{
    internal static unsafe partial class NativeMethods
    {
        internal const string Library = "ggufx";
    }

    /// Texts, numbers and arrays on their way to the library and back.
    internal static unsafe class Native
    {
        internal static UIntPtr Size(long n) { return (UIntPtr)(ulong)n; }

        internal static UIntPtr Size(long n, string name)
        {
            if (n < 0) throw Check.Argument($"ARGUMENT: {name} is {n}");
            return Size(n);
        }

        internal static ReadOnlySpan<UIntPtr> Sizes(ReadOnlySpan<long> numbers, string name)
        {
            foreach (long n in numbers) Size(n, name);
            if (sizeof(UIntPtr) == sizeof(long)) return MemoryMarshal.Cast<long, UIntPtr>(numbers);
            return Array.ConvertAll(numbers.ToArray(), Size);
        }

        internal static long Sum(ReadOnlySpan<long> numbers)
        {
            long sum = 0;
            foreach (long n in numbers) sum = checked(sum + n);
            return sum;
        }

        /// Elements of a new array.
        internal static int Count(long n, string name)
        {
            if (n < 0 || n > int.MaxValue) throw Check.Argument($"ARGUMENT: {name} is {n}, an array holds 0 .. {int.MaxValue}");
            return (int)n;
        }

        internal static int Count(ulong n, string name) { return Count((long)Math.Min(n, long.MaxValue), name); }

        private static class Dummy<T>
        {
            internal static readonly T[] One = new T[1];
        }

        /// The first element; of none, one that is not read: C refuses NULL.
        internal static ref T First<T>(ReadOnlySpan<T> span)
        {
            if (span.Length == 0) return ref Dummy<T>.One[0];
            return ref MemoryMarshal.GetReference(span);
        }

        internal static ref T First<T>(Span<T> span) { return ref First((ReadOnlySpan<T>)span); }

        internal static ref T First<T>(T[] array) { return ref First(new ReadOnlySpan<T>(array)); }

        /// NUL-terminated string for C.
        internal static byte[] Utf8(string text)
        {
            if (text == null) throw new ArgumentNullException(nameof(text));
            if (text.IndexOf('\0') >= 0) throw new ArgumentException("the text holds a NUL");
            return Encoding.UTF8.GetBytes(text + "\0");
        }

        /// The bytes of a text, which may hold NUL, and one more: an array without elements has no address.
        internal static byte[] Text(string text, out UIntPtr length)
        {
            length = UIntPtr.Zero;
            if (text == null) return null;
            byte[] bytes = Encoding.UTF8.GetBytes(text + "\0");
            length = Size(bytes.Length - 1);
            return bytes;
        }

        internal static ReadOnlySpan<byte> Bytes(string text)
        {
            if (text == null) throw new ArgumentNullException(nameof(text));
            return Encoding.UTF8.GetBytes(text);
        }

        internal static string Text(byte* text, UIntPtr n)
        {
            return text == null || n == UIntPtr.Zero ? "" : Encoding.UTF8.GetString(text, checked((int)n));
        }

        /// The text up to a NUL, which need not end an array.
        internal static string Text(byte* text, long most = long.MaxValue)
        {
            long n = 0;
            while (text != null && n < most && text[n] != 0) n++;
            return Text(text, Size(n));
        }

        internal static string TextOrNull(byte* text) { return text == null ? null : Text(text); }

        internal static string TextOrNull(byte* text, UIntPtr n) { return text == null ? null : Text(text, n); }

        internal static string Text(byte[] bytes, UIntPtr n) { return Encoding.UTF8.GetString(bytes, 0, checked((int)n)); }

        internal static ulong? Present(ulong value) { return value == ulong.MaxValue ? (ulong?)null : value; }

        /// A copy of numbers of the library.
        internal static T[] Copy<T>(void* from, ulong n) where T : struct
        {
            return from == null ? new T[0] : new ReadOnlySpan<T>(from, checked((int)n)).ToArray();
        }

        internal static T[] Copy<T>(void* from, UIntPtr n) where T : struct { return Copy<T>(from, (ulong)n); }

        /// Whether a call needs more room than the array has, which then has it.
        internal static bool Grows<T>(int status, ref T[] room, UIntPtr needed)
        {
            if (status != (int)Status.Capacity || (ulong)needed <= (ulong)room.Length) return false;
            room = new T[checked((int)needed)];
            return true;
        }

        internal static T[] Cut<T>(T[] room, UIntPtr n)
        {
            Array.Resize(ref room, checked((int)n));
            return room;
        }
    }
}
