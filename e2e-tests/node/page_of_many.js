// Serves the live page's files with made-up events of many models, for test_page.py: node page_of_many.js FILES MODELS
// Under /gateway the same as one of many workers behind a gateway, under /node behind a node. Prints the address once it listens.
'use strict';

const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');

const [files, count] = process.argv.slice(2);
const MODELS = Number(count);
const TYPES = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.svg': 'image/svg+xml' };
const FIELDS = [
  'name', 'version', 'state', 'reason', 'place', 'pinned', 'weight', 'due', 'queued', 'why', 'words', 'waitedMicros', 'inMicros',
  'nextUseSeconds', 'deviceBytes', 'completed', 'failed', 'shed', 'refused', 'runs', 'rows', 'paddingRows', 'computeMicros', 'loads',
  'evictions',
];
const USES = ['running', 'no-requests', 'weights', 'held', 'answers', 'dispatch'];
const BUSY = 24;
const WORKERS = 1000;
const SOME = { control: true, loaded: false };
const EVERYTHING = { control: true, loaded: true };
const PROGRAMS = [1, 4, 16].map((batchSize) => ({
  variant: 0, batchSize, meanMicros: 1200 + 90 * batchSize, highMicros: 1500 + 120 * batchSize, runs: Math.round(5000 / batchSize), meanFill: 0.8,
}));

const HISTORY = {
  answers: [{ upToMicros: 2000, requests: 60 }, { upToMicros: 9000, requests: 39 }, { upToMicros: 40000, requests: 1 }],
  waits: [{ upToMicros: 500, requests: 100 }],
  notAnswered: [
    { how: 'refused', reason: 'resource-exhausted', requests: 3, words: 'as many waited as may', settings: [{ key: 'scheduler.max-queue-depth', value: 1024 }] },
  ],
  madeRoomFor: [{ model: 'model-00007', secondsAgo: 90 }, { model: null, secondsAgo: 3 }],
  tookRoomOf: [],
};

/** Numbers that look like chance and are the same each time. */
function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const place = (n) => n + ({ 1: 'st', 2: 'nd', 3: 'rd' }[n % 10 && Math.floor(n / 10) % 10 !== 1 ? n % 10 : 0] ?? 'th');
const name = (n) => `model-${String(n).padStart(5, '0')}`;

function row(n, second) {
  const busy = n < BUSY;
  const where = busy ? (n % 5 === 4 ? 'loading' : 'device') : ['device', 'host', 'file'][n % 3];
  const waits = busy && n % 2 === 0;
  const words = n % 4 === 0 ? `${place(n + 1)} by share, behind '${name(n + 1)}'` : `absent; ${place(n)} on the link, behind '${name(n + 1)}', about 6 ms`;
  const runs = busy ? (BUSY - n) * 10 * second : 0;
  return [
    name(n), '1', n % 997 === 5 ? 'failed' : 'ready', n % 997 === 5 ? 'weights.safetensors is cut short' : '', where, n % 400 === 3, 1,
    busy ? 1 / BUSY : null, waits ? (n * 7) % 40 : 0, waits ? 'device' : '', waits ? words : '', waits ? 1000 * (n + second) : null, null,
    busy ? 0.2 : 60, 4e6, runs * 3, 0, 0, 0, runs, runs * 3, runs, runs * 1500, second, second,
  ];
}

function moment(second, told) {
  const chance = random(second + 1);
  const spans = [];
  for (let ago = 0; ago < 1e6; ) {
    const took = 1000 + chance() * 8000;
    const idle = chance() < 0.1 ? 20000 * chance() : 300;
    spans.unshift([name(Math.floor(chance() ** 2 * BUSY)), ago, took]);
    ago += took + idle;
  }
  const loads = Array.from({ length: 12 }, (_, i) => [name(Math.floor(chance() * BUSY)), 80000 * i, 30000 * chance()]);
  const first = told === 0;
  const models = first ? Array.from({ length: MODELS }, (_, n) => row(n, second)) : Array.from({ length: BUSY }, (_, n) => row(n, second));
  return {
    at: Date.now(), ready: !draining, draining, unknownBecause: null,
    device: Object.fromEntries(USES.map((use, i) => [use, second * [720000, 20000, 160000, 40000, 10000, 50000][i]])),
    residentBytes: 9.1e9, discipline: 'fair', running: name(3), armed: name(1), budgetBytes: 1e10, pinnedBytes: 1e9, loadingBytes: 2e7,
    runs: { ever: 1000 * second, spans }, loads: { ever: 12 * second, spans: loads }, gone: [], models, left: 0,
  };
}

let draining = false;

const workerName = (n) => `w${String(n).padStart(4, '0')}`;

/** As a gateway sees them: one is down, one was left alone, one is. */
function workers(second) {
  return Array.from({ length: WORKERS }, (_, n) => {
    const at = new Date(Date.now() - 60000 * n).toISOString();
    const lastEjection = n === 1 || n === 2 ? { status: 'UNAVAILABLE', text: 'no device', failures: 3, at, until: at } : null;
    return {
      worker: workerName(n), address: `10.0.${n >> 8}.${n & 255}:8001`, ready: n !== 3, reason: n === 3 ? 'UNAVAILABLE: connection refused' : '', since: at,
      models: MODELS, modelsReady: MODELS - 1, outstandingSeconds: 0.02, openCalls: n % 7, answered: 100 * second * (n % 5), failed: n === 3 ? second : 0,
      ejected: n === 1, failuresInRow: 0, ejections: lastEjection ? 1 : 0, lastEjection, followed: 0, hedges: { sentOn: 0, taken: 0, won: 0 },
    };
  });
}

