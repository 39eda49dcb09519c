//! Checks that calls with buffers allocate nothing, by a counting allocator.
// SPDX-License-Identifier: MIT
use crate::flat::{self, matmul};
use crate::{demo, numbers, runtime};
use ggufx::{
    AttendOptions, DecodeFlags, DecodeItem, DecodeOptions, EmbedOptions, Embedder, KvCache, KvOptions,
    KvQueries, KvTokens, MatmulOptions, Model, Product, QuantizeArgs, Sampler, Session, SessionOptions,
    Tensor, TensorType, TokenList,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::ControlFlow;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}
struct Counting;
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|n| n.set(n.get() + 1));
        System.alloc(layout)
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        System.dealloc(ptr, layout)
    }
}
#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations of this thread in a hundred calls.
fn allocations(mut call: impl FnMut() -> ggufx::Result<()>) -> u64 {
    let before = COUNT.with(Cell::get);
    for _ in 0..100 {
        call().unwrap();
    }
    COUNT.with(Cell::get) - before
}

#[test]
fn products_and_blocks_allocate_nothing() {
    needs_model!();
    let rt = runtime();
    let file = demo(&rt);
    let w = file.tensor("blk.0.attn_q.weight").unwrap();
    let (x, mut y, mut z) = (numbers(512), vec![0.0; 512], vec![0.0; 256]);
    let no = MatmulOptions::default;
    let one = &x[..256];
    assert!(allocations(|| w.matvec(&rt, one).map(drop)) >= 100); // a new vector is seen
    assert_eq!(allocations(|| rt.matvec(&mut z, &w, one, no())), 0);
    assert_eq!(allocations(|| matmul(&rt, Product::new(&w, &x, 2, &mut y), no())), 0);
    let many = || {
        let other = Product::new(&w, one, 1, &mut y[..256]);
        rt.matmul(&mut [Product::new(&w, one, 1, &mut z), other], no())
    };
    assert_eq!(allocations(many), 0);
    let mut go_on = |_: u64, _: u64| ControlFlow::Continue(());
    let followed = || {
        let options = MatmulOptions { progress: Some(&mut go_on), ..no() };
        rt.matvec(&mut z, &w, one, options)
    };
    assert_eq!(allocations(followed), 0);
    assert_eq!(allocations(|| rt.dequantize(&mut y, &w, 3, 2)), 0);
    let (type_, n_rows, n_cols) = (TensorType::Q8_0, 2, 256);
    let args = || QuantizeArgs { type_, n_rows, n_cols, rows: &x, ..Default::default() };
    let mut blocks = ggufx::quantize(&rt, args()).unwrap();
    let experts =
        Tensor::wrap(&rt, TensorType::Q8_0, &[256, 1, 2], 0, blocks.clone(), "experts").unwrap();
    let by_id = || matmul(&rt, flat::experts(&experts, &[1, 0], 2, one, &mut y[..2]), no());
    assert_eq!(allocations(by_id), 0);
    let encode = || rt.quantize(&mut blocks, args());
    assert_eq!(allocations(encode), 0);
}

#[test]
fn caches_allocate_nothing() {
    let options = KvOptions {
        n_layers: 1,
        n_kv_heads: 2,
        n_q_heads: 4,
        head_dim_k: 32,
        type_k: Some(TensorType::F32),
        type_v: Some(TensorType::F32),
        n_sequences: 2,
        ..Default::default()
    };
    let mut kv = KvCache::new(&runtime(), options).unwrap();
    let (k, q, mut out) = (numbers(128), numbers(256), vec![0.0; 256]);
    let append = |kv: &mut KvCache| -> ggufx::Result<()> {
        flat::append(kv, 0, 0, 1, &k[..64], &k[64..])?;
        let half = Some([0_u16; 64][..].into());
        let halves = KvTokens { n_tokens: 1, k: half, v: half, ..Default::default() };
        kv.append(KvTokens { sequence: 1, type_: TensorType::BF16, ..halves })?;
        let both = KvTokens { n_tokens: 2, sequences: &[0, 1], positions: &[1, 1], ..halves };
        kv.append(KvTokens { k: Some(k[..].into()), v: Some(k[..].into()), ..both })?;
        kv.truncate(0, 1)?;
        kv.truncate(1, 1)
    };
    append(&mut kv).unwrap();
    let again = || {
        kv.truncate(0, 0)?;
        kv.truncate(1, 0)?;
        append(&mut kv)
    };
    assert_eq!(allocations(again), 0);
    let no = AttendOptions::default;
    assert_eq!(
        allocations(|| kv.attend(&mut out[..128], None, flat::query(0, 0, &q[..128]), no())),
        0
    );
    let each = KvQueries { n_queries: 2, sequences: &[0, 1], ..flat::query(0, 0, &q) };
    assert_eq!(allocations(|| kv.attend(&mut out, None, each, no())), 0);
    assert_eq!(allocations(|| kv.read(Some(&mut out[..64]), None, flat::range(0, 0, 0, 1))), 0);
    assert_eq!(allocations(|| kv.scores(&mut out[..4], flat::query(0, 0, &q[..128]), 0.0)), 0);
}

#[test]
fn a_conversation_allocates_nothing() {
    needs_model!();
    let rt = runtime();
    let model = Model::new(&rt, &demo(&rt), Default::default()).unwrap();
    let mut session = Session::new(&model, SessionOptions::default()).unwrap();
    let small = EmbedOptions { n_context: 4, n_batch: 4, ..Default::default() };
    let (mut embedder, mut row) = (Embedder::new(&model, small).unwrap(), [0.0; 256]);
    let mut sampler = Sampler::new(&rt, 1024, 0).unwrap();
    let (mut logits, items) = (vec![0.0; 1024], [DecodeItem::new(0, &[1], DecodeFlags::LOGITS)]);
    let turn = || {
        embedder.embed(&mut row, &[TokenList { tokens: &[1] }], None)?;
        session.truncate(0, 0)?;
        let options = DecodeOptions { logits: Some(&mut logits), ..Default::default() };
        session.decode(&items, options)?;
        sampler.sample(None, &logits).map(drop)
    };
    assert_eq!(allocations(turn), 0);
}
