//! Hooks of the host, panics in callbacks, threads.
// SPDX-License-Identifier: MIT
use crate::{demo, fails, model_path, numbers, runtime};
use ggufx::{
    Allocator, Executor, File, Hooks, Isa, MatmulOptions, Runtime, RuntimeOptions, Status,
};
use std::alloc::Layout;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::Arc;

fn with_memory(allocator: Counted) -> ggufx::Result<Runtime> {
    let allocator: Option<Box<dyn Allocator>> = Some(Box::new(allocator));
    Runtime::with(RuntimeOptions::default(), Hooks { allocator, ..Default::default() })
}
fn with_tasks(executor: impl Executor + 'static) -> Runtime {
    let executor: Option<Box<dyn Executor>> = Some(Box::new(executor));
    Runtime::with(RuntimeOptions::default(), Hooks { executor, ..Default::default() }).unwrap()
}

struct Counted(Arc<AtomicI64>, i64);
unsafe impl Allocator for Counted {
    fn alloc(&self, size: usize, align: usize) -> *mut u8 {
        if self.0.fetch_add(size as i64, Ordering::SeqCst) + size as i64 > self.1 {
            self.0.fetch_sub(size as i64, Ordering::SeqCst);
            return std::ptr::null_mut();
        }
        unsafe { std::alloc::alloc(Layout::from_size_align(size, align).unwrap()) }
    }
    unsafe fn free(&self, ptr: *mut u8, size: usize, align: usize) {
        self.0.fetch_sub(size as i64, Ordering::SeqCst);
        std::alloc::dealloc(ptr, Layout::from_size_align(size, align).unwrap())
    }
}

#[test]
fn memory_is_the_host_s_and_comes_back() {
    needs_model!();
    let held = Arc::new(AtomicI64::new(0));
    let rt = with_memory(Counted(held.clone(), i64::MAX)).unwrap();
    assert_eq!(rt.info().unwrap().allocator_name, "host");
    let file = demo(&rt);
    drop(rt); // the file keeps the runtime and its hooks
    assert!(held.load(Ordering::SeqCst) > 0);
    drop(file);
    assert_eq!((held.load(Ordering::SeqCst), Arc::strong_count(&held)), (0, 1));
    let rt = with_memory(Counted(held.clone(), 1000));
    fails(rt, Status::MEMORY);
    assert_eq!((held.load(Ordering::SeqCst), Arc::strong_count(&held)), (0, 1));
}

/// Runs the tasks backwards on two threads.
struct Backwards(Arc<AtomicU32>);
unsafe impl Executor for Backwards {
    fn max_workers(&self) -> u32 {
        2
    }
    fn parallel_for(&self, n_tasks: u32, task: &(dyn Fn(u32, u32) + Sync)) {
        self.0.fetch_add(1, Ordering::SeqCst);
        std::thread::scope(|scope| {
            scope.spawn(|| (0..n_tasks).rev().filter(|i| i % 2 == 1).for_each(|i| task(i, 1)));
            (0..n_tasks).rev().filter(|i| i % 2 == 0).for_each(|i| task(i, 0));
        });
    }
}
struct PanicsInJobs;
unsafe impl Executor for PanicsInJobs {
    fn max_workers(&self) -> u32 {
        4
    }
    fn parallel_for(&self, _: u32, _: &(dyn Fn(u32, u32) + Sync)) {
        panic!("jobs")
    }
}

#[test]
fn tasks_run_where_the_host_wants() {
    let calls = Arc::new(AtomicU32::new(0));
    let rt = with_tasks(Backwards(calls.clone()));
    let blocks = crate::flat::quantize_blocks(
        &runtime(),
        ggufx::TensorType::Q8_0,
        &numbers(2048 * 2048),
        2048,
        Default::default(),
    )
    .unwrap();
    let w =
        ggufx::Tensor::wrap(&rt, ggufx::TensorType::Q8_0, &[2048, 2048], 0, blocks, "w").unwrap();
    let (x, mut y) = (numbers(2048), vec![0.0; 2048]);
    rt.matvec(&mut y, &w, &x, MatmulOptions::default()).unwrap();
    assert!(calls.load(Ordering::SeqCst) > 0);
    assert_eq!(y, w.matvec(&runtime(), &x).unwrap()); // the same bits
    let rt = with_tasks(PanicsInJobs);
    fails(rt.matvec(&mut y, &w, &x, MatmulOptions::default()), Status::INTERNAL);
}

#[test]
fn a_panic_in_a_callback_comes_out_behind_the_call() {
    needs_model!();
    let rt = runtime();
    let file = demo(&rt);
    let w = file.tensor("token_embd.weight").unwrap();
    let (x, mut y) = (numbers(256), vec![0.0; 1024]);
    let mut bad = |_: u64, _: u64| panic!("progress");
    let options = MatmulOptions { progress: Some(&mut bad), ..Default::default() };
    let caught = catch_unwind(AssertUnwindSafe(|| rt.matvec(&mut y, &w, &x, options)));
    assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"progress"));
    let none = ggufx::ValidateFlags::NONE;
    file.validate(none, &mut |_| panic!("no findings in the demo model"), None).unwrap();
    fails(file.tensor("none"), Status::NOT_FOUND); // all is well afterwards
    assert_eq!(w.matvec(&rt, &x).unwrap().len(), 1024);
}

#[test]
fn messages_go_to_the_host() {
    needs_model!();
    let said = Arc::new(AtomicU32::new(0));
    let count = said.clone();
    let log: Box<ggufx::LogSink> = Box::new(move |level, text| {
        assert!((1..=4).contains(&level.0) && !text.contains('\n'));
        count.fetch_add(1, Ordering::SeqCst);
    });
    let options =
        RuntimeOptions { isa: Isa::SCALAR, workspace_bytes: 1 << 20, ..Default::default() };
    let rt = Runtime::with(options, Hooks { log: Some(log), ..Default::default() }).unwrap();
    let info = rt.info().unwrap();
    assert_eq!((info.isa, info.isa_name), (Isa::SCALAR, "scalar"));
    assert_eq!(rt.kernel_name(ggufx::TensorType::Q4_K), Some("scalar"));
    assert_eq!(rt.kernel_name(ggufx::TensorType(4)), None);
    drop(demo(&rt));
    drop(rt);
    assert_eq!(Arc::strong_count(&said), 1); // the hook was dropped
    let none = RuntimeOptions { isa: Isa(99), ..Default::default() };
    fails(Runtime::with(none, Hooks::default()), Status::UNSUPPORTED);
}

#[test]
fn objects_are_shared_by_threads() {
    needs_model!();
    fn both<T: Send + Sync>(_: &T) {}
    let rt = runtime();
    let file = File::open(&rt, model_path(), Default::default()).unwrap();
    let w = file.tensor("blk.1.attn_q.weight").unwrap();
    both(&(&rt, &file, &w));
    let (x, expected) = (numbers(256), w.matvec(&rt, &numbers(256)).unwrap());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    assert_eq!(w.matvec(&rt, &x).unwrap(), expected);
                }
            });
        }
    });
}
