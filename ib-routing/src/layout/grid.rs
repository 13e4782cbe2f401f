//! Finds the coordinates of switches in a mesh, torus or hypercube: a Cartesian product of paths and rings.
//!
//! In such a product the two links of a switch that belong to different dimensions span a square, and opposite sides
//! of a square belong to one dimension (Sabidussi, "Graph multiplication", 1960). Links joined by squares make a
//! class; classes that cross the same classes, and not each other, make a dimension; what is left without a dimension's links falls into
//! layers, which are its coordinates. A few links may be missing. A ring of four is a product of two pairs, and is
//! made one ring again where both pairs leave by the same ports.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};

use ib_wire::PortNum;

use crate::{
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
};

/// Largest number of neighbors of a switch. A switch with more belongs to a product of more dimensions than are
/// searched.
const MOST_NEIGHBORS: usize = 32;
/// Classes at most: a sum of the sides of a grid that can be drawn.
const MOST_CLASSES: usize = 1024;

/// The sides of a grid, and the position of each switch.
pub(super) struct Grid {
    /// Positions in each dimension, the longest first.
    sizes: Vec<usize>,
    /// The coordinates of each switch.
    coordinates: IdxVec<SwitchIdx, Vec<usize>>,
    /// True if the grid has one dimension, which is a ring.
    is_ring: bool,
}

impl Grid {
    /// The grid that a fabric forms; `None` if it forms none. Coordinates count from the first switch in `order`.
    pub(super) fn find(fabric: &Fabric, order: &[SwitchIdx]) -> Option<Self> {
        let graph = Graph::new(fabric)?;
        let dimensions = graph.dimensions()?;
        let mut found = Vec::new();
        for number in 0..dimensions.len() {
            found.push(Dimension::new(&graph, &dimensions, number, order)?);
        }
        join_pairs(&mut found, order);
        found
            .sort_by_key(|dimension| (core::cmp::Reverse(dimension.size), dimension.ports.clone()));
        let mut coordinates = IdxVec::filled(fabric.num_switches(), Vec::new());
        for (switch, own) in fabric.switches().indices().zip(coordinates.iter_mut()) {
            own.extend(found.iter().map(|dimension| dimension.at[switch]));
        }
        let different: BTreeSet<&Vec<usize>> = coordinates.iter().collect();
        let room: usize = found.iter().map(|dimension| dimension.size).product();
        let is_grid = different.len() == coordinates.len() && coordinates.len() * 10 >= room * 7;
        is_grid.then(|| Self {
            is_ring: found.len() == 1 && found.iter().all(|only| only.is_ring),
            sizes: found.iter().map(|dimension| dimension.size).collect(),
            coordinates,
        })
    }

    /// Returns true if the fabric can only be a grid: a line, and a square of four switches, are trees too.
    pub(super) fn is_clear(&self) -> bool {
        match self.sizes.as_slice() {
            [] => false,
            [_] => self.is_ring,
            [2, 2] => false,
            _ => true,
        }
    }

    /// Columns and lines of a plane. A ring is folded into two lines.
    pub(super) fn plane(&self) -> (usize, usize) {
        match self.sizes.as_slice() {
            [] => (1, 1),
            &[only] if self.is_ring => (only.div_ceil(2), 2),
            &[only] => (only, 1),
            &[columns, lines, ..] => (columns, lines),
        }
    }

    /// Number of planes.
    pub(super) fn planes(&self) -> usize {
        self.sizes.iter().skip(2).product()
    }

    /// Column and line of a switch in its plane, and the plane.
    pub(super) fn place(&self, switch: SwitchIdx) -> ((usize, usize), usize) {
        let own = self.coordinates[switch].as_slice();
        let in_plane = match *own {
            [] => (0, 0),
            [at] => {
                let (columns, _) = self.plane();
                match self.is_ring && at >= columns {
                    true => (2 * columns - 1 - at, 1),
                    false => (at, 0),
                }
            }
            [column, line, ..] => (column, line),
        };
        let further = own.iter().zip(&self.sizes).skip(2);
        let plane = further.fold(0, |plane, (at, size)| plane * size + at);
        (in_plane, plane)
    }
}

/// Switches and the pairs of them that are linked.
struct Graph {
    neighbors: IdxVec<SwitchIdx, Vec<SwitchIdx>>,
    links: Vec<(SwitchIdx, SwitchIdx)>,
    numbers: BTreeMap<(SwitchIdx, SwitchIdx), usize>,
    /// The ports at the ends of each link.
    ports: Vec<BTreeSet<PortNum>>,
}

