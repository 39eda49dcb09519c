// The functions that the library calls: static ones with an attribute, since Unity's IL2CPP makes native
// code of nothing else. `user` is the GCHandle of a Callback. Others are generated.
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
        private delegate int SizeFn(void* user, ulong* size);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int LayerFn(void* user, uint layer, ulong first, UIntPtr n, float* q, float* k, float* v, float* o);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate void DestroyFn(void* user);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int JobsFn(void* user, uint n, IntPtr task, void* ctx);
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate void TaskFn(void* ctx, uint index, uint worker);

        internal static readonly List<Delegate> Kept = new List<Delegate>();

        internal static IntPtr Keep(Delegate function)
        {
            lock (Kept) Kept.Add(function);
            return Marshal.GetFunctionPointerForDelegate(function);
        }

        internal static readonly IntPtr Layer = Keep(new LayerFn(OnLayer));
        internal static readonly IntPtr Size = Keep(new SizeFn(OnSize));
        internal static readonly IntPtr Destroy = Keep(new DestroyFn(OnDestroy));
        internal static readonly IntPtr Jobs = Keep(new JobsFn(OnJobs));

        [MonoPInvokeCallback(typeof(LayerFn))]
        private static int OnLayer(void* user, uint layer, ulong first, UIntPtr n, float* q, float* k, float* v, float* o)
        {
            var callback = Callback.Of(user);
            if (callback.Stopped) return (int)Status.Cancelled;
            try
            {
                var shown = (ShownAttention)callback.Function;
                var view = new AttentionView(layer, first, checked((int)n), q, k, v, o, shown.Widths[layer]);
                return (int)(shown.Hook(view) ? Status.Ok : Status.Cancelled);
            }
            catch (Exception e) { return callback.Ended(e); }
        }

        [MonoPInvokeCallback(typeof(SizeFn))]
        private static int OnSize(void* user, ulong* size)
        {
            var callback = Callback.Of(user);
            try
            {
                *size = ((StreamSource)((TensorStream)callback.Function).Target).Size;
                return (int)Status.Ok;
            }
            catch (Exception e) { return callback.Failed(e); }
        }

        [MonoPInvokeCallback(typeof(DestroyFn))]
        private static void OnDestroy(void* user)
        {
            var callback = Callback.Of(user);
            var pinned = callback.Function as IDisposable;
            if (pinned != null) pinned.Dispose();
            callback.Dispose();
        }

        [MonoPInvokeCallback(typeof(JobsFn))]
        private static int OnJobs(void* user, uint n, IntPtr task, void* ctx)
        {
            try
            {
                var run = (TaskFn)Marshal.GetDelegateForFunctionPointer(task, typeof(TaskFn));
                ((IExecutor)Callback.Of(user).Function).ParallelFor((int)n, (index, worker) => run(ctx, (uint)index, (uint)worker));
                return (int)Status.Ok;
            }
            catch (Exception)
            {
                return (int)Status.Internal;
            }
        }
    }
}
