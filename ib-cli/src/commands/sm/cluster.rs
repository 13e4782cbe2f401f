//! `ib sm --cluster`: finds the cluster of the file to which the manager's port belongs, and checks the file against
//! the fabric.

use std::{collections::BTreeSet, ops::ControlFlow, path::PathBuf};

use ib_routing::{Fabric, cluster::ClusterConfig};
use ib_sm::{ClusterRole, SmConfig};
use ib_subnet::{Discovery, DiscoveryConfig, DiscoveryEvent};
use ib_transport::{Clock, MadTransport, TransportError, drive};

use crate::{
    cluster_files::{ClusterFiles, predefined_lids},
    error::CliError,
};

/// Reads the configuration, walks the cluster to which the port belongs, and checks that they match.
///
/// The walk does not cross a cable at a boundary of any cluster in the file.
///
/// # Errors
/// The line of the file that is wrong, or that names something that does not exist.
pub fn role(
    file: PathBuf,
    predefined: Option<PathBuf>,
    config: &SmConfig,
    port: &mut impl MadTransport<Error = TransportError>,
    clock: &impl Clock,
) -> Result<Option<ClusterRole>, CliError> {
    let name = file.display().to_string();
    let files = ClusterFiles::read(&[file])?.without_declarations()?;
    let predefined = predefined_lids(predefined.as_deref())?;
    let part = reached(&files, config, port, clock)?;
    let own = own_of(&name, files.configs(), &part)?;
    files.validate_own(&part, own)?;
    Ok(files.role(own, &predefined))
}

/// The part of the fabric that the port reaches inside all boundaries.
fn reached(
    files: &ClusterFiles,
    config: &SmConfig,
    port: &mut impl MadTransport<Error = TransportError>,
    clock: &impl Clock,
) -> Result<Fabric, CliError> {
    let places = files.configs().iter().flat_map(|config| &config.boundary);
    let boundary: BTreeSet<_> = places.map(|place| (place.switch, place.port)).collect();
    let mut options = DiscoveryConfig::default();
    options.walk.m_key = config.m_key;
    options.walk.boundary = boundary;
    options.walk.vendor_speeds = false;
    options.window.timeout = config.transaction_timeout;
    options.window.retries = config.transaction_retries.into();
    let mut discovery = Discovery::new(options);
    drive(&mut discovery, port, clock, |_, event| match event {
        DiscoveryEvent::Done => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })
    .map_err(CliError::input)?;
    Ok(discovery.finish().fabric)
}

/// The cluster whose switches the port reaches. If only one cluster is configured, it is that one.
fn own_of(name: &str, configs: &[ClusterConfig], part: &Fabric) -> Result<usize, CliError> {
    let configured = configs.iter().enumerate();
    let configured: Vec<_> = configured
        .filter(|(_, config)| !config.is_declaration())
        .collect();
    if let [(only, _)] = configured[..] {
        return Ok(only);
    }
    let is_here = |config: &ClusterConfig| {
        let named = config.switches.iter().map(|&(guid, _)| guid);
        let mut named = named.chain(config.boundary.iter().map(|place| place.switch));
        named.any(|guid| part.switch_by_guid(guid).is_some())
    };
    let here: Vec<_> = configured
        .iter()
        .filter(|(_, config)| is_here(config))
        .collect();
    match here[..] {
        [&(only, _)] => Ok(only),
        [] => {
            let line = configs.first().map_or(1, |config| config.line);
            let what = "no cluster with a switch that this port reaches, expected the cluster that the port is in";
            Err(CliError::at(format_args!("{name}:{line}"), what))
        }
        [(_, one), (_, other), ..] => {
            let (line, one, other) = (other.line, &one.name, &other.name);
            let what = format_args!(
                "cluster {other}: this port reaches switches of it and of cluster {one}, expected a boundary between them"
            );
            Err(CliError::at(format_args!("{name}:{line}"), what))
        }
    }
}
