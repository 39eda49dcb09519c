// The functions that the library calls: static ones with an attribute, since Unity's IL2CPP makes native
// code of nothing else. `user` is the GCHandle of a Hook.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;

namespace Ggufx
{
    /// Tells Unity's IL2CPP, which looks for an attribute of this name, that native code calls a function.
    [AttributeUsage(AttributeTargets.Method)]
    internal sealed class MonoPInvokeCallbackAttribute : Attribute
    {
        internal readonly Type Type;

        public MonoPInvokeCallbackAttribute(Type type)
        {
            Type = type;
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
        private delegate int EventFn(void* user, uint kind, ulong call, byte* text, UIntPtr n);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int LinkFn(void* user, Candidate* candidates, UIntPtr n);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate UIntPtr GuessFn(void* user, int* guess, UIntPtr most, int* text, UIntPtr n, int last);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int JobsFn(void* user, uint n, IntPtr task, void* ctx);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate void TaskFn(void* ctx, uint index, uint worker);

        internal static readonly List<Delegate> Kept = new List<Delegate>();

        private static IntPtr Keep(Delegate function)
        {
            Kept.Add(function);
            return Marshal.GetFunctionPointerForDelegate(function);
        }

        internal static readonly IntPtr Progress = Keep(new ProgressFn(OnProgress));
        internal static readonly IntPtr Finding = Keep(new PointerFn(OnFinding));
        internal static readonly IntPtr Chunk = Keep(new PointerFn(OnChunk));
        internal static readonly IntPtr Measure = Keep(new PointerFn(OnMeasure));
        internal static readonly IntPtr Link = Keep(new LinkFn(OnLink));
        internal static readonly IntPtr Guess = Keep(new GuessFn(OnGuess));
        internal static readonly IntPtr Tensor = Keep(new TensorFn(OnTensor));
        internal static readonly IntPtr Layer = Keep(new LayerFn(OnLayer));
        internal static readonly IntPtr WritePart = Keep(new PartFn(OnWritePart));
        internal static readonly IntPtr Write = Keep(new BytesFn(OnWrite));
        internal static readonly IntPtr Read = Keep(new BytesFn(OnRead));
        internal static readonly IntPtr ReadAt = Keep(new ReadAtFn(OnReadAt));
        internal static readonly IntPtr Size = Keep(new PointerFn(OnSize));
        internal static readonly IntPtr Destroy = Keep(new DestroyFn(OnDestroy));
        internal static readonly IntPtr Log = Keep(new LogFn(OnLog));
        internal static readonly IntPtr Event = Keep(new EventFn(OnEvent));
        internal static readonly IntPtr Jobs = Keep(new JobsFn(OnJobs));

        private static int Stop(bool goOn) { return goOn ? 0 : 1; }
        private static int Io(bool done) { return done ? (int)Status.Ok : (int)Status.Io; }

        [MonoPInvokeCallback(typeof(ProgressFn))]
        private static int OnProgress(void* user, ulong done, ulong total)
        {
            var hook = Hook.Of(user);
            return Stop(hook.Run(() =>
            {
                if (hook.Reports != null) hook.Reports.Report(new Progress { Done = done, Total = total });
                return !hook.Token.IsCancellationRequested;
            }));
        }

        [MonoPInvokeCallback(typeof(PointerFn))]
        private static int OnFinding(void* user, void* what)
        {
            var hook = Hook.Of(user);
            return Stop(hook.Run(() => hook.OnFinding(new Finding((NativeFinding*)what))));
        }

        [MonoPInvokeCallback(typeof(PointerFn))]
        private static int OnChunk(void* user, void* what)
        {
            var hook = Hook.Of(user);
            return Stop(hook.Run(() => hook.OnChunk(new Perplexity((NativePerplexityFacts*)what))));
        }

        [MonoPInvokeCallback(typeof(PointerFn))]
        private static int OnMeasure(void* user, void* what)
        {
            var hook = Hook.Of(user);
            return Stop(hook.Run(() => hook.OnMeasure(new Measure((NativeMeasureFacts*)what))));
        }

        [MonoPInvokeCallback(typeof(LinkFn))]
        private static int OnLink(void* user, Candidate* candidates, UIntPtr n)
        {
            return HostLink.Run(user, candidates, (int)n);
        }

        [MonoPInvokeCallback(typeof(GuessFn))]
        private static UIntPtr OnGuess(void* user, int* guess, UIntPtr most, int* text, UIntPtr n, int last)
        {
            return Native.Size(HostGuess.Run(user, guess, (int)most, text, (int)n, last));
        }

        [MonoPInvokeCallback(typeof(TensorFn))]
        private static void OnTensor(void* user, UIntPtr index, NativeJobTensor* tensor)
        {
            var hook = Hook.Of(user);
            hook.Run(() => { hook.OnTensor((long)index, new PlannedTensor(tensor)); return true; });
        }

        [MonoPInvokeCallback(typeof(LayerFn))]
        private static int OnLayer(void* user, uint layer, ulong first, UIntPtr n, float* q, float* k, float* v, float* o)
        {
            var hook = Hook.Of(user);
            return Stop(hook.Run(() => hook.OnLayer(new AttentionView(layer, first, (int)n, q, k, v, o, hook.Widths[layer]))));
        }

        [MonoPInvokeCallback(typeof(PartFn))]
        private static int OnWritePart(void* user, uint part, byte* data, UIntPtr n)
        {
            var hook = Hook.Of(user);
            return Io(hook.Run(() => { hook.OnWrite((int)part, data, (int)n); return true; }));
        }

        [MonoPInvokeCallback(typeof(BytesFn))]
        private static int OnWrite(void* user, byte* data, UIntPtr n)
        {
            var hook = Hook.Of(user);
            return Io(hook.Run(() => { hook.OnWrite(0, data, (int)n); return true; }));
        }

        [MonoPInvokeCallback(typeof(BytesFn))]
        private static int OnRead(void* user, byte* data, UIntPtr n)
        {
            return ReadInto(Hook.Of(user), 0, data, n);
        }

        [MonoPInvokeCallback(typeof(ReadAtFn))]
        private static int OnReadAt(void* user, ulong offset, byte* data, UIntPtr n)
        {
            return ReadInto(Hook.Of(user), offset, data, n);
        }

        [MonoPInvokeCallback(typeof(PointerFn))]
        private static int OnSize(void* user, void* what)
        {
            *(ulong*)what = Hook.Of(user).Size;
            return (int)Status.Ok;
        }

        [MonoPInvokeCallback(typeof(DestroyFn))]
        private static void OnDestroy(void* user)
        {
            Hook.Of(user).Dispose();
        }

        [MonoPInvokeCallback(typeof(LogFn))]
        private static void OnLog(void* user, int level, byte* text, UIntPtr n)
        {
            var hook = Hook.Of(user);
            hook.Run(() => { hook.OnLog((LogLevel)level, Native.Text(text, (long)n)); return true; });
            hook.Caught = null; // a message is not worth the program
        }

        [MonoPInvokeCallback(typeof(EventFn))]
        private static int OnEvent(void* user, uint kind, ulong call, byte* text, UIntPtr n)
        {
            var hook = Hook.Of(user);
            return Stop(hook.Run(() => { hook.OnEvent(kind, call, Native.Text(text, (long)n)); return true; }));
        }

        [MonoPInvokeCallback(typeof(JobsFn))]
        private static int OnJobs(void* user, uint n, IntPtr task, void* ctx)
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
        }

        private static int ReadInto(Hook hook, ulong offset, byte* data, UIntPtr n)
        {
            bool done = hook.Run(() => { hook.OnRead(offset, data, (int)n); return true; });
            return hook.Caught is System.IO.EndOfStreamException ? (int)Status.Truncated : Io(done);
        }
    }
}
