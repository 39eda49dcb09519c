//! Pre-tokenizer: splits text for byte-level BPE before merges.
// SPDX-License-Identifier: MIT
use crate::error::{check, forever, Result};
use crate::handle::{bytes, sized};
use crate::PreFlags;
use ggufx_sys as sys;

/// A pre-tokenizer that the library knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreTokenizer {
    /// `tokenizer.ggml.pre`, "llama-bpe".
    pub name: &'static str,
    /// Name of its split rules; equal for equal rules.
    pub rules: &'static str,
    /// Flags besides the split rules.
    pub flags: PreFlags,
    /// Its steps in tokenizer.json: `S` and the pattern of a Split, `D` single digits, `G` GPT-2's
    /// pattern and bytes, `B` bytes; `None` where they are not known.
    pub steps: Option<Vec<&'static str>>,
}

impl PreTokenizer {
    /// Every one that the library knows.
    ///
    /// ```
    /// let all = ggufx::PreTokenizer::all().unwrap();
    /// let llama = all.iter().find(|pre| pre.name == "llama-bpe").unwrap();
    /// assert!(llama.steps.as_ref().unwrap()[0].starts_with('S'));
    /// ```
    pub fn all() -> Result<Vec<PreTokenizer>> {
        (0..unsafe { sys::ggufx_tokenizer_pre_count() }).map(Self::at).collect()
    }
    fn at(index: usize) -> Result<PreTokenizer> {
        let mut out = sized!(ggufx_pre_facts);
        check(|e| unsafe { sys::ggufx_tokenizer_pre(&mut out, index, e) })?;
        // SAFETY: the strings are static.
        let steps: &'static [u8] = unsafe { bytes(out.steps, out.steps_length) };
        Ok(PreTokenizer {
            name: unsafe { forever(out.name) },
            rules: unsafe { forever(out.rules) },
            flags: PreFlags(out.flags),
            steps: if out.steps.is_null() { None } else { Some(parts(steps)) },
        })
    }
}

/// NUL-terminated strings.
fn parts(all: &'static [u8]) -> Vec<&'static str> {
    let ended = all.split_inclusive(|&b| b == 0);
    ended.map(|part| std::str::from_utf8(&part[..part.len() - 1]).unwrap_or("")).collect()
}

/// Unicode version of the split rules, "15.0.0".
pub fn unicode_version() -> &'static str {
    // SAFETY: never NULL, lives for ever.
    unsafe { forever(sys::ggufx_tokenizer_unicode()) }
}
