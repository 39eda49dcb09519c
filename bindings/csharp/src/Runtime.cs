// Hooks of a runtime.
// SPDX-License-Identifier: MIT
using System;

namespace Ggufx
{
    /// <summary>Runs the library's tasks where the program wants.</summary>
    public interface IExecutor
    {
        /// <summary>Workers there may be, at least 1.</summary>
        int MaxWorkers { get; }
        /// <summary>Call task(index, worker) for each index below n, in any order, on any threads,
        /// and return when all have run; no two tasks at once with one worker.</summary>
        void ParallelFor(int n, Action<int, int> task);
    }

    public sealed partial class RuntimeOptions
    {
        /// <summary>May be called on any thread.</summary>
        public Action<LogLevel, string> Log { get; set; }
        /// <summary>Executor of tasks; null: the library's own threads.</summary>
        public IExecutor Executor { get; set; }
        /// <summary>Memory of the program's: a native ggufx_allocator. Managed code has none.</summary>
        public IntPtr Allocator { get; set; }
    }

    public sealed unsafe partial class Runtime
    {
        /// <summary>Create a runtime; a GgufxException with Status.Version when the library does not fit.</summary>
        public Runtime(RuntimeOptions options = null)
        {
            CheckLibrary();
            options = options ?? new RuntimeOptions();
            NativeRuntimeOptions native;
            NativeLog log;
            NativeExecutor jobs;
            NativeError e;
            options.Fill(&native);
            native.allocator = (NativeAllocator*)options.Allocator;
            // The library destroys the hooks, also after a failure.
            if (options.Log != null) native.log = Fill(&log, options.Log);
            if (options.Executor != null) native.executor = Fill(&jobs, options.Executor);
            Check.Ok(NativeMethods.ggufx_runtime_create(out _made, &native, &e), &e);
        }

        private static NativeLog* Fill(NativeLog* log, Action<LogLevel, string> write)
        {
            *log = default(NativeLog);
            log->struct_size = (uint)sizeof(NativeLog);
            log->user = new Callback(write).User;
            log->write = Functions.Log;
            log->destroy = Functions.Destroy;
            return log;
        }

        private static NativeExecutor* Fill(NativeExecutor* jobs, IExecutor executor)
        {
            *jobs = default(NativeExecutor);
            jobs->struct_size = (uint)sizeof(NativeExecutor);
            jobs->max_workers = (uint)executor.MaxWorkers;
            jobs->user = new Callback(executor).User;
            jobs->parallel_for = Functions.Jobs;
            jobs->destroy = Functions.Destroy;
            return jobs;
        }

        private static void CheckLibrary()
        {
            uint abi = Library.AbiVersion;
            long record = Library.StructSize("ggufx_error");
            if (abi != Constants.AbiVersion || record != sizeof(NativeError))
                throw Check.Error(Status.Version, $"VERSION: the library has ABI {abi} and errors of {record} bytes");
        }
    }
}
