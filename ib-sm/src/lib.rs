//! An InfiniBand subnet manager and administrator without I/O, for embedding.
