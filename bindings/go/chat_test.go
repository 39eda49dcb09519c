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

func TestWhatAModelSaysIsToldApart(t *testing.T) {
	rt := newRuntime(t)
	styles := ggufx.ChatStylesThink | ggufx.ChatStylesHermes
	said := `<think>hm</think>Hi<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>`
	parser := must[*ggufx.ChatParser](t)(rt.NewChatParser(styles, "", ""))
	texts := map[int]string{}
	for i := range said {
		for _, event := range must[[]ggufx.ChatEvent](t)(parser.Feed(said[i : i+1])) {
			texts[event.Kind] += event.Text
		}
	}
	for _, event := range must[[]ggufx.ChatEvent](t)(parser.Finish()) {
		texts[event.Kind] += event.Text
	}
	check(t, reflect.DeepEqual(texts, map[int]string{ggufx.ChatReasoning: "hm", ggufx.ChatAnswer: "Hi",
		ggufx.ChatCallName: "f", ggufx.ChatCallArguments: `{"a":1}`}), texts)
	_, err := parser.Feed("x")
	fails(t, err, ggufx.StatusState)
	ok(t, parser.Close())
	opened := must[*ggufx.ChatParser](t)(rt.NewChatParser(styles, "...<think>\n", "[]"))
	told := must[[]ggufx.ChatEvent](t)(opened.Feed("so"))
	check(t, reflect.DeepEqual(told, []ggufx.ChatEvent{{ggufx.ChatReasoning, 0, "so"}}), told)
	_, err = rt.NewChatParser(styles, "", "{")
	fails(t, err, ggufx.StatusMalformed)
	chat := newChat(t, rt, nil, ggufx.ChatOptions{Text: "<think>"})
	check(t, must[ggufx.ChatStyles](t)(chat.Styles()) == ggufx.ChatStylesThink)
}
