//! Conversations as the template of a model writes them; output of models as answer, reasoning and
//! tool calls. Messages, tools and their like are JSON.
// SPDX-License-Identifier: MIT
use crate::error::{check, forever, Result};
use crate::handle::{bytes, create, handle, sized, until_nul};
use crate::tokenizer::grow;
use crate::{
    ChatCallForm, ChatFlags, ChatNotation, File, Runtime, Status, TokenizeFlags, Tokenizer,
};
use ggufx_sys as sys;
use std::cell::UnsafeCell;
use std::ptr::{null, null_mut};

handle! {
    /// A compiled template; immutable.
    Chat(ggufx_chat, ggufx_chat_destroy) sync
}

/// Source of a chat template; unset: the file's template.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChatOptions<'a> {
    /// A template.
    pub text: Option<&'a str>,
    /// The name of one of the file's: "tool_use".
    pub name: Option<&'a str>,
    /// A built-in format: "chatml".
    pub format: Option<&'a str>,
    /// Value of `bos_token` in the template; `None`: the file's.
    pub bos_token: Option<&'a str>,
    /// Value of `eos_token` in the template; `None`: the file's.
    pub eos_token: Option<&'a str>,
}

/// Conversation with template variables; `None`: not defined.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChatRequest<'a> {
    /// A JSON array of turns: `[{"role": "user", "content": "Hi"}]`.
    pub messages: &'a str,
    /// A JSON array of functions.
    pub tools: Option<&'a str>,
    /// A JSON array.
    pub documents: Option<&'a str>,
    /// A JSON object: any other variables.
    pub variables: Option<&'a str>,
    /// "low", "medium", "high".
    pub reasoning_effort: Option<&'a str>,
    /// Flags: open the assistant's turn, and the thinking mode.
    pub flags: ChatFlags,
    /// Seconds since 1970 in the time of day to be shown.
    pub clock: Option<i64>,
}

/// A run of bytes that one side wrote: from the end of the run before up to `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatRun {
    /// End of the run: byte offset after the last one.
    pub end: u64,
    /// Whether it is from messages, tools or variables.
    pub user: bool,
}

/// How the models of a template write reasoning and tool calls; see `ggufx_chat_facts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ChatInfo<'c> {
    /// The template reads the tools of a request.
    pub takes_tools: bool,
    /// Tool calls that its models write are recognized.
    pub calls: bool,
    /// So is reasoning.
    pub reasons: bool,
    /// End-of-generation tokens separate the channels of an answer.
    pub channels: bool,
    pub call_form: ChatCallForm,
    pub call_notation: ChatNotation,
    /// The first pair of markers, or empty.
    pub reasoning_open: &'c str,
    pub reasoning_close: &'c str,
    /// Before the name; "ggufxid01" is a placeholder for the call id.
    pub call_prefix: &'c str,
    pub call_middle: &'c str,
    pub call_end: &'c str,
    pub call_before_key: &'c str,
    pub call_after_key: &'c str,
    /// Before a value that is no string; empty: as `call_after_key`.
    pub call_after_key_other: &'c str,
    pub call_after_value: &'c str,
    pub call_quote: &'c str,
}

fn text(of: Option<&str>) -> (*const sys::c_char, usize) {
    of.map_or((null(), 0), |t| (t.as_ptr().cast(), t.len()))
}

impl ChatRequest<'_> {
    fn raw(&self) -> sys::ggufx_chat_request {
        let mut raw = sized!(ggufx_chat_request);
        raw.flags = self.flags.0;
        if let Some(clock) = self.clock {
            raw.flags |= ChatFlags::CLOCK.0;
            raw.clock = clock;
        }
        let messages = Some(self.messages);
        (raw.messages_json, raw.messages_json_length) = text(messages);
        (raw.tools, raw.tools_length) = text(self.tools);
        (raw.documents, raw.documents_length) = text(self.documents);
        (raw.variables, raw.variables_length) = text(self.variables);
        (raw.reasoning_effort, raw.reasoning_effort_length) = text(self.reasoning_effort);
        raw
    }
}

/// Names of the built-in formats.
pub fn chat_formats() -> Vec<&'static str> {
    // SAFETY: names are static, with a NULL after the last.
    let name = |i| unsafe { sys::ggufx_chat_format_name(i) };
    (0..).map(name).take_while(|n| !n.is_null()).map(|n| unsafe { forever(n) }).collect()
}

