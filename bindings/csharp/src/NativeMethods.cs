// The library as P/Invoke finds it: ggufx.dll, libggufx.so or libggufx.dylib beside the program or
// on the system's path; mono looks in ggufx.dll.config for the name of an installed library.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;
using Microsoft.Win32.SafeHandles;

namespace Ggufx
{
    internal static unsafe partial class NativeMethods
    {
        internal const string Library = "ggufx";

        /// A template that needs no file: a SafeHandle cannot be NULL.
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl, EntryPoint = "ggufx_chat_create")]
        internal static extern int ggufx_chat_create_alone(out ChatHandle out_, RuntimeHandle rt,
            IntPtr file, NativeChatOptions* options, NativeError* error);

        /// Tokens that fit no grammar, for the same reason.
        [DllImport(Library, CallingConvention = CallingConvention.Cdecl, EntryPoint = "ggufx_speculator_next")]
        internal static extern int ggufx_speculator_next_any(int* ids, float* logprobs, UIntPtr capacity, UIntPtr* n,
            SpeculatorHandle speculator, SamplerHandle sampler, IntPtr matcher, NativeProgress* progress, NativeError* error);
    }

    /// Object of the library. Calls that run keep it; after Dispose no call begins, which
    /// SafeHandle alone allows as long as others run or hold it.
    internal abstract class LibraryHandle : SafeHandleZeroOrMinusOneIsInvalid
    {
        private volatile bool _disposed;

        protected LibraryHandle() : base(true) { }

        internal bool Disposed { get { return _disposed; } }

        protected override void Dispose(bool disposing)
        {
            if (disposing) _disposed = true;
            base.Dispose(disposing);
        }
    }

    internal static class Handles
    {
        /// The handle of an object, for a call that begins.
        internal static T Live<T>(this T handle, object owner) where T : LibraryHandle
        {
            if (handle.Disposed) throw new ObjectDisposedException(owner.GetType().Name);
            return handle;
        }
    }

    /// Keeps an object alive while data borrowed from it is copied.
    internal struct Hold : IDisposable
    {
        private readonly SafeHandle _handle;

        internal Hold(SafeHandle handle)
        {
            bool added = false;
            handle.DangerousAddRef(ref added);
            _handle = handle;
        }

        public void Dispose() { _handle.DangerousRelease(); }
    }

    /// Handles kept alive during a call that takes a list of them.
    internal sealed class HeldHandles : IDisposable
    {
        private readonly List<SafeHandle> _held;

        internal HeldHandles(int most) { _held = new List<SafeHandle>(most); }

        internal IntPtr Add(SafeHandle handle)
        {
            bool added = false;
            handle.DangerousAddRef(ref added);
            _held.Add(handle);
            return handle.DangerousGetHandle();
        }

        public void Dispose() { foreach (SafeHandle handle in _held) handle.DangerousRelease(); }
    }

    internal static unsafe class Native
    {
        internal const uint AllOnes = 0xffffffff;

        internal static UIntPtr Size(long n)
        {
            return (UIntPtr)(ulong)n;
        }

        /// NUL-terminated string for C.
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
