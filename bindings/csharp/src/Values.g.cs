// Written by bindings/raw.py from include/ggufx; a test compares them.
// SPDX-License-Identifier: MIT
#pragma warning disable 1573 // parameters whose names tell enough
using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Threading;

namespace Ggufx
{
    /// <summary>Options of an adapter. All zero means default.</summary>
    public sealed partial class AdapterOptions
    {
        /// <summary>Control vector: first layer that it is added to, counted from 0.</summary>
        public uint FirstLayer { get; set; }
        /// <summary>Control vector: last layer that it is added to; 0 = the last one.</summary>
        public uint LastLayer { get; set; }

        internal unsafe void Fill(NativeAdapterOptions* o)
        {
            *o = default(NativeAdapterOptions);
            o->struct_size = (uint)sizeof(NativeAdapterOptions);
            o->first_layer = FirstLayer;
            o->last_layer = LastLayer;
        }

        internal static unsafe NativeAdapterOptions* Of(AdapterOptions from, NativeAdapterOptions* o)
        {
            if (from == null) return null;
            from.Fill(o);
            return o;
        }
    }

    /// <summary>Adapter facts.</summary>
    public sealed partial class AdapterFacts
    {
        /// <summary>Kind.</summary>
        public AdapterKind Kind { get; private set; }
        /// <summary>Tensors (LoRA) or layers (control vector) of the model that it changes.</summary>
        public uint Targets { get; private set; }
        /// <summary>The largest rank; 0 for a control vector.</summary>
        public uint Rank { get; private set; }
        /// <summary>0: none.</summary>
        public double Alpha { get; private set; }
        /// <summary>Equal for adapters with equal content and equal options.</summary>
        public ulong Fingerprint { get; private set; }
        /// <summary>Bytes that it takes from the allocator.</summary>
        public ulong MemoryBytes { get; private set; }

        internal unsafe AdapterFacts(NativeAdapterFacts* o)
        {
            Kind = (AdapterKind)o->kind;
            Targets = o->n_targets;
            Rank = o->rank;
            Alpha = o->alpha;
            Fingerprint = o->fingerprint;
            MemoryBytes = o->memory_bytes;
        }
    }

    /// <summary>One adapter of a list, with its scale. The struct never grows.</summary>
    public partial struct AdapterUse
    {
        /// <summary>Need not outlive the call.</summary>
        public Adapter Adapter { get; set; }
        /// <summary>Any finite number; 0: it adds nothing.</summary>
        public float Scale { get; set; }

        internal unsafe void Fill(NativeAdapterUse* o, Scope scope)
        {
            *o = default(NativeAdapterUse);
            o->adapter = scope.Object(Adapter == null ? null : Adapter.Handle);
            o->scale = Scale;
        }

        internal static unsafe NativeAdapterUse* Of(IReadOnlyList<AdapterUse> from, Scope scope)
        {
            if (from == null) return null;
            var list = (NativeAdapterUse*)scope.Memory(from.Count, sizeof(NativeAdapterUse));
            for (int i = 0; i < from.Count; i++) from[i].Fill(&list[i], scope);
            return list;
        }
    }

    /// <summary>Options of a runtime. All zero means default.</summary>
    public sealed partial class RuntimeOptions
    {
        /// <summary>Log of the host. It gets one line of UTF-8 without a newline. It may be called from worker threads, and never
        /// while a lock is held. Without a log the library is silent.</summary>
        public Action<LogLevel, string> Log { get; set; }
        /// <summary>Threads of the own pool, the caller's included. 0 = one per usable processor, which is also the maximum: more
        /// would only take turns.</summary>
        public uint Threads { get; set; }
        /// <summary>Isa, at most what was detected; Status.Unsupported if it is absent.</summary>
        public Isa Isa { get; set; }
        /// <summary>Workspace per concurrent call, allocated at creation; 0 = default.</summary>
        public ulong WorkspaceBytes { get; set; }

        internal unsafe void Fill(NativeRuntimeOptions* o, Scope scope)
        {
            *o = default(NativeRuntimeOptions);
            o->struct_size = (uint)sizeof(NativeRuntimeOptions);
            o->log = Log == null ? null : (NativeLog*)scope.Memory(1, sizeof(NativeLog));
            if (Log != null) *o->log = new NativeLog { struct_size = (uint)sizeof(NativeLog), user = new Callback(Log).User,
                write = Callbacks.LogWrite, destroy = Functions.Destroy };
            o->threads = Threads;
            o->isa = (int)Isa;
            o->workspace_bytes = WorkspaceBytes;
        }

