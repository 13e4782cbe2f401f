'use strict';

// The subnet: see document.rs for what its parts are. All text goes into the page by textContent.
const subnet = JSON.parse(document.getElementById('data').textContent);
const element = id => document.getElementById(id);
const canvas = element('map');
const pen = canvas.getContext('2d');

// ---- Indices ----

const linksOf = subnet.nodes.map(() => []);
const linkAt = subnet.nodes.map(() => new Map());
subnet.links.forEach((link, number) => {
  for (const [node, port] of [link.a, link.b]) {
    linksOf[node].push(number);
    linkAt[node].set(port, number);
  }
});
const hostsOf = subnet.nodes.map(() => []);
const nodeOfLid = new Map();
subnet.nodes.forEach((node, number) => {
  if (node.leaf !== null) hostsOf[node.leaf].push(number);
  for (const [base, count] of node.lids) {
    for (let lid = base; lid < base + count; lid++) nodeOfLid.set(lid, number);
  }
});
const RANKS = { error: 3, warning: 2, info: 1 };
const findingsOf = subnet.nodes.map(() => []);
for (const finding of subnet.findings) {
  if (finding.node !== null) findingsOf[finding.node].push(finding);
}
const worst = findings => findings.reduce((rank, finding) => Math.max(rank, RANKS[finding.severity]), 0);
const rankOfNode = findingsOf.map(worst);
const rankOfLink = subnet.links.map(link => Math.max(...[link.a, link.b].map(([node, port]) =>
  worst(findingsOf[node].filter(finding => finding.port === port)))));

const otherEnd = (link, node) => (link.a[0] === node ? link.b : link.a);
const isSwitch = node => node.kind === 'switch';
const sizeOf = node => (isSwitch(node) ? subnet.switch_size : subnet.host_size);

// ---- Colours ----

const THEMES = {
  light: {
    paper: '#ffffff', ink: '#1a202c', plain: '#cbd5e0', switch: '#2b6cb0', router: '#6b46c1', ca: '#e2e8f0',
    dot: '#718096', onSwitch: '#ffffff', onHost: '#1a202c', chosen: '#d53f8c', ranks: ['', '#4299e1', '#d69e2e', '#e53e3e'],
  },
  dark: {
    paper: '#12161d', ink: '#e2e8f0', plain: '#3b4656', switch: '#3182ce', router: '#9f7aea', ca: '#2d3748',
    dot: '#94a3b8', onSwitch: '#ffffff', onHost: '#e2e8f0', chosen: '#f687b3', ranks: ['', '#63b3ed', '#f6c453', '#fc8181'],
  },
};
let theme = 'light';

// From blue over grey to orange: told apart by people who do not see red or green.
function heat(share) {
  const stops = [[49, 130, 206], [160, 174, 192], [221, 107, 32], [197, 48, 48]];
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const mixed = stops[low].map((value, part) => Math.round(value + (stops[low + 1][part] - value) * (at - low)));
  return `rgb(${mixed.join(',')})`;
}

const loads = subnet.links.filter(link => link.load).map(link => Math.max(...link.load));
const leastLoad = loads.reduce((least, load) => Math.min(least, load), Infinity);
const mostLoad = loads.reduce((most, load) => Math.max(most, load), 0);
// Loads that hardly differ are even: the hottest colour is at least half as much again as the least load.
const shareOfLoad = load => (load - leastLoad) / Math.max(mostLoad - leastLoad, leastLoad / 2, 1);
const speeds = [...new Set(subnet.links.map(link => link.mbps))].filter(mbps => mbps > 0).sort((a, b) => a - b);
const mostErrors = subnet.links.reduce((most, link) => Math.max(most, link.errors ?? 0), 0);

