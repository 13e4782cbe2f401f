//! The ladders of IBA vol. 1, 12.10, line by line: who says what, and what each consumer hears.

mod agent;
mod alternate;
mod close;
mod connect;
mod lab;
mod limits;
mod peer;
mod resolve;
