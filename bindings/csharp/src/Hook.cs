// Functions of the program that the library calls during one call, or as long as an object lives.
// No exception crosses the library: it ends the call and is thrown behind it.
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
        public ulong Done, Total;
    }

    internal sealed unsafe class Hook : IDisposable
    {
        internal CancellationToken Token;
        internal IProgress<Progress> Reports;
        internal Exception Caught;
        internal Func<Finding, bool> OnFinding;
        internal Func<Perplexity, bool> OnChunk;
        internal AttentionHook OnLayer;
        internal Action<long, PlannedTensor> OnTensor;
        internal int Heads, KvHeads;
        internal WritePart OnWrite;
        internal ReadAt OnRead;
        internal ulong Size;
        internal Action<LogLevel, string> OnLog;
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

        /// Ends a call: what a function of the program threw comes first.
        internal static void End(Hook hook, int status, NativeError* record)
        {
            if (status == (int)Status.Ok) return;
            bool io = status == (int)Status.Io || status == (int)Status.Truncated;
            if (hook != null && hook.Caught != null && !io)
                ExceptionDispatchInfo.Capture(hook.Caught).Throw();
            throw Check.Of(status, record, hook);
        }

        /// What a function threw that cannot end its call.
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

    /// Delegates that live for ever, and their addresses.
    internal static unsafe class Functions
    {
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int ProgressFn(void* user, ulong done, ulong total);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int PointerFn(void* user, void* what);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate void TensorFn(void* user, UIntPtr index, NativeJobTensor* tensor);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int LayerFn(void* user, uint layer, ulong first, UIntPtr n, float* q, float* k, float* v, float* o);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int PartFn(void* user, uint part, byte* data, UIntPtr n);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int BytesFn(void* user, byte* data, UIntPtr n);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int ReadAtFn(void* user, ulong offset, byte* data, UIntPtr n);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate void DestroyFn(void* user);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate void LogFn(void* user, int level, byte* text, UIntPtr n);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int JobsFn(void* user, uint n, IntPtr task, void* ctx);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate void TaskFn(void* ctx, uint index, uint worker);

        private static readonly List<Delegate> Kept = new List<Delegate>();

        private static IntPtr Keep<T>(T function) where T : class
        {
            Kept.Add((Delegate)(object)function);
            return Marshal.GetFunctionPointerForDelegate((Delegate)(object)function);
        }

        private static int Stop(bool goOn) { return goOn ? 0 : 1; }
        private static int Io(bool done) { return done ? (int)Status.Ok : (int)Status.Io; }

        internal static readonly IntPtr Progress = Keep<ProgressFn>((user, done, total) =>
        {
            var hook = Hook.Of(user);
            return Stop(hook.Run(() =>
            {
                if (hook.Reports != null) hook.Reports.Report(new Progress { Done = done, Total = total });
                return !hook.Token.IsCancellationRequested;
            }));
        });
        internal static readonly IntPtr OnFinding = Keep<PointerFn>((user, what) =>
        {
            var hook = Hook.Of(user);
            return Stop(hook.Run(() => hook.OnFinding(new Finding((NativeFinding*)what))));
        });
        internal static readonly IntPtr OnChunk = Keep<PointerFn>((user, what) =>
        {
            var hook = Hook.Of(user);
            return Stop(hook.Run(() => hook.OnChunk(new Perplexity((NativePerplexityFacts*)what))));
        });
        internal static readonly IntPtr OnTensor = Keep<TensorFn>((user, index, tensor) =>
        {
            var hook = Hook.Of(user);
            hook.Run(() => { hook.OnTensor((long)index, new PlannedTensor(tensor)); return true; });
        });
        internal static readonly IntPtr OnLayer = Keep<LayerFn>((user, layer, first, n, q, k, v, o) =>
        {
            var hook = Hook.Of(user);
            return Stop(hook.Run(() => hook.OnLayer(new AttentionView(layer, first, (int)n, q, k, v, o, hook.Heads, hook.KvHeads))));
        });
        internal static readonly IntPtr WritePart = Keep<PartFn>((user, part, data, n) =>
        {
            var hook = Hook.Of(user);
            return Io(hook.Run(() => { hook.OnWrite((int)part, data, (int)n); return true; }));
        });
        internal static readonly IntPtr Write = Keep<BytesFn>((user, data, n) =>
        {
            var hook = Hook.Of(user);
            return Io(hook.Run(() => { hook.OnWrite(0, data, (int)n); return true; }));
        });
        internal static readonly IntPtr Read = Keep<BytesFn>((user, data, n) => ReadInto(Hook.Of(user), 0, data, n));
        internal static readonly IntPtr ReadAt = Keep<ReadAtFn>((user, offset, data, n) => ReadInto(Hook.Of(user), offset, data, n));
        internal static readonly IntPtr Size = Keep<PointerFn>((user, to) =>
        {
            *(ulong*)to = Hook.Of(user).Size;
            return (int)Status.Ok;
        });
        internal static readonly IntPtr Destroy = Keep<DestroyFn>(user => Hook.Of(user).Dispose());
        internal static readonly IntPtr Log = Keep<LogFn>((user, level, text, n) =>
        {
            var hook = Hook.Of(user);
            hook.Run(() => { hook.OnLog((LogLevel)level, Native.Text(text, (long)n)); return true; });
            hook.Caught = null; // a message is not worth the program
        });
        internal static readonly IntPtr Jobs = Keep<JobsFn>((user, n, task, ctx) =>
        {
            var hook = Hook.Of(user);
            try
            {
                var run = (TaskFn)Marshal.GetDelegateForFunctionPointer(task, typeof(TaskFn));
                hook.Jobs.ParallelFor((int)n, (index, worker) => run(ctx, (uint)index, (uint)worker));
                return (int)Status.Ok;
            }
            catch (Exception)
            {
                return (int)Status.Internal;
            }
        });

        private static int ReadInto(Hook hook, ulong offset, byte* data, UIntPtr n)
        {
            bool done = hook.Run(() => { hook.OnRead(offset, data, (int)n); return true; });
            return hook.Caught is System.IO.EndOfStreamException ? (int)Status.Truncated : Io(done);
        }
    }
}
