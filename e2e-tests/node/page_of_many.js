// Serves the live page's files with made-up events of many models, for test_page.py: node page_of_many.js FILES MODELS
// Prints the address once it listens.
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
    at: Date.now(), unknownBecause: null,
    device: Object.fromEntries(USES.map((use, i) => [use, second * [720000, 20000, 160000, 40000, 10000, 50000][i]])),
    residentBytes: 9.1e9, discipline: 'fair', running: name(3), armed: name(1), budgetBytes: 1e10, pinnedBytes: 1e9, loadingBytes: 2e7,
    runs: { ever: 1000 * second, spans }, loads: { ever: 12 * second, spans: loads }, gone: [], models, left: 0,
  };
}

const server = http.createServer((request, response) => {
  if (request.url === '/ui') {
    response.writeHead(302, { Location: 'ui/' }).end();
  } else if (request.url === '/ui/events') {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    let told = 0;
    const send = (event, data) => response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    send('begin', { fields: FIELDS, uses: USES, changes: { weight: true, pinned: false }, recording: true });
    const tell = () => send('moment', moment(told + 1, told++));
    tell();
    const timer = setInterval(tell, 1000);
    response.on('close', () => clearInterval(timer));
  } else if (request.method === 'POST' && request.url === '/actuator/recording') {
    response.writeHead(200, { 'Content-Type': 'application/octet-stream' }).end('FLR');
  } else if (request.method === 'POST' && request.url.startsWith('/actuator/models/')) {
    request.setEncoding('utf8');
    let body = '';
    request.on('data', (part) => (body += part));
    request.on('end', () => response.writeHead(200).end(body));
  } else if (request.url.startsWith('/actuator/models/')) {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ programs: PROGRAMS, history: HISTORY }));
  } else {
    const file = path.join(files, path.basename(request.url === '/ui/' ? 'index.html' : request.url));
    if (!fs.existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'Content-Type': TYPES[path.extname(file)] });
    fs.createReadStream(file).pipe(response);
  }
});
server.listen(0, '127.0.0.1', () => console.log(`127.0.0.1:${server.address().port}`));
