//! Tests of the whole interface on the demo model and on small generated files.
// SPDX-License-Identifier: MIT
/// Skips a test without the demo model, with a note on stderr.
macro_rules! needs_model {
    () => {
        if crate::model().is_none() {
            let (test, mut to) = (std::thread::current(), std::io::stderr());
            let name = test.name().unwrap_or("a test");
            let _ = std::io::Write::write_fmt(
                &mut to,
                format_args!("skipped: {}: GGUFX_TEST_MODEL names no model\n", name),
            );
            return;
        }
    };
}

mod adapters;
mod allocations;
mod chains;
mod chats;
mod choices;
mod closing;
mod estimates;
mod files;
mod flat;
mod followed;
mod grammars;
mod hooks;
mod imatrix;
mod jobs;
mod kv;
mod layout;
mod models;
mod products;
mod sequences;
mod writing;

use ggufx::{Error, File, Hooks, Runtime, RuntimeOptions, Status};

/// The demo model, by a variable or in the tree.
fn model() -> Option<String> {
    let tree = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/data/tiny-stories-Q8_0.gguf");
    let there = || std::path::Path::new(tree).is_file().then(|| tree.to_string());
    std::env::var("GGUFX_TEST_MODEL").ok().or_else(there)
}
pub fn model_path() -> String {
    model().expect("GGUFX_TEST_MODEL names the demo model")
}
pub fn runtime() -> Runtime {
    let options = RuntimeOptions { threads: 2, ..Default::default() };
    Runtime::with(options, Hooks::default()).unwrap()
}
pub fn demo(rt: &Runtime) -> File {
    File::open(rt, model_path(), Default::default()).unwrap()
}
/// Path for this test alone.
pub fn scratch(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("ggufx-rust-{}-{}", std::process::id(), name))
}
#[track_caller]
pub fn fails<T>(result: Result<T, Error>, status: Status) -> Error {
    match result {
        Ok(_) => panic!("no failure, expected {:?}", status),
        Err(error) => {
            assert_eq!(error.status(), status, "{}", error);
            assert!(!error.message().is_empty());
            error
        }
    }
}
/// Numbers between -1 and 1, the same each time.
pub fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + 13) % 2003) as f32 / 1001.0 - 1.0).collect()
}
