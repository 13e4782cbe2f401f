//! InfiniBand subnet administration: records, component masks, queries.
