// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;
using Ggufx;

public static partial class Tests
{
    const string Hello = "[{\"role\": \"user\", \"content\": \"Hi </s> \u00e9\"}]";
    const string Template = "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}</s>{% endfor %}" +
        "{% if add_generation_prompt %}[assistant]{% endif %}";
    // Calls as [CALL]NAME[ID]ID[ARGS]{...}[END], and with tags around each parameter.
    const string Calls = "{{ tools }}{% for m in messages %}<think>{{ m.reasoning_content }}</think>{{ m.content }}" +
        "{% for c in m.tool_calls %}[CALL]{{ c.function.name }}[ID]{{ c.id }}[ARGS]{{ c.function.arguments | tojson }}[END]" +
        "{% endfor %}{% endfor %}";
    const string Tags = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}<call name=\"{{ c.function.name }}\">" +
        "{% for k, v in c.function.arguments.items() %}<p name=\"{{ k }}\" string=\"{{ 'true' if v is string else 'false' }}\">" +
        "{{ v if v is string else v | tojson }}</p>{% endfor %}</call>{% endfor %}{% endfor %}";
    const string Tools = "[{\"type\": \"function\", \"function\": {\"name\": \"f\", \"parameters\": {\"type\": \"object\", " +
        "\"properties\": {\"a\": {\"type\": \"integer\"}, \"s\": {\"type\": \"string\"}}}}}]";

    static void TestAConversationIsText()
    {
        var chat = new ChatTemplate(Rt, null, new ChatTemplateOptions { Text = Template, BosToken = "<s>" });
        var hello = new ChatRequest { MessagesJson = Hello, Flags = ChatFlags.Generate };
        string said = chat.Render(hello);
        ChatSpan[] runs = chat.Spans(hello);
        That(said == "<s>[user]Hi </s> \u00e9</s>[assistant]", said);
        That(runs.Length == 3 && runs[0].End == 9 && runs[1].End == 19 && runs[2].End == 34);
        That(!runs[0].User && runs[1].User && !runs[2].User);
        string many = "[" + string.Join(",", Enumerable.Repeat("{\"role\":\"user\",\"content\":\"xxx\"}", 900)) + "]";
        said = chat.Render(new ChatRequest { MessagesJson = many });
        That(said.Length == 3 + 900 * 13 && chat.Spans(new ChatRequest { MessagesJson = many }).Length == 1801);
        var more = new ChatTemplate(Rt, null, new ChatTemplateOptions { Text = "{{ enable_thinking }} {{ tools }} {{ n }} " +
            "{{ reasoning_effort }} {{ documents[0].t }} {{ strftime_now('%Y') }}" });
        said = more.Render(new ChatRequest { MessagesJson = "[]", Tools = "[]", Documents = "[{\"t\": 1}]", Variables = "{\"n\": 2}",
            ReasoningEffort = "high", Flags = ChatFlags.NoThink | ChatFlags.Clock });
        That(said == "False [] 2 high 1 1970", said);
        Fails(Status.Value, () => more.Render(new ChatRequest { MessagesJson = "[]" }));
        Fails(Status.Malformed, () => new ChatTemplate(Rt, null, new ChatTemplateOptions { Text = "{% if %}" }));
        Fails(Status.NotFound, () => new ChatTemplate(Rt, null, new ChatTemplateOptions { Format = "no such" }));
    }

    static void TestFormatsHaveNames()
    {
        That(Library.ChatTemplateBuiltinNames.Contains("chatml"));
        foreach (string name in Library.ChatTemplateBuiltinNames)
            That(new ChatTemplate(Rt, null, new ChatTemplateOptions { Format = name }).Render(new ChatRequest { MessagesJson = Hello }).Contains("Hi"), name);
    }

    static void TestNoTextOfAUserIsAControlToken()
    {
        var file = Demo();
        var tokenizer = new Tokenizer(file);
        var chat = new ChatTemplate(Rt, file, new ChatTemplateOptions { Text = Template });
        var request = new ChatRequest { MessagesJson = Hello, Flags = ChatFlags.Generate };
        int[] ids = chat.Tokenize(tokenizer, request);
        That(ids[0] == 1 && ids.Count(i => i == 1) == 1 && ids.Count(i => i == 2) == 1);
        int[] plain = tokenizer.Tokenize(chat.Render(request), TokenizeFlags.ParseSpecial);
        That(plain.Count(i => i == 2) == 2);
        That(chat.Tokenize(tokenizer, request, TokenizeFlags.AddSpecial).SequenceEqual(ids));
        string many = "[" + string.Join(",", Enumerable.Repeat(Hello.Substring(1, Hello.Length - 2), 500)) + "]";
        That(chat.Tokenize(tokenizer, new ChatRequest { MessagesJson = many }).Length > 4000);
        Fails(Status.Argument, () => chat.Tokenize(tokenizer, request, (TokenizeFlags)64));
    }

    static ChatTemplate Of(string text) { return new ChatTemplate(Rt, null, new ChatTemplateOptions { Text = text }); }

    static void Shows(string text, string flags, ChatCallForm form, ChatNotation notation, params string[] texts)
    {
        ChatTemplateFacts info = Of(text).Info;
        string got = string.Concat(new[] { "t", "c", "r", "h" }.Zip(new[] { ChatFeatures.TakesTools, ChatFeatures.Calls, ChatFeatures.Reasons, ChatFeatures.Channels },
            (letter, flag) => (info.Flags & flag) != 0 ? letter : ""));
        That(got == flags && info.CallForm == form && info.CallNotation == notation, text + ": " + got + info.CallForm + info.CallNotation);
        var all = new[] { info.ReasoningOpen, info.ReasoningClose, info.CallPrefix, info.CallMiddle, info.CallEnd, info.CallBeforeKey,
            info.CallAfterKey, info.CallAfterKeyOther, info.CallAfterValue, info.CallQuote };
        That(all.SequenceEqual(texts.Concat(Enumerable.Repeat("", all.Length - texts.Length))), text + ": " + string.Join("|", all));
    }

    static void TestATemplateTellsItsFormats()
    {
        Shows(Calls, "tcr", ChatCallForm.Named, ChatNotation.Json, "<think>", "</think>", "[CALL]", "[ID]ggufxid01[ARGS]", "[END]");
        Shows(Tags, "c", ChatCallForm.Tagged, ChatNotation.Json, "", "", "<call name=\"", "\">", "</call>", "<p name=\"",
            "\" string=\"true\">", "\" string=\"false\">", "</p>");
        var closed = Of(Calls);
        closed.Dispose();
        Throws<ObjectDisposedException>(() => That(closed.Info == null));
        Throws<ObjectDisposedException>(() => new ChatParser(Rt, new ChatParserOptions { Chat = closed }));
    }

    static void TestAnOutputIsSplitIntoReasoningAnswerAndCalls()
    {
        string said = "hm</think>Hi[CALL]f[ID]x7[ARGS]{\"a\":1}[END][CALL]g[ARGS]{}[END]";
        var chat = Of(Calls);
        using (var parser = new ChatParser(Rt, new ChatParserOptions { Chat = chat, Prompt = "...<think>\n", Tools = Tools }))
        {
            chat.Dispose(); // the parser keeps the format
            That(Reasoning(parser) && parser.Info.Calls == 0 && parser.Info.ReasoningClose == "</think>");
            foreach (byte b in Encoding.UTF8.GetBytes(said)) parser.Feed(new[] { b });
            parser.Feed("");
            parser.Finish();
            var texts = Events(parser).GroupBy(e => e.Kind + "/" + e.Index).Select(g => g.Key + ":" + string.Concat(g.Select(e => e.Text)));
            var want = new[] { EventKind.Reasoning + "/0:hm", EventKind.Text + "/0:Hi", EventKind.ToolCall + "/0:f", EventKind.ToolId + "/0:x7",
                EventKind.ToolArguments + "/0:{\"a\":1}", EventKind.ToolCall + "/1:g", EventKind.ToolArguments + "/1:{}" };
            That(texts.SequenceEqual(want), string.Join(" ", texts));
            That(!Reasoning(parser) && parser.Info.Calls == 2 && parser.Info.ReasoningClose == "");
            Fails(Status.State, () => parser.Feed("x"));
        }
    }

    static bool Reasoning(ChatParser parser) { return (parser.Info.Flags & ChatParserStateFlags.Reasoning) != 0; }

    static List<Event> Events(ChatParser parser)
    {
        var all = new List<Event>();
        for (Event e = parser.Poll(); e.Kind != EventKind.None; e = parser.Poll()) all.Add(e);
        return all;
    }

    static string Answer(ChatParserOptions options, string text)
    {
        var parser = new ChatParser(Rt, options);
        parser.Feed(text);
        var events = Events(parser);
        That(events.All(e => e.Kind == EventKind.Text));
        return string.Concat(events.Select(e => e.Text));
    }

    static void TestToolsNeedAKnownFormat()
    {
        string written = "Hi[CALL]f[ARGS]{\"a\":1}[END]";
        var known = Of(Calls);
        foreach (ChatTemplate chat in new[] { Of("{{ tools }}"), null })
        {
            Fails(Status.Unsupported, () => new ChatParser(Rt, new ChatParserOptions { Chat = chat, Tools = Tools }));
            That(Answer(new ChatParserOptions { Chat = chat }, written) == written);
            That(Answer(new ChatParserOptions { Chat = chat, Tools = Tools, Flags = ChatParserFlags.NoCalls }, written) == written);
        }
        That(Answer(new ChatParserOptions { Chat = known, Flags = ChatParserFlags.NoCalls }, written) == written);
        Fails(Status.Malformed, () => new ChatParser(Rt, new ChatParserOptions { Chat = known, Tools = "{" }));
    }
}