// A scheme gives each link a colour and a weight: what weighs more is drawn later and wider. Links that a scheme
// says nothing about have no colour.
const SCHEMES = {
  load: {
    of(link) {
      if (!link.load) return null;
      const share = shareOfLoad(Math.max(...link.load));
      return { colour: heat(share), weight: share };
    },
    legend() {
      if (!loads.length) return [['', 'no link between switches']];
      if (mostLoad === leastLoad) return [[heat(0), `${mostLoad} routes on each link`]];
      return [[heat(0), `${leastLoad} routes`], [heat(shareOfLoad(mostLoad)), `${mostLoad} routes`]];
    },
  },
  speed: {
    of(link) {
      if (!link.mbps) return null;
      const share = speeds.length > 1 ? 1 - speeds.indexOf(link.mbps) / (speeds.length - 1) : 0;
      return { colour: heat(share), weight: share, isBelowBest: link.mbps < link.best_mbps };
    },
    legend() {
      const rows = speeds.map((mbps, at) => [heat(speeds.length > 1 ? 1 - at / (speeds.length - 1) : 0), gbps(mbps)]);
      if (subnet.links.some(link => link.mbps && link.mbps < link.best_mbps)) rows.push(['', 'dashed: both ends can do more']);
      return rows.length ? rows : [['', 'speeds are unknown']];
    },
  },
  errors: {
    of(link) {
      if (link.errors === null) return null;
      if (!link.errors) return { colour: heat(0.33), weight: 0 };
      const share = 0.5 + 0.5 * Math.log1p(link.errors) / Math.log1p(mostErrors);
      return { colour: heat(share), weight: share };
    },
    legend() {
      if (!subnet.has_counters) return [['', 'counters were not read']];
      const rows = [[heat(0.33), 'no errors']];
      if (mostErrors) rows.push([heat(0.6), 'some'], [heat(1), `${mostErrors} errors`]);
      return rows;
    },
  },
  findings: {
    of(link, number) {
      const rank = rankOfLink[number];
      return rank ? { colour: THEMES[theme].ranks[rank], weight: rank / 3 } : null;
    },
    legend() {
      const count = severity => subnet.findings.filter(finding => finding.severity === severity).length;
      if (!subnet.findings.length) return [['', 'no findings']];
      return ['error', 'warning', 'info'].map(severity =>
        [THEMES[theme].ranks[RANKS[severity]], `${severity}: ${count(severity)}`]);
    },
  },
};
const gbps = mbps => `${Math.round(mbps / 100) / 10} Gbit/s`;

// ---- State ----

const view = { scale: 1, x: 0, y: 0 };
let scheme = 'load';
let chosen = [];
let path = null;
let hovered = null;
let drawing = 0;
// Whether the whole map is shown, as it then is in a window of another size too.
let isWhole = true;

const toScreen = (x, y) => [x * view.scale + view.x, y * view.scale + view.y];
const toMap = (x, y) => [(x - view.x) / view.scale, (y - view.y) / view.scale];
// Hosts that would be smaller than this many pixels fold into their leaf.
const hostsAreShown = () => subnet.host_size[1] * view.scale >= 4;
const isShown = node => isSwitch(node) || node.leaf === null || hostsAreShown();

// ---- Drawing ----

function draw() {
  drawing = 0;
  paint(canvas.width, canvas.height, window.devicePixelRatio || 1);
}

function redraw() {
  if (!drawing) drawing = requestAnimationFrame(draw);
}

function paint(width, height, ratio) {
  const colours = THEMES[theme];
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.fillStyle = colours.paper;
  pen.fillRect(0, 0, width, height);
  pen.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.x, ratio * view.y);
  const onPath = new Set(path ? path.links : []);
  const painted = subnet.links
    .map((link, number) => ({ link, number, style: SCHEMES[scheme].of(link, number) }))
    .filter(({ link }) => isShown(subnet.nodes[link.a[0]]) && isShown(subnet.nodes[link.b[0]]))
    .sort((one, other) => (one.style?.weight ?? -1) - (other.style?.weight ?? -1));
  // Many links make a grey mass where each is drawn in full.
  const crowd = Math.min(1, 2500 / Math.max(painted.length, 1));
  for (const { link, style } of painted) {
    const weight = style ? style.weight : 0;
    pen.globalAlpha = path ? 0.15 : 0.25 + 0.65 * Math.max(crowd, weight);
    pen.strokeStyle = style ? style.colour : colours.plain;
    pen.lineWidth = Math.max((0.8 + 1.6 * weight) / view.scale * Math.min(1, view.scale * 1.5), 0.4 / view.scale);
    pen.setLineDash(style && style.isBelowBest ? [6, 4] : []);
    stroke(link);
  }
  pen.setLineDash([]);
  pen.globalAlpha = 1;
  for (const number of onPath) {
    pen.strokeStyle = colours.chosen;
    pen.lineWidth = Math.max(3 / view.scale, 2);
    stroke(subnet.links[number]);
  }
  const passed = new Set(path ? path.nodes : []);
  const drawn = [];
  const nameless = [];
  subnet.nodes.forEach((node, number) => {
    if (!isShown(node) && !passed.has(number) && !chosen.includes(number)) return;
    const isNamed = box(node, number, colours, passed);
    const place = frame(node, sizeOf(node), 0);
    if (place[2] < 0 || place[3] < 0 || place[0] > width / ratio || place[1] > height / ratio) return;
    drawn.push(place);
    if (!isNamed && isSwitch(node)) nameless.push(number);
  });
  labels(nameless, drawn, colours, passed);
  if (hovered !== null) name(subnet.nodes[hovered], colours);
}

