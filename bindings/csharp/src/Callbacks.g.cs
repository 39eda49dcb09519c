// Written by bindings/raw.py from include/ggufx; a test compares them.
// SPDX-License-Identifier: MIT
#pragma warning disable 1573 // parameters whose names tell enough
using System;
using System.Runtime.InteropServices;

namespace Ggufx
{
    /// <summary>Takes data; an exception ends the call.</summary>
    public delegate void WriteFunction(ReadOnlySpan<byte> data);

    /// <summary>Fills data as a whole; an exception ends the call.</summary>
    public delegate void ReadFunction(Span<byte> data);

    /// <summary>Changes the elements; false or an exception ends the call.</summary>
    public delegate bool ApplyFunction(Span<Candidate> candidates);

    /// <summary>Tensor data that are generated while the file is written. It writes bytes offset .. offset + n - 1 of the dense
    /// tensor to dst, as little-endian blocks of a file. Calls come in order, with at most 512 KiB each: whole rows, or whole
    /// blocks of one row if a row is larger. They come from the writing thread, and are repeated by each write. An exception ends
    /// the call.</summary>
    public delegate void TensorStream(ulong offset, Span<byte> dst);

    /// <summary>Takes data; an exception ends the call.</summary>
    public delegate void PartWriteFunction(uint part, ReadOnlySpan<byte> data);

    /// The functions of a program, as the library calls them.
    internal static unsafe class Callbacks
    {
        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int GgufFileValidateReportFn(void* user, NativeFindingFacts* finding);
        internal static readonly IntPtr GgufFileValidateReport = Functions.Keep(new GgufFileValidateReportFn(OnGgufFileValidateReport));

        [MonoPInvokeCallback(typeof(GgufFileValidateReportFn))]
        private static int OnGgufFileValidateReport(void* user, NativeFindingFacts* finding)
        {
            var callback = Callback.Of(user);
            if (callback.Stopped) return (int)Status.Cancelled;
            try
            {
                return ((Func<FindingFacts, bool>)callback.Function)(new FindingFacts(finding)) ? (int)Status.Ok : (int)Status.Cancelled;
            }
            catch (Exception e)
            {
                return callback.Ended(e);
            }
        }

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int WriteFn(void* user, void* data, UIntPtr n);
        internal static readonly IntPtr Write = Functions.Keep(new WriteFn(OnWrite));

        [MonoPInvokeCallback(typeof(WriteFn))]
        private static int OnWrite(void* user, void* data, UIntPtr n)
        {
            var callback = Callback.Of(user);
            if (callback.Stopped) return (int)Status.Cancelled;
            try
            {
                ((WriteFunction)callback.Function)(new ReadOnlySpan<byte>(data, checked((int)n)));
                return (int)Status.Ok;
            }
            catch (Exception e)
            {
                return callback.Failed(e);
            }
        }

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int ReadFn(void* user, void* data, UIntPtr n);
        internal static readonly IntPtr Read = Functions.Keep(new ReadFn(OnRead));

        [MonoPInvokeCallback(typeof(ReadFn))]
        private static int OnRead(void* user, void* data, UIntPtr n)
        {
            var callback = Callback.Of(user);
            if (callback.Stopped) return (int)Status.Cancelled;
            try
            {
                ((ReadFunction)callback.Function)(new Span<byte>(data, checked((int)n)));
                return (int)Status.Ok;
            }
            catch (Exception e)
            {
                return callback.Failed(e);
            }
        }

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int ApplyFn(void* user, NativeCandidate* candidates, UIntPtr n);
        internal static readonly IntPtr Apply = Functions.Keep(new ApplyFn(OnApply));

        [MonoPInvokeCallback(typeof(ApplyFn))]
        private static int OnApply(void* user, NativeCandidate* candidates, UIntPtr n)
        {
            var callback = Callback.Of(user);
            if (callback.Stopped) return (int)Status.Cancelled;
            try
            {
                return ((ApplyFunction)callback.Function)(new Span<Candidate>(candidates,
                    checked((int)n))) ? (int)Status.Ok : (int)Status.Cancelled;
            }
            catch (Exception e)
            {
                return callback.Ended(e);
            }
        }

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int TensorStreamReadFn(void* user, ulong offset, void* dst, UIntPtr n);
        internal static readonly IntPtr TensorStreamRead = Functions.Keep(new TensorStreamReadFn(OnTensorStreamRead));

