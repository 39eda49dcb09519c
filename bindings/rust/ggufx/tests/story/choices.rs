//! Log-probabilities of tokens and continuations, stop strings, weight matrices.
// SPDX-License-Identifier: MIT
use crate::{demo, fails, runtime};
use ggufx::{
    logprobs, CollectOptions, Imatrix, Model, Session, SessionOptions, Status, Stop, StopInfo,
};
use std::ffi::CStr;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};

fn session() -> Session {
    let rt = runtime();
    let options = SessionOptions { n_context: 64, ..Default::default() };
    Session::new(&Model::new(&rt, &demo(&rt)).unwrap(), options).unwrap()
}

#[test]
fn texts_are_found_over_pieces() {
    let rt = runtime();
    let info = |found, n_shown, n_taken| StopInfo { found, n_shown, n_taken };
    let mut stop = Stop::new(&rt, &[&b"</s>"[..], b"\xff\0"]).unwrap();
    assert_eq!(stop.feed("a<").unwrap(), info(None, 1, 2));
    assert_eq!(stop.feed("/s").unwrap(), info(None, 1, 4));
    assert_eq!(stop.feed(">b").unwrap(), info(Some(0), 1, 5));
    fails(stop.feed("b"), Status::STATE);
    stop.reset().unwrap();
    assert_eq!(stop.feed(b"</\xff\0").unwrap(), info(Some(1), 2, 4));
    assert_eq!(fails(Stop::new(&rt, &["a", ""]), Status::ARGUMENT).index(), Some(1));
    fails(Stop::new(&rt, &[vec![b'a'; 1 << 20], vec![b'b']]), Status::LIMIT);
}

#[test]
fn logarithms_are_those_of_the_formula() {
    let (rt, logits) = (runtime(), [0.5, 3.0, f32::NEG_INFINITY, 3.0, 1.0]);
    let sum: f64 = logits.iter().map(|&x| f64::from(x).exp()).sum();
    let near = |got: f32, logit: f64| (f64::from(got) - (logit - sum.ln())).abs() < 1e-6;
    let (mut ids, mut values) = ([0; 3], [0.0; 3]);
    let chosen = logprobs(&rt, &logits, &mut ids, &mut values, Some(0)).unwrap();
    assert_eq!(ids, [1, 3, 4]);
    assert!(near(values[0], 3.0) && near(values[1], 3.0) && near(values[2], 1.0));
    assert!(near(chosen.unwrap(), 0.5));
    let never = logprobs(&rt, &logits, &mut [], &mut [], Some(2)).unwrap();
    assert_eq!(never, Some(f32::NEG_INFINITY));
    assert_eq!(logprobs(&rt, &logits, &mut ids, &mut values, None).unwrap(), None);
    fails(logprobs(&rt, &logits, &mut [0; 6], &mut [0.0; 6], None), Status::ARGUMENT);
    fails(logprobs(&rt, &logits, &mut ids, &mut values[1..], None), Status::ARGUMENT);
    fails(logprobs(&rt, &logits, &mut [], &mut [], Some(5)), Status::ARGUMENT);
    fails(logprobs(&rt, &[f32::NAN; 3], &mut ids, &mut values, None), Status::VALUE);
}

#[test]
fn endings_have_the_sums_of_their_tokens() {
    needs_model!();
    let (rt, mut session, context) = (runtime(), session(), [1, 300, 301]);
    let endings = [&[302][..], &[303, 304], &[302, 305, 306]];
    let got = session.endings(&context, &endings, None).unwrap();
    let mut logits = vec![0.0; 1024];
    for (ending, got) in endings.iter().zip(got) {
        let mut sum = 0.0;
        session.decode(&context).unwrap();
        for &id in *ending {
            session.logits(&mut logits).unwrap();
            let one = logprobs(&rt, &logits, &mut [], &mut [], Some(id)).unwrap();
            sum += f64::from(one.unwrap());
            session.decode(&[id]).unwrap();
        }
        // Products of one column and of many have other bits.
        assert!((sum - got).abs() < 0.05, "{} {}", sum, got);
        session.truncate(0).unwrap();
    }
    fails(session.endings(&context, &[&[302][..], &[]], None), Status::ARGUMENT);
    fails(session.endings(&context, &[[302; 64]], None), Status::CAPACITY);
    let mut stop = |_: u64, _: u64| ControlFlow::Break(());
    fails(session.endings(&context, &endings, Some(&mut stop)), Status::CANCELLED);
    assert_eq!(session.length(), 0);
}

#[test]
fn a_matrix_is_collected() {
    needs_model!();
    let (mut session, tokens) = (session(), (300..380).collect::<Vec<i32>>());
    let dataset = Some(CStr::from_bytes_with_nul(b"text\0").unwrap());
    let options = CollectOptions { bos: Some(1), dataset, ..Default::default() };
    let m = Imatrix::collect(&mut session, &tokens, 32, options).unwrap();
    let info = m.info().unwrap();
    assert_eq!((info.n_chunks, info.chunk_tokens, m.dataset(0).unwrap()), (2, 32, &b"text"[..]));
    let q = m.find("blk.0.attn_q.weight").unwrap();
    assert_eq!(q.counts, [64.0]);
    let options = CollectOptions { bos: Some(1), output: true, ..Default::default() };
    let more = Imatrix::collect(&mut session, &tokens, 32, options).unwrap();
    assert_eq!(more.info().unwrap().n_entries, info.n_entries + 1);
    assert_eq!(more.find("blk.0.attn_q.weight").unwrap().sums, q.sums);
    let few = Imatrix::collect(&mut session, &tokens[..31], 32, CollectOptions::default());
    fails(few, Status::ARGUMENT);
    let panics = catch_unwind(AssertUnwindSafe(|| {
        let mut hook = |_: u64, _: u64| -> ControlFlow<()> { panic!("of the program") };
        let options = CollectOptions { progress: Some(&mut hook), ..Default::default() };
        Imatrix::collect(&mut session, &tokens, 32, options).map(drop)
    }));
    assert!(panics.is_err());
    assert_eq!(session.length(), 0);
}
