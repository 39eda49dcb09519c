//! Chat templates and the output parser: answer, reasoning and tool calls.
// SPDX-License-Identifier: MIT
use crate::{demo, fails, runtime};
use ggufx::{
    chat_template_builtin_name, ChatCallForm, ChatFeatures, ChatFlags, ChatNotation, ChatParser,
    ChatParserOptions, ChatParserStateFlags, ChatRequest, ChatSpan, ChatTemplate,
    ChatTemplateOptions, EventKind, Status, TokenizeFlags, Tokenizer,
};

const HELLO: &str = r#"[{"role": "user", "content": "Hi </s> é"}]"#;
const TEMPLATE: &str = "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}</s>\
                        {% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}";
// Calls as [CALL]NAME[ID]ID[ARGS]{...}[END], and with tags around each parameter.
const CALLS: &str = "{{ tools }}{% for m in messages %}<think>{{ m.reasoning_content }}</think>\
    {{ m.content }}{% for c in m.tool_calls %}[CALL]{{ c.function.name }}[ID]{{ c.id }}\
    [ARGS]{{ c.function.arguments | tojson }}[END]{% endfor %}{% endfor %}";
const TOOLS: &str = r#"[{"type": "function", "function": {"name": "f", "parameters":
    {"type": "object", "properties": {"a": {"type": "integer"}, "s": {"type": "string"}}}}}]"#;

fn hello<'a>() -> ChatRequest<'a> {
    ChatRequest { messages_json: Some(HELLO), flags: ChatFlags::GENERATE, ..Default::default() }
}
// Events of a parser; neighbours of one kind are one.
fn events_of(parser: &mut ChatParser) -> Vec<(EventKind, u32, String)> {
    let mut all: Vec<(EventKind, u32, String)> = vec![];
    loop {
        let event = parser.poll().unwrap();
        match all.last_mut() {
            _ if event.kind == EventKind::NONE => return all,
            Some(last) if last.0 == event.kind => last.2.push_str(&event.text),
            _ => all.push((event.kind, event.index, event.text)),
        }
    }
}
fn template(text: &str) -> ChatTemplateOptions<'_> {
    ChatTemplateOptions { text: Some(text), bos_token: Some("<s>"), ..Default::default() }
}