impl Chat {
    /// Compile a template. Errors: `ARGUMENT`, `LIMIT`, `MALFORMED`, `UNSUPPORTED`, `NOT_FOUND`.
    pub fn new(rt: &Runtime, file: Option<&File>, options: ChatOptions<'_>) -> Result<Self> {
        let mut raw = sized!(ggufx_chat_options);
        (raw.text, raw.text_length) = text(options.text);
        (raw.name, raw.name_length) = text(options.name);
        (raw.format, raw.format_length) = text(options.format);
        (raw.bos_token, raw.bos_token_length) = text(options.bos_token);
        (raw.eos_token, raw.eos_token_length) = text(options.eos_token);
        let file = file.map_or(null_mut(), |f| f.as_raw());
        let raw = create(|out, e| unsafe {
            sys::ggufx_chat_create(out, rt.as_raw(), file, &raw, e)
        })?;
        Ok(Chat { raw })
    }
    /// Format of the reasoning and the tool calls that the template's models write.
    pub fn info(&self) -> Result<ChatInfo<'_>> {
        let mut out = sized!(ggufx_chat_facts);
        check(|e| unsafe { sys::ggufx_chat_info(&mut out, self.as_raw(), e) })?;
        let has = |flag| out.flags & flag != 0;
        // SAFETY: the strings live as long as the template.
        Ok(unsafe {
            ChatInfo {
                takes_tools: has(sys::GGUFX_CHAT_TAKES_TOOLS),
                calls: has(sys::GGUFX_CHAT_CALLS),
                reasons: has(sys::GGUFX_CHAT_REASONS),
                channels: has(sys::GGUFX_CHAT_CHANNELS),
                call_form: ChatCallForm(out.call_form),
                call_notation: ChatNotation(out.call_notation),
                reasoning_open: until_nul(out.reasoning_open),
                reasoning_close: until_nul(out.reasoning_close),
                call_prefix: until_nul(out.call_prefix),
                call_middle: until_nul(out.call_middle),
                call_end: until_nul(out.call_end),
                call_before_key: until_nul(out.call_before_key),
                call_after_key: until_nul(out.call_after_key),
                call_after_key_other: until_nul(out.call_after_key_other),
                call_after_value: until_nul(out.call_after_value),
                call_quote: until_nul(out.call_quote),
            }
        })
    }
    /// Rendered text of a conversation, and the source of each byte.
    pub fn render(&self, request: &ChatRequest<'_>) -> Result<(String, Vec<ChatRun>)> {
        let raw = request.raw();
        let (mut text, mut runs) = (vec![0u8; 4096], vec![sys::ggufx_chat_run { end: 0, user: 0 }; 64]);
        loop {
            let (mut needed, mut n_runs) = (0, 0);
            let (to, room) = (text.as_mut_ptr().cast(), text.len());
            let (to_runs, room_runs) = (runs.as_mut_ptr(), runs.len());
            let done = check(|e| unsafe {
                sys::ggufx_chat_render(
                    to, room, &mut needed, to_runs, room_runs, &mut n_runs, self.as_raw(), &raw, e,
                )
            });
            match done {
                Err(error) if error.status() == Status::CAPACITY => {}
                Err(error) => return Err(error),
                Ok(()) => {
                    text.truncate(needed);
                    let runs = &runs[..n_runs];
                    let runs = runs.iter().map(|r| ChatRun { end: r.end, user: r.user != 0 });
                    return Ok((String::from_utf8_lossy(&text).into_owned(), runs.collect()));
                }
            }
            text.resize(needed, 0);
            runs.resize(n_runs, sys::ggufx_chat_run { end: 0, user: 0 });
        }
    }
    /// Token ids of a conversation; user text never becomes a control token.
    pub fn tokenize(
        &self,
        tokenizer: &Tokenizer,
        request: &ChatRequest<'_>,
        flags: TokenizeFlags,
    ) -> Result<Vec<i32>> {
        let raw = request.raw();
        grow(request.messages.len() + 256, |out: &mut Vec<i32>, needed, e| unsafe {
            let (to, room, chat) = (out.as_mut_ptr(), out.len(), self.as_raw());
            sys::ggufx_chat_tokenize(
                to, room, needed, chat, tokenizer.as_raw(), &raw, flags.0, e,
            )
        })
    }
}

/// Event of the output parser.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChatEvent {
    /// Text of the answer.
    Answer(String),
    /// Text of the reasoning before it.
    Reasoning(String),
    /// A tool call begins: its number and the tool's name.
    CallName(u64, String),
    /// The id that the model wrote for the call, before the arguments.
    CallId(u64, String),
    /// Arguments of the call, a JSON object.
    CallArguments(u64, String),
}

