//! The chapters of the book in `docs`, whose code is tested.

macro_rules! chapters {
    ($($name:ident = $file:literal;)*) => {$(
        #[doc = include_str!(concat!("../../docs/src/", $file))]
        mod $name {}
    )*};
}

chapters! {
    management = "management.md";
    routing = "routing.md";
    embedding = "embedding.md";
    fuzzing = "fuzzing.md";
    checks = "checks.md";
}
