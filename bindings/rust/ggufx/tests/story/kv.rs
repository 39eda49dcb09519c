//! The cache: append, attend, edit, snapshots.
// SPDX-License-Identifier: MIT
use crate::flat::{self, append, query};
use crate::{fails, numbers, runtime, scratch};
use ggufx::{
    AttendFlags, AttendOptions, KvCache, KvLayerOptions, KvOptions, KvQueries, KvTokens, TensorType,
    RopeStyle, Status,
};
use std::ops::ControlFlow;

fn none() -> KvTokens<'static> {
    KvTokens::default()
}

pub fn options() -> KvOptions<'static> {
    KvOptions {
        n_layers: 2,
        n_kv_heads: 2,
        n_q_heads: 4,
        head_dim_k: 32,
        type_k: Some(TensorType::F32),
        type_v: Some(TensorType::F32),
        n_sequences: 3,
        max_tokens: 256,
        rope_style: RopeStyle::INTERLEAVED,
        ..Default::default()
    }
}
pub fn filled(n: usize) -> KvCache {
    let mut kv = KvCache::new(&runtime(), options()).unwrap();
    let (k, v) = (numbers(n * 64), numbers(n * 64));
    for layer in 0..2 {
        append(&mut kv, layer, 0, n, &k, &v).unwrap();
    }
    kv
}
pub fn attend(kv: &KvCache, sequence: u32) -> Vec<f32> {
    let mut out = vec![0.0; 128];
    flat::attend(kv, &mut out, query(0, sequence, &numbers(128)), AttendOptions::default())
        .unwrap();
    out
}

#[test]
fn attention_is_the_weighted_sum_of_values() {
    let kv = filled(5);
    let (q, k, mut out, mut lse) = (numbers(128), numbers(5 * 64), vec![0.0; 128], vec![0.0; 4]);
    let options = AttendOptions { flags: AttendFlags::ALL, ..Default::default() };
    kv.attend(&mut out, Some(&mut lse), query(0, 0, &q), options).unwrap();
    for head in 0..4 {
        let row = |t: usize| &k[t * 64 + head / 2 * 32..][..32];
        let score = |t: usize| -> f64 {
            let q = &q[head * 32..][..32];
            q.iter().zip(row(t)).map(|(a, b)| *a as f64 * *b as f64).sum::<f64>() / 32f64.sqrt()
        };
        let sum: f64 = (0..5).map(|t| score(t).exp()).sum();
        assert!((lse[head] as f64 - sum.ln()).abs() < 1e-5);
        for i in 0..32 {
            let mean = (0..5).map(|t| score(t).exp() / sum * row(t)[i] as f64).sum::<f64>();
            assert!((out[head * 32 + i] as f64 - mean).abs() < 1e-5);
        }
    }
}

