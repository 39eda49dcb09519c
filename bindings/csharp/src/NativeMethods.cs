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

    internal static unsafe class Native
    {
        internal const uint AllOnes = 0xffffffff;

        internal static UIntPtr Size(long n)
        {
            return (UIntPtr)(ulong)n;
        }

        /// A text for C, with its NUL.
        internal static byte[] Utf8(string text)
        {
            if (text == null) throw new ArgumentNullException(nameof(text));
            if (text.IndexOf('\0') >= 0) throw new ArgumentException("the text holds a NUL");
            return Encoding.UTF8.GetBytes(text + "\0");
        }

        internal static string Text(byte* text, long n)
        {
            return text == null || n == 0 ? "" : Encoding.UTF8.GetString(text, checked((int)n));
        }

        internal static string Text(byte* text)
        {
            long n = 0;
            while (text != null && text[n] != 0) n++;
            return Text(text, n);
        }

        internal static ulong? Present(ulong value)
        {
            return value == ulong.MaxValue ? (ulong?)null : value;
        }
    }
}
