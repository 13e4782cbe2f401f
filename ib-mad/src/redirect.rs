//! Redirection: where a responder wants to be asked instead (IBA vol. 1, 13.5.2).

use crate::{Mad, MadAddress};

/// The address in the ClassPortInfo of a redirecting answer; `None` if it names no LID, so that a path
/// query must find one.
pub(crate) fn address(_mad: &Mad) -> Option<MadAddress> {
    None
}
