//! Semantic search: finds the text most similar to a question by cosine similarity of embeddings.
// SPDX-License-Identifier: MIT
use ggufx::{
    EmbedFlags, EmbedOptions, Embedder, File, Model, Pooling, Result, Runtime, TokenizeFlags,
    Tokenizer,
};

const TEXTS: [&str; 4] = [
    "The old book was under the bed.",
    "Nib and Nib played in the village.",
    "The sun was warm and the sky was blue.",
    "Where is the book?",
];

fn main() -> Result<()> {
    let path = std::env::args().nth(1).expect("a GGUF file");
    let rt = Runtime::new()?;
    let file = File::open(&rt, path, Default::default())?;
    let (model, tokenizer) = (Model::new(&rt, &file, Default::default())?, Tokenizer::new(&file)?);
    let mut options = EmbedOptions { pooling: Pooling::MEAN, ..Default::default() };
    options.flags = EmbedFlags::NORMALIZE;
    let mut embedder = Embedder::new(&model, options)?;
    let encode = |text| tokenizer.tokenize(text, TokenizeFlags::NONE);
    let ids = TEXTS.into_iter().map(encode).collect::<Result<Vec<_>>>()?;
    let vectors =
        embedder.embed_texts(&ids.iter().map(|text| text.as_slice()).collect::<Vec<_>>())?;
    let rows: Vec<_> = vectors.chunks(vectors.len() / TEXTS.len()).collect();
    let cosine = |row: &[f32]| row.iter().zip(rows[3]).map(|(a, b)| a * b).sum::<f32>();
    let mut found: Vec<_> = rows[..3].iter().map(|row| cosine(row)).zip(TEXTS).collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (cosine, text) in found {
        println!("{cosine:.3} {text}");
    }
    Ok(())
}
