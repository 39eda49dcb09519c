//! Many conversations in one session.
// SPDX-License-Identifier: MIT
use crate::{demo, fails, runtime, scratch};
use ggufx::{
    DecodeFlags, DecodeItem, DecodeOptions, TensorType, MatmulFlags, Model, Session, SessionOptions,
    Status,
};
use std::ops::ControlFlow;

const A: [i32; 5] = [1, 300, 301, 302, 303];
const B: [i32; 3] = [1, 400, 401];
const ROW: usize = 1024;

fn options() -> SessionOptions {
    SessionOptions {
        n_context: 128,
        n_sequences: 3,
        matmul_flags: MatmulFlags::BATCH_INVARIANT,
        ..Default::default()
    }
}
fn session(options: SessionOptions) -> Session {
    let rt = runtime();
    Session::new(&Model::new(&rt, &demo(&rt), Default::default()).unwrap(), options).unwrap()
}
/// Logits of each token in a separate session.
fn alone(tokens: &[i32]) -> Vec<f32> {
    session(SessionOptions { n_sequences: 1, ..options() })
        .batch_logits(&[DecodeItem::new(0, tokens, DecodeFlags::ALL_LOGITS)])
        .unwrap()
}
fn last(logits: &[f32]) -> &[f32] {
    &logits[logits.len() - ROW..]
}
fn item(sequence: u32, tokens: &[i32]) -> DecodeItem<'_> {
    DecodeItem::new(sequence, tokens, DecodeFlags::LOGITS)
}
fn into(logits: &mut [f32]) -> DecodeOptions<'_> {
    DecodeOptions { logits: Some(logits), ..Default::default() }
}
fn lengths(session: &Session) -> [u64; 3] {
    [0, 1, 2].map(|sequence| session.length(sequence))
}

#[test]
fn sequences_have_the_bits_of_sessions_of_their_own() {
    needs_model!();
    let (a, b, mut session) = (alone(&A), alone(&B), session(options()));
    assert_ne!(last(&a), last(&b));
    let items = [
        DecodeItem::new(2, &B[..2], DecodeFlags::NONE),
        DecodeItem::new(0, &A[..3], DecodeFlags::ALL_LOGITS),
    ];
    assert_eq!(session.batch_logits(&items).unwrap(), a[..3 * ROW]);
    let mut out = vec![0.0; 2 * ROW];
    let items = [item(0, &A[3..]), item(2, &B[2..])];
    session.decode(&items, into(&mut out)).unwrap();
    assert_eq!(out, [last(&a), last(&b)].concat());
    assert_eq!((lengths(&session), session.length(9)), ([5, 0, 3], 0));
    assert_eq!(session.info().unwrap().n_tokens, 8);
}

#[test]
fn sequences_of_a_session_are_copied_and_cut() {
    needs_model!();
    let mut session = session(options());
    let prompt: Vec<i32> = std::iter::once(1).chain(300..370).collect();
    let long = alone(&[&prompt[..], &[9]].concat());
    session.batch_logits(&[DecodeItem::new(0, &prompt, DecodeFlags::CHECKPOINT)]).unwrap();
    let before = session.info().unwrap();
    assert_eq!((before.n_tokens, before.n_shared_pages), (71, 0));
    session.copy(0, 1, 71).unwrap();
    let after = session.info().unwrap();
    assert!(after.n_tokens == 142 && after.n_shared_pages > 0 && after.cache_bytes > 0);
    let both = session.batch_logits(&[item(1, &[9]), item(0, &[9])]).unwrap();
    assert_eq!(both, [last(&long), last(&long)].concat());
    session.truncate(1, 0).unwrap();
    assert_eq!(lengths(&session), [72, 0, 0]);
    session.batch_logits(&[DecodeItem::new(1, &A, DecodeFlags::NONE)]).unwrap();
    session.truncate(1, 3).unwrap();
    assert_eq!(session.batch_logits(&[item(1, &A[3..])]).unwrap(), last(&alone(&A)));
    fails(session.copy(0, 1, 2), Status::STATE);
    fails(session.copy(0, 3, 2), Status::ARGUMENT);
    fails(session.copy(0, 2, 73), Status::ARGUMENT);
    fails(session.truncate(1, 6), Status::ARGUMENT);
}

struct Broken;
impl std::io::Write for Broken {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::Other.into())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
impl std::io::Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::Other.into())
    }
}