        [MonoPInvokeCallback(typeof(TensorStreamReadFn))]
        private static int OnTensorStreamRead(void* user, ulong offset, void* dst, UIntPtr n)
        {
            var callback = Callback.Of(user);
            if (callback.Stopped) return (int)Status.Cancelled;
            try
            {
                ((TensorStream)callback.Function)(offset, new Span<byte>(dst, checked((int)n)));
                return (int)Status.Ok;
            }
            catch (Exception e)
            {
                return callback.Failed(e);
            }
        }

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int PartWriteFn(void* user, uint part, void* data, UIntPtr n);
        internal static readonly IntPtr PartWrite = Functions.Keep(new PartWriteFn(OnPartWrite));

        [MonoPInvokeCallback(typeof(PartWriteFn))]
        private static int OnPartWrite(void* user, uint part, void* data, UIntPtr n)
        {
            var callback = Callback.Of(user);
            if (callback.Stopped) return (int)Status.Cancelled;
            try
            {
                ((PartWriteFunction)callback.Function)(part, new ReadOnlySpan<byte>(data, checked((int)n)));
                return (int)Status.Ok;
            }
            catch (Exception e)
            {
                return callback.Failed(e);
            }
        }

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate void LogWriteFn(void* user, int level, byte* text, UIntPtr length);
        internal static readonly IntPtr LogWrite = Functions.Keep(new LogWriteFn(OnLogWrite));

        [MonoPInvokeCallback(typeof(LogWriteFn))]
        private static void OnLogWrite(void* user, int level, byte* text, UIntPtr length)
        {
            var callback = Callback.Of(user);
            if (callback.Stopped) return;
            try
            {
                ((Action<LogLevel, string>)callback.Function)((LogLevel)level, Native.Text(text, length));
            }
            catch (Exception) { } // a message is not worth the program
        }

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int EvalOptionsReportFn(void* user, NativeEvalFacts* running);
        internal static readonly IntPtr EvalOptionsReport = Functions.Keep(new EvalOptionsReportFn(OnEvalOptionsReport));

        [MonoPInvokeCallback(typeof(EvalOptionsReportFn))]
        private static int OnEvalOptionsReport(void* user, NativeEvalFacts* running)
        {
            var callback = Callback.Of(user);
            if (callback.Stopped) return (int)Status.Cancelled;
            try
            {
                return ((Func<EvalFacts, bool>)callback.Function)(new EvalFacts(running)) ? (int)Status.Ok : (int)Status.Cancelled;
            }
            catch (Exception e)
            {
                return callback.Ended(e);
            }
        }

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int EvalOptionsRowsFn(void* user, NativeEvalRow* rows, UIntPtr n);
        internal static readonly IntPtr EvalOptionsRows = Functions.Keep(new EvalOptionsRowsFn(OnEvalOptionsRows));

        [MonoPInvokeCallback(typeof(EvalOptionsRowsFn))]
        private static int OnEvalOptionsRows(void* user, NativeEvalRow* rows, UIntPtr n)
        {
            var callback = Callback.Of(user);
            if (callback.Stopped) return (int)Status.Cancelled;
            try
            {
                return ((Func<EvalRow[], bool>)callback.Function)(EvalRow.All(rows,
                    checked((int)n))) ? (int)Status.Ok : (int)Status.Cancelled;
            }
            catch (Exception e)
            {
                return callback.Ended(e);
            }
        }

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int QuantizerRunOptionsTensorDoneFn(void* user, UIntPtr index, NativeQuantizerTensorFacts* tensor);
        internal static readonly IntPtr QuantizerRunOptionsTensorDone = Functions.Keep(new QuantizerRunOptionsTensorDoneFn(OnQuantizerRunOptionsTensorDone));

        [MonoPInvokeCallback(typeof(QuantizerRunOptionsTensorDoneFn))]
        private static int OnQuantizerRunOptionsTensorDone(void* user, UIntPtr index, NativeQuantizerTensorFacts* tensor)
        {
            var callback = Callback.Of(user);
            if (callback.Stopped) return (int)Status.Cancelled;
            try
            {
                return ((Func<long, QuantizerTensorFacts, bool>)callback.Function)((long)index,
                    new QuantizerTensorFacts(tensor)) ? (int)Status.Ok : (int)Status.Cancelled;
            }
            catch (Exception e)
            {
                return callback.Ended(e);
            }
        }

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        private delegate int ProgressReportFn(void* user, ulong done, ulong total);
        internal static readonly IntPtr ProgressReport = Functions.Keep(new ProgressReportFn(OnProgressReport));

        [MonoPInvokeCallback(typeof(ProgressReportFn))]
        private static int OnProgressReport(void* user, ulong done, ulong total)
        {
            var callback = Callback.Of(user);
            if (callback.Stopped) return (int)Status.Cancelled;
            try
            {
                return ((Func<ulong, ulong, bool>)callback.Function)(done, total) ? (int)Status.Ok : (int)Status.Cancelled;
            }
            catch (Exception e)
            {
                return callback.Ended(e);
            }
        }
    }
}
