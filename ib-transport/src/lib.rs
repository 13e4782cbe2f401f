//! InfiniBand MAD transports: the trait, the loop, the umad backend, capture and replay.
