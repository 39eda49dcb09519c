//! Sampler chains, drafts of generators, comparison with saved logits.
// SPDX-License-Identifier: MIT
use crate::{demo, fails, runtime, scratch};
use ggufx::{
    Candidate, DraftOptions, End, EventKind, Generator, GeneratorFlags, GeneratorOptions, Grammar,
    GrammarKind, GrammarOptions, LogitBias, MatmulFlags, EvalFacts, EvalFlags,
    EvalOptions, Model, Prompt, Sampler, Session, SessionOptions, Status,
    StepOptions, Tokenizer,
};
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};

const LOGITS: [f32; 6] = [0.5, 3.0, 2.5, -1.0, 2.9, 0.0];

fn chain() -> Sampler {
    Sampler::new(&runtime(), 6, 7).unwrap()
}
fn draws(sampler: &mut Sampler) -> Vec<i32> {
    (0..40).map(|_| sampler.sample(None, &LOGITS).unwrap().0).collect()
}

#[test]
fn samplers_are_added_in_order() {
    let only = |add: &dyn Fn(&mut Sampler) -> ggufx::Result<()>, ids: &[i32]| {
        let mut sampler = chain();
        add(&mut sampler).unwrap();
        let got = draws(&mut sampler);
        assert!(got.iter().all(|id| ids.contains(id)), "{:?}", got);
    };
    only(&|s| s.add_top_k(1), &[1]);
    only(&|s| s.add_top_p(0.5), &[1, 4]);
    let biases = [(1, f32::NEG_INFINITY), (4, -100.0), (2, -100.0), (0, 20.0)];
    let biases = &biases.map(|(id, bias)| LogitBias { id, bias });
    only(&|s| s.add_logit_bias(biases), &[0]);
    let mut sampler = chain();
    let host = |list: &mut [Candidate]| {
        list.iter_mut()
            .for_each(|one| one.logit = if one.id == 3 { 1.0 } else { f32::NEG_INFINITY });
        ControlFlow::Continue(())
    };
    sampler.add_host(host).unwrap();
    assert!(draws(&mut sampler).iter().all(|&id| id == 3));
}

#[test]
fn clones_go_on_as_the_first_one() {
    let mut first = chain();
    first.add_temperature(2.0, Default::default()).unwrap();
    let before = draws(&mut first);
    let mut second = first.try_clone().unwrap();
    let after = draws(&mut second);
    assert_eq!(draws(&mut first), after);
    assert_ne!(before, after);
    first.reset().unwrap();
    assert_eq!(draws(&mut first), before);
}

#[test]
fn a_host_may_stop_or_panic() {
    let mut sampler = chain();
    sampler.add_host(|_: &mut [Candidate]| ControlFlow::Break(())).unwrap();
    fails(sampler.sample(None, &LOGITS), Status::CANCELLED);
    let mut sampler = chain();
    sampler.add_host(|_: &mut [Candidate]| panic!("of the program")).unwrap();
    let mut clone = sampler.try_clone().unwrap();
    drop(sampler); // the clone keeps the custom sampler
    assert!(catch_unwind(AssertUnwindSafe(|| clone.sample(None, &LOGITS).map(drop))).is_err());
    assert_eq!(clone.reset(), Ok(())); // all is well afterwards
    let biases = &[LogitBias { id: 1, bias: 0.5 }; 2];
    fails(chain().add_logit_bias(biases), Status::DUPLICATE);
    let mut last = chain();
    last.add_mirostat(Default::default()).unwrap();
    fails(last.add_top_k(1), Status::STATE);
}

fn session(n_context: u32) -> Session {
    let rt = runtime();
    let matmul_flags = MatmulFlags::BATCH_INVARIANT;
    let options = SessionOptions { n_context, matmul_flags, ..Default::default() };
    Session::new(&Model::new(&rt, &demo(&rt), Default::default()).unwrap(), options).unwrap()
}

/// Sixty ids, and the number of drafts.
fn generated(draft: Option<DraftOptions<'_>>) -> (Vec<i32>, u64) {
    let sampler = Sampler::new(&runtime(), 1024, 3).unwrap();
    let options = GeneratorOptions {
        flags: GeneratorFlags::IDS_ONLY | GeneratorFlags::IGNORE_EOG,
        max_tokens: 60,
        sampler: Some(&sampler),
        draft,
        ..Default::default()
    };
    let mut generator = Generator::new(&mut session(256), options).unwrap();
    let prompt: Vec<i32> = (0..40).map(|i| 300 + i % 8).collect();
    let prompt = Prompt { tokens: &prompt, ..Default::default() };
    let events: Vec<_> = generator.prompt(prompt).unwrap().map(Result::unwrap).collect();
    let ids: Vec<_> = events.iter().flat_map(|event| &event.tokens).map(|token| token.id).collect();
    assert_eq!(events.last().unwrap().end, End::LENGTH);
    let info = generator.info().unwrap();
    assert_eq!((ids.len(), info.n_tokens), (60, 60));
    assert!(info.n_accepted <= info.n_drafted);
    (ids, info.n_drafted)
}

