//! `ib map`: the subnet as a page to look at.

mod document;
mod page;

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use ib_diag::{CheckOptions, Contents, check};
use ib_routing::{
    FabricLayout, LidMap, LidOptions, RouteOptions, SharedEngine,
    engine::chain,
    format::{dot, svg},
    verify,
};
use ib_wire::Sl;
use serde_json::json;

use self::document::{Document, Routed};
use crate::{
    error::{CliError, Verdict},
    fabric_spec::FabricArgs,
    files,
    output::json,
    source::SourceArgs,
};

/// Draw the subnet as an HTML page that needs no network, as an SVG picture or as a graph of Graphviz.
///
/// Only reads. The page places the nodes by level, on a grid or by distance. It finds nodes by name, GUID and LID, shows
/// the attributes of a node and the path between two nodes, and colours links by load, speed, errors or findings.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct MapArgs {
    /// HTML page to write
    #[arg(long, value_name = "FILE", required_unless_present_any = ["svg", "dot"])]
    html: Option<PathBuf>,
    /// SVG picture to write
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Graph of Graphviz to write
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
    /// Draw a file or a generated fabric, as `ib up` takes it, with routes as the manager would make them
    #[arg(long, value_name = "SPEC", conflicts_with_all = ["device", "from", "port"])]
    fabric: Option<String>,
    /// Title of the page [default: where the subnet was read]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    #[command(flatten)]
    source: SourceArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib map --html subnet.html
  ib map --html monday.html --from monday.ibsnap
  ib map --html plan.html --svg plan.svg --fabric fat-tree:radix=8,levels=2";

pub fn run(args: MapArgs, as_json: bool) -> Result<Verdict, CliError> {
    let routed = match &args.fabric {
        Some(spec) => planned(spec)?,
        None => read(&args.source)?,
    };
    let title = args.title.clone().unwrap_or_else(|| match &args.fabric {
        Some(spec) => spec.clone(),
        None => args.source.describe(),
    });
    let layout = FabricLayout::new(&routed.fabric);
    let mut written = Vec::new();
    if let Some(file) = &args.html {
        let document = Document::new(&routed, &layout, title);
        files::write(file, &page::write(&document)?)?;
        written.push(file);
    }
    if let Some(file) = &args.svg {
        let load = &routed.verified.link_load.by_channel;
        files::write(file, &svg::write(&routed.fabric, load.as_slice()))?;
        written.push(file);
    }
    if let Some(file) = &args.dot {
        files::write(file, &dot::write(&routed.fabric))?;
        written.push(file);
    }
    let nodes = routed.fabric.nodes().len();
    let links = routed.fabric.num_links();
    let names = written.iter().map(|file| file.display().to_string());
    let names: Vec<String> = names.collect();
    let mut out = io::stdout().lock();
    if as_json {
        let document = json!({
            "files": names,
            "shape": layout.shape.name(),
            "nodes": nodes,
            "links": links,
            "width": layout.width,
            "height": layout.height,
        });
        json::print(&mut out, &document)?;
    } else {
        let shape = layout.shape.name();
        writeln!(
            out,
            "{}: {nodes} nodes, {links} links, drawn as {shape}",
            names.join(", ")
        )?;
    }
    Ok(Verdict::Holds)
}

/// The files of the page of a running manager: the page, its script, and the document of what is installed as JSON.
pub mod live {
    use ib_routing::FabricLayout;
    use ib_sm::InstalledRoutes;

    use super::{
        document::{Document, Routed},
        page,
    };
    use crate::error::CliError;

    pub use page::{live as page, script};

    /// The document; the layout of a large subnet takes a while, so call it on a thread of its own.
    pub fn document(installed: &InstalledRoutes, title: String) -> Result<String, CliError> {
        let layout = FabricLayout::new(installed.fabric());
        let document = Document::new(&Routed::of_manager(installed), &layout, title);
        Ok(serde_json::to_string(&document)?)
    }
}

/// A fabric that no manager has brought up: LIDs and routes are those that a manager would assign.
fn planned(spec: &str) -> Result<Routed, CliError> {
    let fabric = FabricArgs {
        fabric: spec.to_owned(),
        remove_links: None,
        seed: 0,
    };
    let fabric = fabric.load()?;
    let lids = LidMap::assign(&fabric, &LidOptions::default())
        .map_err(|error| CliError::at(spec, error))?;
    let engines = [SharedEngine::default()];
    let routes = chain::route(&engines, false, &fabric, &lids, &RouteOptions::default())
        .map_err(|error| CliError::at(spec, error))?
        .routes;
    let verified = verify(&fabric, &lids, &routes);
    Ok(Routed {
        fabric,
        lids,
        routes,
        verified,
        observed: None,
    })
}

/// A subnet as it is, with the findings of the checks.
fn read(source: &SourceArgs) -> Result<Routed, CliError> {
    let source = source.open()?;
    // A snapshot is drawn with all the data that it contains.
    let contents = match source.is_live() {
        true => Contents::all(),
        false => Contents::empty(),
    };
    let snapshot = source.snapshot_of_routes(contents)?;
    let fabric = snapshot.fabric();
    let lids = LidMap::of_fabric(&fabric);
    let routes = snapshot.routes(&fabric, &lids, Sl::ZERO);
    let verified = verify(&fabric, &lids, &routes);
    let report = check(&snapshot, None, &CheckOptions::default());
    Ok(Routed {
        fabric,
        lids,
        routes,
        verified,
        observed: Some((snapshot, report)),
    })
}
