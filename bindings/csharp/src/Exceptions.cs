// Exceptions of the library, by status code; each has Status, Offset, Index and SystemError.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.ExceptionServices;
using System.Threading;

namespace Ggufx
{
    /// <summary>Error of a failed call, which changed nothing. All failures of the library are this
    /// or derive from it.</summary>
    public class GgufxException : Exception
    {
        internal GgufxException(Status status, string message, Exception inner = null) : base(message, inner) { Status = status; }
        /// <summary>The code.</summary>
        public Status Status { get; private set; }
        /// <summary>Byte offset in the file of the field at fault.</summary>
        public ulong? Offset { get; internal set; }
        /// <summary>Number of the key, tensor, row, token or argument at fault.</summary>
        public ulong? Index { get; internal set; }
        /// <summary>The number that was too large, for CAPACITY and LIMIT.</summary>
        public ulong Value { get; internal set; }
        /// <summary>The most that it may be.</summary>
        public ulong Limit { get; internal set; }
        /// <summary>errno of the system call that failed, else 0.</summary>
        public int SystemError { get; internal set; }
    }

    /// <summary>The call broke its contract: ARGUMENT.</summary>
    public sealed class GgufxArgumentException : GgufxException
    {
        internal GgufxArgumentException(string message) : base(Status.Argument, message) { }
    }

    /// <summary>The system failed, or something is not there: IO, NOT_FOUND, TRUNCATED. The
    /// exception of a caller's stream is its InnerException.</summary>
    public sealed class GgufxIOException : GgufxException
    {
        internal GgufxIOException(Status status, string message, Exception inner) : base(status, message, inner) { }
    }

    /// <summary>A token or callback asked to stop: CANCELLED. InnerException is an
    /// OperationCanceledException with the token.</summary>
    public sealed class GgufxCanceledException : GgufxException
    {
        internal GgufxCanceledException(string message, CancellationToken token)
            : base(Status.Cancelled, message, new OperationCanceledException(message, token))
        {
            Token = token;
        }
        /// <summary>The token that asked, or none.</summary>
        public CancellationToken Token { get; private set; }
    }

    internal static unsafe class Check
    {
        /// Throws the error in the record if a call failed.
        internal static void Ok(int status, NativeError* record)
        {
            if (status != (int)Status.Ok) throw Of(status, record, null);
        }

        internal static bool IsIo(int status) { return status == (int)Status.Io || status == (int)Status.Truncated; }

        /// The exception of a failed call; that of a function which an object keeps takes precedence.
        internal static Exception Of(int status, NativeError* record, Scope scope)
        {
            Exception thrown = Thrown.Take();
            Exception inner = scope != null && scope.Caught != null ? scope.Caught : thrown;
            if (inner != null && !IsIo(status)) ExceptionDispatchInfo.Capture(inner).Throw();
            string message = Native.Text(NativeMethods.ggufx_status_name(status)) + ": " + Native.Text(record->message);
            GgufxException made = Of((Status)status, message, inner, scope == null ? default(CancellationToken) : scope.Token);
            made.Offset = Native.Present(record->offset);
            made.Index = Native.Present(record->index);
            made.Value = record->value;
            made.Limit = record->limit;
            made.SystemError = record->system_error;
            return made;
        }

        private static GgufxException Of(Status status, string message, Exception inner, CancellationToken token)
        {
            switch (status)
            {
                case Status.Argument: return new GgufxArgumentException(message);
                case Status.Cancelled: return new GgufxCanceledException(message, token);
                case Status.Io:
                case Status.NotFound:
                case Status.Truncated:
                    return new GgufxIOException(status, message, inner);
                default: return new GgufxException(status, message);
            }
        }

        internal static Exception Error(Status status, string message)
        {
            return new GgufxException(status, message);
        }

        internal static Exception Argument(string message)
        {
            return new GgufxArgumentException(message);
        }

        internal static void Given(object what, string name)
        {
            if (what == null) throw new ArgumentNullException(name);
        }

        internal static void Length(long there, long wanted, string what)
        {
            if (there != wanted) throw Argument($"ARGUMENT: {there} {what}, not {wanted}");
        }

        /// The one length of two arrays, each of which may be empty.
        internal static int Same(string names, int a, int b)
        {
            if (a != 0 && b != 0 && a != b) throw Argument($"ARGUMENT: {names} have {a} and {b} elements");
            return Math.Max(a, b);
        }
    }
}
