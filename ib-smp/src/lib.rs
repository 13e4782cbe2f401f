//! InfiniBand subnet management packets: directed routes and every SM attribute.
