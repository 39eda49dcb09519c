//! Grammars and constrained decoding: matching texts and allowed tokens.
// SPDX-License-Identifier: MIT
use crate::error::{check, Result};
use crate::handle::{create, handle, sized};
use crate::{GrammarFlags, Runtime, Sampler, Tokenizer};
use ggufx_sys as sys;

handle! {
    /// A grammar over a vocabulary; immutable.
    Grammar(ggufx_grammar, ggufx_grammar_destroy) sync
}

impl Grammar {
    fn new(
        rt: &Runtime,
        tokenizer: &Tokenizer,
        kind: u32,
        text: &[u8],
        flags: u32,
    ) -> Result<Self> {
        let mut raw = sized!(ggufx_grammar_options);
        raw.kind = kind;
        raw.flags = flags;
        raw.text = text.as_ptr().cast();
        raw.text_length = text.len();
        let raw = create(|out, e| unsafe {
            sys::ggufx_grammar_create(out, rt.as_raw(), tokenizer.as_raw(), &raw, e)
        })?;
        Ok(Grammar { raw })
    }
    /// Grammar from GBNF. Errors: `LIMIT`, `MALFORMED`, `MEMORY`, `UNSUPPORTED`, `VALUE`.
    pub fn gbnf(rt: &Runtime, tokenizer: &Tokenizer, text: impl AsRef<[u8]>) -> Result<Self> {
        Self::new(rt, tokenizer, sys::GGUFX_GRAMMAR_GBNF, text.as_ref(), 0)
    }
    /// JSON that a schema accepts. Errors as `gbnf`; a keyword that is not supported is named with
    /// its path.
    pub fn json_schema(
        rt: &Runtime,
        tokenizer: &Tokenizer,
        schema: impl AsRef<[u8]>,
        flags: GrammarFlags,
    ) -> Result<Self> {
        Self::new(rt, tokenizer, sys::GGUFX_GRAMMAR_JSON_SCHEMA, schema.as_ref(), flags.0)
    }
}

handle! {
    /// State of a text in a grammar.
    Matcher(ggufx_matcher, ggufx_matcher_destroy) sync
}

/// State of a matcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatcherInfo {
    /// The text is complete: it may end here.
    pub whole: bool,
    /// A token that ends a generation was accepted.
    pub ended: bool,
    /// Accepted and not taken back.
    pub n_tokens: u64,
    /// Tokens of the vocabulary.
    pub n_vocab: u32,
    /// Words of a mask.
    pub n_words: u32,
}

impl Matcher {
    /// Starts at the beginning of a text. Errors: `LIMIT`, `MEMORY`.
    pub fn new(grammar: &Grammar) -> Result<Self> {
        let raw =
            create(|out, e| unsafe { sys::ggufx_matcher_create(out, grammar.as_raw(), e) })?;
        Ok(Matcher { raw })
    }
    /// Copy in the same state, with the same rollback depth. Errors: `MEMORY`.
    pub fn try_clone(&self) -> Result<Self> {
        let raw = create(|out, e| unsafe { sys::ggufx_matcher_clone(out, self.as_raw(), e) })?;
        Ok(Matcher { raw })
    }
    /// Current state.
    pub fn info(&self) -> Result<MatcherInfo> {
        let mut out = sized!(ggufx_matcher_facts);
        check(|e| unsafe { sys::ggufx_matcher_info(&mut out, self.as_raw(), e) })?;
        Ok(MatcherInfo {
            whole: out.flags & sys::GGUFX_MATCHER_WHOLE != 0,
            ended: out.flags & sys::GGUFX_MATCHER_ENDED != 0,
            n_tokens: out.n_tokens,
            n_vocab: out.n_vocab,
            n_words: out.n_words,
        })
    }
    /// Advance by tokens, all of them or none. Errors: `ARGUMENT`, `LIMIT`, `MEMORY`, `VALUE` (its
    /// index is the first that does not fit).
    pub fn accept(&mut self, ids: &[i32]) -> Result<()> {
        let (matcher, from, n) = (self.as_raw(), ids.as_ptr(), ids.len());
        check(|e| unsafe { sys::ggufx_matcher_accept(matcher, from, n, e) })
    }
    /// Roll back the last tokens. Errors: `ARGUMENT`.
    pub fn rollback(&mut self, n_tokens: u64) -> Result<()> {
        let matcher = self.as_raw();
        check(|e| unsafe { sys::ggufx_matcher_rollback(matcher, n_tokens, e) })
    }
    /// Allowed next tokens: bit `id % 32` of word `id / 32`; words after the vocabulary are 0.
    /// Errors: `CAPACITY`, `LIMIT`, `MEMORY`, `MISMATCH`, `STATE`.
    pub fn mask_into(&mut self, out: &mut [u32]) -> Result<()> {
        let (matcher, to, n) = (self.as_raw(), out.as_mut_ptr(), out.len());
        check(|e| unsafe { sys::ggufx_matcher_mask(to, n, matcher, e) })
    }
    /// The same, as a new list.
    pub fn mask(&mut self) -> Result<Vec<u32>> {
        let mut out = vec![0; self.info()?.n_words as usize];
        self.mask_into(&mut out)?;
        Ok(out)
    }
}

impl Sampler {
    /// An id among those that fit, which the matcher accepts, and the logarithm of its probability
    /// among all. Errors: as `sample` and `Matcher::mask`.
    pub fn sample_matching(&mut self, matcher: &mut Matcher, logits: &[f32]) -> Result<(i32, f32)> {
        let (mut id, mut logprob, n) = (0, 0.0, logits.len());
        let (sampler, from, matcher) = (self.as_raw(), logits.as_ptr(), matcher.as_raw());
        let result = check(|e| unsafe {
            sys::ggufx_sampler_sample_matching(&mut id, &mut logprob, sampler, matcher, from, n, e)
        });
        self.rethrow();
        result.map(|()| (id, logprob))
    }
}