#[test]
fn drafts_change_no_id() {
    needs_model!();
    let (want, none) = generated(None);
    assert_eq!(none, 0);
    assert_eq!(generated(Some(DraftOptions { n_match: 2, ..Default::default() })).0, want);
    let mut small = session(256);
    let asked = generated(Some(DraftOptions { session: Some(&mut small), ..Default::default() }));
    assert_eq!(asked.0, want);
    assert!(asked.1 > 0);
}

#[test]
fn a_cancelled_call_changes_nothing() {
    needs_model!();
    let (rt, mut session) = (runtime(), session(64));
    let tokenizer = Tokenizer::new(&demo(&rt)).unwrap();
    let once = GrammarOptions {
        kind: GrammarKind::GBNF,
        text: Some(r#"root ::= "once""#),
        ..Default::default()
    };
    let grammar = Grammar::new(&rt, &tokenizer, once).unwrap();
    let many = DraftOptions { n_draft: 32, ..Default::default() };
    let options = GeneratorOptions { draft: Some(many), ..Default::default() };
    fails(Generator::new(&mut session, options), Status::LIMIT);
    let draft = Some(DraftOptions::default());
    let options = GeneratorOptions { grammar: Some(&grammar), draft, ..Default::default() };
    let mut generator = Generator::new(&mut session, options).unwrap();
    fails(generator.next(Default::default()).map(|_| ()), Status::STATE);
    generator.set_prompt(Prompt { tokens: &[1, 300], ..Default::default() }).unwrap();
    let mut stop = |_: u64, _: u64| ControlFlow::Break(());
    let step = StepOptions { progress: Some(&mut stop), ..Default::default() };
    fails(generator.next(step).map(|_| ()), Status::CANCELLED);
    assert_eq!(generator.info().unwrap().n_tokens, 0);
    let mut text = String::new();
    for event in generator.prompt("Nib").unwrap() {
        text += &event.unwrap().text;
    }
    assert_eq!(text, "once");
}

#[test]
fn a_dropped_iterator_cancels() {
    needs_model!();
    let mut sampler = Sampler::new(&runtime(), 1024, 3).unwrap();
    sampler.add_host(|_: &mut [Candidate]| ControlFlow::Continue(())).unwrap();
    let options = GeneratorOptions { sampler: Some(&sampler), ..Default::default() };
    let mut generator = Generator::new(&mut session(8), options).unwrap();
    drop(sampler); // the generator has what it needs
    let told = |generator: &mut Generator| {
        let (texts, end): (Vec<_>, Vec<_>) = generator
            .prompt("Nib")
            .unwrap()
            .map(Result::unwrap)
            .partition(|event| event.kind == EventKind::TEXT);
        assert_eq!((end.len(), end[0].end), (1, End::CONTEXT));
        texts
    };
    let first = told(&mut generator);
    assert_eq!(generator.prompt("Nib").unwrap().next().unwrap().unwrap(), first[0]);
    assert_eq!(generator.next(Default::default()).unwrap().end, End::CANCELLED);
    assert_eq!(told(&mut generator), first);
    fails(generator.prompt("Nib ".repeat(9).as_str()), Status::CAPACITY);
}

#[test]
fn a_text_is_measured_against_saved_logits() {
    needs_model!();
    let (mut session, tokens) = (session(64), (300..428).collect::<Vec<i32>>());
    let (path, mut bytes) = (scratch("logits"), vec![]);
    let saving = EvalOptions { save_path: Some(&path), ..Default::default() };
    let first = session.eval_perplexity(&tokens, 64, 1, saving);
    let saving = EvalOptions { write: Some(&mut bytes), ..Default::default() };
    session.eval_perplexity(&tokens, 64, 1, saving).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    let first = first.unwrap();
    assert!(first.n_chunks == 2 && first.flags == EvalFlags::NONE && first.perplexity > 1.0);
    let (mut from, mut chunks) = (&bytes[..], vec![]);
    let mut see = |running: &EvalFacts| {
        chunks.push(running.n_chunks);
        ControlFlow::Continue(())
    };
    let options =
        EvalOptions { read: Some(&mut from), report: Some(&mut see), ..Default::default() };
    let same = session.eval_perplexity(&tokens, 64, 1, options).unwrap();
    assert!(same.kl < 1e-6 && same.same_top_token == 1.0 && same.flags.0 == 3 && chunks == [1, 2]);
    assert_eq!(same.perplexity, first.perplexity);
    let base = || EvalOptions { reference_path: Some(&path), ..Default::default() };
    assert_eq!(session.eval_perplexity(&tokens, 64, 1, base()).unwrap(), same);
    std::fs::remove_file(&path).unwrap();
    let gone = session.eval_perplexity(&tokens, 64, 1, base());
    fails(gone, Status::IO);
    let mut stops = |_: &EvalFacts| ControlFlow::Break(());
    let options = EvalOptions { report: Some(&mut stops), ..Default::default() };
    fails(session.eval_perplexity(&tokens, 64, 1, options), Status::CANCELLED);
    assert_eq!(session.length(0), 0);
}
