// Quantizing whole models: recipes, plans, runs.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Threading;

namespace Ggufx
{
    /// <summary>A recipe of types for the tensors of a model: a value of general.file_type.</summary>
    public sealed unsafe class FileType
    {
        /// <summary>Name, "Q4_K_M".</summary>
        public string Name { get; private set; }
        /// <summary>Value of general.file_type.</summary>
        public uint Id { get; private set; }
        /// <summary>That most tensors get.</summary>
        public TensorType Type { get; private set; }

        /// <summary>All recipes, most bits first.</summary>
        public static IEnumerable<FileType> All
        {
            get
            {
                long n = (long)NativeMethods.ggufx_file_type_count();
                for (long i = 0; i < n; i++) yield return At(i);
            }
        }

        private static FileType At(long i)
        {
            var o = default(NativeFileTypeFacts);
            o.struct_size = (uint)sizeof(NativeFileTypeFacts);
            NativeError e;
            Check.Ok(NativeMethods.ggufx_file_type_at(&o, Native.Size(i), &e), &e);
            return new FileType { Name = Native.Text(o.name), Id = o.file_type, Type = (TensorType)o.type_ };
        }

        /// <summary>Find a recipe by name, without regard to case; "Q4_K" is Q4_K_M.</summary>
        public static FileType FromName(string name)
        {
            uint id;
            NativeError e;
            fixed (byte* text = Native.Utf8(name))
                Check.Ok(NativeMethods.ggufx_file_type_from_name(&id, text, &e), &e);
            foreach (var type in All)
                if (type.Id == id) return type;
            throw new ArgumentException(name + " is not listed");
        }
    }

    /// <summary>Options of a quantization; the default is the recipe alone.</summary>
    public sealed unsafe class QuantizerOptions
    {
        /// <summary>Flags; none is the default.</summary>
        public JobFlags Flags { get; set; }
        /// <summary>Type of output.weight; null: the recipe's.</summary>
        public TensorType? OutputType { get; set; }
        /// <summary>Type of token_embd.weight; null: the recipe's.</summary>
        public TensorType? EmbeddingType { get; set; }
        /// <summary>Importance matrix, or null.</summary>
        public Imatrix Imatrix { get; set; }
        /// <summary>For the key quantize.imatrix.file.</summary>
        public string ImatrixName { get; set; }
        /// <summary>Room for later edits.</summary>
        public ulong ReserveBytes { get; set; }

        /// All but imatrix_name, for a call; the imatrix is held until Release.
        internal NativeJobOptions Fill(out ImatrixHandle held)
        {
            var o = default(NativeJobOptions);
            o.struct_size = (uint)sizeof(NativeJobOptions);
            o.flags = (uint)Flags;
            if (OutputType.HasValue) o.flags |= (uint)JobFlags.OutputType;
            if (EmbeddingType.HasValue) o.flags |= (uint)JobFlags.EmbeddingType;
            o.output_type = (uint)OutputType.GetValueOrDefault();
            o.embedding_type = (uint)EmbeddingType.GetValueOrDefault();
            o.reserve_bytes = ReserveBytes;
            held = Imatrix == null ? null : Imatrix.Handle;
            if (held != null)
            {
                bool added = false;
                held.DangerousAddRef(ref added);
                o.imatrix = held.DangerousGetHandle();
            }
            return o;
        }

        internal static void Release(ImatrixHandle held)
        {
            if (held != null) held.DangerousRelease();
        }
    }

    /// <summary>Facts of a plan.</summary>
    public sealed class QuantizerInfo
    {
        /// <summary>Number of tensors.</summary>
        public ulong Tensors { get; internal set; }
        /// <summary>Files to be written.</summary>
        public ulong Parts { get; internal set; }
        /// <summary>Values of all tensors.</summary>
        public ulong Values { get; internal set; }
        /// <summary>Bytes of tensor data as they are.</summary>
        public ulong BytesIn { get; internal set; }
        /// <summary>Bytes of tensor data to be.</summary>
        public ulong BytesOut { get; internal set; }
        /// <summary>Bytes of all files to be.</summary>
        public ulong FileBytes { get; internal set; }
        /// <summary>Tensors whose shape does not allow the type.</summary>
        public ulong Fallbacks { get; internal set; }
        /// <summary>Tensors without an entry of the imatrix, where one was given.</summary>
        public ulong MissingFromImatrix { get; internal set; }
    }

