//! Tests of the observed subnet and of the walk that reads it, on a simulated fabric.

mod blocks;
mod discovery;
mod everything;
mod fabric;
mod keys;
mod lab;
mod partial;
mod reach;
mod requests;
mod routes;