impl Graph {
    fn new(fabric: &Fabric) -> Option<Self> {
        let mut graph = Self {
            neighbors: IdxVec::filled(fabric.num_switches(), Vec::new()),
            links: Vec::new(),
            numbers: BTreeMap::new(),
            ports: Vec::new(),
        };
        for channel in fabric.channels().iter() {
            let number = graph.number(channel.from, channel.to);
            if let Some(ports) = graph.ports.get_mut(number) {
                ports.insert(channel.port);
            }
        }
        for &(one, other) in &graph.links {
            graph.neighbors[one].push(other);
            graph.neighbors[other].push(one);
        }
        for neighbors in graph.neighbors.iter_mut() {
            neighbors.sort_unstable();
        }
        let most = graph.neighbors.iter().map(Vec::len).max()?;
        (1..=MOST_NEIGHBORS).contains(&most).then_some(graph)
    }

    fn number(&mut self, one: SwitchIdx, other: SwitchIdx) -> usize {
        let pair = (one.min(other), one.max(other));
        if let Some(&number) = self.numbers.get(&pair) {
            return number;
        }
        let number = self.links.len();
        self.links.push(pair);
        self.ports.push(BTreeSet::new());
        self.numbers.insert(pair, number);
        number
    }

    fn link(&self, one: SwitchIdx, other: SwitchIdx) -> Option<usize> {
        let pair = (one.min(other), one.max(other));
        self.numbers.get(&pair).copied()
    }

    /// The two common neighbors of two switches that are not linked; `None` unless there are exactly two.
    fn diagonal(&self, one: SwitchIdx, other: SwitchIdx) -> Option<(SwitchIdx, SwitchIdx)> {
        let far = &self.neighbors[other];
        let mut common = self.neighbors[one]
            .iter()
            .filter(|switch| far.binary_search(switch).is_ok());
        let pair = (*common.next()?, *common.next()?);
        let is_whole = common.next().is_none() && self.link(one, other).is_none();
        is_whole.then_some(pair)
    }

    /// The links of each dimension, by number; `None` if the squares contradict each other.
    fn dimensions(&self) -> Option<Vec<Vec<usize>>> {
        let mut classes = Sets::new(self.links.len());
        let mut crossings = Vec::new();
        for corner in self.neighbors.indices() {
            let neighbors = &self.neighbors[corner];
            for (at, &one) in neighbors.iter().enumerate() {
                for &other in neighbors.iter().skip(at + 1) {
                    let Some((first, second)) = self.diagonal(one, other) else {
                        continue;
                    };
                    let opposite = if first == corner { second } else { first };
                    if self.diagonal(corner, opposite).is_none() {
                        continue;
                    }
                    let (near, far) = (self.link(corner, one)?, self.link(corner, other)?);
                    classes.join(near, self.link(other, opposite)?);
                    classes.join(far, self.link(one, opposite)?);
                    crossings.push((near, far));
                }
            }
        }
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for link in 0..self.links.len() {
            members.entry(classes.first(link)).or_default().push(link);
        }
        if members.len() > MOST_CLASSES {
            return None;
        }
        let mut crossed: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (near, far) in crossings {
            let (near, far) = (classes.first(near), classes.first(far));
            if near == far {
                return None;
            }
            crossed.entry(near).or_default().insert(far);
            crossed.entry(far).or_default().insert(near);
        }
        // A link whose squares are all broken gives no information, unless there is only one dimension.
        if !crossed.is_empty() {
            members.retain(|class, _| crossed.contains_key(class));
        }
        let none = BTreeSet::new();
        let of = |class| crossed.get(class).unwrap_or(&none);
        let names: Vec<usize> = members.keys().copied().collect();
        let mut dimensions = Sets::new(self.links.len());
        for (at, one) in names.iter().enumerate() {
            for other in names.iter().skip(at + 1) {
                let (mine, theirs) = (of(one), of(other));
                let common = mine.intersection(theirs).count();
                // A broken link may take away the only square in which two classes cross; they still cross
                // different ones.
                let is_alike = common * 2 > mine.len().max(theirs.len()) || crossed.is_empty();
                if is_alike && !mine.contains(other) {
                    dimensions.join(*one, *other);
                }
            }
        }
        let mut links: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (class, members) in members {
            let dimension = links.entry(dimensions.first(class)).or_default();
            dimension.extend(members);
        }
        Some(links.into_values().collect())
    }
}

/// One dimension: the position of each switch in it.
struct Dimension {
    size: usize,
    is_ring: bool,
    at: IdxVec<SwitchIdx, usize>,
    /// The ports that the dimension's links use.
    ports: BTreeSet<PortNum>,
}

