// Calls of grpc-js, with messages that proto-loader reads from the worker's own .proto files.
// Prints what came of them as JSON, for test_node_client.py: node calls.js ADDRESS PROTO_FOLDER
'use strict';

const path = require('node:path');
const grpc = require('@grpc/grpc-js');
const protoLoader = require('@grpc/proto-loader');

const [address, folder] = process.argv.slice(2);
const STREAMED = 20;
const ROW = 16;

const definition = protoLoader.loadSync(path.join(folder, 'inference.proto'), {
  keepCase: true,
  longs: String,
  defaults: true,
  oneofs: true,
});
const { GRPCInferenceService } = grpc.loadPackageDefinition(definition).inference;
const client = new GRPCInferenceService(address, grpc.credentials.createInsecure());

const counting = (start) => Array.from({ length: ROW }, (_, n) => start + n);
const tensor = (numbers) => Buffer.from(Int32Array.from(numbers).buffer);
const numbers = (bytes) => Array.from({ length: bytes.length / 4 }, (_, n) => bytes.readInt32LE(4 * n));

function request(start, more = {}) {
  const inputs = ['INPUT0', 'INPUT1'].map((name) => ({ name, datatype: 'INT32', shape: [1, ROW] }));
  const raw_input_contents = [tensor(counting(start)), tensor(Array(ROW).fill(3))];
  return { model_name: 'simple', inputs, raw_input_contents, ...more };
}

function unary(method, message, options = {}) {
  return new Promise((resolve, reject) => {
    client[method](message, options, (error, answer) => (error ? reject(error) : resolve(answer)));
  });
}

const told = (answer) => ({ id: answer.id, outputs: answer.raw_output_contents.map(numbers) });
const status = (error) => ({ code: grpc.status[error.code], details: error.details });
const statusOf = (promise) => promise.then(() => ({ code: 'OK' }), status);

/** Sends as many requests as it is told to, and resolves once the stream has ended. */
function stream(count, options, onAnswer = (call, answers) => answers.length === count && call.end()) {
  return new Promise((resolve) => {
    const call = client.ModelStreamInfer(options);
    const answers = [];
    call.on('data', (message) => {
      answers.push(message.error_message ? { error: message.error_message } : told(message.infer_response));
      onAnswer(call, answers);
    });
    call.on('error', () => {}); // told by 'status' too
    call.on('status', (end) => resolve({ answers, end: grpc.status[end.code] }));
    for (let n = 0; n < count; n++) {
      call.write(n === 1 ? request(n, { model_name: 'ghost' }) : request(n, { id: String(n) }));
    }
  });
}

const after = (milliseconds) => ({ deadline: Date.now() + milliseconds });

async function main() {
  const seen = {};
  seen.live = (await unary('ServerLive', {})).live;
  seen.metadata = (await unary('ModelMetadata', { name: 'simple' })).inputs;
  seen.unary = told(await unary('ModelInfer', request(5, { id: 'q' }), after(60_000)));
  seen.unknown = await statusOf(unary('ModelMetadata', { name: 'ghost' }));
  seen.budget = await statusOf(
    unary('ModelInfer', request(0, { parameters: { reactant_timeout_ns: { int64_param: '1' } } })),
  );
  seen.stream = await stream(STREAMED, after(60_000));
  // Answered, and then left open on purpose: only the deadline, or the client, can end these two.
  seen.deadline = (await stream(1, after(500), () => {})).end;
  seen.cancelled = await stream(1, after(60_000), (call) => call.cancel());
  seen.afterwards = told(await unary('ModelInfer', request(7)));
  client.close();
  console.log(JSON.stringify(seen));
}

main();
