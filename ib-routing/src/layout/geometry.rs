//! Boxes and lines: from rows or coordinates to pixels.

use alloc::vec::Vec;

use super::{FabricLayout, Hosts, Point, Shape, grid::Grid};
use crate::{
    fabric::Fabric,
    index::{IdxVec, NodeIdx, SwitchIdx},
};

/// Distance between the centres of two switches side by side, in pixels.
const CELL: u32 = 96;
/// Width of the empty border of the picture, in pixels.
const MARGIN: u32 = 24;
/// Least room for links between two rows, in pixels. Wider rows have more room, so that their links are not too flat.
const BETWEEN_ROWS: u32 = 96;
const WIDTH_PER_ROW: u32 = 8;
/// Room between two lines of one row, and between the lines of a grid, in pixels.
const BETWEEN_LINES: u32 = 34;
/// Least number of switches in a line before a row is cut.
const SHORTEST_LINE: usize = 24;
/// Largest number of hosts of a switch for which there are boxes with names.
const NAMED_HOSTS: usize = 8;
/// Number of dots side by side below a switch.
const DOTS_IN_LINE: usize = 6;
/// Distance between the centres of two dots, and of two boxes one above the other, in pixels.
const DOT_STEP: u32 = 14;
const BOX_STEP: u32 = 17;

/// Collects the positions of the nodes.
pub(super) struct Canvas<'a> {
    fabric: &'a Fabric,
    hosts: &'a IdxVec<SwitchIdx, Vec<NodeIdx>>,
    alone: &'a [NodeIdx],
    hosts_are_named: bool,
    /// Largest number of switches in a line.
    line: usize,
    places: IdxVec<NodeIdx, Point>,
    width: u32,
    /// The y coordinate of the lowest line so far.
    bottom: u32,
}

impl<'a> Canvas<'a> {
    pub(super) fn new(fabric: &'a Fabric, hosts: &'a Hosts) -> Self {
        let most = hosts.at.iter().map(Vec::len).max().unwrap_or_default();
        // The picture is wider than high, as screens and paper are.
        let line = (fabric.num_switches() * 5 / 2).isqrt().max(SHORTEST_LINE);
        Self {
            fabric,
            hosts: &hosts.at,
            alone: &hosts.alone,
            hosts_are_named: most <= NAMED_HOSTS,
            line,
            places: IdxVec::filled(fabric.nodes().len(), Point::default()),
            width: 0,
            bottom: MARGIN,
        }
    }

    /// Places rows from the top down.
    pub(super) fn place_rows(&mut self, rows: &[Vec<SwitchIdx>]) {
        let lines = |row: &Vec<SwitchIdx>| row.len().div_ceil(self.line).max(1);
        let in_line = |row: &Vec<SwitchIdx>| row.len().div_ceil(lines(row));
        let widest = rows.iter().map(in_line).max().unwrap_or_default();
        let width = pixels(widest) * CELL;
        for (number, row) in rows.iter().enumerate() {
            if number > 0 {
                self.bottom += BETWEEN_ROWS.max(width / WIDTH_PER_ROW);
            }
            let each = row.len().div_ceil(row.len().div_ceil(self.line).max(1));
            for (line, switches) in row.chunks(each.max(1)).enumerate() {
                if line > 0 {
                    self.bottom += BETWEEN_LINES;
                }
                let step = width / pixels(switches.len()).max(1);
                let mut height = 0;
                for (at, &switch) in switches.iter().enumerate() {
                    let x = MARGIN + pixels(at) * step + step / 2;
                    height = height.max(self.block(switch, Point { x, y: self.bottom }));
                }
                self.bottom += height;
            }
        }
        self.width = width;
    }

