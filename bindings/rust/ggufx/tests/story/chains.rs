//! Sampler chains, speculative decoding, comparison with saved logits.
// SPDX-License-Identifier: MIT
use crate::{demo, fails, runtime, scratch};
use ggufx::{
    Candidate, DetokenizeFlags, Grammar, GrammarKind, GrammarOptions, LinkKind, LogitBias, Matcher,
    MatcherFlags, MatmulFlags, MeasureFacts, MeasureFlags, MeasureOptions, Model, Sampler,
    SamplerLink, Session, SessionOptions, Speculator, SpeculatorOptions, Status, Tokenizer,
};
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};

const LOGITS: [f32; 6] = [0.5, 3.0, 2.5, -1.0, 2.9, 0.0];

fn chain(links: &[SamplerLink<'_>]) -> Sampler {
    let mut sampler = Sampler::create_chain(&runtime(), 6, 7).unwrap();
    links.iter().for_each(|&link| sampler.add(link).unwrap());
    sampler
}
fn draws(sampler: &mut Sampler) -> Vec<i32> {
    (0..40).map(|_| sampler.sample(&LOGITS).unwrap().0).collect()
}

#[test]
fn links_are_added_in_order() {
    let only = |link, ids: &[i32]| {
        let got = draws(&mut chain(&[link]));
        assert!(got.iter().all(|id| ids.contains(id)), "{:?}: {:?}", link, got);
    };
    let of = |kind| SamplerLink { kind, ..Default::default() };
    only(SamplerLink { k: 1, ..of(LinkKind::TOP_K) }, &[1]);
    only(SamplerLink { p: 0.5, ..of(LinkKind::TOP_P) }, &[1, 4]);
    let biases = [(1, f32::NEG_INFINITY), (4, -100.0), (2, -100.0), (0, 20.0)];
    let biases = &biases.map(|(id, bias)| LogitBias { id, bias });
    only(SamplerLink { biases, ..of(LinkKind::BIAS) }, &[0]);
    let mut sampler = chain(&[]);
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
    let mut first = chain(&[SamplerLink {
        kind: LinkKind::TEMPERATURE,
        temperature: 2.0,
        ..Default::default()
    }]);
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
    let mut sampler = chain(&[]);
    sampler.add_host(|_: &mut [Candidate]| ControlFlow::Break(())).unwrap();
    fails(sampler.sample(&LOGITS), Status::CANCELLED);
    let mut sampler = chain(&[]);
    sampler.add_host(|_: &mut [Candidate]| panic!("of the program")).unwrap();
    let mut clone = sampler.try_clone().unwrap();
    drop(sampler); // the clone keeps the custom sampler
    assert!(catch_unwind(AssertUnwindSafe(|| clone.sample(&LOGITS).map(drop))).is_err());
    assert_eq!(clone.reset(), Ok(())); // all is well afterwards
    let of = |kind| SamplerLink { kind, ..Default::default() };
    let top = SamplerLink { k: 1, ..of(LinkKind::TOP_K) };
    let biases = &[LogitBias { id: 1, bias: 0.5 }; 2];
    fails(chain(&[]).add(SamplerLink { biases, ..of(LinkKind::BIAS) }), Status::DUPLICATE);
    let mut simple = Sampler::new(&runtime(), 6, Default::default()).unwrap();
    fails(simple.add(top), Status::STATE);
}

fn session(n_context: u32) -> Session {
    let rt = runtime();
    let matmul_flags = MatmulFlags::BATCH_INVARIANT;
    let options = SessionOptions { n_context, matmul_flags, ..Default::default() };
    Session::new(&Model::new(&rt, &demo(&rt), Default::default()).unwrap(), options).unwrap()
}

/// Sixty ids, one after another.
fn plain(prompt: &[i32]) -> Vec<i32> {
    let (mut session, mut sampler) =
        (session(256), Sampler::create_chain(&runtime(), 1024, 3).unwrap());
    let mut logits = vec![0.0; 1024];
    let mut next = *prompt.last().unwrap();
    session.decode(&prompt[..prompt.len() - 1]).unwrap();
    (0..60)
        .map(|_| {
            session.decode(&[next]).unwrap();
            session.logits(&mut logits).unwrap();
            next = sampler.sample(&logits).unwrap().0;
            next
        })
        .collect()
}

fn guessed<'a>(
    prompt: &[i32],
    options: SpeculatorOptions<'a>,
    guess: Option<Box<ggufx::Guess<'a>>>,
) -> (Vec<i32>, u64) {
    let (mut session, mut sampler) =
        (session(256), Sampler::create_chain(&runtime(), 1024, 3).unwrap());
    let mut speculator = match guess {
        None => Speculator::new(&mut session, options).unwrap(),
        Some(guess) => Speculator::guessing(&mut session, options, guess).unwrap(),
    };
    speculator.session().decode(prompt).unwrap();
    let (mut out, mut ids, mut logprobs) = (vec![], [0; 20], [0.0; 20]);
    while out.len() < 60 {
        let most = ids.len().min(60 - out.len());
        let n = speculator
            .next(&mut ids[..most], &mut logprobs[..most], &mut sampler, None, None)
            .unwrap();
        assert!(logprobs[..n].iter().all(|&p| p <= 0.0));
        out.extend_from_slice(&ids[..n]);
    }
    let info = speculator.info().unwrap();
    assert_eq!((info.n_tokens, info.n_calls + info.n_accepted), (60, 60));
    assert!(info.n_accepted <= info.n_drafted);
    (out, info.n_drafted)
}