    /// <summary>Planned quantization of one tensor.</summary>
    public sealed unsafe class PlannedTensor
    {
        /// <summary>Name of the tensor.</summary>
        public string Name { get; private set; }
        /// <summary>Values per dimension.</summary>
        public ulong[] Ne { get; private set; }
        /// <summary>In the file; that it gets; before a fallback.</summary>
        public TensorType From { get; private set; }
        /// <summary>Type it gets.</summary>
        public TensorType To { get; private set; }
        /// <summary>Type before a fallback.</summary>
        public TensorType Wanted { get; private set; }
        /// <summary>Why it gets its type.</summary>
        public JobReason Reason { get; private set; }
        /// <summary>1: weighted by an imatrix entry; 0: none is needed; negative: the entry is
        /// missing.</summary>
        public int Imatrix { get; private set; }
        /// <summary>Output file.</summary>
        public int Part { get; private set; }
        /// <summary>Bytes as it is.</summary>
        public ulong BytesIn { get; private set; }
        /// <summary>Bytes to be.</summary>
        public ulong BytesOut { get; private set; }
        /// <summary>From a run with JobRunFlags.Measure, else null.</summary>
        public double? Rmse { get; private set; }
        /// <summary>Result of the last run.</summary>
        public double Seconds { get; private set; }

        internal PlannedTensor(NativeJobTensor* t)
        {
            Name = Native.Text(t->name, (long)t->name_length);
            Ne = new ulong[t->n_dims];
            for (int i = 0; i < Ne.Length; i++) Ne[i] = t->ne[i];
            From = (TensorType)t->from;
            To = (TensorType)t->to;
            Wanted = (TensorType)t->wanted;
            Reason = (JobReason)t->reason;
            Imatrix = t->imatrix;
            Part = (int)t->part;
            BytesIn = t->bytes_in;
            BytesOut = t->bytes_out;
            Rmse = t->rmse < 0 ? (double?)null : t->rmse;
            Seconds = t->seconds;
        }
    }

    /// <summary>How a plan is run; the default writes the whole file.</summary>
    public sealed class RunOptions
    {
        /// <summary>Flags; none is the default.</summary>
        public JobRunFlags Flags { get; set; }
        /// <summary>Number of this run, from 1; 0: no shards.</summary>
        public uint Shard { get; set; }
        /// <summary>How many runs share the work; Finish ends it.</summary>
        public uint Shards { get; set; }
        /// <summary>Called after each tensor, on the thread of the run.</summary>
        public Action<long, PlannedTensor> TensorDone { get; set; }
        /// <summary>Ends the call when it is cancelled.</summary>
        public CancellationToken Token { get; set; }
        /// <summary>In bytes of input.</summary>
        public IProgress<Progress> Progress { get; set; }
    }

    /// <summary>A quantization that is planned, runs, or has run; keeps its file.</summary>
    public sealed unsafe class Quantizer : IDisposable
    {
        private readonly JobHandle _made;

        internal JobHandle Handle { get { return _made.Live(this); } }

        /// <summary>Plan the quantization of a file by a recipe.</summary>
        public Quantizer(Runtime rt, GgufFile file, FileType recipe, QuantizerOptions options = null)
        {
            options = options ?? new QuantizerOptions();
            byte[] name = options.ImatrixName == null ? null : Native.Utf8(options.ImatrixName);
            ImatrixHandle held;
            NativeJobOptions o = options.Fill(out held);
            NativeError e;
            try
            {
                fixed (byte* text = name)
                {
                    o.imatrix_name = text;
                    Check.Ok(NativeMethods.ggufx_job_quantize(out _made, rt.Handle, file.Handle, recipe.Id, &o, &e), &e);
                }
            }
            finally { QuantizerOptions.Release(held); }
        }

