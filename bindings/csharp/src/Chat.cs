// Conversations as the template of a model writes them; output of models as answer, reasoning and
// tool calls. Messages, tools and their like are JSON.
// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;

namespace Ggufx
{
    /// <summary>Source of a chat template; unset: the file's template.</summary>
    public sealed class ChatOptions
    {
        /// <summary>A template.</summary>
        public string Text { get; set; }
        /// <summary>The name of one of the file's: "tool_use".</summary>
        public string Name { get; set; }
        /// <summary>A built-in format: "chatml".</summary>
        public string Format { get; set; }
        /// <summary>Value of bos_token in the template; null: the file's.</summary>
        public string BosToken { get; set; }
        /// <summary>Value of eos_token in the template; null: the file's.</summary>
        public string EosToken { get; set; }
    }

    /// <summary>Conversation with template variables; null: not defined.</summary>
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
        /// <summary>Flags: open the assistant's turn, and the thinking mode.</summary>
        public ChatFlags Flags { get; set; }
        /// <summary>Seconds since 1970 in the time of day to be shown.</summary>
        public long? Clock { get; set; }
    }

    /// <summary>A run of bytes that one side wrote: from the end of the run before up to End.</summary>
    public struct ChatRun
    {
        /// <summary>End of the run: byte offset after the last one, in UTF-8.</summary>
        public ulong End { get; internal set; }
        /// <summary>Whether it is from messages, tools or variables.</summary>
        public bool User { get; internal set; }
    }

    /// <summary>Rendered conversation.</summary>
    public sealed class ChatText
    {
        /// <summary>The text.</summary>
        public string Text { get; internal set; }
        /// <summary>Source of each byte: template or user.</summary>
        public ChatRun[] Runs { get; internal set; }
    }

    /// <summary>How the models of a template write reasoning and tool calls; see ggufx_chat_facts.</summary>
    public sealed class ChatInfo
    {
        /// <summary>The template reads the tools of a request.</summary>
        public bool TakesTools { get; internal set; }
        /// <summary>Tool calls that its models write are recognized.</summary>
        public bool Calls { get; internal set; }
        /// <summary>So is reasoning.</summary>
        public bool Reasons { get; internal set; }
        /// <summary>End-of-generation tokens separate the channels of an answer.</summary>
        public bool Channels { get; internal set; }
        /// <summary>Form of tool calls.</summary>
        public ChatCallForm CallForm { get; internal set; }
        /// <summary>Notation of their arguments.</summary>
        public ChatNotation CallNotation { get; internal set; }
        /// <summary>First marker of the first pair, or empty.</summary>
        public string ReasoningOpen { get; internal set; }
        /// <summary>Second marker of that pair.</summary>
        public string ReasoningClose { get; internal set; }
        /// <summary>Text before the name; "ggufxid01" is a placeholder for the call id.</summary>
        public string CallPrefix { get; internal set; }
        /// <summary>Text between the name and the arguments.</summary>
        public string CallMiddle { get; internal set; }
        /// <summary>Text after the arguments.</summary>
        public string CallEnd { get; internal set; }
        /// <summary>Text before the name of a parameter.</summary>
        public string CallBeforeKey { get; internal set; }
        /// <summary>Text between that name and the value.</summary>
        public string CallAfterKey { get; internal set; }
        /// <summary>The same before a value that is no string; empty: as CallAfterKey.</summary>
        public string CallAfterKeyOther { get; internal set; }
        /// <summary>Text after the value of a parameter.</summary>
        public string CallAfterValue { get; internal set; }
        /// <summary>Text around strings, for ChatNotation.Quoted.</summary>
        public string CallQuote { get; internal set; }
    }

    /// Strings that C reads during a call, at pinned addresses.
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

        /// <summary>Format of the reasoning and the tool calls that the template's models write.</summary>
        public ChatInfo Info
        {
            get
            {
                var o = default(NativeChatFacts);
                o.struct_size = (uint)sizeof(NativeChatFacts);
                NativeError e;
                using (new Hold(Handle)) // and the texts
                {
                    Check.Ok(NativeMethods.ggufx_chat_info(&o, Handle, &e), &e);
                    return new ChatInfo
                    {
                        TakesTools = (o.flags & (uint)ChatFeatures.TakesTools) != 0,
                        Calls = (o.flags & (uint)ChatFeatures.Calls) != 0,
                        Reasons = (o.flags & (uint)ChatFeatures.Reasons) != 0,
                        Channels = (o.flags & (uint)ChatFeatures.Channels) != 0,
                        CallForm = (ChatCallForm)o.call_form,
                        CallNotation = (ChatNotation)o.call_notation,
                        ReasoningOpen = Native.Text(o.reasoning_open),
                        ReasoningClose = Native.Text(o.reasoning_close),
                        CallPrefix = Native.Text(o.call_prefix),
                        CallMiddle = Native.Text(o.call_middle),
                        CallEnd = Native.Text(o.call_end),
                        CallBeforeKey = Native.Text(o.call_before_key),
                        CallAfterKey = Native.Text(o.call_after_key),
                        CallAfterKeyOther = Native.Text(o.call_after_key_other),
                        CallAfterValue = Native.Text(o.call_after_value),
                        CallQuote = Native.Text(o.call_quote),
                    };
                }
            }
        }

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

        /// <summary>Rendered text of a conversation, and the source of each byte.</summary>
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

        /// <summary>Token ids of a conversation; user text never becomes a control token. flags:
        /// AddSpecial.</summary>
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

    /// <summary>Event of the output parser.</summary>
    public struct ChatEvent
    {
        /// <summary>A ChatEventKind.</summary>
        public uint Kind { get; internal set; }
        /// <summary>Number of the tool call, from 0.</summary>
        public ulong Call { get; internal set; }
        /// <summary>Text of the event.</summary>
        public string Text { get; internal set; }
    }

    /// <summary>Position of a parser in the output.</summary>
    public struct ChatParserInfo
    {
        /// <summary>The output is within reasoning.</summary>
        public bool Reasoning { get; internal set; }
        /// <summary>Tool calls so far.</summary>
        public ulong Calls { get; internal set; }
        /// <summary>Marker that ends that reasoning, or empty.</summary>
        public string ReasoningClose { get; internal set; }
    }

    /// <summary>Splits a model's output as it comes into answer, reasoning and tool calls; one call at a time.</summary>
    public sealed unsafe class ChatParser : IDisposable
    {
        private readonly ChatParserHandle _made;
        private readonly Hook _hook;
        private readonly List<ChatEvent> _told = new List<ChatEvent>();

        internal ChatParserHandle Handle { get { return _made.Live(this); } }

        /// <summary>Uses the format of chat; null: all output is answer. prompt: the rendered text,
        /// or its end; tools: a JSON array or null; noCalls: tool calls are text of the answer.
        /// Unsupported: tools are given, and how the template's models write calls is not
        /// known.</summary>
        public ChatParser(Runtime rt, Chat chat, string prompt = "", string tools = null, bool noCalls = false)
        {
            List<ChatEvent> told = _told; // the hook does not keep the parser
            var hook = new Hook { OnEvent = (kind, call, text) => told.Add(new ChatEvent { Kind = kind, Call = call, Text = text }) };
            NativeError e;
            try
            {
                using (var texts = new Texts())
                using (var held = new HeldHandles(1))
                {
                    var o = default(NativeChatParserOptions);
                    o.struct_size = (uint)sizeof(NativeChatParserOptions);
                    o.flags = noCalls ? (uint)ChatParserFlags.NoCalls : 0;
                    o.chat = chat == null ? IntPtr.Zero : held.Add(chat.Handle);
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

        /// <summary>Position in the output.</summary>
        public ChatParserInfo Info
        {
            get
            {
                var o = default(NativeChatParserFacts);
                o.struct_size = (uint)sizeof(NativeChatParserFacts);
                NativeError e;
                using (new Hold(Handle)) // and the marker
                {
                    Check.Ok(NativeMethods.ggufx_chat_parser_info(&o, Handle, &e), &e);
                    return new ChatParserInfo
                    {
                        Reasoning = (o.flags & (uint)ChatParserStateFlags.Reasoning) != 0, Calls = o.n_calls,
                        ReasoningClose = Native.Text(o.reasoning_close),
                    };
                }
            }
        }

        private ChatEvent[] Take()
        {
            ChatEvent[] told = _told.ToArray();
            _told.Clear();
            return told;
        }

        /// <summary>Parse the next bytes of the output, with special tokens written; their events.</summary>
        public ChatEvent[] Feed(ReadOnlySpan<byte> text)
        {
            NativeError e;
            byte none;
            fixed (byte* from = &MemoryMarshal.GetReference(text))
                Check.Ok(NativeMethods.ggufx_chat_parser_feed(Handle, from == null ? &none : from, Native.Size(text.Length), &e), &e);
            GC.KeepAlive(this); // and its hook
            return Take();
        }

        /// <summary>More output.</summary>
        public ChatEvent[] Feed(string text) { return Feed(Encoding.UTF8.GetBytes(text)); }

        /// <summary>End the output; returns the events of withheld text.</summary>
        public ChatEvent[] Finish()
        {
            NativeError e;
            Check.Ok(NativeMethods.ggufx_chat_parser_finish(Handle, &e), &e);
            GC.KeepAlive(this);
            return Take();
        }
    }
}
