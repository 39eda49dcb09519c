// Conversations as the template of a model writes them, and what a model says told apart. Messages,
// tools and their like are JSON.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;

namespace Ggufx
{
    /// <summary>Where a template comes from; nothing set is that of the file.</summary>
    public sealed class ChatOptions
    {
        /// <summary>A template.</summary>
        public string Text { get; set; }
        /// <summary>The name of one of the file's: "tool_use".</summary>
        public string Name { get; set; }
        /// <summary>A built-in format: "chatml".</summary>
        public string Format { get; set; }
        /// <summary>What the template finds as bos_token; null: that of the file.</summary>
        public string BosToken { get; set; }
        /// <summary>What the template finds as eos_token; null: that of the file.</summary>
        public string EosToken { get; set; }
    }

    /// <summary>A conversation and what a template may know beside it; null: not defined.</summary>
    public sealed class ChatRequest
    {
        /// <summary>A JSON array of turns: [{"role": "user", "content": "Hi"}].</summary>
        public string Messages { get; set; }
        /// <summary>A JSON array of functions.</summary>
        public string Tools { get; set; }
        /// <summary>A JSON array.</summary>
        public string Documents { get; set; }
        /// <summary>A JSON object: any other variables.</summary>
        public string Variables { get; set; }
        /// <summary>"low", "medium", "high".</summary>
        public string ReasoningEffort { get; set; }
        /// <summary>Whether the assistant's turn is opened, and what is said of thinking.</summary>
        public ChatFlags Flags { get; set; }
        /// <summary>Seconds since 1970 in the time of day to be shown.</summary>
        public long? Clock { get; set; }
    }

    /// <summary>A run of bytes that one side wrote: from the end of the run before up to End.</summary>
    public struct ChatRun
    {
        /// <summary>Byte of the UTF-8 behind the last one.</summary>
        public ulong End { get; internal set; }
        /// <summary>Whether it is from messages, tools or variables.</summary>
        public bool User { get; internal set; }
    }

    /// <summary>A conversation as text.</summary>
    public sealed class ChatText
    {
        /// <summary>The text.</summary>
        public string Text { get; internal set; }
        /// <summary>Whose its bytes are.</summary>
        public ChatRun[] Runs { get; internal set; }
    }

    /// Texts that C reads during a call, at addresses that stay.
    internal sealed unsafe class Texts : IDisposable
    {
        private readonly List<GCHandle> _pinned = new List<GCHandle>();

        internal byte* Add(string text, out UIntPtr length)
        {
            length = UIntPtr.Zero;
            if (text == null) return null;
            byte[] bytes = Encoding.UTF8.GetBytes(text + "\0");
            length = Native.Size(bytes.Length - 1);
            var pinned = GCHandle.Alloc(bytes, GCHandleType.Pinned);
            _pinned.Add(pinned);
            return (byte*)pinned.AddrOfPinnedObject();
        }

        public void Dispose()
        {
            foreach (GCHandle pinned in _pinned) pinned.Free();
            _pinned.Clear();
        }
    }

    /// <summary>A compiled template, immutable.</summary>
    public sealed unsafe class Chat : IDisposable
    {
        private readonly ChatHandle _made;

        internal ChatHandle Handle { get { return _made.Live(this); } }

        /// <summary>Compile a template; file may be null where it is not needed.</summary>
        public Chat(Runtime rt, GgufFile file, ChatOptions options = null)
        {
            options = options ?? new ChatOptions();
            NativeError e;
            using (var texts = new Texts())
            {
                var o = default(NativeChatOptions);
                o.struct_size = (uint)sizeof(NativeChatOptions);
                o.text = texts.Add(options.Text, out o.text_length);
                o.name = texts.Add(options.Name, out o.name_length);
                o.format = texts.Add(options.Format, out o.format_length);
                o.bos_token = texts.Add(options.BosToken, out o.bos_token_length);
                o.eos_token = texts.Add(options.EosToken, out o.eos_token_length);
                int status = file == null
                    ? NativeMethods.ggufx_chat_create_alone(out _made, rt.Handle, IntPtr.Zero, &o, &e)
                    : NativeMethods.ggufx_chat_create(out _made, rt.Handle, file.Handle, &o, &e);
                Check.Ok(status, &e);
            }
        }

        /// <summary>Close it. Does not wait: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        /// <summary>Names of the built-in formats.</summary>
        public static IReadOnlyList<string> Formats
        {
            get
            {
                var names = new List<string>();
                for (;;)
                {
                    byte* name = NativeMethods.ggufx_chat_format_name(Native.Size(names.Count));
                    if (name == null) return names;
                    names.Add(Native.Text(name));
                }
            }
        }

        /// <summary>The marks that the template's text knows.</summary>
        public ChatStyles Styles { get { return (ChatStyles)NativeMethods.ggufx_chat_styles(Handle); } }

        private static NativeChatRequest Fill(ChatRequest request, Texts texts)
        {
            var r = default(NativeChatRequest);
            r.struct_size = (uint)sizeof(NativeChatRequest);
            r.flags = (uint)request.Flags;
            if (request.Clock.HasValue) r.flags |= (uint)ChatFlags.Clock;
            r.clock = request.Clock ?? 0;
            r.messages_json = texts.Add(request.Messages, out r.messages_json_length);
            r.tools = texts.Add(request.Tools, out r.tools_length);
            r.documents = texts.Add(request.Documents, out r.documents_length);
            r.variables = texts.Add(request.Variables, out r.variables_length);
            r.reasoning_effort = texts.Add(request.ReasoningEffort, out r.reasoning_effort_length);
            return r;
        }

