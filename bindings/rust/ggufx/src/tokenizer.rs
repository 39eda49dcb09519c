//! Text to token ids and back.
// SPDX-License-Identifier: MIT
use crate::error::{check, forever, Result};
use crate::handle::{bytes, create, handle, sized};
use crate::{
    DetokenizeFlags, File, SpecialToken, Status, TokenFlags, TokenizeFlags, TokenizerFlags,
};
use ggufx_sys as sys;

handle! {
    /// The tokenizer a file describes; immutable.
    Tokenizer(ggufx_tokenizer, ggufx_tokenizer_destroy) sync
}

/// Facts of a tokenizer.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct TokenizerInfo {
    pub kind: &'static str,
    pub flags: TokenizerFlags,
    pub n_tokens: u32,
    pub bos: Option<i32>,
    pub eos: Option<i32>,
    pub unknown: Option<i32>,
    /// Pre-tokenizer of byte-level BPE, "llama-bpe".
    pub pre: Option<&'static str>,
}

/// Facts of a token.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct TokenInfo<'t> {
    pub id: i32,
    pub flags: TokenFlags,
    pub score: f32,
    /// As stored in the file.
    pub text: &'t [u8],
}

impl Tokenizer {
    /// Build it. Errors: `MISSING`, `VOCAB`, `UNSUPPORTED`, `MEMORY`.
    pub fn new(file: &File) -> Result<Self> {
        let raw = create(|out, e| unsafe { sys::ggufx_tokenizer_create(out, file.as_raw(), e) })?;
        Ok(Tokenizer { raw })
    }
    /// Describe it.
    pub fn info(&self) -> Result<TokenizerInfo> {
        let mut out = sized!(ggufx_tokenizer_facts);
        check(|e| unsafe { sys::ggufx_tokenizer_info(&mut out, self.as_raw(), e) })?;
        Ok(TokenizerInfo {
            kind: unsafe { forever(out.kind) },
            flags: TokenizerFlags(out.flags),
            n_tokens: out.n_tokens,
            bos: present(out.bos),
            eos: present(out.eos),
            unknown: present(out.unknown),
            pre: if out.pre.is_null() { None } else { Some(unsafe { forever(out.pre) }) },
        })
    }
    /// Id of a special token, by its key, else by its text.
    pub fn special(&self, which: SpecialToken) -> Option<i32> {
        present(unsafe { sys::ggufx_tokenizer_special(self.as_raw(), which.0) })
    }
    /// Describe a token. Errors: `ARGUMENT`.
    pub fn token(&self, id: i32) -> Result<TokenInfo<'_>> {
        let mut out = sized!(ggufx_token_facts);
        check(|e| unsafe { sys::ggufx_token_info(&mut out, self.as_raw(), id, e) })?;
        Ok(TokenInfo {
            id: out.id,
            flags: TokenFlags(out.flags),
            score: out.score,
            text: unsafe { bytes(out.text, out.text_length) },
        })
    }
    /// Token ids of a text.
    pub fn encode(&self, text: impl AsRef<[u8]>, flags: TokenizeFlags) -> Result<Vec<i32>> {
        let text = text.as_ref();
        grow(text.len() + 2, |out: &mut Vec<i32>, needed, e| unsafe {
            let (to, room) = (out.as_mut_ptr(), out.len());
            let (from, n) = (text.as_ptr().cast(), text.len());
            sys::ggufx_tokenize(to, room, needed, self.as_raw(), from, n, flags.0, e)
        })
    }
    /// Bytes of ids; one id may be part of a character.
    pub fn decode(&self, ids: &[i32], flags: DetokenizeFlags) -> Result<Vec<u8>> {
        grow(ids.len() * 8, |out: &mut Vec<u8>, needed, e| unsafe {
            let (to, room) = (out.as_mut_ptr().cast(), out.len());
            sys::ggufx_detokenize(
                to, room, needed, self.as_raw(), ids.as_ptr(), ids.len(), flags.0, e,
            )
        })
    }
}

fn present(id: i32) -> Option<i32> {
    if id < 0 {
        return None;
    }
    Some(id)
}

/// Streaming detokenizer: converts token ids to text and withholds incomplete characters.
///
/// ```
/// # use ggufx::{DetokenizeFlags, Detokenizer, File, Runtime, TokenizeFlags, Tokenizer};
/// # fn main() -> ggufx::Result<()> {
/// # let path = match std::env::var("GGUFX_TEST_MODEL") { Ok(path) => path, Err(_) => return Ok(()) };
/// # let tokenizer = Tokenizer::new(&File::open(&Runtime::new()?, &path)?)?;
/// let mut out = Detokenizer::new(&tokenizer, DetokenizeFlags::NONE);
/// let mut told = vec![];
/// for id in tokenizer.encode("Ein Bär", TokenizeFlags::NONE)? {
///     told.extend(out.push(&[id])?); // never half an "ä"
/// }
/// told.extend(out.finish()?);
/// assert_eq!(told, "Ein Bär".as_bytes());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Detokenizer<'t> {
    tokenizer: &'t Tokenizer,
    flags: DetokenizeFlags,
    state: sys::ggufx_detokenize_state,
}

impl<'t> Detokenizer<'t> {
    /// Starts at the beginning of a text.
    pub fn new(tokenizer: &'t Tokenizer, flags: DetokenizeFlags) -> Self {
        let state = sys::ggufx_detokenize_state { waiting: 0, reserved: [0; 3] };
        let flags = DetokenizeFlags(flags.0 & !DetokenizeFlags::LAST.0);
        Detokenizer { tokenizer, flags, state }
    }
    /// Bytes of the next ids, without incomplete characters. Errors: `ARGUMENT`.
    pub fn push(&mut self, ids: &[i32]) -> Result<Vec<u8>> {
        self.part(ids, self.flags)
    }
    /// Withheld bytes; the next id starts a new text.
    pub fn finish(&mut self) -> Result<Vec<u8>> {
        let rest = self.part(&[], DetokenizeFlags(self.flags.0 | DetokenizeFlags::LAST.0))?;
        *self = Self::new(self.tokenizer, self.flags);
        Ok(rest)
    }
    fn part(&mut self, ids: &[i32], flags: DetokenizeFlags) -> Result<Vec<u8>> {
        let (tokenizer, state) = (self.tokenizer, &mut self.state);
        grow(ids.len() * 8 + 8, |out: &mut Vec<u8>, needed, e| unsafe {
            let (to, room) = (out.as_mut_ptr().cast(), out.len());
            let (from, n) = (ids.as_ptr(), ids.len());
            sys::ggufx_detokenize_part(
                to, room, needed, &mut *state, tokenizer.as_raw(), from, n, flags.0, e,
            )
        })
    }
}

/// Fills a vector with a call that returns the needed size.
pub(crate) fn grow<T: Clone + Default>(
    guess: usize,
    mut call: impl FnMut(&mut Vec<T>, *mut usize, *mut sys::ggufx_error) -> sys::ggufx_status,
) -> Result<Vec<T>> {
    let mut out = vec![T::default(); guess];
    loop {
        let mut needed = 0;
        match check(|e| call(&mut out, &mut needed, e)) {
            Err(error) if error.status() == Status::CAPACITY && needed > out.len() => {
                out.resize(needed, T::default());
            }
            Err(error) => return Err(error),
            Ok(()) => {
                out.truncate(needed);
                return Ok(out);
            }
        }
    }
}