        internal static unsafe NativeRuntimeOptions* Of(RuntimeOptions from, NativeRuntimeOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>Runtime facts.</summary>
    public sealed partial class RuntimeFacts
    {
        /// <summary>Isa in use.</summary>
        public Isa Isa { get; private set; }
        /// <summary>Workers that a call may use.</summary>
        public uint Threads { get; private set; }
        /// <summary>CpuFeatures detected in this process.</summary>
        public CpuFeatures Features { get; private set; }
        /// <summary>"avx512"; valid for the life of the process.</summary>
        public string IsaName { get; private set; }
        /// <summary>"mimalloc", "system" or "host"; valid for the life of the process.</summary>
        public string AllocatorName { get; private set; }
        /// <summary>As in the options, or the default.</summary>
        public ulong WorkspaceBytes { get; private set; }

        internal unsafe RuntimeFacts(NativeRuntimeFacts* o)
        {
            Isa = (Isa)o->isa;
            Threads = o->threads;
            Features = (CpuFeatures)o->features;
            IsaName = Native.Text(o->isa_name);
            AllocatorName = Native.Text(o->allocator_name);
            WorkspaceBytes = o->workspace_bytes;
        }
    }

    /// <summary>Tokens to append to a sequence. Unused fields must be 0.</summary>
    public sealed partial class DecodeItem
    {
        /// <summary>Flags.</summary>
        public DecodeFlags Flags { get; set; }
        /// <summary>Below Sequences; each item of a call has another one.</summary>
        public uint Sequence { get; set; }
        /// <summary>Read by the call only; null: with InputRows alone.</summary>
        public int[] Tokens { get; set; }
        /// <summary>f32 [NTokens][Embedding], finite: the input of the first layer, such as an image or a soft prompt. null: the
        /// embeddings of the tokens. They replace the rows of token_embd, including the factor that some models apply. Learned
        /// positions are added as usual. Tokens are then only used if a model looks ids up elsewhere; null means id 0. The rows
        /// are kept as long as their tokens may be recomputed.</summary>
        public float[] InputRows { get; set; }
        /// <summary>Positions, ascending, after that of the sequence's last token; null: without gaps.</summary>
        public int[] Positions { get; set; }

        internal unsafe void Fill(NativeDecodeItem* o, Scope scope)
        {
            *o = default(NativeDecodeItem);
            o->struct_size = (uint)sizeof(NativeDecodeItem);
            o->flags = (uint)Flags;
            o->sequence = Sequence;
            o->n_tokens = Native.Size(Check.Same("Tokens, Positions", Tokens == null ? 0 : Tokens.Length,
                Positions == null ? 0 : Positions.Length));
            o->tokens = (int*)scope.Array(Tokens);
            o->input_rows = (float*)scope.Array(InputRows);
            o->n_input_rows = Native.Size(InputRows == null ? 0 : InputRows.Length);
            o->positions = (int*)scope.Array(Positions);
        }

        internal static unsafe NativeDecodeItem* Of(DecodeItem from, NativeDecodeItem* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }

        internal static unsafe NativeDecodeItem* Of(IReadOnlyList<DecodeItem> from, Scope scope)
        {
            if (from == null) return null;
            var list = (NativeDecodeItem*)scope.Memory(from.Count, sizeof(NativeDecodeItem));
            for (int i = 0; i < from.Count; i++) from[i].Fill(&list[i], scope);
            return list;
        }
    }

    /// <summary>Decode options.</summary>
    public sealed partial class DecodeOptions
    {
        /// <summary>Flags.</summary>
        public DecodeOptionsFlags Flags { get; set; }
        /// <summary>Cancels the call.</summary>
        public CancellationToken Token { get; set; }
        /// <summary>Counts tokens.</summary>
        public IProgress<Progress> Progress { get; set; }
        /// <summary>MatmulFlags with DecodeOptionsFlags.HasMatmulFlags, else 0.</summary>
        public MatmulFlags? MatmulFlags { get; set; }

        internal static unsafe NativeDecodeOptions Blank()
        {
            var o = default(NativeDecodeOptions);
            o.struct_size = (uint)sizeof(NativeDecodeOptions);
            return o;
        }

        internal unsafe void Fill(NativeDecodeOptions* o, Scope scope)
        {
            *o = Blank();
            o->flags = (uint)Flags;
            o->progress = scope.Follow(Token, Progress);
            if (MatmulFlags.HasValue) o->flags |= (uint)DecodeOptionsFlags.HasMatmulFlags;
            o->matmul_flags = (uint)MatmulFlags.GetValueOrDefault();
        }

        internal static unsafe NativeDecodeOptions* Of(DecodeOptions from, NativeDecodeOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>Options of a template. Texts are UTF-8.</summary>
    public sealed partial class ChatTemplateOptions
    {
        /// <summary>A template; absent: that of the file, or Format.</summary>
        public string Text { get; set; }
        /// <summary>A named template of the file, tokenizer.chat_template.NAME: "tool_use".</summary>
        public string Name { get; set; }
        /// <summary>A built-in format in place of a template: "chatml".</summary>
        public string Format { get; set; }
        /// <summary>The variable BosToken; absent: that of the file, if it has one.</summary>
        public string BosToken { get; set; }
        /// <summary>The variable EosToken; absent: that of the file, if it has one.</summary>
        public string EosToken { get; set; }

        internal unsafe void Fill(NativeChatTemplateOptions* o, Scope scope)
        {
            *o = default(NativeChatTemplateOptions);
            o->struct_size = (uint)sizeof(NativeChatTemplateOptions);
            o->text.data = scope.Text(Text, out o->text.size);
            o->name.data = scope.Text(Name, out o->name.size);
            o->format.data = scope.Text(Format, out o->format.size);
            o->bos_token.data = scope.Text(BosToken, out o->bos_token.size);
            o->eos_token.data = scope.Text(EosToken, out o->eos_token.size);
        }

        internal static unsafe NativeChatTemplateOptions* Of(ChatTemplateOptions from, NativeChatTemplateOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>A message of a conversation. Texts are UTF-8. Extra has further members that templates read: name, tool_call_id,
    /// reasoning_content.</summary>
    public sealed partial class ChatMessage
    {
        /// <summary>"system", "user", "assistant" or "tool".</summary>
        public string Role { get; set; }
        /// <summary>Absent: null, unless there are parts.</summary>
        public string Content { get; set; }
        /// <summary>JSON array in place of content: [{"type": "text", "text": "..."}].</summary>
        public string Parts { get; set; }
        /// <summary>JSON array: [{"type": "function", "function": {...}}].</summary>
        public string ToolCalls { get; set; }
        /// <summary>JSON object.</summary>
        public string Extra { get; set; }

        internal unsafe void Fill(NativeChatMessage* o, Scope scope)
        {
            *o = default(NativeChatMessage);
            o->struct_size = (uint)sizeof(NativeChatMessage);
            o->role.data = scope.Text(Role, out o->role.size);
            o->content.data = scope.Text(Content, out o->content.size);
            o->parts.data = scope.Text(Parts, out o->parts.size);
            o->tool_calls.data = scope.Text(ToolCalls, out o->tool_calls.size);
            o->extra.data = scope.Text(Extra, out o->extra.size);
        }

        internal static unsafe NativeChatMessage* Of(ChatMessage from, NativeChatMessage* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }

        internal static unsafe NativeChatMessage* Of(IReadOnlyList<ChatMessage> from, Scope scope)
        {
            if (from == null) return null;
            var list = (NativeChatMessage*)scope.Memory(from.Count, sizeof(NativeChatMessage));
            for (int i = 0; i < from.Count; i++) from[i].Fill(&list[i], scope);
            return list;
        }
    }

    /// <summary>Input of a chat template. Texts are UTF-8; absent: the variable is undefined. A step takes about 20 ns, and a
    /// function of the template takes steps by the bytes that it reads and writes.</summary>
    public sealed partial class ChatRequest
    {
        /// <summary>Flags.</summary>
        public ChatFlags Flags { get; set; }
        /// <summary>Messages.</summary>
        public IReadOnlyList<ChatMessage> Messages { get; set; }
        /// <summary>JSON array of all messages, in place of Messages.</summary>
        public string MessagesJson { get; set; }
        /// <summary>JSON array of functions.</summary>
        public string Tools { get; set; }
        /// <summary>JSON array.</summary>
        public string Documents { get; set; }
        /// <summary>JSON object of further variables; may also name those above.</summary>
        public string Variables { get; set; }
        /// <summary>"none", "minimal", "low", "medium", "high", "xhigh".</summary>
        public string ReasoningEffort { get; set; }
        /// <summary>Local time as seconds since 1970-01-01 00:00.</summary>
        public long UnixTime { get; set; }
        /// <summary>Steps of the template; 0 = 1,000,000, plus 128 per byte of input.</summary>
        public ulong MaxSteps { get; set; }
        /// <summary>Bytes of its values; 0 = 32 MiB, plus 64 per byte of input.</summary>
        public ulong MaxMemory { get; set; }
        /// <summary>Bytes of output; 0 = 32 MiB, plus 16 per byte of input.</summary>
        public ulong MaxOutput { get; set; }
        /// <summary>Cancels the call.</summary>
        public CancellationToken Token { get; set; }
        /// <summary>Steps done, of an unknown total.</summary>
        public IProgress<Progress> Progress { get; set; }

        internal unsafe void Fill(NativeChatRequest* o, Scope scope)
        {
            *o = default(NativeChatRequest);
            o->struct_size = (uint)sizeof(NativeChatRequest);
            o->flags = (uint)Flags;
            o->messages = ChatMessage.Of(Messages, scope);
            o->n_messages = Native.Size(Messages == null ? 0 : Messages.Count);
            o->messages_json.data = scope.Text(MessagesJson, out o->messages_json.size);
            o->tools.data = scope.Text(Tools, out o->tools.size);
            o->documents.data = scope.Text(Documents, out o->documents.size);
            o->variables.data = scope.Text(Variables, out o->variables.size);
            o->reasoning_effort.data = scope.Text(ReasoningEffort, out o->reasoning_effort.size);
            o->unix_time = UnixTime;
            o->max_steps = MaxSteps;
            o->max_memory = MaxMemory;
            o->max_output = MaxOutput;
            o->progress = scope.Follow(Token, Progress);
        }

        internal static unsafe NativeChatRequest* Of(ChatRequest from, NativeChatRequest* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>A span of prompt bytes with one origin, from the end of the previous span up to End.</summary>
    public sealed partial class ChatSpan
    {
        /// <summary>Offset after its last byte.</summary>
        public ulong End { get; private set; }
        /// <summary>From messages, tools or variables; 0: from the template.</summary>
        public bool User { get; private set; }

        internal unsafe ChatSpan(NativeChatSpan* o)
        {
            End = o->end;
            User = o->user != 0;
        }

        internal static unsafe ChatSpan[] All(NativeChatSpan* from, int n)
        {
            var all = new ChatSpan[n];
            for (int i = 0; i < n; i++) all[i] = new ChatSpan(&from[i]);
            return all;
        }
    }

    /// <summary>Format of the reasoning and tool calls that models of a template write. Strings end with NUL, are never null and
    /// live as long as the template. A call consists of CallPrefix, the name, CallMiddle, the arguments and CallEnd. "ggufxid01"
    /// in a prefix or middle stands for the id of the call. Arguments are a JSON object. For ChatCallForm.Tagged each parameter
    /// consists of CallBeforeKey, its name, CallAfterKey, the value and CallAfterValue.</summary>
    public sealed partial class ChatTemplateFacts
    {
        /// <summary>Flags.</summary>
        public ChatFeatures Flags { get; private set; }
        /// <summary>Call form.</summary>
        public ChatCallForm CallForm { get; private set; }
        /// <summary>Call notation.</summary>
        public ChatNotation CallNotation { get; private set; }
        /// <summary>Opening marker of reasoning, or "".</summary>
        public string ReasoningOpen { get; private set; }
        /// <summary>Closing marker of reasoning.</summary>
        public string ReasoningClose { get; private set; }
        /// <summary>Before the name; contains the marker of a call.</summary>
        public string CallPrefix { get; private set; }
        /// <summary>Between the name and the arguments.</summary>
        public string CallMiddle { get; private set; }
        /// <summary>After the arguments; also ends a list of calls.</summary>
        public string CallEnd { get; private set; }
        /// <summary>Before the name of a parameter.</summary>
        public string CallBeforeKey { get; private set; }
        /// <summary>Between the name of a parameter and its value.</summary>
        public string CallAfterKey { get; private set; }
        /// <summary>The same before a value that is not a string, unless empty.</summary>
        public string CallAfterKeyOther { get; private set; }
        /// <summary>After the value of a parameter.</summary>
        public string CallAfterValue { get; private set; }
        /// <summary>Around strings, for ChatNotation.Quoted.</summary>
        public string CallQuote { get; private set; }

        internal unsafe ChatTemplateFacts(NativeChatTemplateFacts* o)
        {
            Flags = (ChatFeatures)o->flags;
            CallForm = (ChatCallForm)o->call_form;
            CallNotation = (ChatNotation)o->call_notation;
            ReasoningOpen = Native.Text(o->reasoning_open);
            ReasoningClose = Native.Text(o->reasoning_close);
            CallPrefix = Native.Text(o->call_prefix);
            CallMiddle = Native.Text(o->call_middle);
            CallEnd = Native.Text(o->call_end);
            CallBeforeKey = Native.Text(o->call_before_key);
            CallAfterKey = Native.Text(o->call_after_key);
            CallAfterKeyOther = Native.Text(o->call_after_key_other);
            CallAfterValue = Native.Text(o->call_after_value);
            CallQuote = Native.Text(o->call_quote);
        }
    }

    /// <summary>Chat parser options.</summary>
    public sealed partial class ChatParserOptions
    {
        /// <summary>Flags.</summary>
        public ChatParserFlags Flags { get; set; }
        /// <summary>Template that decides the format; null: all output is answer.</summary>
        public ChatTemplate Chat { get; set; }
        /// <summary>The rendered prompt, or its end, which may open reasoning or a call.</summary>
        public string Prompt { get; set; }
        /// <summary>JSON array of the request's tools, for parameter types.</summary>
        public string Tools { get; set; }

        internal unsafe void Fill(NativeChatParserOptions* o, Scope scope)
        {
            *o = default(NativeChatParserOptions);
            o->struct_size = (uint)sizeof(NativeChatParserOptions);
            o->flags = (uint)Flags;
            o->chat = scope.Object(Chat == null ? null : Chat.Handle);
            o->prompt.data = scope.Text(Prompt, out o->prompt.size);
            o->tools.data = scope.Text(Tools, out o->tools.size);
        }

        internal static unsafe NativeChatParserOptions* Of(ChatParserOptions from, NativeChatParserOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>Chat parser facts.</summary>
    public sealed partial class ChatParserFacts
    {
        /// <summary>Flags.</summary>
        public ChatParserStateFlags Flags { get; private set; }
        /// <summary>Tool calls so far.</summary>
        public ulong Calls { get; private set; }
        /// <summary>Marker that ends the current reasoning; lives as long as the parser.</summary>
        public string ReasoningClose { get; private set; }

        internal unsafe ChatParserFacts(NativeChatParserFacts* o)
        {
            Flags = (ChatParserStateFlags)o->flags;
            Calls = o->n_calls;
            ReasoningClose = Native.Text(o->reasoning_close);
        }
    }

    /// <summary>Options of a device. All zero means default.</summary>
    public sealed partial class DeviceOptions
    {
        /// <summary>Flags.</summary>
        public DeviceOpenFlags Flags { get; set; }
        /// <summary>Folder of the plugins, or one plugin; null: the folder of this library's file. Relative paths are refused in
        /// processes with elevated privileges (set-user-ID).</summary>
        public string PluginPath { get; set; }

        internal unsafe void Fill(NativeDeviceOptions* o, Scope scope)
        {
            *o = default(NativeDeviceOptions);
            o->struct_size = (uint)sizeof(NativeDeviceOptions);
            o->flags = (uint)Flags;
            o->plugin_path = scope.String(PluginPath);
        }

        internal static unsafe NativeDeviceOptions* Of(DeviceOptions from, NativeDeviceOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>Device facts.</summary>
    public sealed partial class DeviceFacts
    {
        /// <summary>Flags.</summary>
        public DeviceFlags Flags { get; private set; }
        /// <summary>Fma.</summary>
        public Fma Fma { get; private set; }
        /// <summary>Memory of the device.</summary>
        public ulong MemoryBytes { get; private set; }
        /// <summary>Free memory now, according to its driver; 0: not opened, or not known.</summary>
        public ulong FreeBytes { get; private set; }
        /// <summary>Memory used by this Device and its tensors.</summary>
        public ulong UsedBytes { get; private set; }
        /// <summary>Bytes of one allocation; larger tensors are split.</summary>
        public ulong MaxAllocation { get; private set; }
        /// <summary>Operations since it was opened.</summary>
        public ulong Launches { get; private set; }
        /// <summary>"vulkan:0"; "vulkan" for a plugin without a device.</summary>
        public string Id { get; private set; }
        /// <summary>Name according to its driver.</summary>
        public string Name { get; private set; }
        /// <summary>Driver and version.</summary>
        public string Driver { get; private set; }
        /// <summary>Reason why it is unusable or not exact, else empty.</summary>
        public string Reason { get; private set; }

        internal unsafe DeviceFacts(NativeDeviceFacts* o)
        {
            Flags = (DeviceFlags)o->flags;
            Fma = (Fma)o->fma;
            MemoryBytes = o->memory_bytes;
            FreeBytes = o->free_bytes;
            UsedBytes = o->used_bytes;
            MaxAllocation = o->max_allocation;
            Launches = o->n_launches;
            Id = Native.Text(o->id, 40);
            Name = Native.Text(o->name, 128);
            Driver = Native.Text(o->driver, 96);
            Reason = Native.Text(o->reason, 224);
        }

        internal static unsafe DeviceFacts[] All(NativeDeviceFacts* from, int n)
        {
            var all = new DeviceFacts[n];
            for (int i = 0; i < n; i++) all[i] = new DeviceFacts(&from[i]);
            return all;
        }
    }

    /// <summary>Embed options.</summary>
    public sealed partial class EmbedOptions
    {
        /// <summary>Flags.</summary>
        public EmbedFlags Flags { get; set; }
        /// <summary>Tokens of an input; 0 = the trained context, at most 8,192.</summary>
        public uint Context { get; set; }
        /// <summary>Tokens computed at once, at least Context; 0 = 512.</summary>
        public uint Batch { get; set; }
        /// <summary>Pooling.</summary>
        public Pooling Pooling { get; set; }
        /// <summary>Number of values to keep, from the first on (Matryoshka), before normalization; 0 = all.</summary>
        public uint Dimensions { get; set; }
        /// <summary>MatmulFlags of all products.</summary>
        public MatmulFlags MatmulFlags { get; set; }

        internal unsafe void Fill(NativeEmbedOptions* o)
        {
            *o = default(NativeEmbedOptions);
            o->struct_size = (uint)sizeof(NativeEmbedOptions);
            o->flags = (uint)Flags;
            o->n_context = Context;
            o->n_batch = Batch;
            o->pooling = (uint)Pooling;
            o->dimensions = Dimensions;
            o->matmul_flags = (uint)MatmulFlags;
        }

        internal static unsafe NativeEmbedOptions* Of(EmbedOptions from, NativeEmbedOptions* o)
        {
            if (from == null) return null;
            from.Fill(o);
            return o;
        }
    }

    /// <summary>Embedder facts.</summary>
    public sealed partial class EmbedderFacts
    {
        /// <summary>Tokens of an input.</summary>
        public uint Context { get; private set; }
        /// <summary>Tokens computed at once.</summary>
        public uint Batch { get; private set; }
        /// <summary>Pooling, never DEFAULT.</summary>
        public Pooling Pooling { get; private set; }
        /// <summary>Values of a result; for RANK the classes of the file, mostly 1.</summary>
        public uint Dimensions { get; private set; }
        /// <summary>Values of a result before options.dimensions.</summary>
        public uint FullDimensions { get; private set; }

        internal unsafe EmbedderFacts(NativeEmbedderFacts* o)
        {
            Context = o->n_context;
            Batch = o->n_batch;
            Pooling = (Pooling)o->pooling;
            Dimensions = o->dimensions;
            FullDimensions = o->full_dimensions;
        }
    }

    /// <summary>Options of an estimate. All zero means default.</summary>
    public sealed partial class EstimateOptions
    {
        /// <summary>EstimateFlags, _IMATRIX, _LAYERS.</summary>
        public EstimateFlags Flags { get; set; }
        /// <summary>Quantization mix, as in Quantizer; 0 without EstimateFlags.HasFileType = the tensors stay as they
        /// are.</summary>
        public uint? FileType { get; set; }
        /// <summary>Tokens of each session; 0 = as Session.</summary>
        public uint Context { get; set; }
        /// <summary>Tokens computed at once; 0 = 512.</summary>
        public uint Batch { get; set; }
        /// <summary>Number of sessions in parallel; 0 = 1.</summary>
        public uint Sessions { get; set; }
        /// <summary>Type of the keys; 0 without EstimateFlags.HasTypeK = F16.</summary>
        public TensorType? TypeK { get; set; }
        /// <summary>Type of the values; 0 without EstimateFlags.HasTypeV = F16. Runtime.Recommend chooses both types if neither
        /// is given.</summary>
        public TensorType? TypeV { get; set; }
        /// <summary>As in Quantizer; null: default.</summary>
        public QuantizerOptions Quantizer { get; set; }
        /// <summary>Limit of TotalBytes; 0: no limit.</summary>
        public ulong MemoryBytes { get; set; }
        /// <summary>Memory bandwidth of all threads in bytes per second; 0: no speeds.</summary>
        public double Bandwidth { get; set; }
        /// <summary>As in SessionOptions, of each session; the estimate is the maximum.</summary>
        public ulong ContextTotal { get; set; }
        /// <summary>As in SessionOptions, of each session.</summary>
        public uint Checkpoints { get; set; }
        /// <summary>As in SessionOptions, of each session.</summary>
        public uint Sequences { get; set; }
        /// <summary>[NAdapters], at most 64: LoRA adapters and control vectors (adapter.h) that all sessions use together. Their
        /// files may be opened for metadata only.</summary>
        public IReadOnlyList<GgufFile> Adapters { get; set; }
        /// <summary>Free memory of a device (device.h); 0: no device.</summary>
        public ulong DeviceMemoryBytes { get; set; }
        /// <summary>As in GroupOptions; null: equal. For one rank of a group (group.h), with tensor parallelism or with
        /// EstimateFlags.Layers.</summary>
        public uint[] Weights { get; set; }
        /// <summary>Ranks of the group, at most 256; 0 = 1, or those of a rank's file (group.h).</summary>
        public uint Ranks { get; set; }
        /// <summary>Index of the rank; ignored for a rank's file with Ranks 0.</summary>
        public uint Rank { get; set; }

        internal unsafe void Fill(NativeEstimateOptions* o, Scope scope)
        {
            *o = default(NativeEstimateOptions);
            o->struct_size = (uint)sizeof(NativeEstimateOptions);
            o->flags = (uint)Flags;
            if (FileType.HasValue) o->flags |= (uint)EstimateFlags.HasFileType;
            o->file_type = (uint)FileType.GetValueOrDefault();
            o->n_context = Context;
            o->n_batch = Batch;
            o->n_sessions = Sessions;
            if (TypeK.HasValue) o->flags |= (uint)EstimateFlags.HasTypeK;
            o->type_k = (uint)TypeK.GetValueOrDefault();
            if (TypeV.HasValue) o->flags |= (uint)EstimateFlags.HasTypeV;
            o->type_v = (uint)TypeV.GetValueOrDefault();
            o->quantizer = QuantizerOptions.Of(Quantizer, (NativeQuantizerOptions*)scope.Memory(1,
                sizeof(NativeQuantizerOptions)), scope);
            o->memory_bytes = MemoryBytes;
            o->bandwidth = Bandwidth;
            o->n_context_total = ContextTotal;
            o->n_checkpoints = Checkpoints;
            o->n_sequences = Sequences;
            o->adapters = scope.Objects(Adapters, x => x.Handle);
            o->n_adapters = Native.Size(Adapters == null ? 0 : Adapters.Count);
            o->device_memory_bytes = DeviceMemoryBytes;
            if (Weights != null) Check.Length(Weights.Length, Ranks, "Weights");
            o->weights = (uint*)scope.Array(Weights);
            o->n_ranks = Ranks;
            o->rank = Rank;
        }

        internal static unsafe NativeEstimateOptions* Of(EstimateOptions from, NativeEstimateOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>Estimate facts.</summary>
    public sealed partial class EstimateFacts
    {
        /// <summary>EstimateFlags.Fits, _NEEDS_IMATRIX, _UNSUPPORTED.</summary>
        public EstimateFlags Flags { get; private set; }
        /// <summary>Quantization mix, or Constants.EstimateAsIs.</summary>
        public uint FileType { get; private set; }
        /// <summary>Tokens of each session, defaults included.</summary>
        public uint Context { get; private set; }
        /// <summary>Tokens computed at once.</summary>
        public uint Batch { get; private set; }
        /// <summary>Number of sessions in parallel.</summary>
        public uint Sessions { get; private set; }
        /// <summary>Type of the keys.</summary>
        public TensorType TypeK { get; private set; }
        /// <summary>Type of the values.</summary>
        public TensorType TypeV { get; private set; }
        /// <summary>Largest Context that fits into MemoryBytes, up to the larger of the trained and the requested context; 0:
        /// none.</summary>
        public uint MaxContext { get; private set; }
        /// <summary>Sequential messages of all ranks to all per token; 0 without a group.</summary>
        public uint Messages { get; private set; }
        /// <summary>Values of all tensors except tables of RoPE factors.</summary>
        public ulong Parameters { get; private set; }
        /// <summary>Bytes of all tensors.</summary>
        public ulong WeightBytes { get; private set; }
        /// <summary>Exact bytes of the file or files, WeightBytes included.</summary>
        public ulong FileBytes { get; private set; }
        /// <summary>Workspaces of products, allocated when a runtime is created.</summary>
        public ulong RuntimeBytes { get; private set; }
        /// <summary>Bytes that Model allocates.</summary>
        public ulong ModelBytes { get; private set; }
        /// <summary>KV caches of all sessions.</summary>
        public ulong KvBytes { get; private set; }
        /// <summary>All other bytes that Session allocates, for all sessions.</summary>
        public ulong SessionBytes { get; private set; }
        /// <summary>Sum of FileBytes, RuntimeBytes, ModelBytes, KvBytes, SessionBytes and the bytes of adapters. A rank of a
        /// group has RankWeightBytes in place of FileBytes.</summary>
        public ulong TotalBytes { get; private set; }
        /// <summary>Bytes of weights that are read per token. This includes the used experts only, and one row of the
        /// embedding.</summary>
        public ulong TokenWeightBytes { get; private set; }
        /// <summary>Bytes of keys and values per token, which each later token reads.</summary>
        public ulong TokenKvBytes { get; private set; }
        /// <summary>WeightBytes in bits over Parameters.</summary>
        public double BitsPerWeight { get; private set; }
        /// <summary>See Runtime.Recommend.</summary>
        public double WeightError { get; private set; }
        /// <summary>See Runtime.Recommend.</summary>
        public double Loss { get; private set; }
        /// <summary>Upper bound for an empty context: bandwidth / TokenWeightBytes.</summary>
        public double TokensPerSecond { get; private set; }
        /// <summary>Upper bound for a full context, keys and values included; 0: no bandwidth.</summary>
        public double TokensPerSecondFull { get; private set; }
        /// <summary>Bytes of the adapters' files.</summary>
        public ulong AdapterFileBytes { get; private set; }
        /// <summary>Bytes that Adapter and Session.SetAdapters allocate for the adapters, in all sessions.</summary>
        public ulong AdapterBytes { get; private set; }
        /// <summary>Device memory for the output matrix and the last DeviceLayers layers, of DeviceMemoryBytes; 0: not even one
        /// layer fits. Equals DeviceFacts.used_bytes, to the byte if no matrix is larger than MaxAllocation.</summary>
        public ulong DeviceBytes { get; private set; }
        /// <summary>Device memory for all layers.</summary>
        public ulong DeviceBytesAll { get; private set; }
        /// <summary>Largest number of last layers that fit into DeviceMemoryBytes.</summary>
        public uint DeviceLayers { get; private set; }
        /// <summary>Layers of the model.</summary>
        public uint Layers { get; private set; }
        /// <summary>Bytes of weights that the rank reads, with one row of the embedding per token of the context. Without a
        /// group: WeightBytes.</summary>
        public ulong RankWeightBytes { get; private set; }
        /// <summary>Bytes received from other ranks per token, in 8-bit mode.</summary>
        public ulong ReceivedBytes { get; private set; }

        internal unsafe EstimateFacts(NativeEstimateFacts* o)
        {
            Flags = (EstimateFlags)o->flags;
            FileType = o->file_type;
            Context = o->n_context;
            Batch = o->n_batch;
            Sessions = o->n_sessions;
            TypeK = (TensorType)o->type_k;
            TypeV = (TensorType)o->type_v;
            MaxContext = o->max_context;
            Messages = o->n_messages;
            Parameters = o->n_parameters;
            WeightBytes = o->weight_bytes;
            FileBytes = o->file_bytes;
            RuntimeBytes = o->runtime_bytes;
            ModelBytes = o->model_bytes;
            KvBytes = o->kv_bytes;
            SessionBytes = o->session_bytes;
            TotalBytes = o->total_bytes;
            TokenWeightBytes = o->token_weight_bytes;
            TokenKvBytes = o->token_kv_bytes;
            BitsPerWeight = o->bits_per_weight;
            WeightError = o->weight_error;
            Loss = o->loss;
            TokensPerSecond = o->tokens_per_second;
            TokensPerSecondFull = o->tokens_per_second_full;
            AdapterFileBytes = o->adapter_file_bytes;
            AdapterBytes = o->adapter_bytes;
            DeviceBytes = o->device_bytes;
            DeviceBytesAll = o->device_bytes_all;
            DeviceLayers = o->n_device_layers;
            Layers = o->n_layers;
            RankWeightBytes = o->rank_weight_bytes;
            ReceivedBytes = o->received_bytes;
        }
    }

    /// <summary>A prediction that was scored.</summary>
    public partial struct EvalRow
    {
        /// <summary>Negative log-likelihood of the token in the text.</summary>
        public double Loss { get; set; }
        /// <summary>The same for the saved logits; 0 without them, as are the next two.</summary>
        public double ReferenceLoss { get; set; }
        /// <summary>Sum p log(p / q), p of the saved logits, q of the model.</summary>
        public double KlDivergence { get; set; }
        /// <summary>EvalFlags.SameTop.</summary>
        public EvalFlags Flags { get; set; }
        /// <summary>Token in the text.</summary>
        public int Token { get; set; }

        internal unsafe EvalRow(NativeEvalRow* o) : this()
        {
            Loss = o->loss;
            ReferenceLoss = o->reference_loss;
            KlDivergence = o->kl_divergence;
            Flags = (EvalFlags)o->flags;
            Token = o->token;
        }

        internal static unsafe EvalRow[] All(NativeEvalRow* from, int n)
        {
            var all = new EvalRow[n];
            for (int i = 0; i < n; i++) all[i] = new EvalRow(&from[i]);
            return all;
        }

        internal unsafe void Fill(NativeEvalRow* o)
        {
            *o = default(NativeEvalRow);
            o->loss = Loss;
            o->reference_loss = ReferenceLoss;
            o->kl_divergence = KlDivergence;
            o->flags = (uint)Flags;
            o->token = Token;
        }

        internal static unsafe NativeEvalRow* Of(IReadOnlyList<EvalRow> from, Scope scope)
        {
            if (from == null) return null;
            var list = (NativeEvalRow*)scope.Memory(from.Count, sizeof(NativeEvalRow));
            for (int i = 0; i < from.Count; i++) from[i].Fill(&list[i]);
            return list;
        }
    }

    /// <summary>Results of a measurement. Errors are standard errors. The error of a quantile is half the distance between the
    /// values one standard error of its rank below and above it. Logarithms are natural.</summary>
    public sealed partial class EvalFacts
    {
        /// <summary>EvalFlags.Compared, _SAME_MODEL.</summary>
        public EvalFlags Flags { get; private set; }
        /// <summary>Exp of the mean negative log-likelihood.</summary>
        public double Perplexity { get; private set; }
        /// <summary>Standard error of the perplexity.</summary>
        public double StandardError { get; private set; }
        /// <summary>Chunks.</summary>
        public ulong Chunks { get; private set; }
        /// <summary>Tokens of all chunks; overlaps count repeatedly.</summary>
        public ulong Tokens { get; private set; }
        /// <summary>Predictions scored.</summary>
        public ulong Scored { get; private set; }
        /// <summary>Perplexity of the saved logits.</summary>
        public double ReferencePerplexity { get; private set; }
        /// <summary>Standard error of ReferencePerplexity.</summary>
        public double ReferenceError { get; private set; }
        /// <summary>Log(perplexity / ReferencePerplexity).</summary>
        public double LogRatio { get; private set; }
        /// <summary>Standard error of LogRatio, from pairs of losses.</summary>
        public double LogRatioError { get; private set; }
        /// <summary>Mean KL divergence per prediction: sum p log(p / q), p of the saved logits, q of the model.</summary>
        public double Kl { get; private set; }
        /// <summary>Standard error of kl.</summary>
        public double KlError { get; private set; }
        /// <summary>Median KL divergence; 0 in running results, as are all quantiles.</summary>
        public double KlMedian { get; private set; }
        /// <summary>Error of KlMedian.</summary>
        public double KlMedianError { get; private set; }
        /// <summary>99th percentile of the KL divergence.</summary>
        public double Kl99 { get; private set; }
        /// <summary>Error of Kl99.</summary>
        public double Kl99Error { get; private set; }
        /// <summary>Maximum KL divergence.</summary>
        public double KlMax { get; private set; }
        /// <summary>Share of predictions with the same likeliest token.</summary>
        public double SameTopToken { get; private set; }
        /// <summary>Standard error of SameTopToken.</summary>
        public double SameTopTokenError { get; private set; }
        /// <summary>Root mean square of q - p of the token in the text, 0 .. 1.</summary>
        public double RmsDeltaP { get; private set; }
        /// <summary>Standard error of RmsDeltaP.</summary>
        public double RmsDeltaPError { get; private set; }

        internal unsafe EvalFacts(NativeEvalFacts* o)
        {
            Flags = (EvalFlags)o->flags;
            Perplexity = o->perplexity;
            StandardError = o->standard_error;
            Chunks = o->n_chunks;
            Tokens = o->n_tokens;
            Scored = o->n_scored;
            ReferencePerplexity = o->reference_perplexity;
            ReferenceError = o->reference_error;
            LogRatio = o->log_ratio;
            LogRatioError = o->log_ratio_error;
            Kl = o->kl;
            KlError = o->kl_error;
            KlMedian = o->kl_median;
            KlMedianError = o->kl_median_error;
            Kl99 = o->kl_99;
            Kl99Error = o->kl_99_error;
            KlMax = o->kl_max;
            SameTopToken = o->same_top_token;
            SameTopTokenError = o->same_top_token_error;
            RmsDeltaP = o->rms_delta_p;
            RmsDeltaPError = o->rms_delta_p_error;
        }
    }

    /// <summary>Options of a measurement. All zero means default.</summary>
    public sealed partial class EvalOptions
    {
        /// <summary>0: separate chunks, whose second half is scored. Otherwise each chunk begins Stride tokens after the previous
        /// one, and its last Stride predictions are scored. Each of these sees at least Context - stride tokens. stride is less
        /// than Context.</summary>
        public uint Stride { get; set; }
        /// <summary>File for the logits of all scored predictions, 16 bits each, by atomic replace. null: none. Not together with
        /// Write.</summary>
        public string SavePath { get; set; }
        /// <summary>Gets the same bytes in place of a file. null: none.</summary>
        public WriteFunction Write { get; set; }
        /// <summary>File of saved logits to compare with. They must have the same vocabulary, chunks and first tokens, and may
        /// have more chunks. null: none. Not together with Read.</summary>
        public string ReferencePath { get; set; }
        /// <summary>Reads all n bytes of the same from elsewhere. null: none.</summary>
        public ReadFunction Read { get; set; }
        /// <summary>Gets the running result after each chunk. A result other than Status.Ok ends the call with it. null:
        /// none.</summary>
        public Func<EvalFacts, bool> Report { get; set; }
        /// <summary>Cancels the call.</summary>
        public CancellationToken Token { get; set; }
        /// <summary>Counts tokens.</summary>
        public IProgress<Progress> Progress { get; set; }
        /// <summary>Gets the scored predictions in the order of the text, in pieces. A result other than Status.Ok ends the call
        /// with it. Runtime.EvalMerge computes the results of a text that is measured in parts, cut between chunks. null:
        /// none.</summary>
        public Func<EvalRow[], bool> Rows { get; set; }
        /// <summary>First chunk of the saved logits that belongs to these tokens. Earlier chunks are read and checked.</summary>
        public ulong ReferenceChunk { get; set; }

        internal unsafe void Fill(NativeEvalOptions* o, Scope scope)
        {
            *o = default(NativeEvalOptions);
            o->struct_size = (uint)sizeof(NativeEvalOptions);
            o->stride = Stride;
            o->save_path = scope.String(SavePath);
            o->write = Write == null ? IntPtr.Zero : Callbacks.Write;
            if (Write != null) o->write_user = scope.User(Write);
            o->reference_path = scope.String(ReferencePath);
            o->read = Read == null ? IntPtr.Zero : Callbacks.Read;
            if (Read != null) o->read_user = scope.User(Read);
            o->report = Report == null ? IntPtr.Zero : Callbacks.EvalOptionsReport;
            if (Report != null) o->report_user = scope.User(Report);
            o->progress = scope.Follow(Token, Progress);
            o->rows = Rows == null ? IntPtr.Zero : Callbacks.EvalOptionsRows;
            if (Rows != null) o->rows_user = scope.User(Rows);
            o->reference_chunk = ReferenceChunk;
        }

        internal static unsafe NativeEvalOptions* Of(EvalOptions from, NativeEvalOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>A token with its log-probability. It never grows.</summary>
    public sealed partial class Logprob
    {
        /// <summary>Token of the vocabulary.</summary>
        public int Id { get; private set; }
        /// <summary>Natural logarithm, before samplers and grammar.</summary>
        public float Value { get; private set; }

        internal unsafe Logprob(NativeLogprob* o)
        {
            Id = o->id;
            Value = o->logprob;
        }

        internal static unsafe Logprob[] All(NativeLogprob* from, int n)
        {
            var all = new Logprob[n];
            for (int i = 0; i < n; i++) all[i] = new Logprob(&from[i]);
            return all;
        }
    }

    /// <summary>A token of an event. It never grows.</summary>
    public sealed partial class EventToken
    {
        /// <summary>Token of the vocabulary.</summary>
        public int Id { get; private set; }
        /// <summary>As in Logprob, with GeneratorFlags.Logprobs or Logprobs; else 0, as is that of the first token of a
        /// prompt.</summary>
        public float Logprob { get; private set; }
        /// <summary>Position of its first byte among all bytes of the output.</summary>
        public ulong Offset { get; private set; }
        /// <summary>The likeliest, by rank.</summary>
        public Logprob[] Top { get; private set; }

        internal unsafe EventToken(NativeEventToken* o)
        {
            Id = o->id;
            Logprob = o->logprob;
            Offset = o->offset;
            Top = Ggufx.Logprob.All(o->top, checked((int)o->n_top));
        }

        internal static unsafe EventToken[] All(NativeEventToken* from, int n)
        {
            var all = new EventToken[n];
            for (int i = 0; i < n; i++) all[i] = new EventToken(&from[i]);
            return all;
        }
    }

    /// <summary>An event. Texts have whole characters: invalid UTF-8 becomes U+FFFD. They contain no part of a stop string and no
    /// end-of-generation token. A parser gives TEXT, REASONING, TOOL_CALL, TOOL_ID and TOOL_ARGUMENTS, without tokens.</summary>
    public sealed partial class Event
    {
        /// <summary>Kind.</summary>
        public EventKind Kind { get; private set; }
        /// <summary>Why it has ended, for END.</summary>
        public End End { get; private set; }
        /// <summary>With End.Error; text is its message.</summary>
        public Status Status { get; private set; }
        /// <summary>Number of the tool call, or of the stop string.</summary>
        public uint Index { get; private set; }
        /// <summary>Valid until the next call with the same object.</summary>
        public string Text { get; private set; }
        /// <summary>As long: tokens whose last byte was shown by this event. END has those that were not shown, such as an
        /// end-of-generation token, without those of the stop string.</summary>
        public EventToken[] Tokens { get; private set; }

        internal unsafe Event(NativeEvent* o)
        {
            Kind = (EventKind)o->kind;
            End = (End)o->end;
            Status = (Status)o->status;
            Index = o->index;
            Text = Native.Text(o->text.data, o->text.size);
            Tokens = EventToken.All(o->tokens, checked((int)o->n_tokens));
        }
    }

    /// <summary>Moments facts.</summary>
    public sealed partial class MomentsFacts
    {
        /// <summary>Flags.</summary>
        public MomentsFlags Flags { get; private set; }
        /// <summary>Columns.</summary>
        public ulong Columns { get; private set; }
        /// <summary>Inputs.</summary>
        public ulong Inputs { get; private set; }
        /// <summary>Memory of the sums.</summary>
        public ulong MemoryBytes { get; private set; }

        internal unsafe MomentsFacts(NativeMomentsFacts* o)
        {
            Flags = (MomentsFlags)o->flags;
            Columns = o->n_columns;
            Inputs = o->n_inputs;
            MemoryBytes = o->memory_bytes;
        }
    }

    /// <summary>Inputs to add to moments.</summary>
    public sealed partial class MomentsInputs
    {
        /// <summary>Inputs: tokens.</summary>
        public long N { get; set; }
        /// <summary>Values of an input; as in the moments.</summary>
        public long Columns { get; set; }
        /// <summary>Inputs of the quantized model, dense.</summary>
        public float[] Rows { get; set; }
        /// <summary>The same inputs in the source model, with MomentsFlags.Drift; else null.</summary>
        public float[] SourceRows { get; set; }
        /// <summary>Cancels the call.</summary>
        public CancellationToken Token { get; set; }
        /// <summary>Counts inputs.</summary>
        public IProgress<Progress> Progress { get; set; }

        internal unsafe void Fill(NativeMomentsInputs* o, Scope scope)
        {
            *o = default(NativeMomentsInputs);
            o->struct_size = (uint)sizeof(NativeMomentsInputs);
            o->n = Native.Size(N, "N");
            o->n_columns = Native.Size(Columns, "Columns");
            if (Rows != null) Check.Length(Rows.Length, N * Columns, "Rows");
            o->rows = (float*)scope.Array(Rows);
            if (SourceRows != null) Check.Length(SourceRows.Length, N * Columns, "SourceRows");
            o->source_rows = (float*)scope.Array(SourceRows);
            o->progress = scope.Follow(Token, Progress);
        }

        internal static unsafe NativeMomentsInputs* Of(MomentsInputs from, NativeMomentsInputs* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>Rows of f32 to quantize with feedback.</summary>
    public sealed partial class FeedbackArgs
    {
        /// <summary>Flags.</summary>
        public FeedbackFlags Flags { get; set; }
        /// <summary>Type.</summary>
        public TensorType Type { get; set; }
        /// <summary>Passes over all blocks, at most 100; 0: 4.</summary>
        public uint Passes { get; set; }
        /// <summary>N rows.</summary>
        public long NRows { get; set; }
        /// <summary>Values of a row; as in the moments.</summary>
        public long Cols { get; set; }
        /// <summary>f32, dense.</summary>
        public float[] Rows { get; set; }
        /// <summary>Moments of the inputs.</summary>
        public Moments Moments { get; set; }
        /// <summary>Moments of other inputs: feedback is used only if it lowers the error for them.</summary>
        public Moments KeptOut { get; set; }
        /// <summary>Share of the mean square of the inputs that is added to each square, above 0, at most 100. Default: 0.1, or
        /// 0.3 if there are fewer than 16 inputs per column.</summary>
        public double Damping { get; set; }
        /// <summary>Cancels the call.</summary>
        public CancellationToken Token { get; set; }
        /// <summary>Counts rows, twice.</summary>
        public IProgress<Progress> Progress { get; set; }

        internal unsafe void Fill(NativeFeedbackArgs* o, Scope scope)
        {
            *o = default(NativeFeedbackArgs);
            o->struct_size = (uint)sizeof(NativeFeedbackArgs);
            o->flags = (uint)Flags;
            o->type_ = (uint)Type;
            o->n_passes = Passes;
            o->n_rows = Native.Size(NRows, "NRows");
            o->n_cols = Native.Size(Cols, "Cols");
            if (Rows != null) Check.Length(Rows.Length, NRows * Cols, "Rows");
            o->rows = (float*)scope.Array(Rows);
            o->moments = scope.Object(Moments == null ? null : Moments.Handle);
            o->kept_out = scope.Object(KeptOut == null ? null : KeptOut.Handle);
            o->damping = Damping;
            o->progress = scope.Follow(Token, Progress);
        }

        internal static unsafe NativeFeedbackArgs* Of(FeedbackArgs from, NativeFeedbackArgs* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>Result of a quantization with feedback. Errors are relative to the mean square of the outputs.</summary>
    public sealed partial class FeedbackFacts
    {
        /// <summary>1: the blocks are those of the feedback; 0: it did not help, they are those without it.</summary>
        public int IsUsed { get; private set; }
        /// <summary>Mean squared error of the outputs without feedback.</summary>
        public double ErrorBefore { get; private set; }
        /// <summary>With feedback.</summary>
        public double ErrorAfter { get; private set; }
        /// <summary>Change of the error for the kept-out inputs; 0 without KeptOut.</summary>
        public double KeptOutChange { get; private set; }

        internal unsafe FeedbackFacts(NativeFeedbackFacts* o)
        {
            IsUsed = o->is_used;
            ErrorBefore = o->error_before;
            ErrorAfter = o->error_after;
            KeptOutChange = o->kept_out_change;
        }
    }

    /// <summary>Open options.</summary>
    public sealed partial class OpenOptions
    {
        /// <summary>Flags.</summary>
        public OpenFlags Flags { get; set; }
        /// <summary>Definition of the type ids from 41 on: 0 = ggml, the only one known.</summary>
        public int Dialect { get; set; }
        /// <summary>Io.</summary>
        public IoMode Io { get; set; }
        /// <summary>Cancels the call.</summary>
        public CancellationToken Token { get; set; }
        /// <summary>Reported in bytes.</summary>
        public IProgress<Progress> Progress { get; set; }
        /// <summary>Limit of the metadata; 0 = 1 GiB.</summary>
        public ulong MaxMetadataBytes { get; set; }
        /// <summary>Limit of the number of keys; 0 = 1,048,576, at most 2^31 - 1.</summary>
        public ulong MaxKeys { get; set; }
        /// <summary>Limit of the tensors of one file; 0 = 1,048,576, at most 2^31 - 1.</summary>
        public ulong MaxTensors { get; set; }
        /// <summary>Limit of a key or string; 0 = 1 GiB.</summary>
        public ulong MaxStringBytes { get; set; }

        internal unsafe void Fill(NativeOpenOptions* o, Scope scope)
        {
            *o = default(NativeOpenOptions);
            o->struct_size = (uint)sizeof(NativeOpenOptions);
            o->flags = (uint)Flags;
            o->dialect = Dialect;
            o->io = (int)Io;
            o->progress = scope.Follow(Token, Progress);
            o->max_metadata_bytes = MaxMetadataBytes;
            o->max_keys = MaxKeys;
            o->max_tensors = MaxTensors;
            o->max_string_bytes = MaxStringBytes;
        }

        internal static unsafe NativeOpenOptions* Of(OpenOptions from, NativeOpenOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>File facts.</summary>
    public sealed partial class FileFacts
    {
        /// <summary>GGUF version of the first part, 1 .. 3.</summary>
        public uint Version { get; private set; }
        /// <summary>1 if the file is big-endian.</summary>
        public bool BigEndian { get; private set; }
        /// <summary>Alignment of tensor data in bytes.</summary>
        public ulong Alignment { get; private set; }
        /// <summary>Files of the set.</summary>
        public ulong Parts { get; private set; }
        /// <summary>End of the tensor directory of the first part.</summary>
        public ulong MetaEnd { get; private set; }
        /// <summary>Start of the tensor data of the first part.</summary>
        public ulong DataOffset { get; private set; }
        /// <summary>Bytes of all parts.</summary>
        public ulong FileSize { get; private set; }
        /// <summary>Number of keys.</summary>
        public ulong Meta { get; private set; }
        /// <summary>Number of tensors.</summary>
        public ulong Tensors { get; private set; }
        /// <summary>Values of all tensors.</summary>
        public ulong Values { get; private set; }
        /// <summary>Bytes of all tensors.</summary>
        public ulong Bytes { get; private set; }
        /// <summary>Bytes of tensor data after the ends of the files; not 0 only for the head of a file, opened for metadata
        /// only.</summary>
        public ulong Missing { get; private set; }

        internal unsafe FileFacts(NativeFileFacts* o)
        {
            Version = o->version;
            BigEndian = o->big_endian != 0;
            Alignment = o->alignment;
            Parts = o->n_parts;
            MetaEnd = o->meta_end;
            DataOffset = o->data_offset;
            FileSize = o->file_size;
            Meta = o->n_meta;
            Tensors = o->n_tensors;
            Values = o->n_values;
            Bytes = o->n_bytes;
            Missing = o->n_missing;
        }
    }

    /// <summary>Memory of the tensor data of a file. The counts are unknown, Constants.None, on other systems than
    /// Linux.</summary>
    public sealed partial class FileMemoryFacts
    {
        /// <summary>Tensor data in mappings, or in borrowed memory.</summary>
        public ulong MappedBytes { get; private set; }
        /// <summary>Tensor data in memory of the runtime's allocator.</summary>
        public ulong CopiedBytes { get; private set; }
        /// <summary>Part of both that is in physical memory now.</summary>
        public ulong ResidentBytes { get; private set; }
        /// <summary>Part of the resident bytes that is in huge pages.</summary>
        public ulong HugeBytes { get; private set; }

        internal unsafe FileMemoryFacts(NativeFileMemoryFacts* o)
        {
            MappedBytes = o->mapped_bytes;
            CopiedBytes = o->copied_bytes;
            ResidentBytes = o->resident_bytes;
            HugeBytes = o->huge_bytes;
        }
    }

    /// <summary>Meta facts.</summary>
    public sealed partial class MetaFacts
    {
        /// <summary>Type.</summary>
        public MetaType Type { get; private set; }
        /// <summary>ValueType of the elements of an array, else -1.</summary>
        public MetaType ElementType { get; private set; }
        /// <summary>Absent for a nested array.</summary>
        public string Key { get; private set; }
        /// <summary>Elements of an array, bytes of a string, else 1.</summary>
        public ulong Count { get; private set; }
        /// <summary>Byte offset of the value in the file, or in the first part of a set.</summary>
        public ulong Offset { get; private set; }

        internal unsafe MetaFacts(NativeMetaFacts* o)
        {
            Type = (MetaType)o->type_;
            ElementType = (MetaType)o->element_type;
            Key = Native.Text(o->key.data, o->key.size);
            Count = o->count;
            Offset = o->offset;
        }
    }

    /// <summary>Tensor facts.</summary>
    public sealed partial class TensorFacts
    {
        /// <summary>Type.</summary>
        public TensorType Type { get; private set; }
        /// <summary>Values per dimension, ne[0] along a row; 1 beyond Dims.</summary>
        public ulong[] Ne { get; private set; }
        /// <summary>Bytes of a row.</summary>
        public ulong RowBytes { get; private set; }
        /// <summary>Bytes from one row to the next, &gt;= RowBytes.</summary>
        public ulong RowStride { get; private set; }
        /// <summary>Ne[1] * ne[2] * ne[3].</summary>
        public ulong Rows { get; private set; }
        /// <summary>Rows * RowBytes, as in the file.</summary>
        public ulong Bytes { get; private set; }
        /// <summary>From the start of the file's data section; Constants.None if wrapped.</summary>
        public ulong? Offset { get; private set; }
        /// <summary>From the start of its file; Constants.None if wrapped.</summary>
        public ulong? FileOffset { get; private set; }
        /// <summary>Index of its file in a split set, from 0.</summary>
        public uint Part { get; private set; }
        /// <summary>0: CPU memory, 1: memory of a device (device.h).</summary>
        public uint MemoryKind { get; private set; }
        /// <summary>Name.</summary>
        public string Name { get; private set; }

        internal unsafe TensorFacts(NativeTensorFacts* o)
        {
            Type = (TensorType)o->type_;
            Ne = Native.Copy<ulong>(o->ne, o->n_dims);
            RowBytes = o->row_bytes;
            RowStride = o->row_stride;
            Rows = o->n_rows;
            Bytes = o->n_bytes;
            Offset = Native.Present(o->offset);
            FileOffset = Native.Present(o->file_offset);
            Part = o->part;
            MemoryKind = o->memory_kind;
            Name = Native.Text(o->name.data, o->name.size);
        }
    }

    /// <summary>A fault or remark of GgufFile.Validate.</summary>
    public sealed partial class FindingFacts
    {
        /// <summary>LogLevel.Error, _WARNING or _INFO.</summary>
        public LogLevel Severity { get; private set; }
        /// <summary>Status that an open would return, or Status.Ok for a remark.</summary>
        public Status Status { get; private set; }
        /// <summary>Byte offset in the file, or Constants.None.</summary>
        public ulong? Offset { get; private set; }
        /// <summary>Index of the key or tensor, or Constants.None.</summary>
        public ulong? Index { get; private set; }
        /// <summary>UTF-8, NUL-terminated; valid during the call.</summary>
        public string Text { get; private set; }
        /// <summary>Name of the key or tensor.</summary>
        public string Name { get; private set; }

        internal unsafe FindingFacts(NativeFindingFacts* o)
        {
            Severity = (LogLevel)o->severity;
            Status = (Status)o->status;
            Offset = Native.Present(o->offset);
            Index = Native.Present(o->index);
            Text = Native.Text(o->text);
            Name = Native.Text(o->name.data, o->name.size);
        }
    }

    /// <summary>Speculative decoding: draft tokens are computed together with the token before them, and count as far as the
    /// sampler draws the same. They change no event. All zero means prompt lookup: tokens that followed the last tokens
    /// earlier.</summary>
    public sealed partial class DraftOptions
    {
        /// <summary>Session of a draft model, which is smaller and has the same vocabulary; null: prompt lookup.</summary>
        public Session Session { get; set; }
        /// <summary>Sequence of that session; the generator replaces its tokens.</summary>
        public uint Sequence { get; set; }
        /// <summary>Draft tokens of a step at most; 0 = 7, at most 31.</summary>
        public uint Draft { get; set; }
        /// <summary>Prompt lookup: last tokens that must have occurred; 0 = 3, at most 32.</summary>
        public uint Match { get; set; }

        internal unsafe void Fill(NativeDraftOptions* o, Scope scope)
        {
            *o = default(NativeDraftOptions);
            o->struct_size = (uint)sizeof(NativeDraftOptions);
            o->session = scope.Object(Session == null ? null : Session.Handle);
            o->sequence = Sequence;
            o->n_draft = Draft;
            o->n_match = Match;
        }

        internal static unsafe NativeDraftOptions* Of(DraftOptions from, NativeDraftOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>All zero means default.</summary>
    public sealed partial class GeneratorOptions
    {
        /// <summary>Flags.</summary>
        public GeneratorFlags Flags { get; set; }
        /// <summary>Sequence of the session, not in use by another generator.</summary>
        public uint Sequence { get; set; }
        /// <summary>Tokens of an output; 0 = until the context is full.</summary>
        public uint MaxTokens { get; set; }
        /// <summary>Null: that of the model's file, created once and kept by the model.</summary>
        public Tokenizer Tokenizer { get; set; }
        /// <summary>Copied with its state; null: greedy.</summary>
        public Sampler Sampler { get; set; }
        /// <summary>Null: any text.</summary>
        public Grammar Grammar { get; set; }
        /// <summary>For messages; null: that of the model's file.</summary>
        public ChatTemplate Chat { get; set; }
        /// <summary>Stop strings, copied; none is empty.</summary>
        public IReadOnlyList<string> Stops { get; set; }
        /// <summary>Null: no speculative decoding.</summary>
        public DraftOptions Draft { get; set; }
        /// <summary>Likeliest tokens in each EventToken; at most 64.</summary>
        public uint Logprobs { get; set; }
        /// <summary>Tokens of reasoning after which its end is forced. It needs messages or a chat prompt, and has no effect with
        /// a grammar.</summary>
        public uint? MaxReasoning { get; set; }

        internal unsafe void Fill(NativeGeneratorOptions* o, Scope scope)
        {
            *o = default(NativeGeneratorOptions);
            o->struct_size = (uint)sizeof(NativeGeneratorOptions);
            o->flags = (uint)Flags;
            o->sequence = Sequence;
            o->max_tokens = MaxTokens;
            o->tokenizer = scope.Object(Tokenizer == null ? null : Tokenizer.Handle);
            o->sampler = scope.Object(Sampler == null ? null : Sampler.Handle);
            o->grammar = scope.Object(Grammar == null ? null : Grammar.Handle);
            o->chat = scope.Object(Chat == null ? null : Chat.Handle);
            o->stops = scope.Texts(Stops);
            o->n_stops = Native.Size(Stops == null ? 0 : Stops.Count);
            o->draft = DraftOptions.Of(Draft, (NativeDraftOptions*)scope.Memory(1, sizeof(NativeDraftOptions)), scope);
            o->n_logprobs = Logprobs;
            if (MaxReasoning.HasValue) o->flags |= (uint)GeneratorFlags.HasMaxReasoning;
            o->max_reasoning = (uint)MaxReasoning.GetValueOrDefault();
        }

        internal static unsafe NativeGeneratorOptions* Of(GeneratorOptions from, NativeGeneratorOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>All zero means default; chat, tokenizer and request must be set. With Schema or ToolChoice.Required the model may
    /// reason first, unless the request has ChatFlags.NoThink. The markers that follow are forced; names, keys and values are
    /// those of the schemas. Formats that write strings without quotes keep enum, const and maxLength of a string, not its other
    /// keywords. Events give arguments as JSON while they are written. The output ends with End.ToolCall when the call is
    /// complete.</summary>
    public sealed partial class ChatPromptOptions
    {
        /// <summary>Flags.</summary>
        public ChatPromptFlags Flags { get; set; }
        /// <summary>The template.</summary>
        public ChatTemplate Chat { get; set; }
        /// <summary>That of the generators.</summary>
        public Tokenizer Tokenizer { get; set; }
        /// <summary>The conversation.</summary>
        public ChatRequest Request { get; set; }
        /// <summary>Tool choice.</summary>
        public ToolChoice ToolChoice { get; set; }
        /// <summary>For grammars that the call compiles.</summary>
        public GrammarFlags GrammarFlags { get; set; }
        /// <summary>With ToolChoice.Required: the only function that may be called; empty: any. Without a name, a function whose
        /// schema is not supported takes any arguments.</summary>
        public string ToolName { get; set; }
        /// <summary>With ToolChoice.Required: JSON array of the tools that may be called; absent: those of the request.</summary>
        public string Tools { get; set; }
        /// <summary>Id of that call; absent: it has none.</summary>
        public string CallId { get; set; }
        /// <summary>JSON Schema of the answer. If the request has tools, the model may call them instead.</summary>
        public string Schema { get; set; }

        internal unsafe void Fill(NativeChatPromptOptions* o, Scope scope)
        {
            *o = default(NativeChatPromptOptions);
            o->struct_size = (uint)sizeof(NativeChatPromptOptions);
            o->flags = (uint)Flags;
            o->chat = scope.Object(Chat == null ? null : Chat.Handle);
            o->tokenizer = scope.Object(Tokenizer == null ? null : Tokenizer.Handle);
            o->request = ChatRequest.Of(Request, (NativeChatRequest*)scope.Memory(1, sizeof(NativeChatRequest)), scope);
            o->tool_choice = (uint)ToolChoice;
            o->grammar_flags = (uint)GrammarFlags;
            o->tool_name.data = scope.Text(ToolName, out o->tool_name.size);
            o->tools.data = scope.Text(Tools, out o->tools.size);
            o->call_id.data = scope.Text(CallId, out o->call_id.size);
            o->schema.data = scope.Text(Schema, out o->schema.size);
        }

        internal static unsafe NativeChatPromptOptions* Of(ChatPromptOptions from, NativeChatPromptOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>A part of a prompt: one of text, tokens and rows.</summary>
    public sealed partial class PromptPart
    {
        /// <summary>Text.</summary>
        public string Text { get; set; }
        /// <summary>Tokens.</summary>
        public int[] Tokens { get; set; }
        /// <summary>f32 [][Embedding], finite: inputs of the first layer, such as a soft prompt.</summary>
        public float[] Rows { get; set; }

        internal unsafe void Fill(NativePromptPart* o, Scope scope)
        {
            *o = default(NativePromptPart);
            o->struct_size = (uint)sizeof(NativePromptPart);
            o->text.data = scope.Text(Text, out o->text.size);
            o->tokens = (int*)scope.Array(Tokens);
            o->n_tokens = Native.Size(Tokens == null ? 0 : Tokens.Length);
            o->rows = (float*)scope.Array(Rows);
            o->n_rows = Native.Size(Rows == null ? 0 : Rows.Length);
        }

        internal static unsafe NativePromptPart* Of(PromptPart from, NativePromptPart* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }

        internal static unsafe NativePromptPart* Of(IReadOnlyList<PromptPart> from, Scope scope)
        {
            if (from == null) return null;
            var list = (NativePromptPart*)scope.Memory(from.Count, sizeof(NativePromptPart));
            for (int i = 0; i < from.Count; i++) from[i].Fill(&list[i], scope);
            return list;
        }
    }

    /// <summary>A prompt: one of text, tokens, messages, parts and chat.</summary>
    public sealed partial class Prompt
    {
        /// <summary>Flags.</summary>
        public PromptFlags Flags { get; set; }
        /// <summary>Text.</summary>
        public string Text { get; set; }
        /// <summary>Tokens.</summary>
        public int[] Tokens { get; set; }
        /// <summary>Rendered by the chat template. The output is then split into answer, reasoning and, where it has tools, tool
        /// calls.</summary>
        public ChatRequest Messages { get; set; }
        /// <summary>Parts.</summary>
        public IReadOnlyList<PromptPart> Parts { get; set; }
        /// <summary>As messages, made ready before; without APPEND.</summary>
        public ChatPrompt Chat { get; set; }

        internal unsafe void Fill(NativePrompt* o, Scope scope)
        {
            *o = default(NativePrompt);
            o->struct_size = (uint)sizeof(NativePrompt);
            o->flags = (uint)Flags;
            o->text.data = scope.Text(Text, out o->text.size);
            o->tokens = (int*)scope.Array(Tokens);
            o->n_tokens = Native.Size(Tokens == null ? 0 : Tokens.Length);
            o->messages = ChatRequest.Of(Messages, (NativeChatRequest*)scope.Memory(1, sizeof(NativeChatRequest)), scope);
            o->parts = PromptPart.Of(Parts, scope);
            o->n_parts = Native.Size(Parts == null ? 0 : Parts.Count);
            o->chat = scope.Object(Chat == null ? null : Chat.Handle);
        }

        internal static unsafe NativePrompt* Of(Prompt from, NativePrompt* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>A generator's part in a step.</summary>
    public sealed partial class StepItem
    {
        /// <summary>On a sequence of the session.</summary>
        public Generator Generator { get; set; }
        /// <summary>Most tokens of its prompt in this step; 0 = its share of what fits. If more are asked for than Batch, all
        /// items share it.</summary>
        public uint Tokens { get; set; }

        internal unsafe void Fill(NativeStepItem* o, Scope scope)
        {
            *o = default(NativeStepItem);
            o->struct_size = (uint)sizeof(NativeStepItem);
            o->generator = scope.Object(Generator == null ? null : Generator.Handle);
            o->n_tokens = Tokens;
        }

        internal static unsafe NativeStepItem* Of(StepItem from, NativeStepItem* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }

        internal static unsafe NativeStepItem* Of(IReadOnlyList<StepItem> from, Scope scope)
        {
            if (from == null) return null;
            var list = (NativeStepItem*)scope.Memory(from.Count, sizeof(NativeStepItem));
            for (int i = 0; i < from.Count; i++) from[i].Fill(&list[i], scope);
            return list;
        }
    }

    /// <summary>All zero means default.</summary>
    public sealed partial class StepOptions
    {
        /// <summary>The call returns after this time; 0: when it is complete.</summary>
        public ulong BudgetUs { get; set; }
        /// <summary>Cancels the call.</summary>
        public CancellationToken Token { get; set; }
        /// <summary>Counts tokens.</summary>
        public IProgress<Progress> Progress { get; set; }

        internal unsafe void Fill(NativeStepOptions* o, Scope scope)
        {
            *o = default(NativeStepOptions);
            o->struct_size = (uint)sizeof(NativeStepOptions);
            o->budget_us = BudgetUs;
            o->progress = scope.Follow(Token, Progress);
        }

        internal static unsafe NativeStepOptions* Of(StepOptions from, NativeStepOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>All zero means default: the copy draws the same tokens.</summary>
    public sealed partial class ForkOptions
    {
        /// <summary>Flags.</summary>
        public ForkFlags Flags { get; set; }
        /// <summary>Empty, and of no other generator.</summary>
        public uint Sequence { get; set; }
        /// <summary>With ForkFlags.Reseed: seed of its sampler.</summary>
        public ulong Seed { get; set; }

        internal unsafe void Fill(NativeForkOptions* o)
        {
            *o = default(NativeForkOptions);
            o->struct_size = (uint)sizeof(NativeForkOptions);
            o->flags = (uint)Flags;
            o->sequence = Sequence;
            o->seed = Seed;
        }

        internal static unsafe NativeForkOptions* Of(ForkOptions from, NativeForkOptions* o)
        {
            if (from == null) return null;
            from.Fill(o);
            return o;
        }
    }

    /// <summary>Generator facts.</summary>
    public sealed partial class GeneratorFacts
    {
        /// <summary>State.</summary>
        public GeneratorState State { get; private set; }
        /// <summary>End.</summary>
        public End End { get; private set; }
        /// <summary>Its sequence, if it has one.</summary>
        public uint Sequence { get; private set; }
        /// <summary>Queued events.</summary>
        public uint Events { get; private set; }
        /// <summary>Tokens of the prompt.</summary>
        public ulong Prompt { get; private set; }
        /// <summary>Tokens of the prompt that the sequence held.</summary>
        public ulong PromptReused { get; private set; }
        /// <summary>Tokens of the prompt that are not computed yet.</summary>
        public ulong PromptLeft { get; private set; }
        /// <summary>Tokens generated.</summary>
        public ulong Tokens { get; private set; }
        /// <summary>Generated tokens that are reasoning.</summary>
        public ulong Reasoning { get; private set; }
        /// <summary>Draft tokens computed.</summary>
        public ulong Drafted { get; private set; }
        /// <summary>Draft tokens that the sampler drew.</summary>
        public ulong Accepted { get; private set; }
        /// <summary>Bytes of its tokens, texts, events and drafts.</summary>
        public ulong MemoryBytes { get; private set; }
        /// <summary>Log-probabilities of the tokens generated since the prompt was set or cut, also those of a stop string; 0
        /// without GeneratorFlags.Logprobs and Logprobs.</summary>
        public double SumLogprobs { get; private set; }

        internal unsafe GeneratorFacts(NativeGeneratorFacts* o)
        {
            State = (GeneratorState)o->state;
            End = (End)o->end;
            Sequence = o->sequence;
            Events = o->n_events;
            Prompt = o->n_prompt;
            PromptReused = o->n_prompt_reused;
            PromptLeft = o->n_prompt_left;
            Tokens = o->n_tokens;
            Reasoning = o->n_reasoning;
            Drafted = o->n_drafted;
            Accepted = o->n_accepted;
            MemoryBytes = o->memory_bytes;
            SumLogprobs = o->sum_logprobs;
        }
    }

    /// <summary>Grammar options.</summary>
    public sealed partial class GrammarOptions
    {
        /// <summary>Flags.</summary>
        public GrammarFlags Flags { get; set; }
        /// <summary>Kind.</summary>
        public GrammarKind Kind { get; set; }
        /// <summary>UTF-8.</summary>
        public string Text { get; set; }
        /// <summary>Cancels the call.</summary>
        public CancellationToken Token { get; set; }
        /// <summary>Steps done, of an unknown total.</summary>
        public IProgress<Progress> Progress { get; set; }
        /// <summary>Steps of the compilation; 0 = 4,000,000, plus 2,000 per byte of text.</summary>
        public ulong MaxSteps { get; set; }
        /// <summary>Bytes that it uses; 0 = 32 MiB, plus 2 KiB per byte of text.</summary>
        public ulong MaxMemory { get; set; }

        internal unsafe void Fill(NativeGrammarOptions* o, Scope scope)
        {
            *o = default(NativeGrammarOptions);
            o->struct_size = (uint)sizeof(NativeGrammarOptions);
            o->flags = (uint)Flags;
            o->kind = (uint)Kind;
            o->text.data = scope.Text(Text, out o->text.size);
            o->progress = scope.Follow(Token, Progress);
            o->max_steps = MaxSteps;
            o->max_memory = MaxMemory;
        }

        internal static unsafe NativeGrammarOptions* Of(GrammarOptions from, NativeGrammarOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>Matcher facts.</summary>
    public sealed partial class MatcherFacts
    {
        /// <summary>Flags.</summary>
        public MatcherFlags Flags { get; private set; }
        /// <summary>Tokens accepted and not rolled back.</summary>
        public ulong Tokens { get; private set; }
        /// <summary>Tokens of the vocabulary.</summary>
        public uint Vocab { get; private set; }
        /// <summary>Words of a mask.</summary>
        public uint Words { get; private set; }

        internal unsafe MatcherFacts(NativeMatcherFacts* o)
        {
            Flags = (MatcherFlags)o->flags;
            Tokens = o->n_tokens;
            Vocab = o->n_vocab;
            Words = o->n_words;
        }
    }

    /// <summary>Imatrix facts.</summary>
    public sealed partial class ImatrixFacts
    {
        /// <summary>Entries.</summary>
        public ulong Entries { get; private set; }
        /// <summary>Datasets.</summary>
        public ulong Datasets { get; private set; }
        /// <summary>Chunks of the dataset; 0: not in the file.</summary>
        public ulong Chunks { get; private set; }
        /// <summary>Tokens per chunk.</summary>
        public uint ChunkTokens { get; private set; }
        /// <summary>GGUFX_IMATRIX_* of its file.</summary>
        public ImatrixFormat Format { get; private set; }

        internal unsafe ImatrixFacts(NativeImatrixFacts* o)
        {
            Entries = o->n_entries;
            Datasets = o->n_datasets;
            Chunks = o->n_chunks;
            ChunkTokens = o->chunk_tokens;
            Format = (ImatrixFormat)o->format;
        }
    }

    /// <summary>An entry of an imatrix. Pointers are valid until the imatrix is changed or destroyed.</summary>
    public sealed partial class ImatrixEntry
    {
        /// <summary>Name of the weight tensor.</summary>
        public string Name { get; private set; }
        /// <summary>Columns of the tensor.</summary>
        public ulong Columns { get; private set; }
        /// <summary>Experts; 1 for other tensors.</summary>
        public ulong Matrices { get; private set; }
        /// <summary>Sums of squared activations.</summary>
        public float[] Sums { get; private set; }
        /// <summary>Tokens.</summary>
        public float[] Counts { get; private set; }
        /// <summary>Sums / counts, 1 without counts: the imatrix of QuantizeArgs.</summary>
        public float[] Values { get; private set; }

        internal unsafe ImatrixEntry(NativeImatrixEntry* o)
        {
            Name = Native.Text(o->name.data, o->name.size);
            Columns = o->n_columns;
            Matrices = o->n_matrices;
            Sums = Native.Copy<float>(o->sums, checked(o->n_matrices * o->n_columns));
            Counts = Native.Copy<float>(o->counts, o->n_matrices);
            Values = Native.Copy<float>(o->values, checked(o->n_matrices * o->n_columns));
        }
    }

    /// <summary>Options of a collection. All zero means default.</summary>
    public sealed partial class ImatrixOptions
    {
        /// <summary>Flags.</summary>
        public ImatrixFlags Flags { get; set; }
        /// <summary>Name of the dataset for the file, UTF-8; null: none.</summary>
        public string Dataset { get; set; }
        /// <summary>Cancels the call.</summary>
        public CancellationToken Token { get; set; }
        /// <summary>Counts tokens.</summary>
        public IProgress<Progress> Progress { get; set; }

        internal unsafe void Fill(NativeImatrixOptions* o, Scope scope)
        {
            *o = default(NativeImatrixOptions);
            o->struct_size = (uint)sizeof(NativeImatrixOptions);
            o->flags = (uint)Flags;
            o->dataset = scope.String(Dataset);
            o->progress = scope.Follow(Token, Progress);
        }

        internal static unsafe NativeImatrixOptions* Of(ImatrixOptions from, NativeImatrixOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>Options of one layer. Pages that no later token can see are freed, except with symmetric windows.</summary>
    public sealed partial class KvLayerOptions
    {
        /// <summary>KvFlags.HasTypeK, _HAS_TYPE_V.</summary>
        public KvFlags Flags { get; set; }
        /// <summary>Type of the keys; 0 without KvFlags.HasTypeK = that of the cache.</summary>
        public TensorType? TypeK { get; set; }
        /// <summary>Type of the values; 0 without KvFlags.HasTypeV = that of the cache.</summary>
        public TensorType? TypeV { get; set; }
        /// <summary>Positions that a token sees, see WindowKind; 0 = causal, no limit.</summary>
        public uint Window { get; set; }
        /// <summary>WindowKind; 0 without a window.</summary>
        public WindowKind WindowKind { get; set; }

        internal unsafe void Fill(NativeKvLayerOptions* o)
        {
            *o = default(NativeKvLayerOptions);
            o->struct_size = (uint)sizeof(NativeKvLayerOptions);
            o->flags = (uint)Flags;
            if (TypeK.HasValue) o->flags |= (uint)KvFlags.HasTypeK;
            o->type_k = (uint)TypeK.GetValueOrDefault();
            if (TypeV.HasValue) o->flags |= (uint)KvFlags.HasTypeV;
            o->type_v = (uint)TypeV.GetValueOrDefault();
            o->window = Window;
            o->window_kind = (uint)WindowKind;
        }

        internal static unsafe NativeKvLayerOptions* Of(KvLayerOptions from, NativeKvLayerOptions* o)
        {
            if (from == null) return null;
            from.Fill(o);
            return o;
        }

        internal static unsafe NativeKvLayerOptions* Of(IReadOnlyList<KvLayerOptions> from, Scope scope)
        {
            if (from == null) return null;
            var list = (NativeKvLayerOptions*)scope.Memory(from.Count, sizeof(NativeKvLayerOptions));
            for (int i = 0; i < from.Count; i++) from[i].Fill(&list[i]);
            return list;
        }
    }

    /// <summary>Kv options.</summary>
    public sealed partial class KvOptions
    {
        /// <summary>KvFlags.FitTq30, _CENTRE_*, _V_IN_K, _HAS_TYPE_K, _HAS_TYPE_V.</summary>
        public KvFlags Flags { get; set; }
        /// <summary>At least 1; NLayers * Sequences is at most 4,194,304.</summary>
        public uint NLayers { get; set; }
        /// <summary>At least 1.</summary>
        public uint KvHeads { get; set; }
        /// <summary>A multiple of KvHeads.</summary>
        public uint QHeads { get; set; }
        /// <summary>Values of a key head, at least 1.</summary>
        public uint HeadDimK { get; set; }
        /// <summary>Values of a value head; 0 = HeadDimK, the maximum with KvFlags.VInK.</summary>
        public uint HeadDimV { get; set; }
        /// <summary>Type of the keys; 0 without KvFlags.HasTypeK = F16.</summary>
        public TensorType? TypeK { get; set; }
        /// <summary>Type of the values; 0 without KvFlags.HasTypeV = F16.</summary>
        public TensorType? TypeV { get; set; }
        /// <summary>0 = 1.</summary>
        public uint Sequences { get; set; }
        /// <summary>Maximum per sequence; 0 = limited by memory.</summary>
        public ulong MaxTokens { get; set; }
        /// <summary>Attention sinks: first tokens that stay F16 with quantized types, and F32 with BF16. At most 64; 0 = 64 (a
        /// page), Constants.KvNoSinkTokens = none.</summary>
        public uint SinkTokens { get; set; }
        /// <summary>Rope style.</summary>
        public RopeStyle RopeStyle { get; set; }
        /// <summary>Coordinates that RoPE rotates, from the first on; 0 = HeadDimK. With KvFlags.VInK from HeadDimV on; 0 = all
        /// after it.</summary>
        public uint RopeDims { get; set; }
        /// <summary>0 = 10000.</summary>
        public float RopeBase { get; set; }
        /// <summary>Scale of positions; 0 = 1.</summary>
        public float RopeScale { get; set; }
        /// <summary>Read by the call only; null if LayerOptions is 0.</summary>
        public IReadOnlyList<KvLayerOptions> Layers { get; set; }
        /// <summary>Id chosen by the caller; snapshots with another one are refused.</summary>
        public ulong Model { get; set; }
        /// <summary>[NRopeFrequencies] angle in radians by which RoPE rotates pair i per position, read by the call only. null:
        /// RopeScale * RopeBase^(-2 i / RopeDims).</summary>
        public double[] RopeFrequencies { get; set; }

        internal unsafe void Fill(NativeKvOptions* o, Scope scope)
        {
            *o = default(NativeKvOptions);
            o->struct_size = (uint)sizeof(NativeKvOptions);
            o->flags = (uint)Flags;
            o->n_layers = NLayers;
            o->n_kv_heads = KvHeads;
            o->n_q_heads = QHeads;
            o->head_dim_k = HeadDimK;
            o->head_dim_v = HeadDimV;
            if (TypeK.HasValue) o->flags |= (uint)KvFlags.HasTypeK;
            o->type_k = (uint)TypeK.GetValueOrDefault();
            if (TypeV.HasValue) o->flags |= (uint)KvFlags.HasTypeV;
            o->type_v = (uint)TypeV.GetValueOrDefault();
            o->n_sequences = Sequences;
            o->max_tokens = MaxTokens;
            o->n_sink_tokens = SinkTokens;
            o->rope_style = (uint)RopeStyle;
            o->rope_dims = RopeDims;
            o->rope_base = RopeBase;
            o->rope_scale = RopeScale;
            o->layers = KvLayerOptions.Of(Layers, scope);
            o->n_layer_options = (uint)(Layers == null ? 0 : Layers.Count);
            o->model = Model;
            o->rope_frequencies = (double*)scope.Array(RopeFrequencies);
            o->n_rope_frequencies = Native.Size(RopeFrequencies == null ? 0 : RopeFrequencies.Length);
        }

        internal static unsafe NativeKvOptions* Of(KvOptions from, NativeKvOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>Tokens that KvCache.Append appends to a layer.</summary>
    public sealed partial class KvTokens
    {
        /// <summary>Index of the layer in the cache.</summary>
        public uint Layer { get; set; }
        /// <summary>Sequence of all tokens; 0 with Sequences.</summary>
        public uint Sequence { get; set; }
        /// <summary>Type of k and v: TensorType.F32, _F16 or _BF16, in the host's byte order.</summary>
        public TensorType Type { get; set; }
        /// <summary>Tokens.</summary>
        public long Tokens { get; set; }
        /// <summary>The sequence of each token, or null; needs positions.</summary>
        public uint[] Sequences { get; set; }
        /// <summary>Not negative, and not descending within a sequence; null: the next ones (0, 1, ... without gaps). The causal
        /// mask compares positions. Keys are stored as given: the call does not apply RoPE.</summary>
        public int[] Positions { get; set; }
        /// <summary>[Tokens][KvHeads][HeadDimK], copied (quantized).</summary>
        public Array K { get; set; }
        /// <summary>[Tokens][KvHeads][HeadDimV], copied; null with KvFlags.VInK.</summary>
        public Array V { get; set; }
        /// <summary>Distance of two tokens in values; 0 = dense: KvHeads * HeadDimK.</summary>
        public long KStride { get; set; }
        /// <summary>The same of v.</summary>
        public long VStride { get; set; }

        internal unsafe void Fill(NativeKvTokens* o, Scope scope)
        {
            *o = default(NativeKvTokens);
            o->struct_size = (uint)sizeof(NativeKvTokens);
            o->layer = Layer;
            o->sequence = Sequence;
            o->type_ = (uint)Type;
            o->n_tokens = Native.Size(Tokens, "Tokens");
            if (Sequences != null) Check.Length(Sequences.Length, Tokens, "Sequences");
            o->sequences = (uint*)scope.Array(Sequences);
            if (Positions != null) Check.Length(Positions.Length, Tokens, "Positions");
            o->positions = (int*)scope.Array(Positions);
            o->k = scope.Values(K, Type, "K", out o->n_k);
            o->v = scope.Values(V, Type, "V", out o->n_v);
            o->k_stride = Native.Size(KStride, "KStride");
            o->v_stride = Native.Size(VStride, "VStride");
        }

        internal static unsafe NativeKvTokens* Of(KvTokens from, NativeKvTokens* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>Attend options.</summary>
    public sealed partial class AttendOptions
    {
        /// <summary>AttendFlags; 0 = windows or the causal mask.</summary>
        public AttendFlags Flags { get; set; }
        /// <summary>Scale of the scores; 0 = 1 / sqrt(HeadDimK).</summary>
        public float Scale { get; set; }
        /// <summary>Scores become softcap * tanh(score / softcap); 0 = none.</summary>
        public float Softcap { get; set; }
        /// <summary>Positions that a query sees; 0 = as the layer. A query sees the intersection of its own window and that of
        /// the layer.</summary>
        public uint Window { get; set; }
        /// <summary>WindowKind of Window; 0 without one.</summary>
        public WindowKind WindowKind { get; set; }
        /// <summary>One per query head, or null: slope * (key position - query position) is added to a score.</summary>
        public float[] AlibiSlopes { get; set; }
        /// <summary>One per query head, or null: the score of an attention sink without a value.</summary>
        public float[] SinkLogits { get; set; }
        /// <summary>Cancels the call.</summary>
        public CancellationToken Token { get; set; }
        /// <summary>Receives the progress of the call.</summary>
        public IProgress<Progress> Progress { get; set; }

        internal unsafe void Fill(NativeAttendOptions* o, Scope scope)
        {
            *o = default(NativeAttendOptions);
            o->struct_size = (uint)sizeof(NativeAttendOptions);
            o->flags = (uint)Flags;
            o->scale = Scale;
            o->softcap = Softcap;
            o->window = Window;
            o->window_kind = (uint)WindowKind;
            o->alibi_slopes = (float*)scope.Array(AlibiSlopes);
            o->n_alibi_slopes = Native.Size(AlibiSlopes == null ? 0 : AlibiSlopes.Length);
            o->sink_logits = (float*)scope.Array(SinkLogits);
            o->n_sink_logits = Native.Size(SinkLogits == null ? 0 : SinkLogits.Length);
            o->progress = scope.Follow(Token, Progress);
        }

        internal static unsafe NativeAttendOptions* Of(AttendOptions from, NativeAttendOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>Queries over a layer.</summary>
    public sealed partial class KvQueries
    {
        /// <summary>Index of the layer in the cache.</summary>
        public uint Layer { get; set; }
        /// <summary>Sequence of all queries; 0 with Sequences.</summary>
        public uint Sequence { get; set; }
        /// <summary>Queries.</summary>
        public long Queries { get; set; }
        /// <summary>Query i reads sequences[i], which may repeat; null: Sequence.</summary>
        public uint[] Sequences { get; set; }
        /// <summary>Not negative; null: those of the last Queries tokens, or with Sequences that of the last token of
        /// each.</summary>
        public int[] Positions { get; set; }
        /// <summary>f32, [Queries][QHeads][HeadDimK].</summary>
        public float[] Q { get; set; }

        internal unsafe void Fill(NativeKvQueries* o, Scope scope)
        {
            *o = default(NativeKvQueries);
            o->struct_size = (uint)sizeof(NativeKvQueries);
            o->layer = Layer;
            o->sequence = Sequence;
            o->n_queries = Native.Size(Queries, "Queries");
            if (Sequences != null) Check.Length(Sequences.Length, Queries, "Sequences");
            o->sequences = (uint*)scope.Array(Sequences);
            if (Positions != null) Check.Length(Positions.Length, Queries, "Positions");
            o->positions = (int*)scope.Array(Positions);
            o->q = (float*)scope.Array(Q);
            o->n_q = Native.Size(Q == null ? 0 : Q.Length);
        }

        internal static unsafe NativeKvQueries* Of(KvQueries from, NativeKvQueries* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>Tokens of a layer of a sequence: First .. first + Tokens - 1.</summary>
    public sealed partial class KvRange
    {
        /// <summary>Index of the layer in the cache.</summary>
        public uint Layer { get; set; }
        /// <summary>Index of the sequence.</summary>
        public uint Sequence { get; set; }
        /// <summary>Index of the first token in the layer's sequence.</summary>
        public ulong First { get; set; }
        /// <summary>Tokens.</summary>
        public ulong Tokens { get; set; }

        internal unsafe void Fill(NativeKvRange* o)
        {
            *o = default(NativeKvRange);
            o->struct_size = (uint)sizeof(NativeKvRange);
            o->layer = Layer;
            o->sequence = Sequence;
            o->first = First;
            o->n_tokens = Tokens;
        }

        internal static unsafe NativeKvRange* Of(KvRange from, NativeKvRange* o)
        {
            if (from == null) return null;
            from.Fill(o);
            return o;
        }
    }

    /// <summary>Kv facts.</summary>
    public sealed partial class KvFacts
    {
        /// <summary>Type of the keys; with Constants.KvAllLayers the default of layers.</summary>
        public TensorType TypeK { get; private set; }
        /// <summary>Type of the values.</summary>
        public TensorType TypeV { get; private set; }
        /// <summary>Tokens of all sequences, in the first layer for Constants.KvAllLayers.</summary>
        public ulong Tokens { get; private set; }
        /// <summary>Allocated pages, used or not; shared pages count once.</summary>
        public ulong Pages { get; private set; }
        /// <summary>Pages among them that are not quantized: sinks and last tokens.</summary>
        public ulong PlainPages { get; private set; }
        /// <summary>References of sequences to pages that other sequences hold too.</summary>
        public ulong SharedPages { get; private set; }
        /// <summary>Bytes of the pages.</summary>
        public ulong PageBytes { get; private set; }
        /// <summary>Bytes of quantized keys and values per token.</summary>
        public ulong BytesPerToken { get; private set; }
        /// <summary>Bits per value, as stored in full pages.</summary>
        public double BitsPerValue { get; private set; }
        /// <summary>Mean squared error over mean square of quantized keys, in the basis of the type; 0 without any.</summary>
        public double KError { get; private set; }
        /// <summary>The same of the values; KError with KvFlags.VInK.</summary>
        public double VError { get; private set; }

        internal unsafe KvFacts(NativeKvFacts* o)
        {
            TypeK = (TensorType)o->type_k;
            TypeV = (TensorType)o->type_v;
            Tokens = o->n_tokens;
            Pages = o->n_pages;
            PlainPages = o->n_plain_pages;
            SharedPages = o->n_shared_pages;
            PageBytes = o->page_bytes;
            BytesPerToken = o->bytes_per_token;
            BitsPerValue = o->bits_per_value;
            KError = o->k_error;
            VError = o->v_error;
        }
    }

    /// <summary>Matmul options.</summary>
    public sealed partial class MatmulOptions
    {
        /// <summary>Flags.</summary>
        public MatmulFlags Flags { get; set; }
        /// <summary>Cancels the call.</summary>
        public CancellationToken Token { get; set; }
        /// <summary>Receives the progress of the call.</summary>
        public IProgress<Progress> Progress { get; set; }

        internal unsafe void Fill(NativeMatmulOptions* o, Scope scope)
        {
            *o = default(NativeMatmulOptions);
            o->struct_size = (uint)sizeof(NativeMatmulOptions);
            o->flags = (uint)Flags;
            o->progress = scope.Follow(Token, Progress);
        }

        internal static unsafe NativeMatmulOptions* Of(MatmulOptions from, NativeMatmulOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>Token ids of one text. It never grows.</summary>
    public partial struct TokenList
    {
        /// <summary>Ids of the vocabulary.</summary>
        public int[] Tokens { get; set; }

        internal unsafe void Fill(NativeTokenList* o, Scope scope)
        {
            *o = default(NativeTokenList);
            o->tokens = (int*)scope.Array(Tokens);
            o->n_tokens = Native.Size(Tokens == null ? 0 : Tokens.Length);
        }

        internal static unsafe NativeTokenList* Of(IReadOnlyList<TokenList> from, Scope scope)
        {
            if (from == null) return null;
            var list = (NativeTokenList*)scope.Memory(from.Count, sizeof(NativeTokenList));
            for (int i = 0; i < from.Count; i++) from[i].Fill(&list[i], scope);
            return list;
        }
    }

    /// <summary>State between two parts of a text. The struct never grows.</summary>
    public partial struct DetokenizerState
    {
        /// <summary>Bytes of an incomplete character, in an internal form; 0 at the start.</summary>
        public ulong Waiting { get; set; }
        /// <summary>Set by the caller, DetokenizeFlags.Flush for the last part.</summary>
        public DetokenizeFlags Flags { get; set; }

        internal unsafe DetokenizerState(NativeDetokenizerState* o) : this()
        {
            Waiting = o->waiting;
            Flags = (DetokenizeFlags)o->flags;
        }

        internal unsafe void Fill(NativeDetokenizerState* o)
        {
            *o = default(NativeDetokenizerState);
            o->waiting = Waiting;
            o->flags = (uint)Flags;
        }
    }

    /// <summary>Token facts.</summary>
    public sealed partial class TokenFacts
    {
        /// <summary>Flags.</summary>
        public TokenFlags Flags { get; private set; }
        /// <summary>Index in the vocabulary.</summary>
        public int Id { get; private set; }
        /// <summary>As stored in the file.</summary>
        public float Score { get; private set; }
        /// <summary>As stored in the file.</summary>
        public byte[] Text { get; private set; }

        internal unsafe TokenFacts(NativeTokenFacts* o)
        {
            Flags = (TokenFlags)o->flags;
            Id = o->id;
            Score = o->score;
            Text = Native.Copy<byte>(o->text.data, o->text.size);
        }
    }

    /// <summary>Special tokens are found by their key, or else by their text or the default of the kind of vocabulary; an id of
    /// -1: none.</summary>
    public sealed partial class TokenizerFacts
    {
        /// <summary>Flags.</summary>
        public TokenizerFlags Flags { get; private set; }
        /// <summary>tokenizer.ggml.model: "llama"; valid for the life of the process.</summary>
        public string Kind { get; private set; }
        /// <summary>Tokens of the vocabulary.</summary>
        public uint Tokens { get; private set; }
        /// <summary>Start of a text; [CLS].</summary>
        public int Bos { get; private set; }
        /// <summary>End of a text.</summary>
        public int Eos { get; private set; }
        /// <summary>Stands for text without a token.</summary>
        public int Unknown { get; private set; }
        /// <summary>Pre-tokenizer of BPE: "llama-bpe", else null; valid for the life of the process.</summary>
        public string Pre { get; private set; }
        /// <summary>End of a turn.</summary>
        public int Eot { get; private set; }
        /// <summary>End of a message that a tool answers.</summary>
        public int Eom { get; private set; }
        /// <summary>Between two texts; [SEP].</summary>
        public int Separator { get; private set; }
        /// <summary>Padding; [PAD].</summary>
        public int Pad { get; private set; }
        /// <summary>Token to be predicted; [MASK].</summary>
        public int Mask { get; private set; }
        /// <summary>Fill-in-the-middle: before the prefix.</summary>
        public int FimPrefix { get; private set; }
        /// <summary>Before the suffix.</summary>
        public int FimSuffix { get; private set; }
        /// <summary>Before the middle, which the model generates.</summary>
        public int FimMiddle { get; private set; }
        /// <summary>Padding.</summary>
        public int FimPad { get; private set; }
        /// <summary>Before the name of a repository.</summary>
        public int FimRepository { get; private set; }
        /// <summary>Between files.</summary>
        public int FimSeparator { get; private set; }

        internal unsafe TokenizerFacts(NativeTokenizerFacts* o)
        {
            Flags = (TokenizerFlags)o->flags;
            Kind = Native.Text(o->kind);
            Tokens = o->n_tokens;
            Bos = o->bos;
            Eos = o->eos;
            Unknown = o->unknown;
            Pre = Native.TextOrNull(o->pre);
            Eot = o->eot;
            Eom = o->eom;
            Separator = o->separator;
            Pad = o->pad;
            Mask = o->mask;
            FimPrefix = o->fim_prefix;
            FimSuffix = o->fim_suffix;
            FimMiddle = o->fim_middle;
            FimPad = o->fim_pad;
            FimRepository = o->fim_repository;
            FimSeparator = o->fim_separator;
        }
    }

    /// <summary>A pre-tokenizer: splits a text before BPE merges.</summary>
    public sealed partial class PreTokenizerFacts
    {
        /// <summary>Flags.</summary>
        public PreFlags Flags { get; private set; }
        /// <summary>tokenizer.ggml.pre: "llama-bpe"; valid for the life of the process.</summary>
        public string Name { get; private set; }
        /// <summary>Name of its rules; equal for pre-tokenizers that split equally.</summary>
        public string Rules { get; private set; }
        /// <summary>Its steps as in tokenizer.json, each terminated by NUL; absent if they are not known: 'S' and the pattern of
        /// a Split, 'D' single digits, 'G' the pattern and bytes of GPT-2, 'B' bytes.</summary>
        public string Pipeline { get; private set; }
        /// <summary>Unicode version of its character classes: "15.0.0"; valid for the life of the process.</summary>
        public string Unicode { get; private set; }

        internal unsafe PreTokenizerFacts(NativePreTokenizerFacts* o)
        {
            Flags = (PreFlags)o->flags;
            Name = Native.Text(o->name);
            Rules = Native.Text(o->rules);
            Pipeline = Native.Text(o->pipeline.data, o->pipeline.size);
            Unicode = Native.Text(o->unicode);
        }
    }

    /// <summary>Overrides a metadata value of the file, or adds a key.</summary>
    public partial struct ModelOverride
    {
        /// <summary>"llama.rope.freq_base".</summary>
        public string Key { get; set; }
        /// <summary>A number, "true", "false" or a string, according to the key.</summary>
        public string Value { get; set; }

        internal unsafe void Fill(NativeModelOverride* o, Scope scope)
        {
            *o = default(NativeModelOverride);
            o->key = scope.String(Key);
            o->value = scope.String(Value);
        }

        internal static unsafe NativeModelOverride* Of(IDictionary<string, string> from, Scope scope)
        {
            if (from == null) return null;
            var list = (NativeModelOverride*)scope.Memory(from.Count, sizeof(NativeModelOverride));
            int i = 0;
            foreach (var pair in from)
                new ModelOverride { Key = pair.Key, Value = pair.Value }.Fill(&list[i++], scope);
            return list;
        }
    }

    /// <summary>Model options.</summary>
    public sealed partial class ModelOptions
    {
        /// <summary>[NOverrides], read by the call only.</summary>
        public IDictionary<string, string> Overrides { get; set; }
        /// <summary>Cancels the call.</summary>
        public CancellationToken Token { get; set; }
        /// <summary>Counts layers.</summary>
        public IProgress<Progress> Progress { get; set; }
        /// <summary>Device (device.h) for the products of the output matrix and of the last DeviceLayers layers. If it is exact,
        /// results are bit-identical. null: the CPU.</summary>
        public Device Device { get; set; }
        /// <summary>Number of last layers on the device; 0: all.</summary>
        public uint DeviceLayers { get; set; }

        internal unsafe void Fill(NativeModelOptions* o, Scope scope)
        {
            *o = default(NativeModelOptions);
            o->struct_size = (uint)sizeof(NativeModelOptions);
            o->overrides = ModelOverride.Of(Overrides, scope);
            o->n_overrides = Native.Size(Overrides == null ? 0 : Overrides.Count);
            o->progress = scope.Follow(Token, Progress);
            o->device = scope.Object(Device == null ? null : Device.Handle);
            o->n_device_layers = DeviceLayers;
        }

        internal static unsafe NativeModelOptions* Of(ModelOptions from, NativeModelOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>Model facts.</summary>
    public sealed partial class ModelFacts
    {
        /// <summary>Flags.</summary>
        public ModelFlags Flags { get; private set; }
        /// <summary>"llama"; valid for the life of the process.</summary>
        public string Architecture { get; private set; }
        /// <summary>Values of all tensors.</summary>
        public ulong Parameters { get; private set; }
        /// <summary>Bytes of all tensors.</summary>
        public ulong WeightBytes { get; private set; }
        /// <summary>Tokens of the vocabulary.</summary>
        public uint Vocab { get; private set; }
        /// <summary>Trained context.</summary>
        public uint Context { get; private set; }
        /// <summary>Values of a hidden state.</summary>
        public uint Embedding { get; private set; }
        /// <summary>Layers.</summary>
        public uint Layers { get; private set; }
        /// <summary>Heads.</summary>
        public uint Heads { get; private set; }
        /// <summary>Kv heads.</summary>
        public uint KvHeads { get; private set; }
        /// <summary>Values of a head.</summary>
        public uint HeadDim { get; private set; }
        /// <summary>Layers on the device, beside the output matrix; 0: no device.</summary>
        public uint DeviceLayers { get; private set; }
        /// <summary>Identity of the model in snapshots and saved logits: a checksum of the shapes and types of all matrices and
        /// of the values of all vectors.</summary>
        public ulong Identity { get; private set; }
        /// <summary>Bytes of matrices on the device.</summary>
        public ulong DeviceBytes { get; private set; }

        internal unsafe ModelFacts(NativeModelFacts* o)
        {
            Flags = (ModelFlags)o->flags;
            Architecture = Native.Text(o->architecture);
            Parameters = o->n_parameters;
            WeightBytes = o->weight_bytes;
            Vocab = o->n_vocab;
            Context = o->n_context;
            Embedding = o->n_embedding;
            Layers = o->n_layers;
            Heads = o->n_heads;
            KvHeads = o->n_kv_heads;
            HeadDim = o->head_dim;
            DeviceLayers = o->n_device_layers;
            Identity = o->identity;
            DeviceBytes = o->device_bytes;
        }
    }

    /// <summary>Layer facts.</summary>
    public sealed partial class LayerFacts
    {
        /// <summary>Flags.</summary>
        public LayerFlags Flags { get; private set; }
        /// <summary>Kind.</summary>
        public LayerKind Kind { get; private set; }
        /// <summary>Query heads, as in AttentionHook; 0 without attention.</summary>
        public uint Heads { get; private set; }
        /// <summary>Heads of keys and values.</summary>
        public uint KvHeads { get; private set; }
        /// <summary>Values of a query or key head.</summary>
        public uint HeadDimK { get; private set; }
        /// <summary>Values of a value head.</summary>
        public uint HeadDimV { get; private set; }
        /// <summary>Tokens that a token sees (llama4: at most); 0 = all.</summary>
        public uint Window { get; private set; }
        /// <summary>Layer of the keys and values that it reads, mostly itself.</summary>
        public uint KvLayer { get; private set; }
        /// <summary>Scale of the scores; 0 = 1 / sqrt(HeadDimK).</summary>
        public float Scale { get; private set; }
        /// <summary>Soft cap of the scores; 0: none.</summary>
        public float Softcap { get; private set; }
        /// <summary>Bytes of the recurrent state of a sequence.</summary>
        public ulong StateBytes { get; private set; }
        /// <summary>Attention sink logits, or null; valid as long as the model.</summary>
        public float[] SinkLogits { get; private set; }

        internal unsafe LayerFacts(NativeLayerFacts* o)
        {
            Flags = (LayerFlags)o->flags;
            Kind = (LayerKind)o->kind;
            Heads = o->n_heads;
            KvHeads = o->n_kv_heads;
            HeadDimK = o->head_dim_k;
            HeadDimV = o->head_dim_v;
            Window = o->window;
            KvLayer = o->kv_layer;
            Scale = o->scale;
            Softcap = o->softcap;
            StateBytes = o->state_bytes;
            SinkLogits = Native.Copy<float>(o->sink_logits, o->n_heads);
        }
    }

    /// <summary>Session options.</summary>
    public sealed partial class SessionOptions
    {
        /// <summary>SessionFlags.HasTypeK, _HAS_TYPE_V.</summary>
        public SessionFlags Flags { get; set; }
        /// <summary>Maximum number of tokens of a sequence; 0 = the trained context, at most 8192.</summary>
        public uint Context { get; set; }
        /// <summary>Tokens computed at once; 0 = 512.</summary>
        public uint Batch { get; set; }
        /// <summary>Type of the keys; 0 without SessionFlags.HasTypeK = F16.</summary>
        public TensorType? TypeK { get; set; }
        /// <summary>Type of the values; 0 without SessionFlags.HasTypeV = F16.</summary>
        public TensorType? TypeV { get; set; }
        /// <summary>MatmulFlags of all products.</summary>
        public MatmulFlags MatmulFlags { get; set; }
        /// <summary>Maximum number of tokens of all sequences together, which then share memory. It is allocated as tokens
        /// arrive; a shared prefix counts once; tokens without memory are Status.Capacity. 0, or more than all sequences can
        /// hold: each has its own memory.</summary>
        public ulong ContextTotal { get; set; }
        /// <summary>Checkpoints of recurrent states for Session.Truncate, in addition to the state before the last decode. At
        /// most 4096; 0 = 8, or one per 64 tokens if the context has less than 512; Constants.SessionNoCheckpoints = none. No
        /// effect on models without recurrent layers.</summary>
        public uint Checkpoints { get; set; }
        /// <summary>Number of sequences of Context tokens each (batch.h); 0 = 1, at most 65536.</summary>
        public uint Sequences { get; set; }

        internal unsafe void Fill(NativeSessionOptions* o)
        {
            *o = default(NativeSessionOptions);
            o->struct_size = (uint)sizeof(NativeSessionOptions);
            o->flags = (uint)Flags;
            o->n_context = Context;
            o->n_batch = Batch;
            if (TypeK.HasValue) o->flags |= (uint)SessionFlags.HasTypeK;
            o->type_k = (uint)TypeK.GetValueOrDefault();
            if (TypeV.HasValue) o->flags |= (uint)SessionFlags.HasTypeV;
            o->type_v = (uint)TypeV.GetValueOrDefault();
            o->matmul_flags = (uint)MatmulFlags;
            o->n_context_total = ContextTotal;
            o->n_checkpoints = Checkpoints;
            o->n_sequences = Sequences;
        }

        internal static unsafe NativeSessionOptions* Of(SessionOptions from, NativeSessionOptions* o)
        {
            if (from == null) return null;
            from.Fill(o);
            return o;
        }
    }

    /// <summary>Options of a session, with the defaults filled in, and the memory of its caches.</summary>
    public sealed partial class SessionFacts
    {
        /// <summary>Maximum number of tokens of a sequence.</summary>
        public uint Context { get; private set; }
        /// <summary>Tokens computed at once.</summary>
        public uint Batch { get; private set; }
        /// <summary>Type of the keys.</summary>
        public TensorType TypeK { get; private set; }
        /// <summary>Type of the values.</summary>
        public TensorType TypeV { get; private set; }
        /// <summary>Number of sequences.</summary>
        public uint Sequences { get; private set; }
        /// <summary>Tokens for which sequences share memory; 0: each has its own.</summary>
        public ulong ContextTotal { get; private set; }
        /// <summary>Bytes allocated for keys, values and states.</summary>
        public ulong CacheBytes { get; private set; }
        /// <summary>Allocated pages, used or not; shared pages count once. A page holds 64 tokens of a layer.</summary>
        public ulong Pages { get; private set; }
        /// <summary>References of sequences to pages that other sequences hold too.</summary>
        public ulong SharedPages { get; private set; }
        /// <summary>Tokens of all sequences.</summary>
        public ulong Tokens { get; private set; }
        /// <summary>With ContextTotal: tokens that still fit, in whole pages.</summary>
        public ulong TokensLeft { get; private set; }
        /// <summary>Bytes of input rows that the caller passed.</summary>
        public ulong EmbeddedBytes { get; private set; }

        internal unsafe SessionFacts(NativeSessionFacts* o)
        {
            Context = o->n_context;
            Batch = o->n_batch;
            TypeK = (TensorType)o->type_k;
            TypeV = (TensorType)o->type_v;
            Sequences = o->n_sequences;
            ContextTotal = o->n_context_total;
            CacheBytes = o->cache_bytes;
            Pages = o->n_pages;
            SharedPages = o->n_shared_pages;
            Tokens = o->n_tokens;
            TokensLeft = o->n_tokens_left;
            EmbeddedBytes = o->embedded_bytes;
        }
    }

    /// <summary>Rows of f32 to quantize.</summary>
    public sealed partial class QuantizeArgs
    {
        /// <summary>Type.</summary>
        public TensorType Type { get; set; }
        /// <summary>Mode.</summary>
        public QuantizeMode Mode { get; set; }
        /// <summary>N rows.</summary>
        public long NRows { get; set; }
        /// <summary>Values of a row.</summary>
        public long Cols { get; set; }
        /// <summary>f32, dense.</summary>
        public float[] Rows { get; set; }
        /// <summary>Weights of the columns, &gt;= 0, or null.</summary>
        public float[] Imatrix { get; set; }
        /// <summary>Cancels the call.</summary>
        public CancellationToken Token { get; set; }
        /// <summary>Counts blocks.</summary>
        public IProgress<Progress> Progress { get; set; }

        internal unsafe void Fill(NativeQuantizeArgs* o, Scope scope)
        {
            *o = default(NativeQuantizeArgs);
            o->struct_size = (uint)sizeof(NativeQuantizeArgs);
            o->type_ = (uint)Type;
            o->mode = (int)Mode;
            o->n_rows = Native.Size(NRows, "NRows");
            o->n_cols = Native.Size(Cols, "Cols");
            if (Rows != null) Check.Length(Rows.Length, NRows * Cols, "Rows");
            o->rows = (float*)scope.Array(Rows);
            if (Imatrix != null) Check.Length(Imatrix.Length, Cols, "Imatrix");
            o->imatrix = (float*)scope.Array(Imatrix);
            o->progress = scope.Follow(Token, Progress);
        }

        internal static unsafe NativeQuantizeArgs* Of(QuantizeArgs from, NativeQuantizeArgs* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>A quantization mix (llama.cpp: ftype).</summary>
    public sealed partial class FileTypeFacts
    {
        /// <summary>"Q4_K_M"; valid for the life of the process.</summary>
        public string Name { get; private set; }
        /// <summary>Value of general.file_type: 15.</summary>
        public uint FileType { get; private set; }
        /// <summary>GGUFX_TYPE_* of most tensors.</summary>
        public TensorType Type { get; private set; }

        internal unsafe FileTypeFacts(NativeFileTypeFacts* o)
        {
            Name = Native.Text(o->name);
            FileType = o->file_type;
            Type = (TensorType)o->type_;
        }
    }

    /// <summary>A calibration text: matrices are quantized for the inputs that they get (feedback.h).</summary>
    public sealed partial class QuantizerFeedback
    {
        /// <summary>Ids of the text, copied. Whole chunks of Context tokens count; every eighth one decides whether feedback is
        /// used.</summary>
        public int[] Tokens { get; set; }
        /// <summary>Tokens per chunk, at least 4; 0: 512.</summary>
        public uint Context { get; set; }
        /// <summary>Replaces token 0 of each chunk; -1: none.</summary>
        public int Bos { get; set; }
        /// <summary>Passes of the descent, at most 100; 0: 4.</summary>
        public uint Passes { get; set; }
        /// <summary>As in FeedbackArgs; 0: by the length of the text.</summary>
        public double Damping { get; set; }

        internal unsafe void Fill(NativeQuantizerFeedback* o, Scope scope)
        {
            *o = default(NativeQuantizerFeedback);
            o->struct_size = (uint)sizeof(NativeQuantizerFeedback);
            o->tokens = (int*)scope.Array(Tokens);
            o->n_tokens = Native.Size(Tokens == null ? 0 : Tokens.Length);
            o->n_context = Context;
            o->bos = Bos;
            o->n_passes = Passes;
            o->damping = Damping;
        }

        internal static unsafe NativeQuantizerFeedback* Of(QuantizerFeedback from, NativeQuantizerFeedback* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>Options of a plan. All zero means default.</summary>
    public sealed partial class QuantizerOptions
    {
        /// <summary>Flags.</summary>
        public QuantizerFlags Flags { get; set; }
        /// <summary>GGUFX_TYPE_* of output.weight.</summary>
        public TensorType OutputType { get; set; }
        /// <summary>GGUFX_TYPE_* of token_embd.weight.</summary>
        public TensorType EmbeddingType { get; set; }
        /// <summary>Kept as it is now; later changes or its destruction have no effect.</summary>
        public Imatrix Imatrix { get; set; }
        /// <summary>Imatrix name.</summary>
        public string ImatrixName { get; set; }
        /// <summary>As in WriterOptions.</summary>
        public ulong ReserveBytes { get; set; }
        /// <summary>Null: none. Quantizes the matrices of the layers one after the other: each one for the inputs that the
        /// quantized matrices before it compute, towards the outputs of the model in the file. Tensors that it makes need no
        /// imatrix. Not with QuantizerFlags.KeepSplit or shards.</summary>
        public QuantizerFeedback Feedback { get; set; }

        internal unsafe void Fill(NativeQuantizerOptions* o, Scope scope)
        {
            *o = default(NativeQuantizerOptions);
            o->struct_size = (uint)sizeof(NativeQuantizerOptions);
            o->flags = (uint)Flags;
            o->output_type = (uint)OutputType;
            o->embedding_type = (uint)EmbeddingType;
            o->imatrix = scope.Object(Imatrix == null ? null : Imatrix.Handle);
            o->imatrix_name = scope.String(ImatrixName);
            o->reserve_bytes = ReserveBytes;
            o->feedback = QuantizerFeedback.Of(Feedback, (NativeQuantizerFeedback*)scope.Memory(1,
                sizeof(NativeQuantizerFeedback)), scope);
        }

        internal static unsafe NativeQuantizerOptions* Of(QuantizerOptions from, NativeQuantizerOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>Quantizer facts.</summary>
    public sealed partial class QuantizerFacts
    {
        /// <summary>Tensors.</summary>
        public ulong Tensors { get; private set; }
        /// <summary>Files that a run writes.</summary>
        public ulong Parts { get; private set; }
        /// <summary>Values of all tensors.</summary>
        public ulong Values { get; private set; }
        /// <summary>Bytes of all tensors in the input.</summary>
        public ulong BytesIn { get; private set; }
        /// <summary>Bytes of all tensors in the output.</summary>
        public ulong BytesOut { get; private set; }
        /// <summary>Exact bytes of all files that a run writes.</summary>
        public ulong FileBytes { get; private set; }
        /// <summary>Tensors with QuantizerReason.Fallback.</summary>
        public ulong Fallbacks { get; private set; }
        /// <summary>Tensors without an entry of the imatrix, if one was given.</summary>
        public ulong Missing { get; private set; }

        internal unsafe QuantizerFacts(NativeQuantizerFacts* o)
        {
            Tensors = o->n_tensors;
            Parts = o->n_parts;
            Values = o->n_values;
            BytesIn = o->bytes_in;
            BytesOut = o->bytes_out;
            FileBytes = o->file_bytes;
            Fallbacks = o->n_fallbacks;
            Missing = o->n_missing;
        }
    }

    /// <summary>A tensor of a plan.</summary>
    public sealed partial class QuantizerTensorFacts
    {
        /// <summary>Lives as long as the quantizer.</summary>
        public string Name { get; private set; }
        /// <summary>Values per dimension.</summary>
        public ulong[] Ne { get; private set; }
        /// <summary>Type in the input.</summary>
        public TensorType From { get; private set; }
        /// <summary>Type in the output.</summary>
        public TensorType To { get; private set; }
        /// <summary>Type before a fallback.</summary>
        public TensorType Wanted { get; private set; }
        /// <summary>Reason.</summary>
        public QuantizerReason Reason { get; private set; }
        /// <summary>1: an entry weighs its columns; 0: no entry is used; -1: the imatrix has no entry; -2: no entry, but the type
        /// requires one.</summary>
        public int Imatrix { get; private set; }
        /// <summary>Index of the output file.</summary>
        public uint Part { get; private set; }
        /// <summary>Bytes in the input.</summary>
        public ulong BytesIn { get; private set; }
        /// <summary>Bytes in the output.</summary>
        public ulong BytesOut { get; private set; }
        /// <summary>Error of a run with QuantizerRunFlags.Measure; negative: not measured.</summary>
        public double Rmse { get; private set; }
        /// <summary>Time in the last run.</summary>
        public double Seconds { get; private set; }
        /// <summary>With feedback: mean squared error of the outputs, relative to their mean square, before the descent; 0
        /// without.</summary>
        public double ErrorBefore { get; private set; }
        /// <summary>The same of the written blocks.</summary>
        public double ErrorAfter { get; private set; }

        internal unsafe QuantizerTensorFacts(NativeQuantizerTensorFacts* o)
        {
            Name = Native.Text(o->name.data, o->name.size);
            Ne = Native.Copy<ulong>(o->ne, o->n_dims);
            From = (TensorType)o->from;
            To = (TensorType)o->to;
            Wanted = (TensorType)o->wanted;
            Reason = (QuantizerReason)o->reason;
            Imatrix = o->imatrix;
            Part = o->part;
            BytesIn = o->bytes_in;
            BytesOut = o->bytes_out;
            Rmse = o->rmse;
            Seconds = o->seconds;
            ErrorBefore = o->error_before;
            ErrorAfter = o->error_after;
        }
    }

    /// <summary>Options of a run. All zero means default.</summary>
    public sealed partial class QuantizerRunOptions
    {
        /// <summary>Flags.</summary>
        public QuantizerRunFlags Flags { get; set; }
        /// <summary>Cancels the call.</summary>
        public CancellationToken Token { get; set; }
        /// <summary>Reported in bytes of input.</summary>
        public IProgress<Progress> Progress { get; set; }
        /// <summary>A result other than Status.Ok ends the run with it; the next run goes on after this tensor.</summary>
        public Func<long, QuantizerTensorFacts, bool> TensorDone { get; set; }
        /// <summary>Number of this shard, 1 .. Shards; 0: no shards. Shards runs on one file system write their tensors to
        /// PATH.part; Quantizer.Finish completes the file.</summary>
        public uint Shard { get; set; }
        /// <summary>Shards.</summary>
        public uint Shards { get; set; }

        internal unsafe void Fill(NativeQuantizerRunOptions* o, Scope scope)
        {
            *o = default(NativeQuantizerRunOptions);
            o->struct_size = (uint)sizeof(NativeQuantizerRunOptions);
            o->flags = (uint)Flags;
            o->progress = scope.Follow(Token, Progress);
            o->tensor_done = TensorDone == null ? IntPtr.Zero : Callbacks.QuantizerRunOptionsTensorDone;
            if (TensorDone != null) o->user = scope.User(TensorDone);
            o->shard = Shard;
            o->n_shards = Shards;
        }

        internal static unsafe NativeQuantizerRunOptions* Of(QuantizerRunOptions from, NativeQuantizerRunOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>Dynamic temperature: low + (high - low) * e^exponent, low = max(0, temperature - range), high = temperature +
    /// range. e is the entropy over that of as many equal candidates.</summary>
    public sealed partial class TemperatureOptions
    {
        /// <summary>0: the temperature is constant.</summary>
        public float Range { get; set; }
        /// <summary>0 is 1.</summary>
        public float Exponent { get; set; }

        internal unsafe void Fill(NativeTemperatureOptions* o)
        {
            *o = default(NativeTemperatureOptions);
            o->struct_size = (uint)sizeof(NativeTemperatureOptions);
            o->range = Range;
            o->exponent = Exponent;
        }

        internal static unsafe NativeTemperatureOptions* Of(TemperatureOptions from, NativeTemperatureOptions* o)
        {
            if (from == null) return null;
            from.Fill(o);
            return o;
        }
    }

    /// <summary>Penalty options.</summary>
    public sealed partial class PenaltyOptions
    {
        /// <summary>Divides logits above 0, multiplies others; 0 is 1.</summary>
        public float Repeat { get; set; }
        /// <summary>-1e6 to 1e6, subtracted for each occurrence.</summary>
        public float Frequency { get; set; }
        /// <summary>-1e6 to 1e6, subtracted once.</summary>
        public float Presence { get; set; }
        /// <summary>Accepted tokens to count, at most Constants.SamplerMaxLastN; 0: off.</summary>
        public uint LastN { get; set; }

        internal unsafe void Fill(NativePenaltyOptions* o)
        {
            *o = default(NativePenaltyOptions);
            o->struct_size = (uint)sizeof(NativePenaltyOptions);
            o->repeat = Repeat;
            o->frequency = Frequency;
            o->presence = Presence;
            o->last_n = LastN;
        }

        internal static unsafe NativePenaltyOptions* Of(PenaltyOptions from, NativePenaltyOptions* o)
        {
            if (from == null) return null;
            from.Fill(o);
            return o;
        }
    }

    /// <summary>Dry options.</summary>
    public sealed partial class DryOptions
    {
        /// <summary>0: off.</summary>
        public float Multiplier { get; set; }
        /// <summary>1 to 1e6; 0 is 1.75.</summary>
        public float Base { get; set; }
        /// <summary>0 is 2.</summary>
        public uint AllowedLength { get; set; }
        /// <summary>Accepted tokens to search, at most Constants.SamplerMaxLastN; 0: off.</summary>
        public uint LastN { get; set; }
        /// <summary>[NSequenceBreakers] ids, which may repeat; copied.</summary>
        public int[] SequenceBreakers { get; set; }

        internal unsafe void Fill(NativeDryOptions* o, Scope scope)
        {
            *o = default(NativeDryOptions);
            o->struct_size = (uint)sizeof(NativeDryOptions);
            o->multiplier = Multiplier;
            o->base_ = Base;
            o->allowed_length = AllowedLength;
            o->last_n = LastN;
            o->sequence_breakers = (int*)scope.Array(SequenceBreakers);
            o->n_sequence_breakers = Native.Size(SequenceBreakers == null ? 0 : SequenceBreakers.Length);
        }

        internal static unsafe NativeDryOptions* Of(DryOptions from, NativeDryOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>A value that is added to the logit of a token.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public partial struct LogitBias
    {
        /// <summary>Token of the vocabulary.</summary>
        public int Id { get; set; }
        /// <summary>Finite, or -infinity.</summary>
        public float Bias { get; set; }

        internal unsafe void Fill(NativeLogitBias* o)
        {
            *o = default(NativeLogitBias);
            o->id = Id;
            o->bias = Bias;
        }

        internal static unsafe NativeLogitBias* Of(IReadOnlyList<LogitBias> from, Scope scope)
        {
            if (from == null) return null;
            var list = (NativeLogitBias*)scope.Memory(from.Count, sizeof(NativeLogitBias));
            for (int i = 0; i < from.Count; i++) from[i].Fill(&list[i]);
            return list;
        }
    }

    /// <summary>Mirostat options.</summary>
    public sealed partial class MirostatOptions
    {
        /// <summary>1 or 2; 0 is 2.</summary>
        public uint Version { get; set; }
        /// <summary>Version 1: candidates of the slope, at least 2; 0 is 100.</summary>
        public uint M { get; set; }
        /// <summary>Target surprise in bits; 0 is 5.</summary>
        public float Tau { get; set; }
        /// <summary>Learning rate; 0 is 0.1.</summary>
        public float Eta { get; set; }

        internal unsafe void Fill(NativeMirostatOptions* o)
        {
            *o = default(NativeMirostatOptions);
            o->struct_size = (uint)sizeof(NativeMirostatOptions);
            o->version = Version;
            o->m = M;
            o->tau = Tau;
            o->eta = Eta;
        }

        internal static unsafe NativeMirostatOptions* Of(MirostatOptions from, NativeMirostatOptions* o)
        {
            if (from == null) return null;
            from.Fill(o);
            return o;
        }
    }

    /// <summary>A token that may be sampled.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public partial struct Candidate
    {
        /// <summary>Token of the vocabulary.</summary>
        public int Id { get; set; }
        /// <summary>-infinity: removed.</summary>
        public float Logit { get; set; }
    }

    /// <summary>Type facts.</summary>
    public sealed partial class TypeFacts
    {
        /// <summary>Flags.</summary>
        public TypeFlags Flags { get; private set; }
        /// <summary>Id.</summary>
        public TensorType Id { get; private set; }
        /// <summary>Values per block; 0: the head is the block (GX types).</summary>
        public uint BlockValues { get; private set; }
        /// <summary>Bytes per block; 0 if BlockValues is 0.</summary>
        public uint BlockBytes { get; private set; }
        /// <summary>Name as ggml spells it: "q4_K"; valid for the life of the process.</summary>
        public string Name { get; private set; }

        internal unsafe TypeFacts(NativeTypeFacts* o)
        {
            Flags = (TypeFlags)o->flags;
            Id = (TensorType)o->id;
            BlockValues = o->block_values;
            BlockBytes = o->block_bytes;
            Name = Native.Text(o->name);
        }
    }

    /// <summary>Writer options.</summary>
    public sealed partial class WriterOptions
    {
        /// <summary>Flags.</summary>
        public WriterFlags Flags { get; set; }
        /// <summary>GGUF version, 2 or 3; 0 = 3.</summary>
        public uint Version { get; set; }
        /// <summary>Space for later edits in place: the last key is "ggufx.reserve", an array of this many zeros (u8). It
        /// replaces one that was set or copied. 0: none is added.</summary>
        public ulong ReserveBytes { get; set; }

        internal unsafe void Fill(NativeWriterOptions* o)
        {
            *o = default(NativeWriterOptions);
            o->struct_size = (uint)sizeof(NativeWriterOptions);
            o->flags = (uint)Flags;
            o->version = Version;
            o->reserve_bytes = ReserveBytes;
        }

        internal static unsafe NativeWriterOptions* Of(WriterOptions from, NativeWriterOptions* o)
        {
            if (from == null) return null;
            from.Fill(o);
            return o;
        }
    }

    /// <summary>Limits of the parts of a split set. With MaxPartBytes or MaxPartTensors the output is PREFIX-00001-of-0000N.gguf,
    /// where PREFIX is the path without ".gguf". The first part has the keys. Every part has split.no, split.count,
    /// split.tensors.count and ggufx.split.id, which replace keys that were set. A part is larger than MaxPartBytes only if the
    /// keys, or one tensor alone, are.</summary>
    public sealed partial class WriteOptions
    {
        /// <summary>Flags.</summary>
        public WriteFlags Flags { get; set; }
        /// <summary>Cancels the call.</summary>
        public CancellationToken Token { get; set; }
        /// <summary>Reported in bytes.</summary>
        public IProgress<Progress> Progress { get; set; }
        /// <summary>0: no limit.</summary>
        public ulong MaxPartBytes { get; set; }
        /// <summary>0: no limit.</summary>
        public ulong MaxPartTensors { get; set; }

        internal unsafe void Fill(NativeWriteOptions* o, Scope scope)
        {
            *o = default(NativeWriteOptions);
            o->struct_size = (uint)sizeof(NativeWriteOptions);
            o->flags = (uint)Flags;
            o->progress = scope.Follow(Token, Progress);
            o->max_part_bytes = MaxPartBytes;
            o->max_part_tensors = MaxPartTensors;
        }

        internal static unsafe NativeWriteOptions* Of(WriteOptions from, NativeWriteOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>Writer facts.</summary>
    public sealed partial class WriterFacts
    {
        /// <summary>Keys that were set, without split and reserve keys.</summary>
        public ulong Meta { get; private set; }
        /// <summary>Tensors.</summary>
        public ulong Tensors { get; private set; }
        /// <summary>Files of a write.</summary>
        public ulong Parts { get; private set; }
        /// <summary>Exact bytes of all files.</summary>
        public ulong Bytes { get; private set; }

        internal unsafe WriterFacts(NativeWriterFacts* o)
        {
            Meta = o->n_meta;
            Tensors = o->n_tensors;
            Parts = o->n_parts;
            Bytes = o->n_bytes;
        }
    }

    /// <summary>Edit options.</summary>
    public sealed partial class EditOptions
    {
        /// <summary>EditFlags, at most one.</summary>
        public EditFlags Flags { get; set; }
        /// <summary>Cancels the call.</summary>
        public CancellationToken Token { get; set; }
        /// <summary>Reported in bytes.</summary>
        public IProgress<Progress> Progress { get; set; }

        internal unsafe void Fill(NativeEditOptions* o, Scope scope)
        {
            *o = default(NativeEditOptions);
            o->struct_size = (uint)sizeof(NativeEditOptions);
            o->flags = (uint)Flags;
            o->progress = scope.Follow(Token, Progress);
        }

        internal static unsafe NativeEditOptions* Of(EditOptions from, NativeEditOptions* o, Scope scope)
        {
            if (from == null) return null;
            from.Fill(o, scope);
            return o;
        }
    }

    /// <summary>Edit facts.</summary>
    public sealed partial class EditFacts
    {
        /// <summary>The tensor data stay in place, neither read nor written.</summary>
        public bool InPlace { get; private set; }
        /// <summary>Bytes of the file after the edit.</summary>
        public ulong Bytes { get; private set; }
        /// <summary>Space left for the next edit.</summary>
        public ulong ReserveBytes { get; private set; }
        /// <summary>Bytes written; 0 from Writer.EditInfo.</summary>
        public ulong Written { get; private set; }

        internal unsafe EditFacts(NativeEditFacts* o)
        {
            InPlace = o->in_place != 0;
            Bytes = o->n_bytes;
            ReserveBytes = o->reserve_bytes;
            Written = o->n_written;
        }
    }

    internal sealed unsafe partial class Scope
    {
        internal NativeText* Texts(IReadOnlyList<string> texts)
        {
            if (texts == null) return null;
            var list = (NativeText*)Memory(texts.Count, sizeof(NativeText));
            for (int i = 0; i < texts.Count; i++) list[i].data = Text(texts[i], out list[i].size);
            return list;
        }
    }
}
