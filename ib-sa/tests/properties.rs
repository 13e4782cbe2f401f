//! The properties over generated inputs, and over inputs that once broke one.

use ib_sa::properties;
use proptest::{collection::vec, prelude::*};

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
                let path = format!("{}/testdata/regressions/{name}", env!("CARGO_MANIFEST_DIR"));
                let Ok(files) = std::fs::read_dir(path) else { continue };
                for file in files {
                    property(&std::fs::read(file.unwrap().path()).unwrap());
                }
            }
        }
    };
}

properties! {
    any_datagram_is_its_bytes(vec(any::<u8>(), 256));
    any_table_packs_again(vec(any::<u8>(), 0..1000));
    a_larger_mask_matches_less(vec(any::<u8>(), 17..160));
}