// The pixels that a box of this size covers, so many map units below the place of a node: left, top, right, bottom.
function frame(node, [width, height], below) {
  const [x, y] = toScreen(node.x, node.y + below);
  return [x - width * view.scale / 2, y - height * view.scale / 2, x + width * view.scale / 2, y + height * view.scale / 2];
}

// Writes the names of switches whose boxes are too small for them below the boxes, as far as no box and no other name is there:
// first those that were chosen, then those with findings.
function labels(nameless, drawn, colours, passed) {
  const size = LABEL / view.scale;
  const rank = number => (chosen.includes(number) || passed.has(number) ? 10 : 0) + rankOfNode[number];
  nameless.sort((one, other) => rank(other) - rank(one) || one - other);
  for (const number of nameless) {
    const node = subnet.nodes[number];
    const below = sizeOf(node)[1] / 2 + 0.6 * size;
    const extent = [widthOf(node.label) * size + 2 / view.scale, size];
    const place = frame(node, extent, below);
    const overlaps = other => place[0] < other[2] && other[0] < place[2] && place[1] < other[3] && other[1] < place[3];
    if (drawn.some(overlaps)) continue;
    drawn.push(place);
    pen.globalAlpha = 0.8;
    pen.fillStyle = colours.paper;
    pen.fillRect(node.x - extent[0] / 2, node.y + below - size / 2, ...extent);
    pen.globalAlpha = path && !passed.has(number) ? 0.35 : 1;
    pen.fillStyle = colours.ink;
    pen.font = `${size}px system-ui, sans-serif`;
    pen.textAlign = 'center';
    pen.textBaseline = 'middle';
    pen.fillText(node.label, node.x, node.y + below);
  }
  pen.globalAlpha = 1;
}

function stroke(link) {
  const from = subnet.nodes[link.a[0]];
  const to = subnet.nodes[link.b[0]];
  pen.beginPath();
  pen.moveTo(from.x, from.y);
  pen.quadraticCurveTo(link.bend[0], link.bend[1], to.x, to.y);
  pen.stroke();
}

function box(node, number, colours, passed) {
  const [width, height] = sizeOf(node);
  const isDot = !isSwitch(node) && !subnet.hosts_are_named;
  pen.globalAlpha = path && !passed.has(number) ? 0.35 : 1;
  pen.fillStyle = isDot ? colours.dot : colours[node.kind];
  pen.fillRect(node.x - width / 2, node.y - height / 2, width, height);
  const isChosen = chosen.includes(number) || passed.has(number);
  if (isChosen || rankOfNode[number] > 1) {
    pen.strokeStyle = isChosen ? colours.chosen : colours.ranks[rankOfNode[number]];
    pen.lineWidth = Math.max(2 / view.scale, 1.5);
    pen.strokeRect(node.x - width / 2, node.y - height / 2, width, height);
  }
  const isFolded = isSwitch(node) && hostsOf[number].length > 0 && !hostsAreShown();
  const hosts = `+${hostsOf[number].length}`;
  pen.fillStyle = isSwitch(node) ? colours.onSwitch : isDot ? colours.paper : colours.onHost;
  // A dot has room for its name once the map is much larger; a folded leaf has room for the number of its hosts before.
  const isNamed = isFolded && write(`${node.label} ${hosts}`, node, width, height) ||
    write(node.label, node, width, height);
  if (!isNamed && isFolded) write(hosts, node, width, height);
  pen.globalAlpha = 1;
  return isNamed;
}

