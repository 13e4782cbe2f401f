//! Tests of the observed subnet and of the walk that reads it, on a simulated fabric.

mod discovery;