impl Dimension {
    /// Numbers the layers that are left without the dimension's links. They follow each other as a path or a ring.
    fn new(
        graph: &Graph,
        dimensions: &[Vec<usize>],
        own: usize,
        order: &[SwitchIdx],
    ) -> Option<Self> {
        let links = dimensions.get(own)?;
        let mut layers = Sets::new(graph.neighbors.len());
        let others = dimensions.iter().enumerate();
        let others = others.filter(|(number, _)| *number != own);
        for &link in others.flat_map(|(_, links)| links) {
            let &(one, other) = graph.links.get(link)?;
            layers.join(one.0 as usize, other.0 as usize);
        }
        let mut next: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        let mut ports = BTreeSet::new();
        for &link in links {
            let &(one, other) = graph.links.get(link)?;
            let (one, other) = (layers.first(one.0 as usize), layers.first(other.0 as usize));
            if one == other {
                return None;
            }
            next.entry(one).or_default().insert(other);
            next.entry(other).or_default().insert(one);
            ports.extend(graph.ports.get(link)?.iter().copied());
        }
        if next.values().any(|next| next.len() > 2) {
            return None;
        }
        let is_ring = next.len() > 2 && next.values().all(|next| next.len() == 2);
        // From an end of the path, or around the ring, beginning where the first name is.
        let mut start = order.iter().map(|switch| layers.first(switch.0 as usize));
        let mut starts = start.clone();
        let first = match is_ring {
            true => start.next()?,
            false => starts.find(|layer| next.get(layer).is_some_and(|next| next.len() == 1))?,
        };
        let rank = |layer: usize| {
            let mut layers = order.iter().map(|switch| layers.first(switch.0 as usize));
            layers.position(|other| other == layer)
        };
        let mut positions = BTreeMap::from([(first, 0)]);
        let mut here = first;
        loop {
            let mut open: Vec<usize> = next.get(&here)?.iter().copied().collect();
            open.retain(|layer| !positions.contains_key(layer));
            open.sort_by_key(|&layer| rank(layer));
            let Some(&layer) = open.first() else { break };
            positions.insert(layer, positions.len());
            here = layer;
        }
        if positions.len() != next.len() {
            return None;
        }
        let mut at = IdxVec::filled(graph.neighbors.len(), 0);
        for (switch, at) in graph.neighbors.indices().zip(at.iter_mut()) {
            *at = *positions.get(&layers.first(switch.0 as usize))?;
        }
        Some(Self {
            size: positions.len(),
            is_ring,
            at,
            ports,
        })
    }
}

/// Makes one ring of four of two pairs that leave by the same ports.
fn join_pairs(dimensions: &mut Vec<Dimension>, order: &[SwitchIdx]) {
    let mut pairs: BTreeMap<BTreeSet<PortNum>, Vec<Dimension>> = BTreeMap::new();
    let mut rest = Vec::new();
    for dimension in dimensions.drain(..) {
        match dimension.size {
            2 => pairs
                .entry(dimension.ports.clone())
                .or_default()
                .push(dimension),
            _ => rest.push(dimension),
        }
    }
    for (ports, pair) in pairs {
        match <[Dimension; 2]>::try_from(pair) {
            Ok([one, other]) => {
                // Neighbors of a ring differ in one of the two. The ring goes first to the neighbor whose name is
                // first.
                let position = |switch| match (one.at[switch], other.at[switch]) {
                    (0, 0) => 0,
                    (0, _) => 1,
                    (_, 0) => 3,
                    _ => 2,
                };
                let mut named = order.iter().map(|&switch| position(switch));
                let is_backward = named.find(|at| at % 2 == 1) == Some(3);
                let mut at = one.at.clone();
                for (switch, at) in one.at.indices().zip(at.iter_mut()) {
                    *at = match is_backward {
                        true => (4 - position(switch)) % 4,
                        false => position(switch),
                    };
                }
                rest.push(Dimension {
                    size: 4,
                    is_ring: true,
                    at,
                    ports,
                });
            }
            Err(pair) => rest.extend(pair),
        }
    }
    *dimensions = rest;
}

/// Disjoint sets of numbers, each named by its least member.
struct Sets {
    parent: Vec<usize>,
}

impl Sets {
    fn new(len: usize) -> Self {
        Self {
            parent: (0..len).collect(),
        }
    }

    fn first(&self, of: usize) -> usize {
        let mut here = of;
        while let Some(&parent) = self.parent.get(here).filter(|&&parent| parent != here) {
            here = parent;
        }
        here
    }

    fn join(&mut self, one: usize, other: usize) {
        let (root, other_root) = (self.first(one), self.first(other));
        // The two members themselves are updated too, so that the next search is short.
        for member in [root, other_root, one, other] {
            if let Some(parent) = self.parent.get_mut(member) {
                *parent = root.min(other_root);
            }
        }
    }
}