// Text of fewer pixels cannot be read.
const LEAST_TEXT = 6;
// Pixels of a name below its box.
const LABEL = 10;

// Widths of texts at a size of one map unit.
const widths = new Map();
function widthOf(text) {
  if (!widths.has(text)) {
    pen.font = '100px system-ui, sans-serif';
    widths.set(text, pen.measureText(text).width / 100);
  }
  return widths.get(text);
}

// Writes a text into a box, as large as it fits. Returns whether it can be read.
function write(text, node, width, height) {
  if (height * view.scale < LEAST_TEXT) return false;
  // What fills a small box would be oversized in a large one.
  const size = Math.min(0.8 * height, (width - 2) / widthOf(text), Math.max(9, 16 / view.scale));
  if (size * view.scale < LEAST_TEXT) return false;
  pen.font = `${size}px system-ui, sans-serif`;
  pen.textAlign = 'center';
  pen.textBaseline = 'middle';
  pen.fillText(text, node.x, node.y + 0.05 * size);
  return true;
}

// The whole name beside the pointer.
function name(node, colours) {
  const size = 12 / view.scale;
  pen.font = `${size}px system-ui, sans-serif`;
  pen.textAlign = 'left';
  pen.textBaseline = 'middle';
  const width = pen.measureText(node.name).width;
  const [x, y] = [node.x + size, node.y - sizeOf(node)[1] / 2 - size];
  pen.fillStyle = colours.ink;
  pen.fillRect(x - size / 3, y - size * 0.8, width + size * 0.66, size * 1.6);
  pen.fillStyle = colours.paper;
  pen.fillText(node.name, x, y);
}

function fit(width = canvas.clientWidth, height = canvas.clientHeight) {
  view.scale = Math.min(width / subnet.width, height / subnet.height, 3);
  view.x = (width - subnet.width * view.scale) / 2;
  view.y = (height - subnet.height * view.scale) / 2;
  isWhole = true;
  redraw();
}

function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const scale = Math.min(Math.max(view.scale * factor, 0.02), 20);
  const [mapX, mapY] = toMap(x, y);
  view.scale = scale;
  view.x = x - mapX * scale;
  view.y = y - mapY * scale;
  isWhole = false;
  redraw();
}

// Moves the map so that a node is seen, large enough to be read.
function reveal(number) {
  const node = subnet.nodes[number];
  view.scale = Math.max(view.scale, isSwitch(node) || subnet.hosts_are_named ? 1 : 5);
  view.x = canvas.clientWidth / 2 - node.x * view.scale;
  view.y = canvas.clientHeight / 2 - node.y * view.scale;
  isWhole = false;
  redraw();
}

// Takes the size of the window; what was in the middle stays there.
let middle = [0, 0];
function resize() {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = Math.round(canvas.clientHeight * ratio);
  view.x += canvas.clientWidth / 2 - middle[0];
  view.y += canvas.clientHeight / 2 - middle[1];
  middle = [canvas.clientWidth / 2, canvas.clientHeight / 2];
  redraw();
}

// ---- Choosing ----

function nodeAt(x, y) {
  const [mapX, mapY] = toMap(x, y);
  // A few pixels beside a small box still hit it.
  const slack = 3 / view.scale;
  let best = null;
  let least = Infinity;
  subnet.nodes.forEach((node, number) => {
    if (!isShown(node)) return;
    const [width, height] = sizeOf(node);
    const [across, down] = [Math.abs(mapX - node.x), Math.abs(mapY - node.y)];
    if (across > width / 2 + slack || down > height / 2 + slack) return;
    const distance = across * across + down * down;
    if (distance < least) [best, least] = [number, distance];
  });
  return best;
}

function choose(number) {
  if (number === null) {
    chosen = [];
  } else if (chosen.length === 1 && chosen[0] !== number) {
    chosen.push(number);
  } else {
    chosen = [number];
  }
  path = chosen.length === 2 ? route(chosen[0], chosen[1]) : null;
  show();
  redraw();
}

