//! A policy decides which port owns which LIDs; one is built in.

use core::fmt;

use super::{LidMap, LidOptions};
use crate::{error::RouteError, fabric::Fabric};

/// A rule by which LIDs are assigned.
///
/// [`LidMap::try_of_ranges`] makes the answer of a rule from outside this crate, and checks it.
///
/// ```
/// use ib_routing::{Fabric, LidMap, LidOptions, LidPolicy, PortRef, RouteError};
/// use ib_wire::{Lid, Lmc, PortNum, addr::LidRange};
///
/// /// Every port gets 1,000 and the number of its node.
/// #[derive(Debug)]
/// struct ByNumber;
///
/// impl LidPolicy for ByNumber {
///     fn assign(&self, fabric: &Fabric, _: &LidOptions) -> Result<LidMap, RouteError> {
///         let ranges = fabric.nodes().iter_enumerated().map(|(node, entry)| {
///             let port = PortNum(if entry.type_.is_switch() { 0 } else { 1 });
///             let range = LidRange::try_new(Lid(1000 + node.0 as u16), Lmc::ZERO);
///             (PortRef { node, port }, range.unwrap())
///         });
///         LidMap::try_of_ranges(fabric, ranges)
///     }
/// }
/// # let fabric = "ring:switches=3,hosts=1".parse::<ib_routing::generate::FabricSpec>()?.build()?;
/// # let lids = ByNumber.assign(&fabric, &LidOptions::default())?;
/// # assert_eq!(lids.max_lid(), Lid(1005));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait LidPolicy: fmt::Debug + Send + Sync {
    /// Assigns LIDs to end ports: port 0 of every switch and the cabled ports of all other nodes.
    ///
    /// A port without LIDs takes no part in the subnet. The same fabric and options give the same LIDs. A manager need not ask
    /// again if the fabric has only lost cables between switches since it asked: ports keep their LIDs then.
    ///
    /// # Errors
    /// Why there are none.
    fn assign(&self, fabric: &Fabric, options: &LidOptions) -> Result<LidMap, RouteError>;
}

/// The rule that is built in: [`LidMap::assign`].
#[derive(Clone, Copy, Debug, Default)]
pub struct LowestFree;

impl LidPolicy for LowestFree {
    fn assign(&self, fabric: &Fabric, options: &LidOptions) -> Result<LidMap, RouteError> {
        LidMap::assign(fabric, options)
    }
}
