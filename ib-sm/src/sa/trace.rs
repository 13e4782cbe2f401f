//! TraceRecord: the nodes on a path, one record each (IBA vol. 1, 15.2.5.18).
//!
//! The query is a PathRecord with the method GetTraceTable. The administrator must not reveal the structure of
//! the fabric to an intruder, so the specification leaves the identifiers of nodes and ports to the
//! administrator. Here they are GUIDs and port numbers.

use alloc::vec::Vec;

use ib_mad::{Method, SaStatus};
use ib_sa::{ComponentMask, PathRecord, TraceRecord};

use super::{View, groups::Groups, path};

/// The nodes on the first path that matches the template, from its source to its destination.
pub(super) fn trace(
    view: View<'_>,
    groups: &Groups,
    template: &PathRecord,
    mask: ComponentMask,
) -> Result<Vec<TraceRecord>, SaStatus> {
    let paths = path::paths(view, groups, template, mask, Method::GET_TRACE_TABLE, None)?;
    let first = match paths.as_slice() {
        [path] => path,
        [] => return Ok(Vec::new()),
        _ => return Err(SaStatus::TOO_MANY_RECORDS),
    };
    let ends = |lid| path::end_of(view, None, Some(lid));
    let (Some(source), Some(destination)) = (ends(first.slid()), ends(first.dlid())) else {
        return Ok(Vec::new());
    };
    let mut records = Vec::new();
    let arrived = path::walk(view, source, destination, first.dlid(), |hop| {
        let node = view.subnet.node(hop.node)?;
        // A switch has one GUID for all its ports; the number distinguishes them.
        let id = |port: ib_wire::PortNum| match (port.0, node.is_switch()) {
            (0, _) => Some(0),
            (_, true) => Some(node.info().port_guid().0),
            (_, false) => Some(node.port(port)?.guid().0),
        };
        let mut record = TraceRecord::default();
        record
            .set_gid_prefix(view.config.subnet_prefix)
            .set_node_type(node.info().node_type())
            .set_node_id(node.info().node_guid().0)
            .set_chassis_id(node.info().system_image_guid().0)
            .set_entry_port_id(id(hop.entry)?)
            .set_exit_port_id(id(hop.exit)?)
            .set_entry_port(hop.entry)
            .set_exit_port(hop.exit);
        records.push(record);
        Some(())
    });
    Ok(arrived.map_or_else(Vec::new, |()| records))
}
