//! Code that must not compile, beside code that does: only the documentation's tests see this file.
// SPDX-License-Identifier: MIT

/// A tensor of a file, and what it shows, end before the file does.
/// ```no_run
/// # let rt = ggufx::Runtime::new().unwrap();
/// let file = ggufx::File::open(&rt, "x.gguf", Default::default()).unwrap();
/// let tensor = file.tensor("t").unwrap();
/// let key = file.get("general.name").unwrap();
/// println!("{:?} {}", tensor.data(), key.str().unwrap());
/// drop((tensor, key));
/// drop(file);
/// ```
/// ```compile_fail
/// # let rt = ggufx::Runtime::new().unwrap();
/// let file = ggufx::File::open(&rt, "x.gguf", Default::default()).unwrap();
/// let tensor = file.tensor("t").unwrap();
/// drop(file);
/// println!("{:?}", tensor.data());
/// ```
/// ```compile_fail
/// # let rt = ggufx::Runtime::new().unwrap();
/// let file = ggufx::File::open(&rt, "x.gguf", Default::default()).unwrap();
/// let tensor = file.tensors().next().unwrap();
/// drop(file);
/// println!("{:?}", tensor.data());
/// ```
/// ```compile_fail
/// # let rt = ggufx::Runtime::new().unwrap();
/// let file = ggufx::File::open(&rt, "x.gguf", Default::default()).unwrap();
/// let key = file.get("general.name").unwrap();
/// drop(file);
/// println!("{}", key.str().unwrap());
/// ```
pub struct OfFiles;

/// A slice lives as long as it wants, its data as long as it does.
/// ```no_run
/// # let rt = ggufx::Runtime::new().unwrap();
/// let file = ggufx::File::open(&rt, "x.gguf", Default::default()).unwrap();
/// let slice = file.tensor("t").unwrap().slice(0, 0, 32).unwrap();
/// drop(file);
/// println!("{:?}", slice.data());
/// drop(slice);
/// ```
/// ```compile_fail
/// # let rt = ggufx::Runtime::new().unwrap();
/// let file = ggufx::File::open(&rt, "x.gguf", Default::default()).unwrap();
/// let slice = file.tensor("t").unwrap().slice(0, 0, 32).unwrap();
/// let data = slice.data();
/// drop(slice);
/// println!("{:?}", data);
/// ```
pub struct OfSlices;

/// A planned tensor borrows from the plan until it changes.
/// ```no_run
/// fn look(mut plan: ggufx::Quantizer) -> ggufx::Result<()> {
///     println!("{:?}", plan.tensor_at(0)?);
///     plan.override_types(&[])
/// }
/// ```
/// ```compile_fail
/// fn look(mut plan: ggufx::Quantizer) -> ggufx::Result<()> {
///     let tensor = plan.tensor_at(0)?;
///     plan.override_types(&[])?;
///     println!("{:?}", tensor);
///     Ok(())
/// }
/// ```
pub struct OfPlans;

/// Facts borrow their texts and arrays from the object that they describe.
/// ```no_run
/// fn look(tokenizer: ggufx::Tokenizer) -> ggufx::Result<()> {
///     println!("{:?}", tokenizer.token_info(1)?.text);
///     drop(tokenizer);
///     Ok(())
/// }
/// ```
/// ```compile_fail
/// fn look(tokenizer: ggufx::Tokenizer) -> ggufx::Result<()> {
///     let token = tokenizer.token_info(1)?;
///     drop(tokenizer);
///     println!("{:?}", token.text);
///     Ok(())
/// }
/// ```
pub struct OfFacts;
