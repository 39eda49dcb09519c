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
            NativeExecutor jobs;
            NativeError e;
            using (var scope = Scope.New())
            {
                options.Fill(&native, scope);
                native.allocator = (NativeAllocator*)options.Allocator;
                if (options.Executor != null)
                {
                    jobs = new NativeExecutor { struct_size = (uint)sizeof(NativeExecutor), max_workers = (uint)options.Executor.MaxWorkers,
                        user = new Callback(options.Executor).User, parallel_for = Functions.Jobs, destroy = Functions.Destroy };
                    native.executor = &jobs; // the library destroys it, also after a failure
                }
                Check.Ok(NativeMethods.ggufx_runtime_create(out _made, &native, &e), &e);
            }
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
