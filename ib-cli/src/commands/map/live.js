'use strict';

// The page of a running manager: it asks for the subnet, then for the manager's state, and draws again when routes change.
// Everything that it sends is GET.
const INTERVAL = 2000;
const KEPT = 'subnet-map';
const state = document.getElementById('state');
let shown = null;

function tell(status) {
  const age = Math.round(status.sweep_age);
  const parts = [status.state, status.up ? 'up' : 'NOT up', `sweep ${age} s ago`, `${status.ports.active} ports active`];
  if (status.ports.not_active) parts.push(`${status.ports.not_active} not active`);
  if (status.silent) parts.push(`${status.silent} silent`);
  if (status.errors) parts.push(`${status.errors} errors`);
  state.textContent = parts.join(' · ');
  state.className = status.up ? '' : 'error';
}

async function ask(path) {
  const answer = await fetch(path, { cache: 'no-store' });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

// What the viewer looks at stays when the page begins anew.
function keep() {
  const { scale, x, y } = window.subnetMap.view();
  const search = document.getElementById('search').value;
  const colour = document.getElementById('colour').value;
  sessionStorage.setItem(KEPT, JSON.stringify({ scale, x, y, search, colour }));
}

function restore() {
  const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? 'null');
  sessionStorage.removeItem(KEPT);
  if (kept) window.subnetMap.restore(kept);
}

async function follow() {
  try {
    const status = await ask('status');
    tell(status);
    if (shown === null && status.topology !== null) {
      document.getElementById('data').textContent = JSON.stringify(await ask('topology'));
      const script = document.createElement('script');
      script.src = 'map.js';
      script.onload = restore;
      document.body.append(script);
      shown = status.topology;
    } else if (shown !== null && status.topology !== shown) {
      keep();
      location.reload();
      return;
    }
  } catch (error) {
    state.textContent = `the manager does not answer (${error.message})`;
    state.className = 'error';
  }
  setTimeout(follow, INTERVAL);
}

follow();
