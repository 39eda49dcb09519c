//! Structured output: constrained decoding of JSON that matches a JSON Schema.
// SPDX-License-Identifier: MIT
use ggufx::{
    File, Generator, GeneratorOptions, Grammar, GrammarFlags, GrammarKind, GrammarOptions, Model,
    Result, Runtime, Session, SessionOptions, Tokenizer,
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
    let options = GrammarOptions {
        kind: GrammarKind::JSON_SCHEMA,
        flags: GrammarFlags::COMPACT,
        text: Some(SCHEMA),
        ..Default::default()
    };
    let grammar = Grammar::new(&rt, &tokenizer, options)?;
    let options = GeneratorOptions { grammar: Some(&grammar), ..Default::default() };
    let mut generator = Generator::new(&mut session, options)?;
    for event in generator.prompt("Once upon a time")? {
        print!("{}", event?.text);
    }
    println!();
    Ok(())
}