/// Settings of a parser. The default takes all output as answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChatParserOptions<'a> {
    /// The template whose format counts; it may be dropped before the parser.
    pub chat: Option<&'a Chat>,
    /// The rendered text, or its end: it may have opened reasoning or a call.
    pub prompt: &'a str,
    /// A JSON array of the request's tools, whose schemas give the types of parameters.
    pub tools: Option<&'a str>,
    /// Leave tool calls as text of the answer.
    pub no_calls: bool,
}

/// Position of a parser in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatParserInfo<'p> {
    /// The output is within reasoning.
    pub reasoning: bool,
    /// Tool calls so far.
    pub n_calls: u64,
    /// Marker that ends that reasoning, or empty.
    pub reasoning_close: &'p str,
}

mod raw {
    use super::*;
    use crate::handle::handle;
    handle! {
        /// One C parser.
        Handle(ggufx_chat_parser, ggufx_chat_parser_destroy) sync
    }
    impl Handle {
        pub fn new(raw: std::ptr::NonNull<sys::ggufx_chat_parser>) -> Self {
            Handle { raw }
        }
    }
}

// Receiver of events during a call, which has exclusive access to the parser.
#[derive(Debug, Default)]
struct Told(UnsafeCell<Vec<ChatEvent>>);
// SAFETY: reached by `&mut ChatParser` only.
unsafe impl Sync for Told {}

/// Splits a model's output as it comes into answer, reasoning and tool calls.
#[derive(Debug)]
pub struct ChatParser {
    handle: raw::Handle,
    told: Box<Told>, // the C side has its address
}

unsafe extern "C" fn on_event(
    user: *mut sys::c_void,
    kind: u32,
    call: u64,
    text: *const sys::c_char,
    length: usize,
) -> i32 {
    let text = String::from_utf8_lossy(bytes(text, length)).into_owned();
    let told = &mut *(*user.cast::<Told>()).0.get();
    told.push(match kind {
        sys::GGUFX_CHAT_REASONING => ChatEvent::Reasoning(text),
        sys::GGUFX_CHAT_CALL_NAME => ChatEvent::CallName(call, text),
        sys::GGUFX_CHAT_CALL_ID => ChatEvent::CallId(call, text),
        sys::GGUFX_CHAT_CALL_ARGUMENTS => ChatEvent::CallArguments(call, text),
        _ => ChatEvent::Answer(text),
    });
    0
}

impl ChatParser {
    /// Create a parser. Errors: `LIMIT`, `MALFORMED`, `MEMORY`, `UNSUPPORTED` (tools are given, and
    /// how the template's models write calls is not known).
    pub fn new(rt: &Runtime, options: ChatParserOptions<'_>) -> Result<Self> {
        let told = Box::<Told>::default();
        let mut raw = sized!(ggufx_chat_parser_options);
        raw.flags = if options.no_calls { sys::GGUFX_CHAT_PARSER_NO_CALLS } else { 0 };
        raw.chat = options.chat.map_or(null(), |c| c.as_raw());
        (raw.prompt, raw.prompt_length) = text(Some(options.prompt));
        (raw.tools, raw.tools_length) = text(options.tools);
        raw.user = (&*told as *const Told as *mut Told).cast();
        raw.event = Some(on_event);
        let handle =
            create(|out, e| unsafe { sys::ggufx_chat_parser_create(out, rt.as_raw(), &raw, e) })?;
        Ok(ChatParser { handle: raw::Handle::new(handle), told })
    }
    /// Position in the output.
    pub fn info(&self) -> Result<ChatParserInfo<'_>> {
        let mut out = sized!(ggufx_chat_parser_facts);
        check(|e| unsafe { sys::ggufx_chat_parser_info(&mut out, self.handle.as_raw(), e) })?;
        Ok(ChatParserInfo {
            reasoning: out.flags & sys::GGUFX_CHAT_PARSER_REASONING != 0,
            n_calls: out.n_calls,
            // SAFETY: the marker lives as long as the parser.
            reasoning_close: unsafe { until_nul(out.reasoning_close) },
        })
    }
    /// Parse the next bytes of the output, with special tokens written; their events.
    pub fn feed(&mut self, text: impl AsRef<[u8]>) -> Result<Vec<ChatEvent>> {
        let (parser, text) = (self.handle.as_raw(), text.as_ref());
        check(|e| unsafe {
            sys::ggufx_chat_parser_feed(parser, text.as_ptr().cast(), text.len(), e)
        })?;
        Ok(std::mem::take(self.told.0.get_mut()))
    }
    /// End the output; returns the events of withheld text.
    pub fn finish(&mut self) -> Result<Vec<ChatEvent>> {
        let parser = self.handle.as_raw();
        check(|e| unsafe { sys::ggufx_chat_parser_finish(parser, e) })?;
        Ok(std::mem::take(self.told.0.get_mut()))
    }
}
