// Functions of the program that the library calls during one call, or as long as an object lives.
// No exception crosses the library: it ends the call and is rethrown after it.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Runtime.ExceptionServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Ggufx
{
    /// <summary>How far a long call is; Total is 0 when unknown.</summary>
    public struct Progress
    {
        /// <summary>Completed work.</summary>
        public ulong Done { get; internal set; }
        /// <summary>All there is to do; 0: unknown.</summary>
        public ulong Total { get; internal set; }
    }

    internal sealed unsafe class Hook : IDisposable
    {
        internal CancellationToken Token;
        internal IProgress<Progress> Reports;
        internal Exception Caught;
        internal Func<Finding, bool> OnFinding;
        internal Func<Perplexity, bool> OnChunk;
        internal Func<Measure, bool> OnMeasure;
        internal AttentionHook OnLayer;
        internal Action<long, PlannedTensor> OnTensor;
        internal int[][] Widths;
        internal WritePart OnWrite;
        internal ReadAt OnRead;
        internal ulong Size;
        internal Action<LogLevel, string> OnLog;
        internal Action<uint, ulong, string> OnEvent;
        internal IExecutor Jobs;
        internal GCHandle Pinned;
        private GCHandle _self;

        internal delegate void WritePart(int part, byte* data, int n);
        internal delegate void ReadAt(ulong offset, byte* data, int n);

        internal Hook()
        {
            _self = GCHandle.Alloc(this);
        }

        internal void* User { get { return (void*)GCHandle.ToIntPtr(_self); } }

        public void Dispose()
        {
            if (Pinned.IsAllocated) Pinned.Free();
            if (_self.IsAllocated) _self.Free();
        }

        /// The hook of a call that can be followed; null when nothing follows it.
        internal static Hook Watching(CancellationToken token, IProgress<Progress> reports)
        {
            if (!token.CanBeCanceled && reports == null) return null;
            return new Hook { Token = token, Reports = reports };
        }

        internal static NativeProgress* Fill(Hook hook, NativeProgress* native)
        {
            if (hook == null) return null;
            *native = default(NativeProgress);
            native->struct_size = (uint)sizeof(NativeProgress);
            native->user = hook.User;
            native->report = Functions.Progress;
            return native;
        }

        /// Ends a call; an exception of a callback takes precedence.
        internal static void End(Hook hook, int status, NativeError* record)
        {
            if (status == (int)Status.Ok) return;
            bool io = status == (int)Status.Io || status == (int)Status.Truncated;
            if (hook != null && hook.Caught != null && !io)
                ExceptionDispatchInfo.Capture(hook.Caught).Throw();
            throw Check.Of(status, record, hook);
        }

        /// Exception of a callback that cannot end its call.
        internal void Rethrow()
        {
            if (Caught != null) ExceptionDispatchInfo.Capture(Caught).Throw();
        }

        internal bool Run(Func<bool> function)
        {
            if (Caught != null) return false;
            try
            {
                return function();
            }
            catch (Exception e)
            {
                Caught = e;
                return false;
            }
        }

        internal static Hook Of(void* user)
        {
            return (Hook)GCHandle.FromIntPtr((IntPtr)user).Target;
        }
    }
}
