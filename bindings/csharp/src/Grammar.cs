// Grammars and constrained decoding: matching texts and allowed tokens.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;

namespace Ggufx
{
    /// <summary>Grammar over a vocabulary, for constrained decoding; immutable.</summary>
    public sealed unsafe class Grammar : IDisposable
    {
        private readonly GrammarHandle _made;

        internal GrammarHandle Handle { get { return _made.Live(this); } }

        /// <summary>Grammar from GBNF.</summary>
        public Grammar(Runtime rt, Tokenizer tokenizer, string gbnf) : this(rt, tokenizer, (uint)GrammarKind.Gbnf, gbnf, 0) { }

        /// <summary>JSON that a schema accepts.</summary>
        public static Grammar JsonSchema(Runtime rt, Tokenizer tokenizer, string schema, GrammarFlags flags = 0)
        {
            return new Grammar(rt, tokenizer, (uint)GrammarKind.JsonSchema, schema, (uint)flags);
        }

        private Grammar(Runtime rt, Tokenizer tokenizer, uint kind, string text, uint flags)
        {
            NativeError e;
            using (var texts = new Texts())
            {
                var o = default(NativeGrammarOptions);
                o.struct_size = (uint)sizeof(NativeGrammarOptions);
                o.kind = kind;
                o.flags = flags;
                o.text = texts.Add(text, out o.text_length);
                Check.Ok(NativeMethods.ggufx_grammar_create(out _made, rt.Handle, tokenizer.Handle, &o, &e), &e);
            }
        }

        /// <summary>Close it; matchers keep theirs. Does not wait: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }
    }

    /// <summary>State of a matcher.</summary>
    public struct MatcherInfo
    {
        /// <summary>The text is complete: it may end here.</summary>
        public bool Whole { get; internal set; }
        /// <summary>A token that ends a generation was accepted.</summary>
        public bool Ended { get; internal set; }
        /// <summary>Tokens accepted and not taken back.</summary>
        public ulong Tokens { get; internal set; }
        /// <summary>Tokens of the vocabulary.</summary>
        public uint Vocab { get; internal set; }
        /// <summary>Words of a mask.</summary>
        public uint Words { get; internal set; }
    }

    /// <summary>State of a text in a grammar; one call at a time.</summary>
    public sealed unsafe class Matcher : IDisposable
    {
        private readonly MatcherHandle _made;

        internal MatcherHandle Handle { get { return _made.Live(this); } }

        /// <summary>Starts at the beginning of a text.</summary>
        public Matcher(Grammar grammar)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_matcher_create(out _made, grammar.Handle, &e), &e);
        }

        private Matcher(Matcher other)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_matcher_clone(out _made, other.Handle, &e), &e);
        }

        /// <summary>Close it. Does not wait: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Copy in the same state, with the same rollback depth.</summary>
        public Matcher Clone() { return new Matcher(this); }

        /// <summary>Current state.</summary>
        public MatcherInfo Info
        {
            get
            {
                var o = default(NativeMatcherFacts);
                o.struct_size = (uint)sizeof(NativeMatcherFacts);
                NativeError e;
                Check.Ok(NativeMethods.ggufx_matcher_info(&o, Handle, &e), &e);
                return new MatcherInfo
                {
                    Whole = (o.flags & (uint)MatcherFlags.Whole) != 0, Ended = (o.flags & (uint)MatcherFlags.Ended) != 0,
                    Tokens = o.n_tokens, Vocab = o.n_vocab, Words = o.n_words,
                };
            }
        }

        /// <summary>Advance by tokens, all of them or none; the error's index is the first that
        /// does not fit.</summary>
        public void Accept(params int[] ids)
        {
            NativeError e;
            fixed (int* from = ids)
                Check.Ok(NativeMethods.ggufx_matcher_accept(Handle, from, Native.Size(ids.Length), &e), &e);
        }

        /// <summary>Roll back the last tokens.</summary>
        public void Rollback(ulong tokens)
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_matcher_rollback(Handle, tokens, &e), &e);
        }

        /// <summary>Allowed next tokens: bit id % 32 of word id / 32; words after the vocabulary
        /// become 0.</summary>
        public void Mask(Span<uint> words)
        {
            NativeError e;
            uint none;
            fixed (uint* to = &MemoryMarshal.GetReference(words))
                Check.Ok(NativeMethods.ggufx_matcher_mask(to == null ? &none : to, Native.Size(words.Length), Handle, &e), &e);
        }

        /// <summary>The same, as a new array.</summary>
        public uint[] Mask()
        {
            var words = new uint[Info.Words];
            Mask(words);
            return words;
        }
    }
}
