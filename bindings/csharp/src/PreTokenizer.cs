// Pre-tokenizer: splits text for byte-level BPE before merges.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;

namespace Ggufx
{
    /// <summary>A pre-tokenizer that the library knows.</summary>
    public sealed unsafe class PreTokenizer
    {
        private PreTokenizer() { }

        /// <summary>tokenizer.ggml.pre, "llama-bpe".</summary>
        public string Name { get; private set; }
        /// <summary>Name of its split rules; equal for equal rules.</summary>
        public string Rules { get; private set; }
        /// <summary>Flags besides the split rules.</summary>
        public PreFlags Flags { get; private set; }
        /// <summary>Its steps in tokenizer.json: S and the pattern of a Split, D single digits, G GPT-2's pattern and bytes, B bytes; null where they are not known.</summary>
        public IReadOnlyList<string> Steps { get; private set; }

        /// <summary>Every one that the library knows.</summary>
        public static IReadOnlyList<PreTokenizer> All()
        {
            var all = new PreTokenizer[(int)NativeMethods.ggufx_tokenizer_pre_count()];
            for (int i = 0; i < all.Length; i++)
            {
                var o = default(NativePreFacts);
                o.struct_size = (uint)sizeof(NativePreFacts);
                NativeError e;
                Check.Ok(NativeMethods.ggufx_tokenizer_pre(&o, Native.Size(i), &e), &e);
                all[i] = new PreTokenizer
                {
                    Name = Native.Text(o.name), Rules = Native.Text(o.rules), Flags = (PreFlags)o.flags,
                    Steps = o.steps == null ? null : Parts(Native.Text(o.steps, (long)o.steps_length)),
                };
            }
            return all;
        }

        /// <summary>Unicode version of the split rules, "15.0.0".</summary>
        public static string UnicodeVersion { get { return Native.Text(NativeMethods.ggufx_tokenizer_unicode()); } }

        // NUL-terminated strings.
        private static string[] Parts(string all)
        {
            string[] parts = all.Split('\0');
            Array.Resize(ref parts, parts.Length - 1);
            return parts;
        }
    }
}