// The path of a packet by the forwarding tables; without tables the shortest one.
function route(from, to) {
  const lid = (subnet.nodes[to].lids[0] ?? [0])[0];
  if (!Object.keys(subnet.tables).length) return shortest(from, to);
  const found = { nodes: [from], links: [], hops: [], end: 'arrives' };
  if (!lid) return { ...found, end: 'the second node has no LID' };
  let here = from;
  while (here !== to) {
    const node = subnet.nodes[here];
    let port;
    if (isSwitch(node)) {
      port = parseInt(subnet.tables[here].slice(2 * lid, 2 * lid + 2), 16);
    } else if (here === from) {
      if (!linksOf[here].length) return { ...found, end: 'the first node has no link' };
      port = end(subnet.links[linksOf[here][0]], here)[1];
    } else {
      return { ...found, end: 'ends at another host' };
    }
    const number = linkAt[here].get(port);
    if (Number.isNaN(port) || port === 255) return { ...found, end: `${node.name} has no entry for LID ${lid}` };
    if (number === undefined) return { ...found, end: `port ${port} of ${node.name} has no link` };
    found.hops.push({ node: here, port });
    found.links.push(number);
    here = otherEnd(subnet.links[number], here)[0];
    if (found.nodes.includes(here)) return { ...found, end: `comes back to ${subnet.nodes[here].name}` };
    found.nodes.push(here);
  }
  return found;
}

const end = (link, node) => (link.a[0] === node ? link.a : link.b);

function shortest(from, to) {
  const before = new Map([[from, null]]);
  const open = [from];
  for (const here of open) {
    if (here === to) break;
    if (here !== from && !isSwitch(subnet.nodes[here])) continue;
    for (const number of linksOf[here]) {
      const next = otherEnd(subnet.links[number], here)[0];
      if (before.has(next)) continue;
      before.set(next, { here, number });
      open.push(next);
    }
  }
  const found = { nodes: [to], links: [], hops: [], end: 'shortest: the page holds no forwarding tables' };
  if (!before.has(to)) return { ...found, nodes: [from], end: 'no cables lead there' };
  for (let step = before.get(to); step; step = before.get(step.here)) {
    found.nodes.unshift(step.here);
    found.links.unshift(step.number);
    found.hops.unshift({ node: step.here, port: end(subnet.links[step.number], step.here)[1] });
  }
  return found;
}

// ---- The panel ----

