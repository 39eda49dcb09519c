//! Greedy generation: prefills a prompt, then decodes the most likely token at each step.
// SPDX-License-Identifier: MIT
use ggufx::{
    DetokenizeFlags, File, Model, Result, Runtime, Sampler, SamplerOptions, Session,
    SessionOptions, TokenFlags, TokenizeFlags, Tokenizer,
};

fn main() -> Result<()> {
    let path = std::env::args().nth(1).expect("a GGUF file");
    let rt = Runtime::new()?;
    let file = File::open(&rt, path, Default::default())?;
    let (model, tokenizer) = (Model::new(&rt, &file, Default::default())?, Tokenizer::new(&file)?);
    let mut session = Session::new(&model, SessionOptions::default())?;
    let n_vocab = model.info()?.n_vocab;
    let mut sampler = Sampler::new(&rt, n_vocab, SamplerOptions::default())?;
    let mut logits = vec![0.0; n_vocab as usize];
    let mut ids = tokenizer.tokenize("Once upon a time", TokenizeFlags::ADD_SPECIAL)?;
    let mut first = 0;
    while ids.len() < 40 {
        session.decode(&ids[first..])?;
        session.logits(&mut logits)?;
        first = ids.len();
        let (id, _) = sampler.sample(&logits)?;
        if tokenizer.token_info(id)?.flags.contains(TokenFlags::END) {
            break;
        }
        ids.push(id);
    }
    let text = tokenizer.detokenize(&ids, DetokenizeFlags::NONE)?;
    println!("{}", String::from_utf8_lossy(&text));
    Ok(())
}
