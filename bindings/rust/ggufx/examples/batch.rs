//! Continuous batching: several prompts in one session; each step decodes one token per sequence.
// SPDX-License-Identifier: MIT
use ggufx::{
    DecodeFlags, DecodeItem, DetokenizeFlags, File, Model, Result, Runtime, Sampler, Session,
    SessionOptions, TokenizeFlags, Tokenizer,
};

const PROMPTS: [&str; 3] = ["Once upon a time", "The sun", "Nib was"];

fn main() -> Result<()> {
    let path = std::env::args().nth(1).expect("a GGUF file");
    let rt = Runtime::new()?;
    let file = File::open(&rt, path, Default::default())?;
    let (model, tokenizer) = (Model::new(&rt, &file, Default::default())?, Tokenizer::new(&file)?);
    let options = SessionOptions { n_sequences: PROMPTS.len() as u32, ..Default::default() };
    let mut session = Session::new(&model, options)?;
    let n_vocab = model.info()?.n_vocab;
    let mut sampler = Sampler::new(&rt, n_vocab, 0)?;
    sampler.add_top_k(1)?; // greedy
    let encode = |prompt| tokenizer.tokenize(prompt, TokenizeFlags::ADD_SPECIAL);
    let mut texts = PROMPTS.into_iter().map(encode).collect::<Result<Vec<_>>>()?;
    let mut known = vec![0; texts.len()];
    for _ in 0..12 {
        let new = texts.iter().zip(&known).zip(0..);
        let items: Vec<_> = new
            .map(|((text, &n), i)| DecodeItem::new(i, &text[n..], DecodeFlags::LOGITS))
            .collect();
        let rows = session.batch_logits(&items)?;
        for ((text, n), row) in texts.iter_mut().zip(&mut known).zip(rows.chunks(n_vocab as usize))
        {
            *n = text.len();
            text.push(sampler.sample(None, row)?.0);
        }
    }
    for text in texts {
        let text = tokenizer.detokenize(&text, DetokenizeFlags::NONE)?;
        println!("{}", String::from_utf8_lossy(&text));
    }
    Ok(())
}
