//! The ladders of IBA vol. 1, 12.10, line by line: the messages of both sides, and the events of each
//! consumer.

mod agent;
mod alternate;
mod close;
mod connect;
mod lab;
mod limits;
mod peer;
mod resolve;
mod strangers;