#[test]
fn sequences_are_copied_cut_and_shifted() {
    let mut kv = filled(10);
    let before = attend(&kv, 0);
    kv.copy(0, 1, 0, 10).unwrap();
    assert_eq!(attend(&kv, 1), before);
    let (mut two, q) = (vec![0.0; 256], [numbers(128), numbers(128)].concat());
    let each = KvQueries { n_queries: 2, sequences: &[0, 1], ..query(0, 0, &q) };
    kv.attend(&mut two, None, each, AttendOptions::default()).unwrap();
    assert_eq!(two, [before.clone(), before.clone()].concat());
    kv.remove(1, 2, 2).unwrap();
    kv.shift(1, 2, 6, -2).unwrap();
    assert_eq!(kv.positions(1, 0, 8).unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
    kv.compact(1, None).unwrap();
    kv.truncate(1, 3).unwrap();
    assert_eq!((kv.length(0).unwrap(), kv.length(1).unwrap()), (10, 3));
    let (k, v) = (numbers(64), numbers(64));
    let one = KvTokens { n_tokens: 1, k: Some(k[..].into()), v: Some(v[..].into()), ..none() };
    kv.append(KvTokens { sequence: 2, positions: &[7], ..one }).unwrap();
    kv.rollback(2).unwrap();
    kv.reserve(2, 64).unwrap();
    let (k, v) = (numbers(128), numbers(128));
    let two = KvTokens { n_tokens: 2, k: Some(k[..].into()), v: Some(v[..].into()), ..none() };
    kv.append(KvTokens { sequences: &[0, 2], positions: &[10, 8], ..two }).unwrap();
    let (k, v) = (Some([0x3f80_u16; 64][..].into()), Some([0_u16; 64][..].into()));
    let type_ = ggufx::TensorType::BF16;
    kv.append(KvTokens { layer: 1, sequence: 2, n_tokens: 1, type_, k, v, ..none() }).unwrap();
    let (mut k, mut v) = (vec![0.0; 64], vec![0.0; 64]);
    kv.read(Some(&mut k), Some(&mut v), flat::range(1, 2, 0, 1)).unwrap();
    assert_eq!((k, v), (vec![1.0; 64], vec![0.0; 64]));
    kv.keep(0).unwrap();
    kv.clear().unwrap();
    assert_eq!(kv.info(ggufx::ALL_LAYERS).unwrap().n_tokens, 0);
}

#[test]
fn snapshots_give_every_bit_back() {
    let (kv, mut bytes) = (filled(70), vec![]);
    kv.save(0, &mut bytes).unwrap();
    let mut other = filled(3);
    other.load(0, &mut &bytes[..]).unwrap();
    assert_eq!(attend(&other, 0), attend(&kv, 0));
    let path = scratch("snapshot");
    kv.save_file(ggufx::ALL_SEQUENCES, &path).unwrap();
    other.load_file(ggufx::ALL_SEQUENCES, &path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(attend(&other, 0), attend(&kv, 0));
    fails(other.load(0, &mut &bytes[..100]), Status::TRUNCATED);
    let mut wrong = bytes.clone();
    *wrong.last_mut().unwrap() ^= 1;
    fails(other.load(0, &mut &wrong[..]), Status::CHECKSUM);
    assert_eq!(attend(&other, 0), attend(&kv, 0)); // as it was
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::Other.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    fails(kv.save(0, &mut Full), Status::IO);
    fails(other.load_file(0, "/nowhere/snapshot"), Status::IO);
}

#[test]
fn lengths_that_c_cannot_see_are_checked_here() {
    let mut kv = filled(4);
    let (k, v) = (numbers(64), numbers(64));
    let one = KvTokens { n_tokens: 1, k: Some(k[..].into()), v: Some(v[..].into()), ..none() };
    fails(kv.append(KvTokens { positions: &[4, 5], ..one }), Status::ARGUMENT);
    fails(kv.append(KvTokens { sequences: &[0], ..one }), Status::ARGUMENT);
    fails(kv.append(KvTokens { type_: ggufx::TensorType::F16, ..one }), Status::ARGUMENT);
    fails(append(&mut kv, 0, 0, 2, &k, &v), Status::ARGUMENT);
    let (q, mut out) = (numbers(128), vec![0.0; 128]);
    let no = AttendOptions::default;
    let one = query(0, 0, &q);
    fails(kv.attend(&mut out, Some(&mut [0.0; 3]), one, no()), Status::ARGUMENT);
    let two = KvQueries { positions: &[1, 2], ..one };
    fails(flat::attend(&kv, &mut out, two, no()), Status::ARGUMENT);
    let slopes = AttendOptions { alibi_slopes: &[1.0; 3], ..no() };
    fails(flat::attend(&kv, &mut out, one, slopes), Status::ARGUMENT);
    let many = numbers(253 * 64);
    fails(append(&mut kv, 0, 0, 253, &many, &many), Status::CAPACITY);
    let mut stop = |_: u64, _: u64| ControlFlow::Break(());
    let stopping = AttendOptions { progress: Some(&mut stop), ..no() };
    fails(flat::attend(&kv, &mut out, one, stopping), Status::CANCELLED);
    fails(KvCache::new(&runtime(), KvOptions { n_layers: 0, ..options() }), Status::ARGUMENT);
}

#[test]
fn layers_and_types_have_options_of_their_own() {
    let (f32, window) = (Some(TensorType::F32), 1);
    let layers = [
        KvLayerOptions { type_k: f32, type_v: f32, window, ..Default::default() },
        KvLayerOptions::default(),
    ];
    let mut kv = KvCache::new(&runtime(), KvOptions { layers: &layers, ..options() }).unwrap();
    append(&mut kv, 0, 0, 5, &numbers(320), &numbers(320)).unwrap();
    assert!((attend(&kv, 0)[0] - numbers(320)[256]).abs() < 1e-5); // the token itself
    let short = KvOptions { layers: &layers[1..], ..options() };
    fails(KvCache::new(&runtime(), short), Status::ARGUMENT);
    let centred = KvOptions { type_k: Some(TensorType::GX4), type_v: Some(TensorType::GX4), ..options() };
    let mut kv = KvCache::new(&runtime(), centred).unwrap();
    kv.calibrate(0, Some(&[0.5; 64]), Some(&[1.0; 64]), None).unwrap();
    fails(kv.calibrate(0, Some(&[0.5; 64]), Some(&[1.0; 32]), None), Status::ARGUMENT);
}