    /// Places switches at their coordinates: the first two dimensions form planes, which are drawn side by side.
    pub(super) fn place_grid(&mut self, grid: &Grid) {
        let tallest = self.hosts.iter().map(|hosts| self.height(hosts.len()));
        let step = tallest.max().unwrap_or_default() + BETWEEN_LINES;
        let (columns, lines) = grid.plane();
        let planes = grid.planes();
        let (plane_width, plane_height) = (pixels(columns) * CELL, pixels(lines) * step);
        // Side by side until the whole is wider than high.
        let area = pixels(planes) * plane_height * 8 / 5;
        let abreast = (area / plane_width.max(1)).isqrt().max(1);
        let abreast = abreast.min(pixels(planes).max(1));
        for switch in self.fabric.switches().indices() {
            let ((column, line), plane) = grid.place(switch);
            let (across, down) = (pixels(plane) % abreast, pixels(plane) / abreast);
            let x = across * (plane_width + CELL / 2) + pixels(column) * CELL + CELL / 2;
            let y = down * (plane_height + BETWEEN_LINES) + pixels(line) * step;
            let at = Point {
                x: MARGIN + x,
                // Links around the border bow over the first line.
                y: MARGIN + BETWEEN_LINES + y,
            };
            let height = self.block(switch, at);
            self.bottom = self.bottom.max(at.y + height);
            self.width = self.width.max(x + CELL / 2);
        }
    }

    pub(super) fn finish(mut self, shape: Shape, hosts: &Hosts) -> FabricLayout {
        if !self.alone.is_empty() {
            self.bottom += BETWEEN_LINES;
            self.width = self.width.max(pixels(self.line) * CELL);
        }
        for nodes in self.alone.chunks(self.line) {
            for (at, &node) in nodes.iter().enumerate() {
                self.places[node] = Point {
                    x: MARGIN + pixels(at) * CELL + CELL / 2,
                    y: self.bottom,
                };
            }
            self.bottom += BOX_STEP;
        }
        FabricLayout {
            shape,
            width: self.width + 2 * MARGIN,
            height: self.bottom + MARGIN,
            places: self.places,
            leaves: hosts.leaves.clone(),
            hosts_are_named: self.hosts_are_named,
        }
    }

    /// Places a switch below a line, its hosts below it; returns the height of all.
    fn block(&mut self, switch: SwitchIdx, top: Point) -> u32 {
        let half = FabricLayout::SWITCH.1 / 2;
        let node = self.fabric.switches()[switch];
        self.places[node] = Point {
            y: top.y + half,
            ..top
        };
        let hosts = &self.hosts[switch];
        for (at, &host) in hosts.iter().enumerate() {
            let y = top.y + FabricLayout::SWITCH.1 + 4;
            self.places[host] = match self.hosts_are_named {
                true => Point {
                    x: top.x,
                    y: y + pixels(at) * BOX_STEP + BOX_STEP / 2,
                },
                false => {
                    let (column, line) = (pixels(at % DOTS_IN_LINE), pixels(at / DOTS_IN_LINE));
                    let count = pixels(hosts.len().min(DOTS_IN_LINE));
                    Point {
                        x: (top.x + column * DOT_STEP + DOT_STEP / 2)
                            .saturating_sub(count * DOT_STEP / 2),
                        y: y + line * DOT_STEP + DOT_STEP / 2,
                    }
                }
            };
        }
        self.height(hosts.len())
    }

    /// Height of a switch with so many hosts.
    fn height(&self, hosts: usize) -> u32 {
        let hosts = match self.hosts_are_named {
            true => pixels(hosts) * BOX_STEP,
            false => pixels(hosts.div_ceil(DOTS_IN_LINE)) * DOT_STEP,
        };
        FabricLayout::SWITCH.1 + 4 + hosts
    }
}

/// A count of things that exist: a fabric has fewer than 2^32.
fn pixels(count: usize) -> u32 {
    count as u32
}

/// The control point of the curve between two points.
pub(super) fn bend(one: Point, other: Point, nth: u32) -> Point {
    // Parallel cables are this far apart.
    const FAN: u32 = 10;
    let fan = FAN * nth;
    let middle = Point {
        x: (one.x + other.x) / 2,
        y: (one.y + other.y) / 2,
    };
    let (across, down) = (one.x.abs_diff(other.x), one.y.abs_diff(other.y));
    if down == 0 {
        // The control point is twice as far away as the curve's highest point.
        let bow = match across > CELL {
            true => (across / 6 + 28).min(120),
            false => 0,
        };
        return Point {
            y: middle.y.saturating_sub(bow + fan),
            ..middle
        };
    }
    if across == 0 && down > CELL {
        return Point {
            x: middle.x + CELL.min(down / 6 + 60) + fan,
            ..middle
        };
    }
    Point {
        x: middle.x + fan,
        ..middle
    }
}
