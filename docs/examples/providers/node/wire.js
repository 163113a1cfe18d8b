// Frames, calls and the life of the process (§1, §2, §6, §8 of the contract): the part that is the same in every
// provider. Knows no method but initialize, ping and shutdown; `provider` does the rest.
'use strict';
const { setTimeout: sleep } = require('node:timers/promises');
const { faultsOf, isObject } = require('./forms.js');

const FRAME_BYTES = 1024 * 1024; // FR-3: the daemon sends no longer frame
const LEAVE_S = 7; // HS-9 gives ten seconds from the end of stdin to the end of the process
const CHECKING = ['describe', 'list', 'ping', 'shutdown']; // HS-7
const CODES = {
  bad_message: -32600, unknown_method: -32601, bad_params: -32602, internal: -32603, shutting_down: -32001,
  not_initialized: -32002, version: -32010, config: -32011, fenced: -32012, state_locked: -32013, cancelled: -32800,
  no_capacity: 1001, bad_request: 1005, unknown_template: 1006, transient: 1008, price: 1009, quote_gone: 1010, token_conflict: 1011,
  cursor_gone: 1013,
};

/** What goes over the wire as an error. The class decides; `detail` is for people and never holds a stack trace. */
class Refusal extends Error {
  constructor(error_class, detail, data = {}) {
    super(error_class);
    this.data = { error_class, detail, ...data };
  }
}

/** Serve stdin until its end. `provider` has: spoken, shapes, initialize, methods, stop(reason), open(). */
function serve(provider) {
  if (!process.env.PROVISIONER_CONTRACT && process.stdin.isTTY) {
    console.error('This is a provider: the provisioner starts it and speaks JSON with it over stdin and stdout.');
    process.exit(64);
  }
  const calls = new Map(); // id -> {stop: AbortController, done: Promise}, one for every call that is not answered yet
  let stage = 'new'; // new, serving, checking, stopping
  const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const settled = (except) => Promise.all([...calls].filter(([id]) => id !== except).map(([, call]) => call.done));
  const atMost = (seconds, promise) => Promise.race([promise, sleep(seconds * 1000)]);

  /** The end: nothing new is begun, running calls come to a safe point, and a bound stands over all of it. */
  async function leave(code, reason) {
    stage = 'stopping';
    provider.stop(reason);
    await atMost(LEAVE_S, settled());
    process.exit(code);
  }

  function greet(params) {
    if (stage !== 'new') throw new Refusal('bad_message', 'initialize came a second time');
    // HS-3: the version first, since params of another version may look different.
    const offered = Array.isArray(params.versions) ? params.versions : [];
    const version = offered.find((each) => provider.spoken.includes(each));
    if (offered.length && !version) throw new Refusal('version', undefined, { supported: provider.spoken });
    inForm('initialize', params);
    const result = provider.initialize(params);
    stage = params.mode === 'check' ? 'checking' : 'serving';
    return { version, ...result };
  }

  async function shutDown(id, params) {
    stage = 'stopping';
    provider.stop('shutting_down');
    await atMost(Math.max(0.5, params.grace_s - 1), settled(id)); // HS-8: it is answered last
    return { open: provider.open() };
  }

  function inForm(method, params) {
    const faults = faultsOf(provider.shapes[method], params);
    if (faults.length) throw new Refusal('bad_params', 'the params do not have their shape', { faults });
  }

  async function work(id, method, params, signal) {
    if (stage === 'new' && method !== 'initialize') throw new Refusal('not_initialized');
    if (method === 'initialize') return greet(params);
    if (stage === 'stopping') throw new Refusal('shutting_down');
    if (!Object.hasOwn(provider.shapes, method)) throw new Refusal('unknown_method');
    if (stage === 'checking' && !CHECKING.includes(method)) throw new Refusal('bad_message', 'started to check only');
    inForm(method, params);
    if (method === 'shutdown') return shutDown(id, params);
    if (method === 'ping') return { ...provider.methods.ping(params), in_flight: calls.size - 1, queued: 0 };
    return provider.methods[method](params, signal);
  }

  async function answer(id, method, params, signal) {
    try {
      send({ id, result: await work(id, method, params, signal) });
    } catch (problem) {
      const known = problem instanceof Refusal;
      if (!known) console.error(problem); // the stack goes to the log; the wire learns the class and no more
      const data = known ? problem.data : { error_class: 'internal' };
      send({ id, error: { code: CODES[data.error_class], message: data.error_class, data } });
      if (method === 'initialize' && stage === 'new') {
        process.exit({ version: 78, config: 78, bad_params: 1, transient: 1, internal: 1 }[data.error_class] ?? 0);
      }
    }
  }

  function take(message) {
    const { id, method } = message;
    const params = message.params ?? {};
    if (method === undefined) return; // FR-5: never answered
    const isCall = Number.isSafeInteger(id) && id >= 1;
    const isWhole = message.jsonrpc === '2.0' && typeof method === 'string' && isObject(params);
    if (!isCall) {
      if (isWhole && (id === undefined || id === null)) hear(method, params);
    } else if (!isWhole) {
      send({ id, error: { code: CODES.bad_message, message: 'bad_message', data: { error_class: 'bad_message' } } });
    } else {
      const call = { stop: new AbortController() };
      calls.set(id, call);
      call.done = answer(id, method, params, call.stop.signal).finally(() => calls.delete(id));
    }
  }

  /** Notifications. Unknown ones are dropped (FR-6), and before the handshake only `exit` counts (HS-2). */
  function hear(method, params) {
    if (method === 'exit') leave(0, 'shutting_down');
    if (method === 'cancel_call') calls.get(params.id)?.stop.abort(); // CC-6: it will be answered all the same
  }

  // Frames (FR-1): bytes are cut at 0x0A and only then decoded, so that no character is ever torn.
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let held = [], heldBytes = 0;
  function cut(chunk) {
    for (let end; (end = chunk.indexOf(0x0a)) >= 0; chunk = chunk.subarray(end + 1)) {
      if (heldBytes + end <= FRAME_BYTES) readLine(Buffer.concat([...held, chunk.subarray(0, end)]));
      held = [], heldBytes = 0;
    }
    heldBytes += chunk.length;
    held = heldBytes <= FRAME_BYTES ? [...held, chunk] : []; // the rest of too long a line is thrown away as it comes
  }

  function readLine(bytes) {
    let message;
    try {
      message = JSON.parse(utf8.decode(bytes).replace(/\r$/, '') || 'null');
    } catch {
      message = undefined; // FR-4: no message; it is skipped, and what follows counts
    }
    if (isObject(message)) take(message);
    else if (message !== null) console.error(`skipped a line of ${bytes.length} bytes that is no message`);
  }

  process.stdin.on('data', cut);
  process.stdin.on('end', () => leave(0, 'shutting_down')); // a line without its LF is no frame
  process.stdout.on('error', () => process.exit(1)); // nobody listens any more
  process.on('SIGTERM', () => leave(0, 'shutting_down'));
  return leave;
}

module.exports = { serve, Refusal };
