//! Grammars and JSON Schemas.
// SPDX-License-Identifier: MIT
use crate::{demo, fails, runtime};
use ggufx::{
    Grammar, GrammarFlags, GrammarKind, GrammarOptions, Matcher, MatcherFlags, Result, Runtime,
    Status, TokenizeFlags, Tokenizer,
};

fn has(mask: &[u32], id: i32) -> bool {
    mask[id as usize / 32] >> (id % 32) & 1 != 0
}
fn gbnf(rt: &Runtime, tokenizer: &Tokenizer, text: &str) -> Result<Grammar> {
    let (kind, text) = (GrammarKind::GBNF, Some(text));
    Grammar::new(rt, tokenizer, GrammarOptions { kind, text, ..Default::default() })
}
fn schema(rt: &Runtime, tokenizer: &Tokenizer, text: &str) -> Result<Grammar> {
    let (kind, flags) = (GrammarKind::JSON_SCHEMA, GrammarFlags::COMPACT);
    Grammar::new(
        rt,
        tokenizer,
        GrammarOptions { kind, flags, text: Some(text), ..Default::default() },
    )
}

#[test]
fn a_matcher_follows_a_text() {
    needs_model!();
    let rt = runtime();
    let tokenizer = Tokenizer::new(&demo(&rt)).unwrap();
    let grammar = gbnf(&rt, &tokenizer, "root ::= \" the \" [a-z]{3,6} \".\"").unwrap();
    let mut matcher = Matcher::new(&grammar).unwrap();
    drop(grammar); // the matcher keeps it
    let begin = matcher.info().unwrap();
    assert_eq!((begin.flags, begin.n_tokens), (MatcherFlags::NONE, 0));
    assert_eq!((begin.n_vocab, begin.n_words), (1024, 32));
    let ids = tokenizer.tokenize("the cat.", TokenizeFlags::default()).unwrap();
    let mut mask = [0; 32];
    for &id in &ids {
        matcher.mask(&mut mask).unwrap();
        assert!(has(&mask, id));
        matcher.accept(&[id]).unwrap();
    }
    assert!(matcher.info().unwrap().flags.contains(MatcherFlags::COMPLETE));
    let mut before = matcher.try_clone().unwrap();
    matcher.accept(&[2]).unwrap(); // </s>
    let ended = |matcher: &Matcher| matcher.info().unwrap().flags.contains(MatcherFlags::ENDED);
    assert!(ended(&matcher) && !ended(&before));
    fails(matcher.mask(&mut mask), Status::STATE);
    before.rollback(ids.len() as u64).unwrap();
    assert_eq!(before.info().unwrap(), begin);
    let mut long = [1; 33];
    before.mask(&mut long).unwrap();
    assert!(has(&long, ids[0]) && long[32] == 0);
    fails(before.mask(&mut long[..31]), Status::CAPACITY);
    let error = fails(before.accept(&[ids[0], ids[1], 2]), Status::VALUE);
    assert_eq!(error.index(), Some(2));
    fails(before.accept(&[1024]), Status::ARGUMENT);
    fails(before.rollback(1), Status::ARGUMENT);
}

#[test]
fn faults_of_grammars_are_told() {
    needs_model!();
    let rt = runtime();
    let tokenizer = Tokenizer::new(&demo(&rt)).unwrap();
    let error = fails(gbnf(&rt, &tokenizer, "root ::= x"), Status::MALFORMED);
    assert!(error.to_string().contains("line 1, column 10"), "{}", error);
    let error =
        fails(schema(&rt, &tokenizer, r#"{"items":{"uniqueItems":true}}"#), Status::UNSUPPORTED);
    assert!(error.to_string().contains("#/items: 'uniqueItems' is supported"), "{}", error);
    fails(schema(&rt, &tokenizer, "false"), Status::VALUE);
}
