//! Datagrams for the property tests of other crates: proptest's strategies (feature `proptest`).
//!
//! [`valid_mad`] and [`faulty_mad`] give any class, method and attribute of the tables until they are
//! narrowed. A failing datagram shrinks to the first of them, and to data of zeros where these are not
//! what fails.
//!
//! ```
//! use ib_mad::{CLASSES, StatusCode, Method, MgmtClass, header_fault, strategy::{faulty_mad, valid_mad}};
//! use proptest::prelude::*;
//!
//! proptest!(|(
//!     valid in valid_mad(&[CLASSES]).classes(&[MgmtClass::PERF]).methods(&[Method::GET]),
//!     faulty in faulty_mad(&[CLASSES]),
//! )| {
//!     prop_assert_eq!(valid.header().mgmt_class(), MgmtClass::PERF);
//!     prop_assert_eq!(header_fault(&[CLASSES], &valid.header()), StatusCode::OK);
//!     prop_assert_eq!(header_fault(&[CLASSES], &faulty.header()), faulty.fault);
//! });
//! ```

use alloc::vec::Vec;

use arbitrary::Unstructured;
use proptest::{
    bool::weighted,
    collection::vec,
    prelude::{BoxedStrategy, any},
    sample::select,
    strategy::{NewTree, Strategy},
    test_runner::{Reason, TestRunner},
};

use crate::{
    AttributeId, ClassTable, Mad, Method, MgmtClass, StatusCode,
    generate::{FaultyMad, MadKind, ValidMad, valid_kinds},
};

/// Bytes that decide every field of a datagram, and how it is spoiled.
const NOISE: usize = Mad::LEN + 16;

/// Datagrams without a fault, of any class, method and attribute of these tables.
#[must_use]
pub fn valid_mad(tables: &'static [&'static [ClassTable]]) -> ValidMads {
    ValidMads {
        choice: Choice::of(tables),
    }
}

/// Datagrams with one fault in their header, which they name; without it they were of a class, method and
/// attribute of these tables.
#[must_use]
pub fn faulty_mad(tables: &'static [&'static [ClassTable]]) -> FaultyMads {
    FaultyMads {
        choice: Choice::of(tables),
        faults: FaultyMad::FAULTS.to_vec(),
    }
}

/// The choices for a datagram; `None` permits everything.
#[derive(Clone, Debug)]
struct Choice {
    tables: &'static [&'static [ClassTable]],
    classes: Option<Vec<MgmtClass>>,
    methods: Option<Vec<Method>>,
    attributes: Option<Vec<AttributeId>>,
}

impl Choice {
    fn of(tables: &'static [&'static [ClassTable]]) -> Self {
        Self {
            tables,
            classes: None,
            methods: None,
            attributes: None,
        }
    }

    fn kinds(&self) -> Result<Vec<MadKind>, Reason> {
        fn allows<T: PartialEq>(chosen: Option<&Vec<T>>, value: &T) -> bool {
            chosen.is_none_or(|chosen| chosen.contains(value))
        }
        let mut kinds = valid_kinds(self.tables);
        kinds.retain(|kind| {
            allows(self.classes.as_ref(), &kind.class)
                && allows(self.methods.as_ref(), &kind.method)
                && allows(self.attributes.as_ref(), &kind.attribute)
        });
        if kinds.is_empty() {
            return Err(Reason::from(
                "the tables have no such class, method and attribute",
            ));
        }
        Ok(kinds)
    }
}

macro_rules! choices {
    ($strategy:ident) => {
        impl $strategy {
            /// Restricts the datagrams to these classes.
            #[must_use]
            pub fn classes(mut self, classes: &[MgmtClass]) -> Self {
                self.choice.classes = Some(classes.to_vec());
                self
            }

            /// Restricts the datagrams to these methods.
            #[must_use]
            pub fn methods(mut self, methods: &[Method]) -> Self {
                self.choice.methods = Some(methods.to_vec());
                self
            }

            /// Restricts the datagrams to these attributes. A number is a different attribute in each class.
            #[must_use]
            pub fn attributes(mut self, attributes: &[AttributeId]) -> Self {
                self.choice.attributes = Some(attributes.to_vec());
                self
            }
        }
    };
}

/// The strategy of [`valid_mad`].
#[derive(Clone, Debug)]
pub struct ValidMads {
    choice: Choice,
}

choices!(ValidMads);

impl Strategy for ValidMads {
    type Tree = <BoxedStrategy<ValidMad> as Strategy>::Tree;
    type Value = ValidMad;

    /// # Errors
    /// If the tables have no class, method and attribute that was chosen.
    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let kinds = select(self.choice.kinds()?).boxed();
        mad(kinds, |u, kind| ValidMad::of(u, kind).ok()).new_tree(runner)
    }
}

/// The strategy of [`faulty_mad`].
#[derive(Clone, Debug)]
pub struct FaultyMads {
    choice: Choice,
    faults: Vec<StatusCode>,
}

choices!(FaultyMads);

impl FaultyMads {
    /// Restricts the datagrams to these faults, of [`FaultyMad::FAULTS`].
    #[must_use]
    pub fn faults(mut self, faults: &[StatusCode]) -> Self {
        self.faults = faults.to_vec();
        self
    }
}

impl Strategy for FaultyMads {
    type Tree = <BoxedStrategy<FaultyMad> as Strategy>::Tree;
    type Value = FaultyMad;

    /// # Errors
    /// If the tables have no class, method and attribute that was chosen, or no fault was.
    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let mut faults = self.faults.clone();
        faults.retain(|fault| FaultyMad::FAULTS.contains(fault));
        if faults.is_empty() {
            return Err(Reason::from("no fault that a header can have"));
        }
        let kinds = (select(self.choice.kinds()?), select(faults)).boxed();
        let tables = self.choice.tables;
        mad(kinds, move |u, (kind, fault)| {
            FaultyMad::of(u, tables, kind, fault).ok()
        })
        .new_tree(runner)
    }
}

/// Datagrams that `make` builds from one of `kinds` and bytes for the fields.
fn mad<K, T>(
    kinds: BoxedStrategy<K>,
    make: impl Fn(&mut Unstructured<'_>, K) -> Option<T> + 'static,
) -> BoxedStrategy<T>
where
    K: Clone + core::fmt::Debug + 'static,
    T: core::fmt::Debug + 'static,
{
    // No bytes at all are tried before single ones when a datagram shrinks.
    let parts = (kinds, weighted(0.97), vec(any::<u8>(), NOISE));
    parts
        .prop_filter_map(
            "the parts make a datagram",
            move |(kind, has_noise, noise)| {
                let noise = if has_noise { noise.as_slice() } else { &[] };
                make(&mut Unstructured::new(noise), kind)
            },
        )
        .boxed()
}
