//! Embeddings of texts.
// SPDX-License-Identifier: MIT
use crate::error::Result;
use crate::{Embedder, Pooling, TokenList};

impl Embedder {
    /// [`Embedder::embed`] of texts as they are, into a new vector.
    pub fn embed_texts(&mut self, texts: &[&[i32]]) -> Result<Vec<f32>> {
        let info = self.info()?;
        let rows = match info.pooling {
            Pooling::NONE => texts.iter().map(|text| text.len().min(info.n_context as usize)).sum(),
            _ => texts.len(),
        };
        let texts: Vec<_> = texts.iter().map(|&tokens| TokenList { tokens }).collect();
        let mut out = vec![0.0; rows * info.dimensions as usize];
        self.embed(&mut out, &texts, None)?;
        Ok(out)
    }
}
