// Handles of objects: which calls they allow, and what lives as long as they do.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Threading;
using Microsoft.Win32.SafeHandles;

namespace Ggufx
{
    /// Object of the library. Calls that run keep it; after Dispose no call begins, which
    /// SafeHandle alone allows as long as others run or hold it.
    internal abstract class LibraryHandle : SafeHandleZeroOrMinusOneIsInvalid
    {
        private volatile bool _disposed;
        private int _calls; // that run; -1: one that changes the object
        private LibraryHandle _together; // whose calls count
        private List<object> _kept;

        protected LibraryHandle() : base(true) { }

        internal bool Disposed { get { return _disposed; } }

        protected abstract void Destroy();

        protected override void Dispose(bool disposing)
        {
            if (disposing) _disposed = true;
            base.Dispose(disposing);
        }

        protected sealed override bool ReleaseHandle()
        {
            Destroy();
            if (_kept == null) return true;
            foreach (object one in _kept)
            {
                var held = one as LibraryHandle;
                if (held != null) held.DangerousRelease();
            }
            return true;
        }

        /// Keeps something as long as the object lives: another object, or a function that it calls.
        internal void Hold(object other)
        {
            bool added = false;
            var handle = other as LibraryHandle;
            if (handle != null) handle.DangerousAddRef(ref added);
            _kept = _kept ?? new List<object>();
            _kept.Add(other);
        }

        /// Calls on this object and on another one exclude each other.
        internal void Share(LibraryHandle with)
        {
            _together = with;
            Hold(with);
        }

        internal bool Shares { get { return _together != null; } }

        /// Keeps what another object keeps.
        internal void Inherit(LibraryHandle from)
        {
            _together = from._together;
            if (from._kept == null) return;
            foreach (object one in from._kept) Hold(one);
        }

        internal Turn Reading() { return new Turn(_together ?? this, false); }

        internal Turn Changing() { return new Turn(_together ?? this, true); }

        internal void Begin(bool alone)
        {
            for (;;)
            {
                int n = Volatile.Read(ref _calls);
                if (n < 0 || (alone && n > 0))
                    throw Check.Error(Status.State, "STATE: another call is using the object");
                if (Interlocked.CompareExchange(ref _calls, alone ? -1 : n + 1, n) == n) return;
            }
        }

        internal void End(bool alone)
        {
            if (alone) Volatile.Write(ref _calls, 0);
            else Interlocked.Decrement(ref _calls);
        }
    }

    /// One call on an object, alone if it changes it.
    internal struct Turn : IDisposable
    {
        private readonly LibraryHandle _handle;
        private readonly bool _alone;

        internal Turn(LibraryHandle handle, bool alone)
        {
            handle.Begin(alone);
            _handle = handle;
            _alone = alone;
        }

        public void Dispose()
        {
            if (_handle != null) _handle.End(_alone);
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

    /// A tensor of a file keeps the file's handle; others are owned.
    internal sealed class TensorHandle : LibraryHandle
    {
        internal static readonly TensorHandle None = new TensorHandle();
        private readonly bool _borrowed;

        private TensorHandle() { }

        internal TensorHandle(LibraryHandle owner, IntPtr tensor)
        {
            Hold(owner);
            _borrowed = true;
            SetHandle(tensor);
        }

        protected override void Destroy()
        {
            if (!_borrowed) NativeMethods.ggufx_tensor_destroy(handle);
        }
    }
}
