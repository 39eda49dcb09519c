// SPDX-License-Identifier: MIT
using System;
using System.Collections.Generic;
using System.Linq;
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
        var chat = new Chat(Rt, null, new ChatOptions { Text = Template, BosToken = "<s>" });
        var said = chat.Render(new ChatRequest { Messages = Hello, Flags = ChatFlags.Generate });
        That(said.Text == "<s>[user]Hi </s> \u00e9</s>[assistant]", said.Text);
        That(said.Runs.Length == 3 && said.Runs[0].End == 9 && said.Runs[1].End == 19 && said.Runs[2].End == 34);
        That(!said.Runs[0].User && said.Runs[1].User && !said.Runs[2].User);
        string many = "[" + string.Join(",", Enumerable.Repeat("{\"role\":\"user\",\"content\":\"xxx\"}", 900)) + "]";
        said = chat.Render(new ChatRequest { Messages = many });
        That(said.Text.Length == 3 + 900 * 13 && said.Runs.Length == 1801);
        var more = new Chat(Rt, null, new ChatOptions { Text = "{{ enable_thinking }} {{ tools }} {{ n }} " +
            "{{ reasoning_effort }} {{ documents[0].t }} {{ strftime_now('%Y') }}" });
        said = more.Render(new ChatRequest { Messages = "[]", Tools = "[]", Documents = "[{\"t\": 1}]", Variables = "{\"n\": 2}",
            ReasoningEffort = "high", Flags = ChatFlags.NoThink, Clock = 0 });
        That(said.Text == "False [] 2 high 1 1970", said.Text);
        Fails(Status.Value, () => more.Render(new ChatRequest { Messages = "[]" }));
        Fails(Status.Malformed, () => new Chat(Rt, null, new ChatOptions { Text = "{% if %}" }));
        Fails(Status.NotFound, () => new Chat(Rt, null, new ChatOptions { Format = "no such" }));
    }

    static void TestFormatsHaveNames()
    {
        That(Chat.Formats.Contains("chatml"));
        foreach (string name in Chat.Formats)
            That(new Chat(Rt, null, new ChatOptions { Format = name }).Render(new ChatRequest { Messages = Hello }).Text.Contains("Hi"), name);
    }

    static void TestNoTextOfAUserIsAControlToken()
    {
        var file = Demo();
        var tokenizer = new Tokenizer(file);
        var chat = new Chat(Rt, file, new ChatOptions { Text = Template });
        var request = new ChatRequest { Messages = Hello, Flags = ChatFlags.Generate };
        int[] ids = chat.Tokenize(tokenizer, request);
        That(ids[0] == 1 && ids.Count(i => i == 1) == 1 && ids.Count(i => i == 2) == 1);
        int[] plain = tokenizer.Encode(chat.Render(request).Text, TokenizeFlags.ParseSpecial);
        That(plain.Count(i => i == 2) == 2);
        That(chat.Tokenize(tokenizer, request, TokenizeFlags.AddSpecial).SequenceEqual(ids));
        string many = "[" + string.Join(",", Enumerable.Repeat(Hello.Substring(1, Hello.Length - 2), 500)) + "]";
        That(chat.Tokenize(tokenizer, new ChatRequest { Messages = many }).Length > 4000);
        Fails(Status.Argument, () => chat.Tokenize(tokenizer, request, (TokenizeFlags)64));
    }

    static Chat Of(string text) { return new Chat(Rt, null, new ChatOptions { Text = text }); }

    static void Shows(string text, string flags, ChatCallForm form, ChatNotation notation, params string[] texts)
    {
        ChatInfo info = Of(text).Info;
        string got = (info.TakesTools ? "t" : "") + (info.Calls ? "c" : "") + (info.Reasons ? "r" : "") + (info.Channels ? "h" : "");
        That(got == flags && info.CallForm == form && info.CallNotation == notation, text + ": " + got + info.CallForm + info.CallNotation);
        var all = new[] { info.ReasoningOpen, info.ReasoningClose, info.CallPrefix, info.CallMiddle, info.CallEnd, info.CallBeforeKey,
            info.CallAfterKey, info.CallAfterKeyOther, info.CallAfterValue, info.CallQuote };
        That(all.SequenceEqual(texts.Concat(Enumerable.Repeat("", all.Length - texts.Length))), text + ": " + string.Join("|", all));
    }

    static void TestATemplateShowsItsFormats()
    {
        Shows(Template, "", ChatCallForm.None, ChatNotation.Json);
        Shows("{{ tools }}", "t", ChatCallForm.None, ChatNotation.Json);
        Shows(Calls, "tcr", ChatCallForm.Named, ChatNotation.Json, "<think>", "</think>", "[CALL]", "[ID]ggufxid01[ARGS]", "[END]");
        Shows(Tags, "c", ChatCallForm.Tagged, ChatNotation.Json, "", "", "<call name=\"", "\">", "</call>", "<p name=\"",
            "\" string=\"true\">", "\" string=\"false\">", "</p>");
        Shows("<|tool_call>call:", "c", ChatCallForm.Named, ChatNotation.Quoted, "", "", "<|tool_call>call:", "", "<tool_call|>",
            "", "", "", "", "<|\"|>");
        That(Of("<|start|><|channel|><|message|>").Info.Channels);
        var closed = Of(Calls);
        closed.Dispose();
        Throws<ObjectDisposedException>(() => That(closed.Info == null));
        Throws<ObjectDisposedException>(() => new ChatParser(Rt, closed));
    }

    static void TestAnOutputIsSplitIntoReasoningAnswerAndCalls()
    {
        string said = "hm</think>Hi[CALL]f[ID]x7[ARGS]{\"a\":1}[END][CALL]g[ARGS]{}[END]";
        var chat = Of(Calls);
        using (var parser = new ChatParser(Rt, chat, "...<think>\n", Tools))
        {
            chat.Dispose(); // the parser keeps the format
            That(parser.Info.Reasoning && parser.Info.Calls == 0 && parser.Info.ReasoningClose == "</think>");
            var events = new List<ChatEvent>();
            foreach (char c in said) events.AddRange(parser.Feed(c.ToString()));
            events.AddRange(parser.Feed(""));
            events.AddRange(parser.Finish());
            var texts = events.GroupBy(t => new { t.Kind, t.Call }).Select(g => g.Key.Kind + "/" + g.Key.Call + ":" + string.Concat(g.Select(t => t.Text)));
            var want = new[] { (uint)ChatEventKind.Reasoning + "/0:hm", (uint)ChatEventKind.Answer + "/0:Hi", (uint)ChatEventKind.CallName + "/0:f", (uint)ChatEventKind.CallId + "/0:x7",
                (uint)ChatEventKind.CallArguments + "/0:{\"a\":1}", (uint)ChatEventKind.CallName + "/1:g", (uint)ChatEventKind.CallArguments + "/1:{}" };
            That(texts.SequenceEqual(want), string.Join(" ", texts));
            That(!parser.Info.Reasoning && parser.Info.Calls == 2 && parser.Info.ReasoningClose == "");
            Fails(Status.State, () => parser.Feed("x"));
        }
    }

    static void TestToolsNeedAKnownFormat()
    {
        string written = "Hi[CALL]f[ARGS]{\"a\":1}[END]";
        var known = Of(Calls);
        foreach (Chat chat in new[] { Of("{{ tools }}"), null })
        {
            Fails(Status.Unsupported, () => new ChatParser(Rt, chat, "", Tools));
            That(new ChatParser(Rt, chat).Feed(written).Single().Text == written);
            var left = new ChatParser(Rt, chat, "", Tools, true).Feed(written).Single();
            That(left.Kind == (uint)ChatEventKind.Answer && left.Text == written);
        }
        That(new ChatParser(Rt, known, noCalls: true).Feed(written).Single().Text == written);
        Fails(Status.Malformed, () => new ChatParser(Rt, known, "", "{"));
    }
}
