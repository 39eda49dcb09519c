// Memory that a call reads besides its arguments, and the program's functions that it calls. No exception crosses
// the library: it ends the call and is rethrown after it.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.IO;
using System.Runtime.ExceptionServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Ggufx
{
    /// <summary>How far a long call is.</summary>
    public struct Progress
    {
        /// <summary>Completed work.</summary>
        public ulong Done { get; internal set; }
        /// <summary>All there is to do; 0: unknown.</summary>
        public ulong Total { get; internal set; }
    }

    /// Memory, handles and functions of one call.
    internal sealed unsafe partial class Scope : IDisposable
    {
        [ThreadStatic] private static Scope s_spare; // so that calls allocate nothing
        private readonly List<IntPtr> _memory = new List<IntPtr>();
        private readonly List<LibraryHandle> _handles = new List<LibraryHandle>();
        private readonly List<Turn> _turns = new List<Turn>();
        private readonly List<Callback> _callbacks = new List<Callback>();
        private readonly List<KeptCallback> _kept = new List<KeptCallback>();
        private IProgress<Progress> _progress;

        internal CancellationToken Token { get; private set; }

        /// An exception of a function of the program.
        internal Exception Caught;

        internal static Scope New()
        {
            Scope scope = s_spare ?? new Scope();
            s_spare = null;
            return scope;
        }

        /// Cancellation and progress of a call; null without both, so that the call allocates nothing.
        internal static Scope Of(CancellationToken token, IProgress<Progress> progress)
        {
            if (!token.CanBeCanceled && progress == null) return null;
            Scope scope = New();
            scope.Token = token;
            scope._progress = progress;
            return scope;
        }

        public void Dispose()
        {
            foreach (IntPtr block in _memory) Marshal.FreeHGlobal(block);
            foreach (Callback callback in _callbacks) callback.Dispose();
            foreach (Turn turn in _turns) turn.Dispose();
            foreach (LibraryHandle handle in _handles) handle.DangerousRelease();
            _memory.Clear();
            _callbacks.Clear();
            _turns.Clear();
            _handles.Clear();
            _kept.Clear();
            _progress = null;
            Token = default(CancellationToken);
            Caught = null;
            s_spare = this;
        }

        /// n elements, all zero; never null.
        internal byte* Memory(int n, int size)
        {
            int bytes = checked(n * size);
            IntPtr block = Marshal.AllocHGlobal(Math.Max(bytes, 1));
            _memory.Add(block);
            new Span<byte>((void*)block, bytes).Clear();
            return (byte*)block;
        }

        internal byte* Array<T>(T[] values) where T : struct
        {
            if (values == null || values.Length == 0) return null;
            var bytes = MemoryMarshal.AsBytes(new ReadOnlySpan<T>(values));
            byte* to = Memory(bytes.Length, 1);
            bytes.CopyTo(new Span<byte>(to, bytes.Length));
            return to;
        }

        internal byte* Values(Array values, TensorType type, string name, out UIntPtr length)
        {
            length = Native.Size(values == null ? 0 : values.Length);
            if (values == null) return null;
            if (type == TensorType.F32 && values is float[] floats) return Array(floats);
            if ((type == TensorType.F16 || type == TensorType.BF16) && values is ushort[] halves) return Array(halves);
            throw Check.Argument($"ARGUMENT: {name} is no array of the type {type}");
        }

        internal byte* String(string text) { return text == null ? null : Array(Native.Utf8(text)); }

        internal byte* Text(string text, out UIntPtr length) { return Array(Native.Text(text, out length)); }

        internal byte** Texts(IReadOnlyList<string> texts, out UIntPtr* lengths)
        {
            var list = (byte**)Memory(texts.Count, sizeof(byte*));
            lengths = (UIntPtr*)Memory(texts.Count, sizeof(UIntPtr));
            for (int i = 0; i < texts.Count; i++) list[i] = Text(texts[i], out lengths[i]);
            return list;
        }

        internal IntPtr Object(LibraryHandle handle)
        {
            if (handle == null) return IntPtr.Zero;
            bool added = false;
            handle.DangerousAddRef(ref added);
            _handles.Add(handle);
            if (handle.Shares) return handle.DangerousGetHandle(); // the call has the other object
            _turns.Add(handle.Reading());
            return handle.DangerousGetHandle();
        }

        internal IntPtr* Objects<T>(IReadOnlyList<T> list, Func<T, LibraryHandle> handle)
        {
            if (list == null) return null;
            var to = (IntPtr*)Memory(list.Count, sizeof(IntPtr));
            for (int i = 0; i < list.Count; i++) to[i] = Object(list[i] == null ? null : handle(list[i]));
            return to;
        }

        internal NativeProgress* Follow(CancellationToken token, IProgress<Progress> progress)
        {
            Token = token;
            _progress = progress;
            return token.CanBeCanceled || progress != null ? Progress() : null;
        }

        private NativeProgress* Progress()
        {
            var native = (NativeProgress*)Memory(1, sizeof(NativeProgress));
            native->user = User(new Func<ulong, ulong, bool>(Report));
            native->report = Callbacks.ProgressReport;
            return native;
        }

        internal static NativeProgress* Progress(Scope scope) { return scope == null ? null : scope.Progress(); }

        /// Called by the library; false ends the call.
        internal bool Report(ulong done, ulong total)
        {
            if (_progress != null) _progress.Report(new Progress { Done = done, Total = total });
            return !Token.IsCancellationRequested;
        }

        /// The first argument of a function of the program, which null stands for none of.
        internal void* User(object function)
        {
            if (function == null) return null;
            _callbacks.Add(new Callback(function, this));
            return _callbacks[_callbacks.Count - 1].User;
        }

        /// The same of a function that the object of the call keeps: see Stay.
        internal void* Kept(object function)
        {
            _kept.Add(new KeptCallback(function));
            return _kept[_kept.Count - 1].User;
        }

        internal void Stay(LibraryHandle handle)
        {
            foreach (KeptCallback callback in _kept) handle.Hold(callback);
        }

        /// Ends a call; an exception of a function of the program takes precedence.
        internal void End(int status, NativeError* record)
        {
            if (Caught != null && !Check.IsIo(status)) ExceptionDispatchInfo.Capture(Caught).Throw();
            if (status != (int)Status.Ok) throw Check.Of(status, record, this);
        }

        internal static void End(Scope scope, int status, NativeError* record)
        {
            if (scope != null) scope.End(status, record);
            else Check.Ok(status, record);
        }
    }

    /// A function of the program that the library calls: during one call, or until it is destroyed.
    internal unsafe class Callback : IDisposable
    {
        internal readonly object Function;
        private readonly Scope _call;
        private GCHandle _self;

        internal Callback(object function, Scope call = null) : this(function, call, GCHandleType.Normal) { }

        protected Callback(object function, Scope call, GCHandleType type)
        {
            Function = function;
            _call = call;
            _self = GCHandle.Alloc(this, type);
        }

        internal void* User { get { return (void*)GCHandle.ToIntPtr(_self); } }

        internal static Callback Of(void* user) { return (Callback)GCHandle.FromIntPtr((IntPtr)user).Target; }

        public void Dispose()
        {
            if (_self.IsAllocated) _self.Free();
        }

        /// Whether the call ends already.
        internal bool Stopped { get { return _call != null && _call.Caught != null; } }

        /// The status of a function that threw.
        internal int Ended(Exception e)
        {
            if (_call != null) _call.Caught = e;
            else Thrown.Set(e);
            return (int)Status.Cancelled;
        }

        /// The same of one that reads or writes.
        internal int Failed(Exception e)
        {
            Ended(e);
            return (int)(e is EndOfStreamException ? Status.Truncated : Status.Io);
        }
    }

    /// A function that an object keeps, and calls in calls on it: the object's handle refers to it.
    internal sealed class KeptCallback : Callback
    {
        internal KeptCallback(object function) : base(function, null, GCHandleType.Weak) { }

        ~KeptCallback() { Dispose(); }
    }

    /// Exception of a function that outlives a call: the call that ran it, on this thread, throws it.
    internal static class Thrown
    {
        [ThreadStatic] private static Exception s_caught;

        internal static void Set(Exception e) { s_caught = e; }

        internal static Exception Take()
        {
            var caught = s_caught;
            s_caught = null;
            return caught;
        }
    }
}
