// In-place edits of the keys and names of a file.
// SPDX-License-Identifier: MIT
using System;
using System.Threading;

namespace Ggufx
{
    /// <summary>Result of an edit.</summary>
    public sealed class EditInfo
    {
        /// <summary>Tensor data stay where they are, unread and unwritten.</summary>
        public bool InPlace { get; internal set; }
        /// <summary>Size of the file after the edit, in bytes.</summary>
        public ulong Bytes { get; internal set; }
        /// <summary>Room that is left for later edits.</summary>
        public ulong ReserveBytes { get; internal set; }
        /// <summary>Bytes written.</summary>
        public ulong Written { get; internal set; }
    }

    public sealed unsafe partial class Writer
    {
        private static NativeEditFacts EditFacts()
        {
            var facts = default(NativeEditFacts);
            facts.struct_size = (uint)sizeof(NativeEditFacts);
            return facts;
        }

        private static NativeEditOptions EditOptions(EditFlags flags)
        {
            var o = default(NativeEditOptions);
            o.struct_size = (uint)sizeof(NativeEditOptions);
            o.flags = (uint)flags;
            return o;
        }

        private static EditInfo Told(NativeEditFacts facts)
        {
            return new EditInfo { InPlace = facts.in_place != 0, Bytes = facts.n_bytes, ReserveBytes = facts.reserve_bytes, Written = facts.n_written };
        }

        /// <summary>Describes the effect of Edit: the writer holds the new content.</summary>
        public EditInfo PlanEdit(GgufFile file, EditFlags flags = 0)
        {
            var facts = EditFacts();
            var o = EditOptions(flags);
            NativeError e;
            Check.Ok(NativeMethods.ggufx_edit_info(&facts, Handle, file.Handle, &o, &e), &e);
            return Told(facts);
        }

        /// <summary>Make the edit to the file at the path, from which `file` was opened: in place
        /// if the keys fit, else as a new file.</summary>
        public EditInfo Edit(GgufFile file, string path, EditFlags flags = 0, CancellationToken token = default(CancellationToken), IProgress<Progress> progress = null)
        {
            var facts = EditFacts();
            var o = EditOptions(flags);
            NativeProgress native;
            NativeError e;
            using (var hook = Hook.Watching(token, progress))
            {
                o.progress = Hook.Fill(hook, &native);
                fixed (byte* text = Native.Utf8(path))
                    Hook.End(hook, NativeMethods.ggufx_edit_write(&facts, Handle, file.Handle, text, &o, &e), &e);
            }
            return Told(facts);
        }

        /// <summary>Finish an in-place edit interrupted by a crash; false: there was
        /// none.</summary>
        public static bool RecoverEdit(Runtime rt, string path)
        {
            int o;
            NativeError e;
            fixed (byte* text = Native.Utf8(path))
                Check.Ok(NativeMethods.ggufx_edit_recover(&o, rt.Handle, text, &e), &e);
            return o != 0;
        }
    }
}
