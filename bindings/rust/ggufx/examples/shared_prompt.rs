//! Shared prefix: a common prompt is computed once, and sequences share its KV cache.
// SPDX-License-Identifier: MIT
use ggufx::{
    DecodeFlags, DecodeItem, DetokenizeFlags, File, Model, Result, Runtime, Sampler, Session,
    SessionOptions, TokenizeFlags, Tokenizer,
};

const PROMPT: &str = "Once upon a time Nib was in the village. The old book was under the bed. \
    The sun was warm. Nib and Tuft played and sang. \
    Soon it was getting dark. That night they went home. The next day they baked a cake.";

fn main() -> Result<()> {
    let path = std::env::args().nth(1).expect("a GGUF file");
    let rt = Runtime::new()?;
    let file = File::open(&rt, path, Default::default())?;
    let (model, tokenizer) = (Model::new(&rt, &file, Default::default())?, Tokenizer::new(&file)?);
    let options = SessionOptions { n_sequences: 3, ..Default::default() };
    let mut session = Session::new(&model, options)?;
    let mut sampler = Sampler::new(&rt, model.info()?.n_vocab, 0)?;
    sampler.add_top_k(1)?; // greedy
    let ids = tokenizer.tokenize(PROMPT, TokenizeFlags::ADD_SPECIAL)?;
    session.batch_logits(&[DecodeItem::new(0, &ids, DecodeFlags::CHECKPOINT)])?;
    for (i, text) in (1..).zip([" Nib was", " The sun"]) {
        session.copy(0, i, ids.len() as u64)?;
        let mut more = tokenizer.tokenize(text, TokenizeFlags::NONE)?;
        let mut row = session.batch_logits(&[DecodeItem::new(i, &more, DecodeFlags::LOGITS)])?;
        for _ in 0..8 {
            more.push(sampler.sample(None, &row)?.0);
            let last = &more[more.len() - 1..];
            row = session.batch_logits(&[DecodeItem::new(i, last, DecodeFlags::LOGITS)])?;
        }
        let text = tokenizer.detokenize(&more, DetokenizeFlags::NONE)?;
        println!("{}", String::from_utf8_lossy(&text));
    }
    let facts = session.info()?;
    println!("{} tokens, {} shared pages", facts.n_tokens, facts.n_shared_pages);
    Ok(())
}
