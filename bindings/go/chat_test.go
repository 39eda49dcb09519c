// SPDX-License-Identifier: MIT

package ggufx_test

import (
	"reflect"
	"strings"
	"testing"

	ggufx "github.com/ggufx/libggufx/bindings/go"
)

const (
	hello    = `[{"role": "user", "content": "Hi </s> é"}]`
	template = "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}</s>{% endfor %}" +
		"{% if add_generation_prompt %}[assistant]{% endif %}"
	// Calls as [CALL]NAME[ID]ID[ARGS]{...}[END], and with tags around each parameter.
	calls = "{{ tools }}{% for m in messages %}<think>{{ m.reasoning_content }}</think>{{ m.content }}" +
		"{% for c in m.tool_calls %}[CALL]{{ c.function.name }}[ID]{{ c.id }}" +
		"[ARGS]{{ c.function.arguments | tojson }}[END]{% endfor %}{% endfor %}"
	tags = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}" +
		`<call name="{{ c.function.name }}">{% for k, v in c.function.arguments.items() %}` +
		`<p name="{{ k }}" string="{{ 'true' if v is string else 'false' }}">` +
		"{{ v if v is string else v | tojson }}</p>{% endfor %}</call>{% endfor %}{% endfor %}"
	tools = `[{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
		"properties": {"a": {"type": "integer"}, "s": {"type": "string"}}}}}]`
)

func newChat(t *testing.T, rt *ggufx.Runtime, f *ggufx.File, options ggufx.ChatOptions) *ggufx.Chat {
	return must[*ggufx.Chat](t)(rt.NewChat(f, options))
}

func TestAConversationIsText(t *testing.T) {
	rt := newRuntime(t)
	chat := newChat(t, rt, nil, ggufx.ChatOptions{Text: template, BosToken: "<s>"})
	text, runs, err := chat.Render(ggufx.ChatRequest{Messages: hello, Flags: ggufx.ChatGenerate})
	ok(t, err)
	check(t, text == "<s>[user]Hi </s> é</s>[assistant]", text)
	check(t, reflect.DeepEqual(runs, []ggufx.ChatRun{{9, false}, {19, true}, {34, false}}), runs)
	long := "[" + strings.Repeat(`{"role":"user","content":"xxx"},`, 900)
	text, runs, err = chat.Render(ggufx.ChatRequest{Messages: long[:len(long)-1] + "]"})
	ok(t, err)
	check(t, len(text) == 3+900*13 && len(runs) == 1801, len(text), len(runs))
	more := newChat(t, rt, nil, ggufx.ChatOptions{Text: "{{ enable_thinking }} {{ tools }} {{ n }} " +
		"{{ reasoning_effort }} {{ documents[0].t }} {{ strftime_now('%Y') }}"})
	text, _, err = more.Render(ggufx.ChatRequest{"[]", "[]", `[{"t": 1}]`, `{"n": 2}`, "high",
		ggufx.ChatNoThink | ggufx.ChatClock, 0})
	ok(t, err)
	check(t, text == "False [] 2 high 1 1970", text)
	_, _, err = more.Render(ggufx.ChatRequest{Messages: "[]"})
	fails(t, err, ggufx.StatusValue)
	_, err = rt.NewChat(nil, ggufx.ChatOptions{Text: "{% if %}"})
	fails(t, err, ggufx.StatusMalformed)
	_, err = rt.NewChat(nil, ggufx.ChatOptions{Format: "no such"})
	fails(t, err, ggufx.StatusNotFound)
	ok(t, chat.Close())
	_, _, err = chat.Render(ggufx.ChatRequest{Messages: hello})
	fails(t, err, ggufx.StatusArgument)
}

func TestFormatsHaveNames(t *testing.T) {
	rt, found := newRuntime(t), false
	for _, name := range ggufx.ChatFormats() {
		found = found || name == "chatml"
		text, _, err := newChat(t, rt, nil, ggufx.ChatOptions{Format: name}).Render(ggufx.ChatRequest{Messages: hello})
		ok(t, err)
		check(t, strings.Contains(text, "Hi"), name)
	}
	check(t, found)
}

func TestNoTextOfAUserIsAControlToken(t *testing.T) {
	rt := newRuntime(t)
	f := demo(t, rt)
	tokenizer := must[*ggufx.Tokenizer](t)(ggufx.NewTokenizer(f))
	chat := newChat(t, rt, f, ggufx.ChatOptions{Text: template})
	request := ggufx.ChatRequest{Messages: hello, Flags: ggufx.ChatGenerate}
	ids := must[[]int32](t)(chat.Tokenize(tokenizer, request, 0))
	count := func(ids []int32, id int32) (n int) {
		for _, i := range ids {
			if i == id {
				n++
			}
		}
		return n
	}
	check(t, ids[0] == 1 && count(ids, 1) == 1 && count(ids, 2) == 1, ids)
	text, _, err := chat.Render(request)
	ok(t, err)
	check(t, count(must[[]int32](t)(tokenizer.Encode(text, ggufx.TokenizeParseSpecial)), 2) == 2)
	with := must[[]int32](t)(chat.Tokenize(tokenizer, request, ggufx.TokenizeAddSpecial))
	check(t, reflect.DeepEqual(with, ids), with)
	_, err = chat.Tokenize(tokenizer, request, 64)
	fails(t, err, ggufx.StatusArgument)
}

