// Tokens of one conversation, and of many at once.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;

namespace Ggufx
{
    /// <summary>Inputs and outputs of a layer's attention; valid during the call only.</summary>
    public readonly unsafe ref struct AttentionView
    {
        private readonly float* _q, _k, _v, _out;
        private readonly int[] _widths;

        internal AttentionView(uint layer, ulong first, int n, float* q, float* k, float* v, float* o, int[] widths)
        {
            Layer = layer;
            FirstToken = first;
            Tokens = n;
            _q = q;
            _k = k;
            _v = v;
            _out = o;
            _widths = widths;
        }

        /// <summary>Number of the layer.</summary>
        public uint Layer { get; }
        /// <summary>Number of the first token in the conversation.</summary>
        public ulong FirstToken { get; }
        /// <summary>Number of tokens.</summary>
        public int Tokens { get; }
        /// <summary>Queries, [Tokens][Heads][HeadDimK] of the layer.</summary>
        public ReadOnlySpan<float> Q { get { return new ReadOnlySpan<float>(_q, Tokens * _widths[0]); } }
        /// <summary>Keys, [Tokens][KvHeads][HeadDimK].</summary>
        public ReadOnlySpan<float> K { get { return new ReadOnlySpan<float>(_k, Tokens * _widths[1]); } }
        /// <summary>Values, [Tokens][KvHeads][HeadDimV]; empty where they are part of the keys.</summary>
        public ReadOnlySpan<float> V { get { return new ReadOnlySpan<float>(_v, Tokens * _widths[2]); } }
        /// <summary>Output of attention, [Tokens][Heads][HeadDimV].</summary>
        public ReadOnlySpan<float> Out { get { return new ReadOnlySpan<float>(_out, Tokens * _widths[3]); } }
    }

    /// <summary>Looks at attention; false ends the decode with CANCELLED.</summary>
    public delegate bool AttentionHook(AttentionView view);

    internal sealed class ShownAttention
    {
        internal AttentionHook Hook;
        internal int[][] Widths; // of each layer
    }

    public sealed partial class DecodeItem
    {
        /// <summary>Tokens for sequence 0, as the members say.</summary>
        public DecodeItem() {}
        /// <summary>Tokens for a sequence, another one in each item of a call; the logits after the last one.</summary>
        public DecodeItem(uint sequence, int[] tokens, DecodeFlags flags = DecodeFlags.Logits)
        {
            Sequence = sequence;
            Tokens = tokens;
            Flags = flags;
        }
    }

    public sealed partial class LayerFacts
    {
        /// Values per token of queries, keys, values (none where they are part of the keys), results.
        internal int[] Widths()
        {
            uint v = (Flags & LayerFlags.VInK) != 0 ? 0 : KvHeads * HeadDimV;
            return new[] { (int)(Heads * HeadDimK), (int)(KvHeads * HeadDimK), (int)v, (int)(Heads * HeadDimV) };
        }
    }

    public sealed unsafe partial class Session
    {
        private int[][] _widths; // of the layers
        private int _vocab;

        partial void Created(Model model, SessionOptions options)
        {
            ModelFacts info = model.Info;
            _vocab = (int)info.Vocab;
            _widths = new int[info.Layers][];
            for (uint i = 0; i < info.Layers; i++) _widths[i] = model.LayerInfo(i).Widths();
        }

        /// <summary>Decode of one item, and look at the attention of each layer.</summary>
        public void Decode(IReadOnlyList<DecodeItem> items, AttentionHook attention, DecodeOptions options = null,
            Span<float> logits = default(Span<float>))
        {
            Check.Given(attention, "attention");
            NativeDecodeOptions native = DecodeOptions.Blank();
            NativeError e;
            using (Handle.Changing())
            using (var scope = Scope.New())
            {
                DecodeOptions.Of(options, &native, scope);
                var shown = default(NativeAttentionHook);
                shown.struct_size = (uint)sizeof(NativeAttentionHook);
                shown.user = scope.User(new ShownAttention { Hook = attention, Widths = _widths });
                shown.layer = Functions.Layer;
                native.attention = &shown;
                fixed (float* to = &MemoryMarshal.GetReference(logits))
                {
                    native.logits = logits.Length == 0 ? null : to;
                    native.n_logits = Native.Size(logits.Length);
                    scope.End(NativeMethods.ggufx_session_decode(Handle, DecodeItem.Of(items, scope),
                        Native.Size(items.Count), &native, &e), &e);
                }
            }
        }

        /// <summary>Decode with a new array for the rows of logits that the items ask for, in their order.</summary>
        public float[] DecodeRows(IReadOnlyList<DecodeItem> items, DecodeOptions options = null)
        {
            int rows = 0;
            foreach (DecodeItem item in items)
            {
                int all = item.Tokens == null ? 0 : item.Tokens.Length;
                rows += (item.Flags & DecodeFlags.AllLogits) != 0 ? all : (item.Flags & DecodeFlags.Logits) != 0 ? 1 : 0;
            }
            var logits = new float[(long)rows * _vocab];
            Decode(items, options, logits);
            return logits;
        }
    }
}
