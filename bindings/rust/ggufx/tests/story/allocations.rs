//! Checks that calls with buffers allocate nothing, by a counting allocator.
// SPDX-License-Identifier: MIT
use crate::{demo, numbers, runtime};
use ggufx::{
    quantize_blocks, AttendOptions, BatchFlags, BatchItem, BatchOptions, EmbedOptions, Embedder,
    HalfFormat, KvCache, KvOptions, KvType, MatmulOptions, Model, QuantizeOptions, Sampler,
    Session, SessionOptions, Tensor, TensorType,
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
    assert_eq!(allocations(|| rt.matmul(&mut y, 0, &w, &x, 0, 2, no())), 0);
    assert_eq!(
        allocations(|| rt.matvec_many(&mut [&mut z, &mut y[..256]], &[&w, &w], one, no())),
        0
    );
    let mut go_on = |_: u64, _: u64| ControlFlow::Continue(());
    let followed = || {
        let options = MatmulOptions { progress: Some(&mut go_on), ..no() };
        rt.matvec(&mut z, &w, one, options)
    };
    assert_eq!(allocations(followed), 0);
    assert_eq!(allocations(|| rt.dequantize(&mut y, &w, 3, 2)), 0);
    let default = QuantizeOptions::default;
    let mut blocks = quantize_blocks(&rt, TensorType::Q8_0, &x, 256, default()).unwrap();
    let experts =
        Tensor::wrap(&rt, TensorType::Q8_0, &[256, 1, 2], 0, blocks.clone(), "experts").unwrap();
    let by_id = || rt.matmul_id(&mut y[..2], 0, &experts, &[1, 0], 2, one, 0, 1, no());
    assert_eq!(allocations(by_id), 0);
    assert_eq!(allocations(|| rt.dequantize_blocks(&mut y, TensorType::Q8_0, &blocks)), 0);
    let encode = || rt.quantize_blocks(&mut blocks, TensorType::Q8_0, &x, 2, 256, default());
    assert_eq!(allocations(encode), 0);
}

#[test]
fn caches_allocate_nothing() {
    let options = KvOptions {
        n_layers: 1,
        n_kv_heads: 2,
        n_q_heads: 4,
        head_dim_k: 32,
        type_k: KvType::F32,
        type_v: KvType::F32,
        n_sequences: 2,
        ..Default::default()
    };
    let mut kv = KvCache::new(&runtime(), options).unwrap();
    let (k, q, mut out) = (numbers(128), numbers(256), vec![0.0; 256]);
    let append = |kv: &mut KvCache| -> ggufx::Result<()> {
        kv.append(0, 0, 1, None, &k[..64], Some(&k[64..]))?;
        kv.append_half(0, 1, 1, None, HalfFormat::BF16, &[0; 64], Some(&[0; 64]))?;
        kv.append_batch(0, &[0, 1], &[1, 1], &k, Some(&k))?;
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
    assert_eq!(allocations(|| kv.attend(&mut out[..128], None, 0, 0, &q[..128], 1, None, no())), 0);
    assert_eq!(allocations(|| kv.attend_batch(&mut out, None, 0, &[0, 1], &q, None, no())), 0);
    assert_eq!(allocations(|| kv.read(Some(&mut out[..64]), None, 0, 0, 0, 1)), 0);
    assert_eq!(allocations(|| kv.scores(&mut out[..4], 0, 0, &q[..128], 1, 0.0)), 0);
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
    let (mut logits, items) = (vec![0.0; 1024], [BatchItem::new(0, &[1], BatchFlags::LOGITS)]);
    let turn = || {
        embedder.embed(&mut row, &[1], &[1], None)?;
        session.sequence_truncate(0, 0)?;
        let options = BatchOptions { logits: Some(&mut logits), ..Default::default() };
        session.decode_batch(&items, options)?;
        sampler.sample(None, &logits).map(drop)
    };
    assert_eq!(allocations(turn), 0);
}