func TestATemplateShowsItsFormats(t *testing.T) {
	rt := newRuntime(t)
	for text, want := range map[string]ggufx.ChatInfo{
		template:      {},
		"{{ tools }}": {TakesTools: true},
		calls: {TakesTools: true, Calls: true, Reasons: true, CallForm: ggufx.ChatCallFormNamed,
			ReasoningOpen: "<think>", ReasoningClose: "</think>", CallPrefix: "[CALL]",
			CallMiddle: "[ID]ggufxid01[ARGS]", CallEnd: "[END]"},
		tags: {Calls: true, CallForm: ggufx.ChatCallFormTagged, CallPrefix: `<call name="`,
			CallMiddle: `">`, CallEnd: "</call>", CallBeforeKey: `<p name="`,
			CallAfterKey: `" string="true">`, CallAfterKeyOther: `" string="false">`,
			CallAfterValue: "</p>"},
		"<|tool_call>call:": {Calls: true, CallForm: ggufx.ChatCallFormNamed,
			CallNotation: ggufx.ChatNotationQuoted, CallPrefix: "<|tool_call>call:",
			CallEnd: "<tool_call|>", CallQuote: `<|"|>`},
		"<|start|><|channel|><|message|>": {Calls: true, Reasons: true, Channels: true},
	} {
		info := must[ggufx.ChatInfo](t)(newChat(t, rt, nil, ggufx.ChatOptions{Text: text}).Info())
		check(t, info == want, text, info)
	}
	closed := newChat(t, rt, nil, ggufx.ChatOptions{Text: calls})
	ok(t, closed.Close())
	_, err := closed.Info()
	fails(t, err, ggufx.StatusArgument)
	_, err = rt.NewChatParser(closed, ggufx.ChatParserOptions{})
	fails(t, err, ggufx.StatusArgument)
}

func TestAnOutputIsSplitIntoReasoningAnswerAndCalls(t *testing.T) {
	rt := newRuntime(t)
	said := `hm</think>Hi[CALL]f[ID]x7[ARGS]{"a":1}[END][CALL]g[ARGS]{}[END]`
	chat := newChat(t, rt, nil, ggufx.ChatOptions{Text: calls})
	parser := must[*ggufx.ChatParser](t)(rt.NewChatParser(chat,
		ggufx.ChatParserOptions{Prompt: "...<think>\n", Tools: tools}))
	ok(t, chat.Close()) // the parser keeps the format
	info := must[ggufx.ChatParserInfo](t)(parser.Info())
	check(t, info == ggufx.ChatParserInfo{true, 0, "</think>"}, info)
	var events []ggufx.ChatEvent
	add := func(more []ggufx.ChatEvent) {
		for _, event := range more {
			last := len(events) - 1
			if last >= 0 && events[last].Kind == event.Kind && events[last].Call == event.Call {
				events[last].Text += event.Text
			} else {
				events = append(events, event)
			}
		}
	}
	for i := range said {
		add(must[[]ggufx.ChatEvent](t)(parser.Feed(said[i : i+1])))
	}
	add(must[[]ggufx.ChatEvent](t)(parser.Finish()))
	check(t, reflect.DeepEqual(events, []ggufx.ChatEvent{{ggufx.ChatEventKindReasoning, 0, "hm"},
		{ggufx.ChatEventKindAnswer, 0, "Hi"}, {ggufx.ChatEventKindCallName, 0, "f"}, {ggufx.ChatEventKindCallID, 0, "x7"},
		{ggufx.ChatEventKindCallArguments, 0, `{"a":1}`}, {ggufx.ChatEventKindCallName, 1, "g"},
		{ggufx.ChatEventKindCallArguments, 1, "{}"}}), events)
	info = must[ggufx.ChatParserInfo](t)(parser.Info())
	check(t, info == ggufx.ChatParserInfo{false, 2, ""}, info)
	_, err := parser.Feed("x")
	fails(t, err, ggufx.StatusState)
	ok(t, parser.Close())
	_, err = parser.Info()
	fails(t, err, ggufx.StatusArgument)
}

func TestToolsNeedAKnownFormat(t *testing.T) {
	rt := newRuntime(t)
	written := `Hi[CALL]f[ARGS]{"a":1}[END]`
	answers := func(chat *ggufx.Chat, options ggufx.ChatParserOptions) {
		parser := must[*ggufx.ChatParser](t)(rt.NewChatParser(chat, options))
		events := must[[]ggufx.ChatEvent](t)(parser.Feed(written))
		check(t, reflect.DeepEqual(events, []ggufx.ChatEvent{{ggufx.ChatEventKindAnswer, 0, written}}), events)
	}
	for _, chat := range []*ggufx.Chat{newChat(t, rt, nil, ggufx.ChatOptions{Text: "{{ tools }}"}), nil} {
		_, err := rt.NewChatParser(chat, ggufx.ChatParserOptions{Tools: tools})
		fails(t, err, ggufx.StatusUnsupported)
		answers(chat, ggufx.ChatParserOptions{})
		answers(chat, ggufx.ChatParserOptions{Tools: tools, NoCalls: true})
	}
	known := newChat(t, rt, nil, ggufx.ChatOptions{Text: calls})
	answers(known, ggufx.ChatParserOptions{NoCalls: true})
	_, err := rt.NewChatParser(known, ggufx.ChatParserOptions{Tools: "{"})
	fails(t, err, ggufx.StatusMalformed)
}
