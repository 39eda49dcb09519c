// Streaming conversion of token ids to text.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;
using System.Text;

namespace Ggufx
{
    /// <summary>Streaming detokenizer: converts token ids to text and withholds incomplete
    /// characters. One thread at a time.</summary>
    public sealed unsafe class Detokenizer
    {
        private readonly Tokenizer _tokenizer;
        private readonly DetokenizeFlags _flags;
        private NativeDetokenizerState _state;

        /// <summary>Starts at the beginning of a text.</summary>
        public Detokenizer(Tokenizer tokenizer, DetokenizeFlags flags = 0)
        {
            _tokenizer = tokenizer;
            _flags = flags & ~DetokenizeFlags.Flush;
        }

        /// <summary>Bytes of the next ids, without incomplete characters.</summary>
        public byte[] PushBytes(ReadOnlySpan<int> ids) { return Part(ids, _flags); }

        /// <summary>Text of the next ids, without incomplete characters; invalid UTF-8 is
        /// replaced.</summary>
        public string Push(ReadOnlySpan<int> ids) { return Encoding.UTF8.GetString(PushBytes(ids)); }

        /// <summary>Withheld bytes; the next id starts a new text.</summary>
        public byte[] FinishBytes()
        {
            byte[] rest = Part(default(ReadOnlySpan<int>), _flags | DetokenizeFlags.Flush);
            _state = default(NativeDetokenizerState);
            return rest;
        }

        /// <summary>Withheld bytes; the next id starts a new text.</summary>
        public string Finish() { return Encoding.UTF8.GetString(FinishBytes()); }

        private byte[] Part(ReadOnlySpan<int> ids, DetokenizeFlags flags)
        {
            var bytes = new byte[8 * ids.Length + 8];
            _state.flags = (uint)flags;
            UIntPtr needed;
            NativeError e;
            int status;
            do
            {
                fixed (int* from = &MemoryMarshal.GetReference(ids))
                fixed (byte* to = bytes)
                fixed (NativeDetokenizerState* state = &_state)
                    status = NativeMethods.ggufx_detokenize_stream(to, Native.Size(bytes.Length), &needed, state, _tokenizer.Handle, from, Native.Size(ids.Length), &e);
            }
            while (Native.Grows(status, ref bytes, needed));
            Check.Ok(status, &e);
            return Native.Cut(bytes, needed);
        }
    }

    public sealed unsafe partial class Tokenizer
    {
        /// <summary>The text of ids, whose bytes are UTF-8.</summary>
        public string DetokenizeText(ReadOnlySpan<int> ids, DetokenizeFlags flags = 0)
        {
            return Encoding.UTF8.GetString(Detokenize(ids, flags));
        }
    }
}