function placement() {
  const models = Array.from({ length: MODELS }, (_, n) => ({
    name: name(n), configuredReplicas: n % 50 ? 0 : 4, effectiveReplicas: n % 50 ? 1 : 4,
    replicas: Array.from({ length: n % 50 ? 1 : 3 }, (_, i) => ({ worker: workerName((n + i) % WORKERS), weight: 1, outstanding: 0, routedTotal: 0 })),
    utilization: n < BUSY ? (BUSY - n) / 100 : 0, arrivalRate: n < BUSY ? 10 * (BUSY - n) : 0, costSeconds: 0.0011, maxBatch: 4,
    fillMode: 'run', fillQuantum: 1, weightNbytes: 4e6, placed: true, drifted: true,
  }));
  const repack = { lastTrigger: 'startup', lastRepackUnixSeconds: Date.now() / 1000, lastModelsMoved: 0, repackCount: 1 };
  return { mode: 'lpt_packing', repack, models, warnings: ["worker 'w0004' is given 3000 bytes of weights and has room for 2500: models take turns there"] };
}

const NODE = {
  ready: true, maxRestarts: 5,
  devices: { platform: 'cuda', source: 'nvml', gpus: [{ id: 'GPU-0', worker: 'worker0', usedBytes: 12e9, totalBytes: 80e9 }] },
  processes: [
    ['worker0', 'RUNNING', true, 0, 0, null, 'GPU-0'], ['worker1', 'BACKING_OFF', false, 3, 8, 70, 'GPU-1'], ['gateway', 'RUNNING', true, 0, 0, null, null],
  ].map(([name, state, ready, restarts, backoffSeconds, lastExit, device]) => ({
    name, state, ready, restarts, backoffSeconds, lastExit, device, pid: ready ? 4711 : null, secondsInState: 3, starts: restarts + 1, endsInARow: restarts,
    ports: { grpc: 8001, http: 8000, metrics: 8002 },
  })),
};

const REPOSITORY = {
  mode: 'explicit',
  models: [
    { name: 'never-loaded', version: '', state: 'UNLOADED', reason: '', calledBy: [] },
    { name: name(0), version: '1', state: 'READY', reason: '', calledBy: ['an-ensemble'] },
  ],
};

function events(response, changes) {
  let told = 0;
  const send = (event, data) => response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  send('begin', { fields: FIELDS, uses: USES, changes });
  const tell = () => send('moment', moment(told + 1, told++));
  tell();
  const timer = setInterval(tell, 1000);
  response.on('close', () => clearInterval(timer));
}

function chosenEvents(response, process, worker) {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  if (process === '') {
    events(response, SOME);
  } else if (worker !== null) {
    events(response, EVERYTHING);
  } else {
    const names = process === 'node' ? ['worker0', 'worker1'] : Array.from({ length: WORKERS }, (_, n) => workerName(n));
    response.end(`event: process\ndata: ${JSON.stringify({ process, changes: EVERYTHING })}\n\nevent: workers\ndata: ${JSON.stringify(names)}\n\n`);
  }
}

/** Says what it was told, and takes it to heart where that can be seen. */
function change(request, response, worker) {
  request.setEncoding('utf8');
  let body = '';
  request.on('data', (part) => (body += part));
  request.on('end', () => {
    const told = JSON.parse(body);
    draining = told.draining ?? draining;
    response.writeHead(200).end(JSON.stringify(worker === null ? told : { workers: { [worker]: told } }));
  });
}

function document(path, worker, second) {
  if (path === 'workers') return { workers: workers(second) };
  if (path === 'placement') return placement();
  if (path === 'node') return NODE;
  if (path === 'repository') return { workers: [{ worker, answered: true, failure: null, seconds: 0, answer: REPOSITORY }] };
  return { programs: PROGRAMS, history: HISTORY };
}

const TOKEN = 'of-an-operator'; // which changes at the worker's page need
const began = Date.now();
const server = http.createServer((request, response) => {
  const url = new URL(request.url, 'http://localhost');
  const [, process = '', rest] = /^(?:\/(gateway|node))?\/(.*)$/.exec(url.pathname);
  const worker = url.searchParams.get('worker');
  if (rest === 'ui') {
    response.writeHead(302, { Location: 'ui/' }).end();
  } else if (rest === 'ui/events') {
    chosenEvents(response, process, worker);
  } else if (request.method === 'POST' && rest.startsWith('actuator/recording')) {
    response.writeHead(200, { 'Content-Type': 'application/octet-stream' }).end('FLR');
  } else if (request.method === 'POST' && !process && request.headers.authorization !== `Bearer ${TOKEN}`) {
    response.writeHead(401, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ error: request.headers.authorization ? 'the bearer token is not known here' : 'a token is wanted' }));
  } else if (request.method === 'POST') {
    change(request, response, worker);
  } else if (rest.startsWith('actuator/')) {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(document(rest.split('/')[1], worker, Math.floor((Date.now() - began) / 1000))));
  } else {
    const file = path.join(files, rest === 'ui/' ? 'index.html' : path.basename(rest));
    if (!fs.existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'Content-Type': TYPES[path.extname(file)] });
    fs.createReadStream(file).pipe(response);
  }
});
server.listen(0, '127.0.0.1', () => console.log(`127.0.0.1:${server.address().port}`));
