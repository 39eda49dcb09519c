// LoRA adapters and control vectors.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;

namespace Ggufx
{
    /// <summary>Facts of an adapter.</summary>
    public sealed class AdapterInfo
    {
        /// <summary>LoRA or control vector.</summary>
        public AdapterKind Kind { get; internal set; }
        /// <summary>Tensors of the model, or layers, that something is added to.</summary>
        public uint Targets { get; internal set; }
        /// <summary>Largest rank; 0 for a control vector.</summary>
        public uint Rank { get; internal set; }
        /// <summary>0: none.</summary>
        public double Alpha { get; internal set; }
        /// <summary>Equal for adapters with equal content and options.</summary>
        public ulong Fingerprint { get; internal set; }
        /// <summary>Bytes from the allocator.</summary>
        public ulong MemoryBytes { get; internal set; }
    }

    /// <summary>LoRA adapter or control vector bound to a model. Immutable; keeps its file and the
    /// model alive.</summary>
    public sealed unsafe class Adapter : IDisposable
    {
        private readonly AdapterHandle _made;

        internal AdapterHandle Handle { get { return _made.Live(this); } }

        /// <summary>Bind an adapter's file to a model; for a control vector, only layers firstLayer
        /// to lastLayer, counted from 0, 0 being the last. Status.Mismatch: the message names the
        /// tensor that does not fit.</summary>
        public Adapter(Model model, GgufFile file, uint firstLayer = 0, uint lastLayer = 0)
        {
            var o = default(NativeAdapterOptions);
            o.struct_size = (uint)sizeof(NativeAdapterOptions);
            o.first_layer = firstLayer;
            o.last_layer = lastLayer;
            NativeError e;
            Check.Ok(NativeMethods.ggufx_adapter_create(out _made, model.Handle, file.Handle, &o, &e), &e);
        }

        /// <summary>Close it. Does not wait: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Facts of it.</summary>
        public AdapterInfo Info
        {
            get
            {
                var o = default(NativeAdapterFacts);
                o.struct_size = (uint)sizeof(NativeAdapterFacts);
                NativeError e;
                Check.Ok(NativeMethods.ggufx_adapter_info(&o, Handle, &e), &e);
                return new AdapterInfo { Kind = (AdapterKind)o.kind, Targets = o.n_targets, Rank = o.rank, Alpha = o.alpha, Fingerprint = o.fingerprint, MemoryBytes = o.memory_bytes };
            }
        }

        /// <summary>Whether it adds something to a tensor of the model's file, by its number.</summary>
        public bool HasTensor(int tensor) { return NativeMethods.ggufx_adapter_has_tensor(Handle, Native.Size(tensor)) == 1; }

        /// <summary>Add the adapter's delta to nRows rows of a tensor of the model's file, as when
        /// the adapter is merged into the model.</summary>
        public void AddRows(Span<float> rows, int tensor, ulong firstRow, ulong nRows, float scale = 1)
        {
            NativeError e;
            fixed (float* p = &MemoryMarshal.GetReference(rows))
                Check.Ok(NativeMethods.ggufx_adapter_add_rows(p, Native.Size(rows.Length), Handle, Native.Size(tensor), firstRow, nRows, scale, &e), &e);
        }
    }

    /// <summary>An adapter among those that are used together.</summary>
    public struct AdapterUse
    {
        /// <summary>An adapter with a scale.</summary>
        public AdapterUse(Adapter adapter, float scale = 1)
        {
            Adapter = adapter;
            Scale = scale;
        }

        /// <summary>Adapter to use.</summary>
        public Adapter Adapter { get; set; }
        /// <summary>Any finite number; 0: it adds nothing.</summary>
        public float Scale { get; set; }

        internal static NativeAdapterUse[] Fill(AdapterUse[] uses, HeldHandles held)
        {
            var list = new NativeAdapterUse[uses.Length];
            for (int i = 0; i < uses.Length; i++)
            {
                if (uses[i].Adapter == null) throw Check.Argument("ARGUMENT: no adapter in use " + i);
                list[i].adapter = held.Add(uses[i].Adapter.Handle);
                list[i].scale = uses[i].Scale;
            }
            return list;
        }
    }

    public sealed unsafe partial class Session
    {
        /// <summary>Let an empty sequence, or Constants.AdapterAllSequences, use these adapters, in
        /// this order, instead of its previous ones. Status.State (Index: the sequence): it has
        /// tokens.</summary>
        public void SetAdapters(uint sequence, params AdapterUse[] uses)
        {
            NativeError e;
            using (var held = new HeldHandles(uses.Length))
                fixed (NativeAdapterUse* list = AdapterUse.Fill(uses, held))
                    Check.Ok(NativeMethods.ggufx_session_set_adapters(Handle, sequence, list, Native.Size(uses.Length), &e), &e);
        }
    }

    public sealed unsafe partial class Embedder
    {
        /// <summary>Set the adapters for all inputs from now on, in this order.</summary>
        public void SetAdapters(params AdapterUse[] uses)
        {
            NativeError e;
            using (var held = new HeldHandles(uses.Length))
                fixed (NativeAdapterUse* list = AdapterUse.Fill(uses, held))
                    Check.Ok(NativeMethods.ggufx_embedder_set_adapters(Handle, list, Native.Size(uses.Length), &e), &e);
        }
    }
}