        /// <summary>Close it. Does not wait: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Facts of it.</summary>
        public QuantizerInfo Info
        {
            get
            {
                var o = default(NativeJobFacts);
                o.struct_size = (uint)sizeof(NativeJobFacts);
                NativeError e;
                Check.Ok(NativeMethods.ggufx_job_info(&o, Handle, &e), &e);
                return new QuantizerInfo
                {
                    Tensors = o.n_tensors, Parts = o.n_parts, Values = o.n_values, BytesIn = o.bytes_in,
                    BytesOut = o.bytes_out, FileBytes = o.file_bytes, Fallbacks = o.n_fallbacks, MissingFromImatrix = o.n_missing,
                };
            }
        }

        /// <summary>Tensor i in the order they are written.</summary>
        public PlannedTensor At(long i)
        {
            var o = default(NativeJobTensor);
            o.struct_size = (uint)sizeof(NativeJobTensor);
            NativeError e;
            using (new Hold(Handle))
            {
                Check.Ok(NativeMethods.ggufx_job_tensor_at(&o, Handle, Native.Size(i), &e), &e);
                return new PlannedTensor(&o);
            }
        }

        /// <summary>All tensors in the order they are written.</summary>
        public IEnumerable<PlannedTensor> Tensors
        {
            get
            {
                long n = (long)Info.Tensors;
                for (long i = 0; i < n; i++) yield return At(i);
            }
        }

        /// <summary>Set per-tensor overrides by a function; null leaves a tensor to the recipe.
        /// Replaces earlier overrides; after a failure the plan is as it was.</summary>
        public void Choose(Func<PlannedTensor, TensorType?> rule)
        {
            var types = new List<uint>();
            foreach (var t in Tensors)
            {
                TensorType? type = rule(t);
                types.Add(type.HasValue ? (uint)type.Value : Native.AllOnes);
            }
            NativeError e;
            fixed (uint* from = types.ToArray())
                Check.Ok(NativeMethods.ggufx_job_set_types(Handle, from, Native.Size(types.Count), &e), &e);
        }

        /// <summary>Quantization error of a type for tensor i: the RMS error of up to maxValues
        /// values (0: all).</summary>
        public double Measure(long i, TensorType type, ulong maxValues = 0, CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            double o;
            NativeProgress native;
            NativeError e;
            using (var hook = Hook.Watching(token, progress))
                Hook.End(hook, NativeMethods.ggufx_job_measure(&o, Handle, Native.Size(i), (uint)type, maxValues, Hook.Fill(hook, &native), &e), &e);
            return o;
        }

        /// <summary>Write the file, whole or not at all; with JobRunFlags.Keep a cancelled run
        /// leaves temporary files, from which a run with JobRunFlags.Resume continues.</summary>
        public void Run(string path, RunOptions options = null)
        {
            options = options ?? new RunOptions();
            var o = default(NativeJobRunOptions);
            o.struct_size = (uint)sizeof(NativeJobRunOptions);
            o.flags = (uint)options.Flags;
            o.shard = options.Shard;
            o.n_shards = options.Shards;
            NativeProgress native;
            NativeError e;
            using (var hook = new Hook { Token = options.Token, Reports = options.Progress, OnTensor = options.TensorDone })
            {
                o.progress = Hook.Fill(hook, &native);
                o.user = hook.User;
                if (options.TensorDone != null) o.tensor_done = Functions.Tensor;
                fixed (byte* text = Native.Utf8(path))
                    Hook.End(hook, NativeMethods.ggufx_job_run(Handle, text, &o, &e), &e);
                hook.Rethrow();
            }
        }

        /// <summary>End the work of shards: check them, write the metadata, rename.</summary>
        public void Finish(string path, CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            NativeProgress native;
            NativeError e;
            using (var hook = Hook.Watching(token, progress))
                fixed (byte* text = Native.Utf8(path))
                    Hook.End(hook, NativeMethods.ggufx_job_finish(Handle, text, Hook.Fill(hook, &native), &e), &e);
        }
    }
}
