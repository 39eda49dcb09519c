//! Greedy generation: a prompt, then the events of a generator.
// SPDX-License-Identifier: MIT
use ggufx::{File, Generator, GeneratorOptions, Model, Result, Runtime, Session, SessionOptions};

const PROMPT: &str = "Once upon a time";

fn main() -> Result<()> {
    let path = std::env::args().nth(1).expect("a GGUF file");
    let rt = Runtime::new()?;
    let file = File::open(&rt, path, Default::default())?;
    let model = Model::new(&rt, &file, Default::default())?;
    let mut session = Session::new(&model, SessionOptions::default())?;
    let options = GeneratorOptions { max_tokens: 34, ..Default::default() };
    let mut generator = Generator::new(&mut session, options)?;
    print!("{}", PROMPT);
    for event in generator.prompt(PROMPT)? {
        print!("{}", event?.text);
    }
    println!();
    Ok(())
}
