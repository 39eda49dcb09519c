// Runtime: hooks and the selected kernels, shared by all objects created from it.
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

    /// <summary>Options of a runtime; all unset is the default.</summary>
    public sealed class RuntimeOptions
    {
        /// <summary>Number of threads, including the caller; 0: one per usable processor.</summary>
        public uint Threads { get; set; }
        /// <summary>Use a lower instruction set than there is.</summary>
        public Isa Isa { get; set; }
        /// <summary>Workspace of each call; 0: the default.</summary>
        public ulong WorkspaceBytes { get; set; }
        /// <summary>May be called on any thread.</summary>
        public Action<LogLevel, string> Log { get; set; }
        /// <summary>Executor of tasks; null: the library's own threads.</summary>
        public IExecutor Executor { get; set; }
        /// <summary>Memory of the program's: a native ggufx_allocator. Managed code has none.</summary>
        public IntPtr Allocator { get; set; }
    }

    /// <summary>Facts of a runtime.</summary>
    public sealed class RuntimeInfo
    {
        /// <summary>Instruction set in use.</summary>
        public Isa Isa { get; internal set; }
        /// <summary>Its name.</summary>
        public string IsaName { get; internal set; }
        /// <summary>"mimalloc", "system" or "host".</summary>
        public string AllocatorName { get; internal set; }
        /// <summary>Workers that a call may use.</summary>
        public uint Threads { get; internal set; }
        /// <summary>Detected instruction sets.</summary>
        public CpuFeatures Features { get; internal set; }
        /// <summary>Workspace of each call.</summary>
        public ulong WorkspaceBytes { get; internal set; }
    }

    /// <summary>Log, executor and the chosen kernels; objects made from it keep it alive.</summary>
    public sealed unsafe class Runtime : IDisposable
    {
        private readonly RuntimeHandle _made;

        internal RuntimeHandle Handle { get { return _made.Live(this); } }

        /// <summary>Create a runtime; a GgufxException with Status.Version when the library does not fit.</summary>
        public Runtime(RuntimeOptions options = null)
        {
            CheckLibrary();
            options = options ?? new RuntimeOptions();
            var native = default(NativeRuntimeOptions);
            native.struct_size = (uint)sizeof(NativeRuntimeOptions);
            native.threads = options.Threads;
            native.isa = (int)options.Isa;
            native.workspace_bytes = options.WorkspaceBytes;
            native.allocator = (NativeAllocator*)options.Allocator;
            NativeLog log;
            NativeExecutor jobs;
            NativeError e;
            // The library destroys the hooks, also after a failure.
            if (options.Log != null) native.log = Fill(&log, options.Log);
            if (options.Executor != null) native.executor = Fill(&jobs, options.Executor);
            Check.Ok(NativeMethods.ggufx_runtime_create(out _made, &native, &e), &e);
        }

        private static NativeLog* Fill(NativeLog* log, Action<LogLevel, string> write)
        {
            *log = default(NativeLog);
            log->struct_size = (uint)sizeof(NativeLog);
            log->user = new Hook { OnLog = write }.User;
            log->write = Functions.Log;
            log->destroy = Functions.Destroy;
            return log;
        }

        private static NativeExecutor* Fill(NativeExecutor* jobs, IExecutor executor)
        {
            *jobs = default(NativeExecutor);
            jobs->struct_size = (uint)sizeof(NativeExecutor);
            jobs->max_workers = (uint)executor.MaxWorkers;
            jobs->user = new Hook { Jobs = executor }.User;
            jobs->parallel_for = Functions.Jobs;
            jobs->destroy = Functions.Destroy;
            return jobs;
        }

        private static void CheckLibrary()
        {
            uint abi = NativeMethods.ggufx_abi_version();
            ulong record = LayoutOf("ggufx_error");
            if (abi != Constants.AbiVersion || record != (ulong)sizeof(NativeError))
                throw new GgufxException(new Failure
                {
                    Status = Status.Version,
                    Message = $"VERSION: the library has ABI {abi} and errors of {record} bytes",
                });
        }

        internal static ulong LayoutOf(string name)
        {
            fixed (byte* text = Native.Utf8(name)) return (ulong)NativeMethods.ggufx_abi_layout(text);
        }

        /// <summary>Version of the library, "0.1.0".</summary>
        public static string LibraryVersion { get { return Native.Text(NativeMethods.ggufx_version()); } }

        /// <summary>Whether the library has a feature: "type:q4_K", "kv:f16", "arch:llama".</summary>
        public static bool Has(string feature)
        {
            fixed (byte* text = Native.Utf8(feature)) return NativeMethods.ggufx_has(text) != 0;
        }

        /// <summary>Facts of it.</summary>
        public RuntimeInfo Info
        {
            get
            {
                var o = default(NativeRuntimeFacts);
                o.struct_size = (uint)sizeof(NativeRuntimeFacts);
                NativeError e;
                Check.Ok(NativeMethods.ggufx_runtime_info(&o, Handle, &e), &e);
                return new RuntimeInfo
                {
                    Isa = (Isa)o.isa, IsaName = Native.Text(o.isa_name), Threads = o.threads,
                    AllocatorName = Native.Text(o.allocator_name),
                    Features = (CpuFeatures)o.features, WorkspaceBytes = o.workspace_bytes,
                };
            }
        }

        /// <summary>Instruction set that serves a tensor type; "" for an unknown type.</summary>
        public string KernelName(TensorType type)
        {
            return Native.Text(NativeMethods.ggufx_runtime_kernel_name(Handle, (uint)type));
        }

        /// <summary>Close it. Does not wait: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }
    }

    /// <summary>Facts of a tensor or KV type.</summary>
    public sealed class TypeInfo
    {
        /// <summary>Name, "q4_K".</summary>
        public string Name { get; internal set; }
        /// <summary>Properties of the type.</summary>
        public TypeFlags Flags { get; internal set; }
        /// <summary>Values of a block; 0: a head of the cache.</summary>
        public uint BlockValues { get; internal set; }
        /// <summary>Bytes of a block.</summary>
        public uint BlockBytes { get; internal set; }
    }

    /// <summary>Tensor and KV types by number and name.</summary>
    public static unsafe class Types
    {
        /// <summary>Describe a type.</summary>
        public static TypeInfo Info(this TensorType type)
        {
            var o = default(NativeTypeFacts);
            o.struct_size = (uint)sizeof(NativeTypeFacts);
            NativeError e;
            Check.Ok(NativeMethods.ggufx_type_info(&o, (uint)type, &e), &e);
            return new TypeInfo
            {
                Name = Native.Text(o.name), Flags = (TypeFlags)o.flags,
                BlockValues = o.block_values, BlockBytes = o.block_bytes,
            };
        }

        /// <summary>Describe a type.</summary>
        public static TypeInfo Info(this KvType type)
        {
            var o = default(NativeKvTypeFacts);
            o.struct_size = (uint)sizeof(NativeKvTypeFacts);
            NativeError e;
            Check.Ok(NativeMethods.ggufx_kv_type_info(&o, (uint)type, &e), &e);
            return new TypeInfo
            {
                Name = Native.Text(o.name), Flags = (TypeFlags)o.flags,
                BlockValues = o.block_values, BlockBytes = o.block_bytes,
            };
        }

        /// <summary>Bytes of a row of n values.</summary>
        public static ulong RowBytes(this TensorType type, ulong n)
        {
            ulong o;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_row_bytes(&o, (uint)type, n, &e), &e);
            return o;
        }

        /// <summary>Find a type by name, without regard to case.</summary>
        public static TensorType TensorTypeFromName(string name)
        {
            uint o;
            NativeError e;
            fixed (byte* text = Native.Utf8(name))
                Check.Ok(NativeMethods.ggufx_type_from_name(&o, text, &e), &e);
            return (TensorType)o;
        }

        /// <summary>Find a KV type by name, without regard to case.</summary>
        public static KvType KvTypeFromName(string name)
        {
            uint o;
            NativeError e;
            fixed (byte* text = Native.Utf8(name))
                Check.Ok(NativeMethods.ggufx_kv_type_from_name(&o, text, &e), &e);
            return (KvType)o;
        }
    }
}
