//! Output of models as answer, reasoning and tool calls.
// SPDX-License-Identifier: MIT
use crate::error::Result;
use crate::handle::{handle, items};
use crate::watch::check;
use crate::{ChatEventKind, ChatParserOptions, Runtime};
use ggufx_sys as sys;
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ptr::null_mut;

handle! {
    /// Splits a model's output as it comes into answer, reasoning and tool calls.
    ChatParser(ggufx_chat_parser, ggufx_chat_parser_destroy) {
        told: Box<Told> // the C side has its address
    }
}

/// Event of the output parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatEvent {
    /// Part of the output.
    pub kind: ChatEventKind,
    /// Number of the tool call.
    pub call: u64,
    /// Its text.
    pub text: String,
}

/// Receiver of events. Calls of the parser that add events have exclusive access to it, so that it
/// may be `Sync`: it is reached by `&mut ChatParser` only.
#[derive(Debug, Default)]
pub(crate) struct Told(UnsafeCell<VecDeque<ChatEvent>>);

unsafe extern "C" fn on_event(
    user: *mut sys::c_void,
    kind: u32,
    call: u64,
    text: *const sys::c_char,
    length: usize,
) -> i32 {
    let text = String::from_utf8_lossy(items(text.cast(), length)).into_owned();
    let told = &mut *(*user.cast::<Told>()).0.get();
    told.push_back(ChatEvent { kind: ChatEventKind(kind), call, text });
    sys::GGUFX_OK
}

impl ChatParser {
    /// Create a parser. Errors: `LIMIT`, `MALFORMED`, `MEMORY`, `UNSUPPORTED` (tools are given, and
    /// how the template's models write calls is not known).
    pub fn new(rt: &Runtime, options: ChatParserOptions<'_>) -> Result<Self> {
        let (told, mut raw, mut out) = (Box::<Told>::default(), options.raw(), null_mut());
        raw.user = (&*told as *const Told as *mut Told).cast();
        raw.event = Some(on_event);
        check(|e| unsafe { sys::ggufx_chat_parser_create(&mut out, rt.as_raw(), &raw, e) })?;
        Ok(ChatParser::of_raw(out, told))
    }
    /// The next event of [`ChatParser::feed`] and [`ChatParser::finish`].
    pub fn poll(&mut self) -> Option<ChatEvent> {
        self.told.0.get_mut().pop_front()
    }
}
