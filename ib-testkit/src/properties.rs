//! `properties!`: properties over random inputs, and over inputs that violated one in the past.

/// Tests for properties, functions of bytes in the module `properties` in scope: each over random inputs
/// of its strategy, and all over the inputs of `testdata/regressions/PROPERTY/` of the crate.
///
/// The calling crate depends on proptest and has its prelude in scope.
#[macro_export]
macro_rules! properties {
    ($($name:ident($bytes:expr);)*) => {
        proptest! {
            #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
            $(#[test]
            fn $name(bytes in $bytes) {
                properties::$name(&bytes);
            })*
        }

        #[test]
        fn inputs_once_found_stay_right() {
            for (name, property) in [$((stringify!($name), properties::$name as fn(&[u8]))),*] {
                for bytes in $crate::data::regressions(env!("CARGO_PKG_NAME"), name) {
                    property(&bytes);
                }
            }
        }
    };
}