function make(tag, text, ...children) {
  const made = document.createElement(tag);
  if (text !== null && text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

function jump(number, text) {
  const button = make('button', text);
  button.type = 'button';
  button.addEventListener('click', () => {
    chosen = [];
    choose(number);
    reveal(number);
  });
  return button;
}

function table(rows) {
  return make('table', null, ...rows.map(([what, value]) => make('tr', null, make('td', what), make('td', value))));
}

const lidsOf = node => node.lids.map(([base, count]) => (count > 1 ? `${base}-${base + count - 1}` : `${base}`)).join(', ');

function describe(number) {
  const node = subnet.nodes[number];
  const rows = [['kind', node.kind], ['GUID', node.guid], ['LID', lidsOf(node) || 'none']];
  rows.push(['ports', `${linksOf[number].length} of ${node.ports} have a link`], ...node.facts);
  const links = linksOf[number].map(at => {
    const link = subnet.links[at];
    const [far, farPort] = otherEnd(link, number);
    const what = [link.width, link.speed, link.errors ? `${link.errors} errors` : null].filter(Boolean).join(' ');
    const text = `${end(link, number)[1]} → ${subnet.nodes[far].name}:${farPort}${what ? ` (${what})` : ''}`;
    return { port: end(link, number)[1], line: make('li', null, jump(far, text)) };
  });
  links.sort((one, other) => one.port - other.port);
  const parts = [make('h2', node.name), table(rows), ...said(findingsOf[number])];
  parts.push(make('p', 'Links, by port:'), make('ul', null, ...links.map(({ line }) => line)));
  return parts;
}

function said(findings) {
  return findings.map(finding => {
    const text = `${finding.severity}: ${finding.message}. ${finding.action}.`;
    const line = make('p', text);
    line.className = finding.severity;
    return line;
  });
}

function describePath() {
  const [from, to] = chosen.map(number => subnet.nodes[number]);
  const hops = path.hops.map(({ node, port }) => make('li', null, jump(node, `${subnet.nodes[node].name} out of port ${port}`)));
  const last = path.nodes[path.nodes.length - 1];
  hops.push(make('li', null, jump(last, subnet.nodes[last].name)));
  return [make('h2', `${from.name} to ${to.name}`), make('p', `${path.links.length} links: ${path.end}`), make('ol', null, ...hops)];
}

function overview() {
  const count = kind => subnet.nodes.filter(node => node.kind === kind).length;
  const rows = [['switches', count('switch')], ['CAs', count('ca')], ['routers', count('router')]];
  rows.push(['links', subnet.links.length], ['drawn as', subnet.shape]);
  if (subnet.taken_at) rows.push(['read', new Date(subnet.taken_at).toISOString().replace('T', ' ').slice(0, 19) + ' UTC']);
  const parts = [table(rows.filter(([, value]) => value !== 0))];
  const findings = subnet.findings.filter(finding => finding.severity !== 'info');
  if (findings.length) {
    const shown = findings.slice(0, 100).map(finding => {
      const text = `${finding.place}: ${finding.message}`;
      const line = make('li', null, finding.node === null ? make('span', text) : jump(finding.node, text));
      line.className = finding.severity;
      return line;
    });
    parts.push(make('p', `${findings.length} findings:`), make('ul', null, ...shown));
  }
  return parts;
}

function show() {
  const parts = path ? describePath() : chosen.length ? describe(chosen[0]) : overview();
  element('details').replaceChildren(...parts);
  const legend = SCHEMES[scheme].legend().map(([colour, text]) => {
    const mark = make('i');
    if (colour) mark.style.background = colour;
    return make('span', null, ...(colour ? [mark] : []), text);
  });
  element('legend').replaceChildren(...legend);
}

// ---- Searching ----

// The nodes that a text names: a LID, a GUID or the end of one, or a part of the name.
function find(text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  if (/^\d+$/.test(wanted) && nodeOfLid.has(Number(wanted))) return [nodeOfLid.get(Number(wanted))];
  const digits = wanted.replace(/^0x/, '').replaceAll(':', '');
  const all = subnet.nodes.map((node, number) => number);
  const names = number => subnet.nodes[number].name.toLowerCase();
  const ways = [
    number => names(number) === wanted,
    number => names(number).split(/\s+/)[0] === wanted,
    number => digits.length >= 4 && /^[0-9a-f]+$/.test(digits) && subnet.nodes[number].guid.slice(2).endsWith(digits),
    number => names(number).includes(wanted),
  ];
  for (const way of ways) {
    const found = all.filter(way);
    if (found.length) return found;
  }
  return [];
}

function search() {
  const text = element('search').value;
  const found = find(text);
  chosen = [];
  path = null;
  if (found.length === 1) {
    choose(found[0]);
    reveal(found[0]);
    return;
  }
  show();
  if (text.trim()) {
    const shown = found.slice(0, 50).map(number => make('li', null, jump(number, subnet.nodes[number].name)));
    const what = found.length ? `${found.length} nodes:` : 'no node has this name, GUID or LID';
    element('details').replaceChildren(make('p', what), make('ul', null, ...shown));
  }
  redraw();
}

// ---- Hands ----

let drag = null;

canvas.addEventListener('pointerdown', event => {
  drag = { x: event.offsetX, y: event.offsetY, moved: false };
});
canvas.addEventListener('pointermove', event => {
  if (drag) {
    const [across, down] = [event.offsetX - drag.x, event.offsetY - drag.y];
    if (drag.moved || Math.hypot(across, down) > 4) {
      canvas.classList.add('moving');
      drag = { x: event.offsetX, y: event.offsetY, moved: true };
      view.x += across;
      view.y += down;
      isWhole = false;
      redraw();
    }
    return;
  }
  const under = nodeAt(event.offsetX, event.offsetY);
  if (under !== hovered) {
    hovered = under;
    redraw();
  }
});
window.addEventListener('pointerup', event => {
  const wasClick = drag && !drag.moved && event.target === canvas;
  drag = null;
  canvas.classList.remove('moving');
  if (wasClick) choose(nodeAt(event.offsetX, event.offsetY));
});
canvas.addEventListener('dblclick', event => zoom(2, event.offsetX, event.offsetY));
canvas.addEventListener('wheel', event => {
  event.preventDefault();
  zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
}, { passive: false });

// The nearest node in a direction from the chosen one.
function step(across, down) {
  const from = chosen.length ? subnet.nodes[chosen[chosen.length - 1]] : null;
  let best = null;
  let least = Infinity;
  subnet.nodes.forEach((node, number) => {
    if (node === from || !isShown(node)) return;
    const [x, y] = from ? [node.x - from.x, node.y - from.y] : [node.x, node.y];
    const [along, aside] = across ? [x * across, Math.abs(y)] : [y * down, Math.abs(x)];
    if (from && along <= 0) return;
    const distance = along + 3 * aside;
    if (distance < least) [best, least] = [number, distance];
  });
  if (best === null) return;
  chosen = [];
  choose(best);
  const [x, y] = toScreen(subnet.nodes[best].x, subnet.nodes[best].y);
  if (x < 0 || y < 0 || x > canvas.clientWidth || y > canvas.clientHeight) reveal(best);
}

function nextScheme() {
  const names = Object.keys(SCHEMES);
  paintBy(names[(names.indexOf(scheme) + 1) % names.length]);
}

function paintBy(name) {
  scheme = name;
  element('colour').value = name;
  show();
  redraw();
}

function wear(name) {
  theme = name;
  document.documentElement.classList.toggle('dark', name === 'dark');
  element('theme').textContent = name === 'dark' ? 'Light' : 'Dark';
  show();
  redraw();
}

const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = ['INPUT', 'SELECT'].includes(document.activeElement?.tagName);
  if (isTyping) {
    if (event.key === 'Escape') {
      element('search').value = '';
      canvas.focus();
      choose(null);
    }
    return;
  }
  const direction = DIRECTIONS[event.key];
  if (direction) {
    const [across, down] = direction;
    if (event.shiftKey) {
      step(across, down);
    } else {
      view.x -= 60 * across;
      view.y -= 60 * down;
      isWhole = false;
      redraw();
    }
  } else if (event.key === '/') {
    element('search').focus();
  } else if (event.key === '+' || event.key === '=') {
    zoom(1.3);
  } else if (event.key === '-') {
    zoom(1 / 1.3);
  } else if (event.key === '0') {
    fit();
  } else if (event.key === 'c') {
    nextScheme();
  } else if (event.key === 'd') {
    wear(theme === 'dark' ? 'light' : 'dark');
  } else if (event.key === 'Escape') {
    choose(null);
  } else {
    return;
  }
  event.preventDefault();
});