        /// <summary>The text of a conversation, and whose each byte is.</summary>
        public ChatText Render(ChatRequest request)
        {
            var bytes = new byte[4096];
            var runs = new NativeChatRun[64];
            using (var texts = new Texts())
            {
                NativeChatRequest r = Fill(request, texts);
                for (;;)
                {
                    UIntPtr needed, n;
                    NativeError e;
                    int status;
                    fixed (byte* to = bytes)
                    fixed (NativeChatRun* at = runs)
                        status = NativeMethods.ggufx_chat_render(to, Native.Size(bytes.Length), &needed, at, Native.Size(runs.Length), &n, Handle, &r, &e);
                    if (status != (int)Status.Capacity)
                    {
                        Check.Ok(status, &e);
                        var said = new ChatRun[(int)n];
                        for (int i = 0; i < said.Length; i++) said[i] = new ChatRun { End = runs[i].end, User = runs[i].user != 0 };
                        return new ChatText { Text = Encoding.UTF8.GetString(bytes, 0, (int)needed), Runs = said };
                    }
                    bytes = new byte[(int)needed + 1];
                    runs = new NativeChatRun[(int)n + 1];
                }
            }
        }

        /// <summary>Ids of a conversation, in which no text of a user is a control token. flags: AddSpecial.</summary>
        public int[] Tokenize(Tokenizer tokenizer, ChatRequest request, TokenizeFlags flags = 0)
        {
            var ids = new int[1024];
            using (var texts = new Texts())
            {
                NativeChatRequest r = Fill(request, texts);
                for (;;)
                {
                    UIntPtr needed;
                    NativeError e;
                    int status;
                    fixed (int* to = ids)
                        status = NativeMethods.ggufx_chat_tokenize(to, Native.Size(ids.Length), &needed, Handle, tokenizer.Handle, &r, (uint)flags, &e);
                    if (status != (int)Status.Capacity) Check.Ok(status, &e);
                    Array.Resize(ref ids, (int)needed);
                    if (status != (int)Status.Capacity) return ids;
                }
            }
        }
    }

    /// <summary>A piece of what a model says.</summary>
    public struct ChatEvent
    {
        /// <summary>Constants.ChatAnswer, ChatReasoning, ChatCallName, ChatCallArguments.</summary>
        public uint Kind { get; internal set; }
        /// <summary>Counts the calls of tools from 0.</summary>
        public ulong Call { get; internal set; }
        /// <summary>The piece.</summary>
        public string Text { get; internal set; }
    }

    /// <summary>Tells a model's output apart as it comes; one call at a time.</summary>
    public sealed unsafe class ChatParser : IDisposable
    {
        private readonly ChatParserHandle _made;
        private readonly Hook _hook;
        private readonly List<ChatEvent> _told = new List<ChatEvent>();

        internal ChatParserHandle Handle { get { return _made.Live(this); } }

        /// <summary>prompt: what was rendered, or its end; tools: a JSON array or null.</summary>
        public ChatParser(Runtime rt, ChatStyles styles, string prompt = "", string tools = null)
        {
            List<ChatEvent> told = _told; // the hook does not keep the parser
            var hook = new Hook { OnEvent = (kind, call, text) => told.Add(new ChatEvent { Kind = kind, Call = call, Text = text }) };
            NativeError e;
            try
            {
                using (var texts = new Texts())
                {
                    var o = default(NativeChatParserOptions);
                    o.struct_size = (uint)sizeof(NativeChatParserOptions);
                    o.styles = (uint)styles;
                    o.prompt = texts.Add(prompt, out o.prompt_length);
                    o.tools = texts.Add(tools, out o.tools_length);
                    o.user = hook.User;
                    o.event_ = Functions.Event;
                    Check.Ok(NativeMethods.ggufx_chat_parser_create(out _made, rt.Handle, &o, &e), &e);
                }
            }
            catch
            {
                hook.Dispose();
                GC.SuppressFinalize(this);
                throw;
            }
            _hook = hook;
        }

        /// Frees the hook of one that was not closed.
        ~ChatParser()
        {
            if (_hook != null) _hook.Dispose();
        }

        /// <summary>Close it. Does not wait: a call that runs on another thread ends with its result and frees it.</summary>
        public void Dispose() { _made.Dispose(); }

        private ChatEvent[] Take()
        {
            ChatEvent[] told = _told.ToArray();
            _told.Clear();
            return told;
        }

        /// <summary>The next bytes of the output, with special tokens written; what is told of them.</summary>
        public ChatEvent[] Feed(ReadOnlySpan<byte> text)
        {
            NativeError e;
            byte none;
            fixed (byte* from = &MemoryMarshal.GetReference(text))
                Check.Ok(NativeMethods.ggufx_chat_parser_feed(Handle, from == null ? &none : from, Native.Size(text.Length), &e), &e);
            GC.KeepAlive(this); // and its hook
            return Take();
        }

        /// <summary>The next piece of the output.</summary>
        public ChatEvent[] Feed(string text) { return Feed(Encoding.UTF8.GetBytes(text)); }

        /// <summary>The output has ended; what was held back.</summary>
        public ChatEvent[] Finish()
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_chat_parser_finish(Handle, &e), &e);
            GC.KeepAlive(this);
            return Take();
        }
    }
}
