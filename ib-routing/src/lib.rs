//! InfiniBand routing: fabric graph, LIDs, routing engines, proof of the result.
