//! Structured output: constrained decoding of JSON that matches a JSON Schema.
// SPDX-License-Identifier: MIT
use ggufx::{
    DetokenizeFlags, File, Grammar, GrammarFlags, Matcher, Model, Result, Runtime, Sampler, SamplerOptions,
    Session, SessionOptions, TokenizeFlags, Tokenizer,
};

const SCHEMA: &str = r#"{"type": "object", "additionalProperties": false,
    "required": ["name", "age", "likes"], "properties": {
    "name": {"enum": ["Nib", "Tom"]}, "age": {"type": "integer", "minimum": 1, "maximum": 9},
    "likes": {"type": "array", "maxItems": 2, "items": {"enum": ["books", "sun"]}}}}"#;

fn main() -> Result<()> {
    let path = std::env::args().nth(1).expect("a GGUF file");
    let rt = Runtime::new()?;
    let file = File::open(&rt, path)?;
    let (model, tokenizer) = (Model::new(&rt, &file)?, Tokenizer::new(&file)?);
    let mut session = Session::new(&model, SessionOptions::default())?;
    let n_vocab = model.info()?.n_vocab;
    let mut sampler = Sampler::new(&rt, n_vocab, SamplerOptions::default())?;
    let mut matcher = Matcher::new(&Grammar::json_schema(&rt, &tokenizer, SCHEMA, GrammarFlags::COMPACT)?)?;
    let mut logits = vec![0.0; n_vocab as usize];
    session.decode(&tokenizer.encode("Once upon a time", TokenizeFlags::ADD_SPECIAL)?)?;
    let mut ids = Vec::new();
    loop {
        session.logits(&mut logits)?;
        ids.push(sampler.sample_matching(&mut matcher, &logits)?.0);
        if matcher.info()?.ended {
            break;
        }
        session.decode(&ids[ids.len() - 1..])?;
    }
    let text = tokenizer.decode(&ids, DetokenizeFlags::NONE)?;
    println!("{}", String::from_utf8_lossy(&text));
    Ok(())
}