#[test]
fn guesses_change_no_id() {
    needs_model!();
    let prompt: Vec<i32> = (0..40).map(|i| 300 + i % 8).collect();
    let want = plain(&prompt);
    let found = guessed(&prompt, SpeculatorOptions { n_match: 2, ..Default::default() }, None);
    assert_eq!(found.0, want);
    let mut draft = session(256);
    let asked =
        guessed(&prompt, SpeculatorOptions { draft: Some(&mut draft), ..Default::default() }, None);
    assert_eq!(asked.0, want);
    assert!(asked.1 > 0);
    let mut n_text = 0;
    let guess = Box::new(|text: &[i32], last: i32, out: &mut [i32]| {
        let at = text.len() + 1 - prompt.len(); // requested rows
        assert_eq!((&text[..prompt.len()], last), (&prompt[..], want[at - 1]));
        n_text += 1;
        let right = want[at..].iter().zip(out.iter_mut()).map(|(id, to)| *to = *id).count();
        right.min(out.len())
    });
    let told = guessed(&prompt, SpeculatorOptions::default(), Some(guess));
    assert_eq!(told.0, want);
    assert!(n_text > 1);
}

#[test]
fn guessing_ends_with_the_grammar_and_fails_as_a_whole() {
    needs_model!();
    let (rt, mut session) = (runtime(), session(64));
    let tokenizer = Tokenizer::new(&demo(&rt)).unwrap();
    let once = GrammarOptions {
        kind: GrammarKind::GBNF,
        text: Some(r#"root ::= "once""#),
        ..Default::default()
    };
    let grammar = Grammar::new(&rt, &tokenizer, once).unwrap();
    let (mut matcher, mut sampler) =
        (Matcher::new(&grammar).unwrap(), Sampler::new(&rt, 1024, Default::default()).unwrap());
    let mut speculator = Speculator::new(&mut session, Default::default()).unwrap();
    let mut ids = [0; 8];
    let next = |speculator: &mut Speculator<'_>, ids: &mut [i32], sampler: &mut Sampler| {
        speculator.next(ids, &mut [], sampler, None, None)
    };
    fails(next(&mut speculator, &mut ids, &mut sampler), Status::STATE);
    speculator.session().decode(&[1, 300]).unwrap();
    let mut text = vec![];
    while !matcher.info().unwrap().flags.contains(MatcherFlags::ENDED) {
        let n = speculator.next(&mut ids, &mut [], &mut sampler, Some(&mut matcher), None).unwrap();
        text.extend_from_slice(&ids[..n]);
    }
    text.pop(); // the end
    assert_eq!(tokenizer.detokenize(&text, DetokenizeFlags::KEEP_SPACE).unwrap(), b"once");
    let mut stop = |_: u64, _: u64| ControlFlow::Break(());
    speculator.session().decode(&[1]).unwrap();
    next(&mut speculator, &mut ids, &mut sampler).unwrap();
    let length = speculator.session().length();
    fails(
        speculator.next(&mut ids, &mut [], &mut sampler, None, Some(&mut stop)),
        Status::CANCELLED,
    );
    assert_eq!(speculator.session().length(), length);
    drop(speculator);
    let two = SpeculatorOptions { n_draft: 32, ..Default::default() };
    fails(Speculator::new(&mut session, two), Status::ARGUMENT);
    let rt = runtime();
    let mut plain =
        Session::new(&Model::new(&rt, &demo(&rt), Default::default()).unwrap(), Default::default())
            .unwrap();
    fails(Speculator::new(&mut plain, Default::default()), Status::ARGUMENT);
}

#[test]
fn a_text_is_measured_against_saved_logits() {
    needs_model!();
    let (mut session, tokens) = (session(64), (300..428).collect::<Vec<i32>>());
    let (path, mut bytes) = (scratch("logits"), vec![]);
    let saving = MeasureOptions { save_path: Some(&path), ..Default::default() };
    let first = session.measure(&tokens, 64, 1, saving);
    let saving = MeasureOptions { write: Some(&mut bytes), ..Default::default() };
    session.measure(&tokens, 64, 1, saving).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    let first = first.unwrap();
    assert!(first.n_chunks == 2 && first.flags == MeasureFlags::NONE && first.perplexity > 1.0);
    let (mut from, mut chunks) = (&bytes[..], vec![]);
    let mut see = |running: &MeasureFacts| {
        chunks.push(running.n_chunks);
        ControlFlow::Continue(())
    };
    let options =
        MeasureOptions { read: Some(&mut from), report: Some(&mut see), ..Default::default() };
    let same = session.measure(&tokens, 64, 1, options).unwrap();
    assert!(same.kl < 1e-6 && same.same_top == 1.0 && same.flags.0 == 3 && chunks == [1, 2]);
    assert_eq!(same.perplexity, first.perplexity);
    let base = || MeasureOptions { base_path: Some(&path), ..Default::default() };
    assert_eq!(session.measure(&tokens, 64, 1, base()).unwrap(), same);
    std::fs::remove_file(&path).unwrap();
    let gone = session.measure(&tokens, 64, 1, base());
    fails(gone, Status::IO);
    let mut stops = |_: &MeasureFacts| ControlFlow::Break(());
    let options = MeasureOptions { report: Some(&mut stops), ..Default::default() };
    fails(session.measure(&tokens, 64, 1, options), Status::CANCELLED);
    assert_eq!(session.length(), 0);
}
