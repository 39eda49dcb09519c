//! Embeddings of texts.
// SPDX-License-Identifier: MIT
use crate::error::Result;
use crate::{Embedder, Pooling};

impl Embedder {
    /// [`Embedder::embed`] of texts as they are, into a new vector.
    pub fn embed_texts(&mut self, texts: &[&[i32]]) -> Result<Vec<f32>> {
        let info = self.info()?;
        let lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
        let rows = match info.pooling {
            Pooling::NONE => lengths.iter().map(|&n| n.min(info.n_context as usize)).sum(),
            _ => lengths.len(),
        };
        let mut out = vec![0.0; rows * info.dimensions as usize];
        self.embed(&mut out, &texts.concat(), &lengths, None)?;
        Ok(out)
    }
}
