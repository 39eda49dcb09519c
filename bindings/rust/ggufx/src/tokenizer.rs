//! Token ids to text, one after the other.
// SPDX-License-Identifier: MIT
use crate::error::Result;
use crate::handle::zeroed;
use crate::{DetokenizeFlags, Tokenizer};
use ggufx_sys as sys;

/// Streaming detokenizer: converts token ids to text and withholds incomplete characters.
///
/// ```
/// # use ggufx::{DetokenizeFlags, Detokenizer, File, Runtime, TokenizeFlags, Tokenizer};
/// # fn main() -> ggufx::Result<()> {
/// # let path = match std::env::var("GGUFX_TEST_MODEL") { Ok(path) => path, Err(_) => return Ok(()) };
/// # let tokenizer = Tokenizer::new(&File::open(&Runtime::new()?, &path, Default::default())?)?;
/// let mut out = Detokenizer::new(&tokenizer, DetokenizeFlags::NONE);
/// let mut told = vec![];
/// for id in tokenizer.tokenize("Ein Bär", TokenizeFlags::NONE)? {
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
    state: sys::ggufx_detokenizer_state,
}

impl<'t> Detokenizer<'t> {
    /// Starts at the beginning of a text.
    pub fn new(tokenizer: &'t Tokenizer, flags: DetokenizeFlags) -> Self {
        // SAFETY: a struct of C.
        let state: sys::ggufx_detokenizer_state = unsafe { zeroed() };
        let flags = DetokenizeFlags(flags.0 & !DetokenizeFlags::FLUSH.0);
        Detokenizer { tokenizer, flags, state }
    }
    /// Bytes of the next ids, without incomplete characters. Errors: `ARGUMENT`.
    pub fn push(&mut self, ids: &[i32]) -> Result<Vec<u8>> {
        self.part(ids, self.flags)
    }
    /// Withheld bytes; the next id starts a new text.
    pub fn finish(&mut self) -> Result<Vec<u8>> {
        let rest = self.part(&[], DetokenizeFlags(self.flags.0 | DetokenizeFlags::FLUSH.0))?;
        *self = Self::new(self.tokenizer, self.flags);
        Ok(rest)
    }
    fn part(&mut self, ids: &[i32], flags: DetokenizeFlags) -> Result<Vec<u8>> {
        self.state.flags = flags.0;
        self.tokenizer.detokenize_stream(&mut self.state, ids)
    }
}
