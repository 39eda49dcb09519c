//! Conversations as texts and ids, and outputs told apart.
// SPDX-License-Identifier: MIT
use crate::{demo, fails, runtime};
use ggufx::{
    chat_formats, Chat, ChatEvent, ChatFlags, ChatOptions, ChatParser, ChatRequest, ChatRun,
    ChatStyles, Status, TokenizeFlags, Tokenizer,
};

const HELLO: &str = r#"[{"role": "user", "content": "Hi </s> é"}]"#;
const TEMPLATE: &str = "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}</s>\
                        {% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}";

fn hello() -> ChatRequest<'static> {
    ChatRequest { messages: HELLO, flags: ChatFlags::GENERATE, ..Default::default() }
}
fn template(text: &str) -> ChatOptions<'_> {
    ChatOptions { text: Some(text), bos_token: Some("<s>"), ..Default::default() }
}

#[test]
fn a_conversation_is_text() {
    let rt = runtime();
    let chat = Chat::new(&rt, None, template(TEMPLATE)).unwrap();
    let (text, runs) = chat.render(&hello()).unwrap();
    assert_eq!(text, "<s>[user]Hi </s> é</s>[assistant]");
    let run = |end, user| ChatRun { end, user };
    assert_eq!(runs, [run(9, false), run(19, true), run(34, false)]);
    let long = format!("[{}]", vec![r#"{"role":"user","content":"xxx"}"#; 900].join(","));
    let (text, runs) = chat.render(&ChatRequest { messages: &long, ..hello() }).unwrap();
    assert_eq!((text.len(), runs.len()), (3 + 900 * 13 + 11, 1801));
    let more = "{{ enable_thinking }} {{ tools }} {{ n }} {{ reasoning_effort }} \
                {{ documents[0].t }} {{ strftime_now('%Y') }}";
    let more = Chat::new(&rt, None, template(more)).unwrap();
    let request = ChatRequest {
        messages: "[]",
        tools: Some("[]"),
        documents: Some(r#"[{"t": 1}]"#),
        variables: Some(r#"{"n": 2}"#),
        reasoning_effort: Some("high"),
        flags: ChatFlags::NO_THINK,
        clock: Some(0),
    };
    assert_eq!(more.render(&request).unwrap().0, "False [] 2 high 1 1970");
    fails(more.render(&hello()), Status::VALUE);
    fails(Chat::new(&rt, None, template("{% if %}")), Status::MALFORMED);
    let none = ChatOptions { format: Some("no such"), ..Default::default() };
    fails(Chat::new(&rt, None, none), Status::NOT_FOUND);
}

#[test]
fn formats_have_names() {
    let (rt, names) = (runtime(), chat_formats());
    assert!(names.contains(&"chatml") && names.len() > 50);
    for name in names {
        let options = ChatOptions { format: Some(name), ..Default::default() };
        let chat = Chat::new(&rt, None, options).unwrap();
        assert!(chat.render(&hello()).unwrap().0.contains("Hi"), "{}", name);
    }
}

#[test]
fn no_text_of_a_user_is_a_control_token() {
    needs_model!();
    let rt = runtime();
    let file = demo(&rt);
    let tokenizer = Tokenizer::new(&file).unwrap();
    let options = ChatOptions { text: Some(TEMPLATE), ..Default::default() };
    let chat = Chat::new(&rt, Some(&file), options).unwrap();
    let ids = chat.tokenize(&tokenizer, &hello(), TokenizeFlags::NONE).unwrap();
    let count = |ids: &[i32], id| ids.iter().filter(|&&i| i == id).count();
    assert_eq!((ids[0], count(&ids, 1), count(&ids, 2)), (1, 1, 1));
    let text = chat.render(&hello()).unwrap().0;
    let plain = tokenizer.encode(text, TokenizeFlags::PARSE_SPECIAL).unwrap();
    assert_eq!(count(&plain, 2), 2);
    let with = chat.tokenize(&tokenizer, &hello(), TokenizeFlags::ADD_SPECIAL).unwrap();
    assert_eq!(with, ids);
    fails(chat.tokenize(&tokenizer, &hello(), TokenizeFlags(64)), Status::ARGUMENT);
}

#[test]
fn what_a_model_says_is_told_apart() {
    let rt = runtime();
    let styles = ChatStyles::THINK | ChatStyles::HERMES;
    let said = r#"<think>hm</think>Hi<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>"#;
    let mut parser = ChatParser::new(&rt, styles, "", None).unwrap();
    let mut told = parser.feed(&said[..9]).unwrap();
    let mut moved = parser; // events find it where it is
    told.extend(moved.feed(&said[9..]).unwrap());
    told.extend(moved.finish().unwrap());
    let want = [
        ChatEvent::Reasoning("hm".into()),
        ChatEvent::Answer("Hi".into()),
        ChatEvent::CallName(0, "f".into()),
        ChatEvent::CallArguments(0, r#"{"a":1}"#.into()),
    ];
    let joined: Vec<ChatEvent> = told.into_iter().fold(vec![], |mut all: Vec<ChatEvent>, event| {
        match (all.last_mut(), &event) {
            (Some(ChatEvent::Reasoning(a)), ChatEvent::Reasoning(b))
            | (Some(ChatEvent::Answer(a)), ChatEvent::Answer(b)) => a.push_str(b),
            _ => all.push(event),
        }
        all
    });
    assert_eq!(joined, want);
    fails(moved.feed("x"), Status::STATE);
    let mut opened = ChatParser::new(&rt, styles, "...<think>\n", Some("[]")).unwrap();
    assert_eq!(opened.feed("so").unwrap(), [ChatEvent::Reasoning("so".into())]);
    fails(ChatParser::new(&rt, styles, "", Some("{")), Status::MALFORMED);
    let chat = Chat::new(&rt, None, template("<think>")).unwrap();
    assert_eq!(chat.styles(), ChatStyles::THINK);
}
