//! Log-probabilities of tokens and continuations, weight matrices.
// SPDX-License-Identifier: MIT
use crate::{demo, fails, runtime};
use ggufx::{
    DecodeFlags, DecodeItem, Imatrix, ImatrixFlags, ImatrixOptions, Model, Session, SessionOptions,
    Status, TokenList,
};
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};

fn session() -> Session {
    let rt = runtime();
    let options = SessionOptions { n_context: 64, ..Default::default() };
    Session::new(&Model::new(&rt, &demo(&rt), Default::default()).unwrap(), options).unwrap()
}

#[test]
fn logarithms_are_those_of_the_formula() {
    let (rt, logits) = (runtime(), [0.5, 3.0, f32::NEG_INFINITY, 3.0, 1.0]);
    let sum: f64 = logits.iter().map(|&x| f64::from(x).exp()).sum();
    let near = |got: f32, logit: f64| (f64::from(got) - (logit - sum.ln())).abs() < 1e-6;
    let (ids, values) = rt.logprobs(3, &logits, None).unwrap();
    assert_eq!(ids, [1, 3, 4]);
    assert!(near(values[0], 3.0) && near(values[1], 3.0) && near(values[2], 1.0));
    let (ids, values) = rt.logprobs(2, &logits, Some(&[2, 0])).unwrap();
    assert_eq!((&ids[..], values[0]), (&[2, 0][..], f32::NEG_INFINITY));
    assert!(near(values[1], 0.5));
    fails(rt.logprobs(6, &logits, None), Status::ARGUMENT);
    fails(rt.logprobs(usize::MAX, &logits, None), Status::MEMORY);
    fails(rt.logprobs(1, &logits, Some(&[5])), Status::ARGUMENT);
    fails(rt.logprobs(3, &[f32::NAN; 3], None), Status::VALUE);
}

#[test]
fn endings_have_the_sums_of_their_tokens() {
    needs_model!();
    let (rt, mut session, context) = (runtime(), session(), [1, 300, 301]);
    let endings = [&[302][..], &[303, 304], &[302, 305, 306]];
    let lists = endings.map(|tokens| TokenList { tokens });
    let got = session.eval_continuations(&context, &lists, None).unwrap();
    for (ending, got) in endings.iter().zip(got) {
        let (mut sum, mut next) = (0.0, context.to_vec());
        for &id in *ending {
            let logits =
                session.batch_logits(&[DecodeItem::new(0, &next, DecodeFlags::LOGITS)]).unwrap();
            sum += f64::from(rt.logprobs(1, &logits, Some(&[id])).unwrap().1[0]);
            next = vec![id];
        }
        // Products of one column and of many have other bits.
        assert!((sum - got).abs() < 0.05, "{} {}", sum, got);
        session.truncate(0, 0).unwrap();
    }
    let empty = [lists[0], TokenList::default()];
    fails(session.eval_continuations(&context, &empty, None), Status::ARGUMENT);
    let long = [TokenList { tokens: &[302; 64] }];
    fails(session.eval_continuations(&context, &long, None), Status::CAPACITY);
    let mut stop = |_: u64, _: u64| ControlFlow::Break(());
    let stopped = session.eval_continuations(&context, &lists, Some(&mut stop));
    fails(stopped, Status::CANCELLED);
    assert_eq!(session.length(0), 0);
}

#[test]
fn a_matrix_is_collected() {
    needs_model!();
    let (mut session, tokens) = (session(), (300..380).collect::<Vec<i32>>());
    let options = ImatrixOptions { dataset: Some("text"), ..Default::default() };
    let m = Imatrix::new(&mut session, &tokens, 32, 1, options).unwrap();
    let info = m.info().unwrap();
    assert_eq!((info.n_chunks, info.chunk_tokens, m.dataset_at(0).unwrap()), (2, 32, &b"text"[..]));
    let named = "blk.0.attn_q.weight";
    let q = m.entry_at(m.find(named).unwrap()).unwrap();
    assert_eq!(q.counts, [64.0]);
    let options = ImatrixOptions { flags: ImatrixFlags::OUTPUT, ..Default::default() };
    let more = Imatrix::new(&mut session, &tokens, 32, 1, options).unwrap();
    assert_eq!(more.info().unwrap().n_entries, info.n_entries + 1);
    assert_eq!(more.entry_at(more.find(named).unwrap()).unwrap().sums, q.sums);
    let few = Imatrix::new(&mut session, &tokens[..31], 32, 1, ImatrixOptions::default());
    fails(few, Status::ARGUMENT);
    let panics = catch_unwind(AssertUnwindSafe(|| {
        let mut hook = |_: u64, _: u64| -> ControlFlow<()> { panic!("of the program") };
        let options = ImatrixOptions { progress: Some(&mut hook), ..Default::default() };
        Imatrix::new(&mut session, &tokens, 32, 1, options).map(drop)
    }));
    assert!(panics.is_err());
    assert_eq!(session.length(0), 0);
}