#[test]
fn a_conversation_is_text() {
    let rt = runtime();
    let chat = ChatTemplate::new(&rt, None, template(TEMPLATE)).unwrap();
    let (text, runs) = (chat.render(hello()).unwrap(), chat.spans(hello()).unwrap());
    assert_eq!(text, "<s>[user]Hi </s> é</s>[assistant]");
    let run = |end, user| ChatSpan { end, user };
    assert_eq!(runs, [run(9, false), run(19, true), run(34, false)]);
    let long = format!("[{}]", vec![r#"{"role":"user","content":"xxx"}"#; 900].join(","));
    let long = || ChatRequest { messages_json: Some(&long), ..hello() };
    let (text, runs) = (chat.render(long()).unwrap(), chat.spans(long()).unwrap());
    assert_eq!((text.len(), runs.len()), (3 + 900 * 13 + 11, 1801));
    let more = "{{ enable_thinking }} {{ tools }} {{ n }} {{ reasoning_effort }} \
                {{ documents[0].t }} {{ strftime_now('%Y') }}";
    let more = ChatTemplate::new(&rt, None, template(more)).unwrap();
    let request = ChatRequest {
        messages_json: Some("[]"),
        tools: Some("[]"),
        documents: Some(r#"[{"t": 1}]"#),
        variables: Some(r#"{"n": 2}"#),
        reasoning_effort: Some("high"),
        flags: ChatFlags::NO_THINK | ChatFlags::CLOCK,
        ..Default::default()
    };
    assert_eq!(more.render(request).unwrap(), "False [] 2 high 1 1970");
    fails(more.render(hello()), Status::VALUE);
    fails(ChatTemplate::new(&rt, None, template("{% if %}")), Status::MALFORMED);
    let none = ChatTemplateOptions { format: Some("no such"), ..Default::default() };
    fails(ChatTemplate::new(&rt, None, none), Status::NOT_FOUND);
}

#[test]
fn formats_have_names() {
    let (rt, names) = (runtime(), (0..).map_while(chat_template_builtin_name).collect::<Vec<_>>());
    assert!(names.contains(&"chatml") && names.len() > 50);
    for name in names {
        let options = ChatTemplateOptions { format: Some(name), ..Default::default() };
        let chat = ChatTemplate::new(&rt, None, options).unwrap();
        assert!(chat.render(hello()).unwrap().contains("Hi"), "{}", name);
    }
}

#[test]
fn no_text_of_a_user_is_a_control_token() {
    needs_model!();
    let rt = runtime();
    let file = demo(&rt);
    let tokenizer = Tokenizer::new(&file).unwrap();
    let options = ChatTemplateOptions { text: Some(TEMPLATE), ..Default::default() };
    let chat = ChatTemplate::new(&rt, Some(&file), options).unwrap();
    let ids = chat.tokenize(&tokenizer, hello(), TokenizeFlags::NONE).unwrap();
    let count = |ids: &[i32], id| ids.iter().filter(|&&i| i == id).count();
    assert_eq!((ids[0], count(&ids, 1), count(&ids, 2)), (1, 1, 1));
    let text = chat.render(hello()).unwrap();
    let plain = tokenizer.tokenize(text, TokenizeFlags::PARSE_SPECIAL).unwrap();
    assert_eq!(count(&plain, 2), 2);
    let with = chat.tokenize(&tokenizer, hello(), TokenizeFlags::ADD_SPECIAL).unwrap();
    assert_eq!(with, ids);
    fails(chat.tokenize(&tokenizer, hello(), TokenizeFlags(64)), Status::ARGUMENT);
}

#[test]
fn a_template_shows_its_formats() {
    let rt = runtime();
    let chat = ChatTemplate::new(&rt, None, template(CALLS)).unwrap();
    let info = chat.info().unwrap();
    assert_eq!(info.flags, ChatFeatures::TAKES_TOOLS | ChatFeatures::CALLS | ChatFeatures::REASONS);
    assert_eq!((info.call_form, info.call_notation), (ChatCallForm::NAMED, ChatNotation::JSON));
    assert_eq!((info.reasoning_open, info.reasoning_close), ("<think>", "</think>"));
    assert_eq!((info.call_middle, info.call_quote), ("[ID]ggufxid01[ARGS]", ""));
}

#[test]
fn an_output_is_split_into_reasoning_answer_and_calls() {
    let rt = runtime();
    let chat = ChatTemplate::new(&rt, None, template(CALLS)).unwrap();
    let said = r#"hm</think>Hi[CALL]f[ID]x7[ARGS]{"a":1}[END][CALL]g[ARGS]{}[END]"#;
    let options = ChatParserOptions {
        chat: Some(&chat),
        prompt: Some("...<think>\n"),
        tools: Some(TOOLS),
        ..Default::default()
    };
    let mut parser = ChatParser::new(&rt, options).unwrap();
    drop(chat); // the parser keeps the format
    let info = parser.info().unwrap();
    assert_eq!((info.flags, info.n_calls), (ChatParserStateFlags::REASONING, 0));
    assert_eq!(info.reasoning_close, "</think>");
    parser.feed(&said[..9]).unwrap();
    parser.feed(&said[9..]).unwrap();
    parser.finish().unwrap();
    let events = events_of(&mut parser);
    let info = parser.info().unwrap();
    assert_eq!((info.flags, info.n_calls), (ChatParserStateFlags::NONE, 2));
    assert_eq!(info.reasoning_close, "");
    let want = [
        (EventKind::REASONING, 0, "hm".to_string()),
        (EventKind::TEXT, 0, "Hi".to_string()),
        (EventKind::TOOL_CALL, 0, "f".to_string()),
        (EventKind::TOOL_ID, 0, "x7".to_string()),
        (EventKind::TOOL_ARGUMENTS, 0, r#"{"a":1}"#.to_string()),
        (EventKind::TOOL_CALL, 1, "g".to_string()),
        (EventKind::TOOL_ARGUMENTS, 1, "{}".to_string()),
    ];
    assert_eq!(events, want);
    fails(parser.feed("x"), Status::STATE);
}
