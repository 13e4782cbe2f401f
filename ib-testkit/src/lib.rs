#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

#[cfg(doctest)]
mod book;
pub mod data;
#[cfg(feature = "fabrics")]
pub mod fabrics;
pub mod ibsim;
#[cfg(feature = "lab")]
pub mod lab;
pub mod process;
mod properties;
#[cfg(feature = "fabrics")]
pub mod routed;
pub mod spec;
#[cfg(feature = "vectors")]
pub mod vectors;
#[cfg(feature = "sim")]
pub mod worked_traces;
