//! Text formats: fabrics, tables and lists as OpenSM, ibsim and the diagnostics write them.

pub mod ibnetdiscover;