element('search').addEventListener('input', search);
element('colour').addEventListener('change', event => paintBy(event.target.value));
element('fit').addEventListener('click', () => fit());
element('theme').addEventListener('click', () => wear(theme === 'dark' ? 'light' : 'dark'));
element('print').addEventListener('click', () => window.print());
element('help').addEventListener('click', () => element('keys').showModal());
window.addEventListener('resize', () => {
  resize();
  if (isWhole) fit();
});

// On paper: light, the whole map, in as many dots as a sheet can show.
let worn = null;
window.addEventListener('beforeprint', () => {
  worn = { theme, isWhole, ...view };
  wear('light');
  cancelAnimationFrame(drawing);
  drawing = 0;
  const width = 2400;
  const height = Math.round(width * Math.min(subnet.height / subnet.width, 1.4));
  [canvas.width, canvas.height] = [width, height];
  fit(width, height);
  cancelAnimationFrame(drawing);
  drawing = 0;
  paint(width, height, 1);
});
window.addEventListener('afterprint', () => {
  if (!worn) return;
  const { theme: name, scale, x, y } = worn;
  resize();
  Object.assign(view, { scale, x, y });
  isWhole = worn.isWhole;
  worn = null;
  wear(name);
});

// ---- Start ----

// For programs that drive the page: where a node is on the canvas, and what is chosen.
window.subnetMap = {
  screen: number => toScreen(subnet.nodes[number].x, subnet.nodes[number].y),
  chosen: () => chosen,
  path: () => path,
  view: () => ({ ...view, hostsAreShown: hostsAreShown() }),
  restore({ scale, x, y, search: text, colour }) {
    element('search').value = text;
    if (text) search();
    Object.assign(view, { scale, x, y });
    isWhole = false;
    paintBy(colour);
  },
  draw,
};

element('title').textContent = subnet.title;
document.title = subnet.title;
resize();
fit();
wear(window.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
if (subnet.findings.some(finding => finding.severity === 'error')) paintBy('findings');
const wanted = decodeURIComponent(location.hash.slice(1));
if (wanted) {
  element('search').value = wanted;
  search();
}
