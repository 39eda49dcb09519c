// Stop strings.
// SPDX-License-Identifier: MIT
using System;
using System.Runtime.InteropServices;

namespace Ggufx
{
    /// <summary>Progress of the search; bytes from Shown to Taken are withheld.</summary>
    public struct StopInfo
    {
        /// <summary>Index of the stop string found; -1: none yet.</summary>
        public int Found { get; internal set; }
        /// <summary>Fed bytes that belong to no stop string and cannot begin one.</summary>
        public ulong Shown { get; internal set; }
        /// <summary>Bytes searched: all, or up to the end of the stop string found.</summary>
        public ulong Taken { get; internal set; }
    }

    /// <summary>Streaming search for stop strings; one call at a time.</summary>
    public sealed unsafe class Stop : IDisposable
    {
        private readonly StopHandle _made;

        internal StopHandle Handle { get { return _made.Live(this); } }

        /// <summary>Search for these stop strings; the error's index is an empty one.</summary>
        public Stop(Runtime rt, params string[] texts)
        {
            NativeError e;
            var of = new NativeStopText[texts.Length + 1];
            using (var kept = new Texts())
            {
                for (int i = 0; i < texts.Length; i++) of[i].text = kept.Add(texts[i], out of[i].length);
                fixed (NativeStopText* from = of)
                    Check.Ok(NativeMethods.ggufx_stop_create(out _made, rt.Handle, from, Native.Size(texts.Length), &e), &e);
            }
        }

        /// <summary>Close it. Does not wait: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>The next bytes; STATE once a stop string was found.</summary>
        public StopInfo Feed(ReadOnlySpan<byte> text)
        {
            var o = default(NativeStopFacts);
            o.struct_size = (uint)sizeof(NativeStopFacts);
            NativeError e;
            byte none;
            fixed (byte* from = &MemoryMarshal.GetReference(text))
                Check.Ok(NativeMethods.ggufx_stop_feed(&o, Handle, from == null ? &none : from, Native.Size(text.Length), &e), &e);
            return new StopInfo { Found = o.found, Shown = o.n_shown, Taken = o.n_taken };
        }

        /// <summary>Restart for another text.</summary>
        public void Reset()
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_stop_reset(Handle, &e), &e);
        }
    }
}
