//! Structured output: constrained decoding of JSON that matches a JSON Schema.
// SPDX-License-Identifier: MIT
use ggufx::{
    DetokenizeFlags, File, Grammar, GrammarFlags, GrammarKind, GrammarOptions, Matcher,
    MatcherFlags, Model, Result, Runtime, Sampler, SamplerOptions, Session, SessionOptions,
    TokenizeFlags, Tokenizer,
};

const SCHEMA: &str = r#"{"type": "object", "additionalProperties": false,
    "required": ["name", "age", "likes"], "properties": {
    "name": {"enum": ["Nib", "Tom"]}, "age": {"type": "integer", "minimum": 1, "maximum": 9},
    "likes": {"type": "array", "maxItems": 2, "items": {"enum": ["books", "sun"]}}}}"#;

fn main() -> Result<()> {
    let path = std::env::args().nth(1).expect("a GGUF file");
    let rt = Runtime::new()?;
    let file = File::open(&rt, path, Default::default())?;
    let (model, tokenizer) = (Model::new(&rt, &file, Default::default())?, Tokenizer::new(&file)?);
    let mut session = Session::new(&model, SessionOptions::default())?;
    let n_vocab = model.info()?.n_vocab;
    let mut sampler = Sampler::new(&rt, n_vocab, SamplerOptions::default())?;
    let options = GrammarOptions {
        kind: GrammarKind::JSON_SCHEMA,
        flags: GrammarFlags::COMPACT,
        text: Some(SCHEMA),
        ..Default::default()
    };
    let mut matcher = Matcher::new(&Grammar::new(&rt, &tokenizer, options)?)?;
    let mut logits = vec![0.0; n_vocab as usize];
    session.decode(&tokenizer.tokenize("Once upon a time", TokenizeFlags::ADD_SPECIAL)?)?;
    let mut ids = Vec::new();
    loop {
        session.logits(&mut logits)?;
        ids.push(sampler.sample_matching(&mut matcher, &logits)?.0);
        if matcher.info()?.flags.contains(MatcherFlags::ENDED) {
            break;
        }
        session.decode(&ids[ids.len() - 1..])?;
    }
    let text = tokenizer.detokenize(&ids, DetokenizeFlags::NONE)?;
    println!("{}", String::from_utf8_lossy(&text));
    Ok(())
}