#[test]
fn sequences_are_saved_and_loaded() {
    needs_model!();
    let (mut from, mut to, mut bytes) = (session(options()), session(options()), vec![]);
    from.batch_logits(&[DecodeItem::new(1, &A[..4], DecodeFlags::NONE), item(0, &B)]).unwrap();
    from.save(1, &mut bytes).unwrap();
    let path = scratch("sequence");
    from.save_file(1, &path).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    to.load(2, &mut &bytes[..]).unwrap();
    to.load_file(0, &path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let (one, want) = (alone(&A), to.batch_logits(&[item(2, &A[4..]), item(0, &A[4..])]).unwrap());
    assert_eq!(want, [last(&one), last(&one)].concat());
    fails(to.load(2, &mut &bytes[..bytes.len() - 1]), Status::TRUNCATED);
    let mut wrong = bytes.clone();
    *wrong.last_mut().unwrap() ^= 1;
    fails(to.load(2, &mut &wrong[..]), Status::CHECKSUM);
    fails(to.load(3, &mut &bytes[..]), Status::ARGUMENT);
    fails(to.load_file(0, "/nowhere/snapshot"), Status::IO);
    fails(to.load(0, &mut Broken), Status::IO);
    fails(from.save(1, &mut Broken), Status::IO);
    fails(from.save(3, &mut vec![]), Status::ARGUMENT);
    fails(from.save_file(1, "/nowhere/snapshot"), Status::IO);
    assert_eq!(lengths(&to), [5, 0, 5]);
    let mut other = session(SessionOptions { type_k: Some(TensorType::F32), ..options() });
    fails(other.load(0, &mut &bytes[..]), Status::MISMATCH);
}

#[test]
fn a_batch_fails_as_a_whole() {
    needs_model!();
    let mut session = session(SessionOptions { n_context: 16, ..options() });
    session.batch_logits(&[item(0, &A), item(1, &B)]).unwrap();
    let good = item(0, &[5]);
    let mut index =
        |items: &[DecodeItem<'_>], code| fails(session.batch_logits(items), code).index().unwrap();
    assert_eq!(index(&[good, item(3, &[5])], Status::ARGUMENT), 1);
    assert_eq!(index(&[good, item(1, &[5]), good], Status::ARGUMENT), 2);
    assert_eq!(index(&[good, item(1, &[5, 4000])], Status::ARGUMENT), 1);
    assert_eq!(index(&[good, item(1, &[])], Status::ARGUMENT), 1);
    assert_eq!(index(&[good, item(1, &[5; 14])], Status::CAPACITY), 1);
    fails(session.decode(&[good], into(&mut [0.0; 1023])), Status::ARGUMENT);
    let mut out = [0.0; ROW];
    let matmul_flags = Some(MatmulFlags::TILED | MatmulFlags::BATCH_INVARIANT);
    let both = DecodeOptions { matmul_flags, ..into(&mut out) };
    fails(session.decode(&[good], both), Status::ARGUMENT);
    let mut stop = |_: u64, _: u64| ControlFlow::Break(());
    let stopping = DecodeOptions { progress: Some(&mut stop), ..into(&mut out) };
    fails(session.decode(&[good], stopping), Status::CANCELLED);
    assert_eq!(lengths(&session), [5, 3, 0]);
}

#[test]
fn rows_replace_tokens() {
    needs_model!();
    let (rt, mut session) = (runtime(), session(options()));
    let file = demo(&rt);
    let table = file.tensor("token_embd.weight").unwrap();
    let rows: Vec<f32> =
        A.iter().flat_map(|&id| table.dequantize(&rt, id as u64, 1).unwrap()).collect();
    let (input_rows, positions, width) = (&rows[..], &[0, 1, 2, 3, 4][..], rows.len() / A.len());
    let flags = DecodeFlags::LOGITS | DecodeFlags::HIDDEN;
    let items = [
        DecodeItem::new(0, &A, DecodeFlags::LOGITS | DecodeFlags::ALL_HIDDEN),
        DecodeItem { input_rows, positions, ..DecodeItem::new(1, &[], flags) },
    ];
    let (mut logits, mut hidden) = (vec![0.0; 2 * ROW], vec![0.0; 6 * width]);
    let given = DecodeOptions { hidden: Some(&mut hidden), ..into(&mut logits) };
    session.decode(&items, given).unwrap();
    assert_eq!(logits[..ROW], logits[ROW..]);
    assert_eq!(hidden[4 * width..5 * width], hidden[5 * width..]);
    session.remove(0, 1, 2).unwrap();
    let (left, at) = session.tokens(0, 0, 3).unwrap();
    assert_eq!((left, at), (vec![1, 302, 303], vec![0, 3, 4]));
    let short =
        DecodeItem { positions: &positions[1..], ..DecodeItem::new(2, &A, DecodeFlags::NONE) };
    fails(session.batch_logits(&[short]), Status::ARGUMENT);
}

#[test]
fn many_items_have_the_rows_of_few() {
    needs_model!();
    let mut session = session(SessionOptions { n_sequences: 20, ..options() });
    let one = session.batch_logits(&[item(0, &B)]).unwrap();
    let items: Vec<_> = (1..20).map(|sequence| item(sequence, &B)).collect();
    let rows = session.batch_logits(&items).unwrap();
    assert!(rows.len() == 19 * ROW && rows.chunks(ROW).all(|row| row == one));
}
