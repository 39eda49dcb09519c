// Failures of the library as exceptions, by code: each tells Status, Offset, Index and SystemError.
// SPDX-License-Identifier: MIT
using System;
using System.IO;

namespace Ggufx
{
    /// <summary>What a failed call said; nothing was changed by it.</summary>
    public interface IGgufxFailure
    {
        Status Status { get; }
        /// <summary>Byte offset in the file of the field at fault.</summary>
        ulong? Offset { get; }
        /// <summary>Number of the key, tensor, row, token or argument at fault.</summary>
        ulong? Index { get; }
        /// <summary>errno of the system call that failed, else 0.</summary>
        int SystemError { get; }
    }

    internal sealed class Failure
    {
        internal Status Status;
        internal ulong? Offset, Index;
        internal int SystemError;
        internal string Message;
    }

    /// <summary>Any failure that has no closer exception.</summary>
    public sealed class GgufxException : Exception, IGgufxFailure
    {
        private readonly Failure _failure;
        internal GgufxException(Failure f) : base(f.Message) { _failure = f; }
        public Status Status { get { return _failure.Status; } }
        public ulong? Offset { get { return _failure.Offset; } }
        public ulong? Index { get { return _failure.Index; } }
        public int SystemError { get { return _failure.SystemError; } }
    }

    /// <summary>The call broke its contract: ARGUMENT.</summary>
    public sealed class GgufxArgumentException : ArgumentException, IGgufxFailure
    {
        private readonly Failure _failure;
        internal GgufxArgumentException(Failure f) : base(f.Message) { _failure = f; }
        public Status Status { get { return _failure.Status; } }
        public ulong? Offset { get { return _failure.Offset; } }
        public ulong? Index { get { return _failure.Index; } }
        public int SystemError { get { return _failure.SystemError; } }
    }

    /// <summary>The system failed, or something is not there: IO, NOT_FOUND, TRUNCATED.</summary>
    public sealed class GgufxIOException : IOException, IGgufxFailure
    {
        private readonly Failure _failure;
        internal GgufxIOException(Failure f, Exception inner) : base(f.Message, inner)
        {
            _failure = f;
        }
        public Status Status { get { return _failure.Status; } }
        public ulong? Offset { get { return _failure.Offset; } }
        public ulong? Index { get { return _failure.Index; } }
        public int SystemError { get { return _failure.SystemError; } }
    }

    /// <summary>A token or callback asked to stop: CANCELLED.</summary>
    public sealed class GgufxCanceledException : OperationCanceledException, IGgufxFailure
    {
        private readonly Failure _failure;
        internal GgufxCanceledException(Failure f, System.Threading.CancellationToken token)
            : base(f.Message, token)
        {
            _failure = f;
        }
        public Status Status { get { return _failure.Status; } }
        public ulong? Offset { get { return _failure.Offset; } }
        public ulong? Index { get { return _failure.Index; } }
        public int SystemError { get { return _failure.SystemError; } }
    }

    internal static unsafe class Check
    {
        /// Throws what the record says when a call failed.
        internal static void Ok(int status, NativeError* record)
        {
            if (status != (int)Status.Ok) throw Of(status, record, null);
        }

        internal static Exception Of(int status, NativeError* record, Hook hook)
        {
            var failure = new Failure
            {
                Status = (Status)status,
                Offset = Native.Present(record->offset),
                Index = Native.Present(record->index),
                SystemError = record->system_error,
                Message = Native.Text(NativeMethods.ggufx_status_name(status)) + ": " +
                          Native.Text(record->message),
            };
            switch (failure.Status)
            {
                case Status.Argument: return new GgufxArgumentException(failure);
                case Status.Cancelled:
                    return new GgufxCanceledException(failure, hook == null ? default(System.Threading.CancellationToken) : hook.Token);
                case Status.Io:
                case Status.NotFound:
                case Status.Truncated:
                    return new GgufxIOException(failure, hook == null ? null : hook.Caught);
                default: return new GgufxException(failure);
            }
        }

        internal static Exception Argument(string message)
        {
            return new GgufxArgumentException(new Failure { Status = Status.Argument, Message = message });
        }

        internal static void Length(long there, long wanted, string what)
        {
            if (there != wanted) throw Argument($"ARGUMENT: {there} {what}, not {wanted}");
        }
    }
}
