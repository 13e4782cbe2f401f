//! An InfiniBand fabric in software: in process, in virtual time, or as a server for ibsim's clients.
