#!/usr/bin/env node
// A provider in plain Node: machines in racks, switched on for whoever buys them. No packages, no build step.
//
// wire.js speaks, forms.js and shapes.js check, records.js remembers, room.js is the far side, and this file is the
// provider: what each method means. The room keeps the token of every machine, so a repeated purchase can be told from
// a new one, and token.replay is `exact`. A purchase is a job that sleeps between machines, so many go on at once;
// JavaScript runs one piece of code at a time, so what has no `await` in it needs no lock.
'use strict';
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { faultsOf, nanos } = require('./forms.js');
const { StateFolder } = require('./records.js');
const { Room, rackOf } = require('./room.js');
const { shapes, CONFIG, DEFAULTS, contentOf } = require('./shapes.js');
const { serve, Refusal } = require('./wire.js');

const ANSWER_S = 20; // a purchase that takes longer is answered `pending` and goes on (RQ-2)
const KEEP_S = 30 * 86_400;
const ANSWER_CHARS = 500_000; // RS-1: a status that would be longer leaves out reports, which are asked for again
const notMade = (error_class, detail) => new Refusal(error_class, detail, { outcome: 'not_made' });

// -------------------------------------------------------------------------------------------------- how a process begins

let session, config, state, room, purchases, returns;
const jobs = new Map(); // token -> the purchase under way in this process

function initialize(params) {
  const faults = faultsOf(CONFIG, params.config); // HS-4: all faults of the configuration, not the first
  if (faults.length) throw new Refusal('config', 'the configuration has faults', { faults });
  session = params;
  config = { ...DEFAULTS, ...stated(params.config) };
  state = new StateFolder(params.state_dir);
  state.lock();
  const state_id = state.claimEpoch(session.lineage, session.epoch);
  purchases = state.open('purchases');
  returns = state.open('returns');
  room = new Room(config.room ?? path.join(params.state_dir, 'room'), config.racks, config.boot_s);
  if (!config.room) room.furnish();
  dropOldRecords();
  return {
    provider: { name: 'racks', version: '1.0' }, kinds: ['host'], state_id, capabilities: ['cancel', 'forget'],
    promises: {
      token: { replay: 'exact', lifetime_s: KEEP_S },
      mark: { kept: 'far_side' },
      list: { covers: 'far_side', delay_s: 0 },
      memory: { where: 'state_dir', keep_s: KEEP_S }, // what was given back is known here only
      limits: { price_cap: 'life', min_units: 'best_effort', deadline: 'honoured' },
      return: { partial: false, observed: true, typical_s: 0 },
      calls: { in_flight: 16, answer_s: { request: ANSWER_S + 10 }, not_after: 'honoured', late_effect_s: 0 },
    },
  };
}

const stated = (object) => Object.fromEntries(Object.entries(object).filter(([, v]) => v !== null && v !== undefined));
const bootNow = () => Number(fs.readFileSync('/proc/uptime', 'latin1').split(' ')[0]); // CLOCK_BOOTTIME, as not_after

/** EP-2, EP-4: asked right before every change at the far side. */
function fence(params) {
  if (params.epoch !== session.epoch) throw notMade('fenced', 'not the epoch of this process');
  if (bootNow() >= params.not_after) throw notMade('fenced', 'too late to begin');
  if (state.epochOf(session.lineage) !== session.epoch) {
    leave(0, 'fenced');
    throw notMade('fenced', 'a higher epoch was here');
  }
}

function dropOldRecords() {
  const { machines, missing } = room.read();
  if (missing.length) return;
  const isOld = (record) => record.closed_at !== undefined && Date.now() - record.closed_at > KEEP_S * 1000;
  for (const [name, record] of returns.byName) if (isOld(record)) returns.drop(name);
  for (const [token, record] of purchases.byName) {
    if (!isOld(record) || !record.mark || record.instances.some((id) => machines.has(id))) continue;
    // Its token and its outcome stay: else it would be bought again, or be called not made (OT-1).
    const { request_id, content, outcome, closed_at } = record;
    try {
      purchases.keep(token, { request_id, token, content, outcome, instances: [], problems: [], closed_at });
    } catch (problem) { // a full disk, say: it stays large until the next start
      console.error(problem);
    }
  }
}

// ------------------------------------------------------------------------------------------------------------- purchases

async function request(params, cancelled) {
  let record = purchases.get(params.token);
  const content = contentOf(params);
  if (record?.content && record.content !== content) throw new Refusal('token_conflict', 'it has bought something else');
  if (record && record.outcome !== 'open') return report(record);
  if (!jobs.has(params.token)) {
    if (state.damaged) throw notMade('transient', 'records are unreadable: see *.unreadable in the state folder');
    // RQ-3: what we add ourselves, here price and image, is settled now and is the same at each repetition.
    const settled = record ?? sell(params);
    fence(params);
    try { // ST-1: the record is on the disk before anything happens at the far side
      record = purchases.keep(params.token, { ...settled, content, outcome: 'open' });
    } catch (problem) { // ST-2: the disk is full, say
      console.error(problem);
      throw record ? problem : notMade('transient', 'the record could not be written');
    }
    begin(params, record);
  }
  const job = jobs.get(params.token);
  cancelled.addEventListener('abort', () => job.stop.abort(new Refusal('cancelled')), { once: true });
  await Promise.race([job.done, sleep(ANSWER_S * 1000)]);
  return report(purchases.get(params.token));
}

/** The terms of a purchase that nobody has seen before, or why there is none. */
function sell(params) {
  const rack = Object.hasOwn(config.racks, params.template) ? config.racks[params.template] : undefined;
  if (!rack) throw notMade('unknown_template');
  if (params.quote) throw notMade('quote_gone');
  if (params.units > rack.slots) throw notMade('bad_request', 'more than max_units');
  if (!params.price_cap) {
    throw new Refusal('bad_params', undefined, { faults: [{ path: '/price_cap', detail: 'is required' }] });
  }
  const price = { amount: config.price, currency: config.currency, per: 'hour' };
  if (params.price_cap.currency !== price.currency || params.price_cap.per !== price.per ||
    nanos(params.price_cap.amount) < nanos(price.amount)) throw notMade('price', `it is ${price.amount} ${price.currency}`);
  if (params.deadline && Date.parse(params.deadline) <= Date.now()) throw notMade('transient', 'the deadline is over');
  const seen = room.read();
  if (seen.isBlind(params.template)) throw notMade('transient', 'the rack cannot be read');
  const free = freeIn(params.template, seen);
  if (free < (params.min_units ?? 1)) throw notMade('no_capacity', `${free} are free`);
  const { request_id, token, template, units, mark, deadline } = params;
  return { request_id, token, template, units, mark, deadline, price, image: config.image, instances: [], problems: [] };
}

const freeIn = (rack, { machines }) =>
  Math.max(0, config.racks[rack].slots - [...machines.values()].filter((each) => each.rack === rack).length);

function begin(params, record) {
  const job = { stop: new AbortController() };
  job.done = buy(params, record, job.stop.signal).catch((problem) => console.error(problem))
    .finally(() => jobs.delete(params.token));
  jobs.set(params.token, job);
}

/** Take machines one by one until all are there or something stops us, and then close the purchase for ever. */
async function buy(params, record, stop) {
  let problem;
  try {
    record = withFound(record); // what an earlier sending took before it was cut off counts: this makes it `exact`
    while (record.instances.length < record.units) {
      await sleep(config.slow_s * 1000, undefined, { signal: stop });
      if (record.deadline && Date.parse(record.deadline) <= Date.now()) throw new Refusal('transient', 'deadline is over');
      fence(params);
      record = purchases.keep(record.token, { ...record, instances: [...record.instances, room.take(record)] });
    }
  } catch (why) {
    const reason = stop.aborted ? stop.reason : why;
    if (!(reason instanceof Refusal)) console.error(reason);
    problem = reason instanceof Refusal ? reason.data : { error_class: 'transient', detail: 'the room failed' };
  }
  close(record, problem);
}

/** A record with the machines that bear its token at the far side, in whatever words they were left. */
function withFound(record) {
  const { machines, isBlind } = room.read();
  if (isBlind(record.template)) throw new Refusal('transient', 'the rack cannot be read');
  const isOfIt = ({ mark }) => mark.token === record.token && mark.lineage === record.mark.lineage;
  const found = [...machines.values()].filter(isOfIt).map(({ instance }) => instance);
  return { ...record, instances: [...new Set([...record.instances, ...found])] };
}

/** Final: the words are on the disk before anybody hears them (ST-1), and never change (RP-1). */
function close(record, problem) {
  const whole = withFound(record);
  const short = whole.units - whole.instances.length;
  const problems = problem && short > 0 ? [{ error_class: problem.error_class, detail: problem.detail, units: short }] : [];
  const outcome = whole.instances.length ? 'made' : 'not_made';
  return purchases.keep(record.token, { ...whole, outcome, problems, closed_at: Date.now() });
}

/** What is said of a purchase, always from its record and what the far side shows now. */
function report(record, seen = room.read()) {
  const { request_id, token } = record;
  if (record.outcome === 'open' && jobs.has(token)) {
    return { request_id, token, outcome: 'pending', instances: views(record, seen), poll_after_s: 2 };
  }
  if (record.outcome === 'open') {
    // A crash cut it off. What stands is told; whether more comes is not known until the request is sent again (ST-6).
    const found = seen.isBlind(record.template) ? record : withFound(record);
    return { request_id, token, outcome: 'unknown', instances: views(found, seen) };
  }
  return { request_id, token, outcome: record.outcome, instances: views(record, seen), problems: record.problems };
}

const views = (record, seen) => record.instances.map((id) => view(id, record.template, seen));

function view(instance, template, { machines, isBlind }) {
  const machine = machines.get(instance);
  const same = { instance, kind: 'host', template };
  if (isBlind(rackOf(instance))) return { ...same, units: 1, state: 'unknown' };
  if (!machine) return { ...same, units: 0, state: 'gone', reason: wasReturned(instance) ? 'returned' : 'outside' };
  return { ...same, units: 1, state: Date.now() < machine.ready_at ? 'booting' : 'running', price: machine.price,
    name: instance.split('.')[0], place: { rack: machine.rack }, made_at: new Date(machine.made_at).toISOString() };
}

const wasReturned = (id) => [...returns.byName.values()].some(({ items }) => items.some((item) => item.instance === id));

/** Never heard of, and our records are whole: it is not made, and a tombstone sees to it that it never will be (§4). */
function neverHeardOf({ request_id, token }) {
  if (state.damaged) return { request_id, token, outcome: 'unknown', instances: [] };
  return report(purchases.keep(token, { request_id, token, outcome: 'not_made', instances: [], problems: [],
    closed_at: Date.now() }));
}

function requestStatus({ requests }) {
  const seen = room.read(), reports = [];
  let chars = 0;
  for (const asked of requests) {
    const record = purchases.get(asked.token);
    const found = record ? report(record, seen) : neverHeardOf(asked);
    chars += JSON.stringify(found).length;
    if (reports.length && chars > ANSWER_CHARS) break;
    reports.push(found);
  }
  return { requests: reports };
}

/** CN-1: no further machine is taken; nothing is given back. */
async function cancel(params) {
  fence(params);
  const job = jobs.get(params.token);
  job?.stop.abort(new Refusal('cancelled'));
  await job?.done;
  const record = purchases.get(params.token);
  if (!record) return neverHeardOf(params);
  return report(record.outcome === 'open' ? close(record, { error_class: 'cancelled' }) : record);
}

/**
 * The daemon has stored these final answers for good and does not ask again. A purchase of which nothing is left shrinks
 * to its token, which is never bought again; one with living machines keeps its record, for they will be given back.
 */
function forget({ tokens, returns: return_ids }) {
  const { machines, isBlind } = room.read();
  const isOver = (record) => record && record.outcome !== 'open' && !isBlind(record.template) &&
    !record.instances.some((id) => machines.has(id));
  for (const record of (tokens ?? []).map((token) => purchases.get(token)).filter(isOver)) {
    const { request_id, token, content, outcome, closed_at } = record;
    purchases.keep(token, { request_id, token, content, outcome, closed_at, instances: [], problems: [] });
  }
  for (const return_id of return_ids ?? []) returns.drop(return_id);
  return {};
}

// ------------------------------------------------------------------------------------------------------------ give-backs

function giveBack(params) {
  fence(params);
  returns.keep(params.return_id, { items: params.items, closed_at: Date.now() });
  const { machines } = room.read();
  for (const { instance, keep } of params.items) {
    const machine = machines.get(instance);
    if (keep > 0 || !machine || !isOurs(machine)) continue;
    fence(params);
    room.free(machine);
  }
  return { items: settled(params.items) };
}

const isOurs = ({ mark }) => mark.cluster === session.cluster && mark.provider === session.provider;

/** One word on each item, from what the far side shows now: `returned` is an observation. */
function settled(items) {
  const { machines, isBlind } = room.read();
  const known = new Set([...purchases.byName.values()].flatMap((record) => record.instances));
  return items.map(({ instance, keep }) => {
    if (keep > 0) return { instance, state: 'failed', problem: { error_class: 'unsupported', detail: 'all or nothing' } };
    if (isBlind(rackOf(instance))) return { instance, state: 'unknown', problem: { error_class: 'transient' } };
    if (machines.has(instance)) return { instance, state: isOurs(machines.get(instance)) ? 'failed' : 'not_found' };
    return known.has(instance) ? { instance, state: 'returned', units: 0 } : { instance, state: 'not_found' };
  });
}

const returnStatus = (params) => ({
  returns: params.returns.map((return_id) => {
    const record = returns.get(return_id);
    return record ? { return_id, items: settled(record.items) } : { return_id };
  }),
});

// ------------------------------------------------------------------------------------------------------ what there is

function describe({ known }) {
  const seen = room.read();
  const templates = Object.entries(config.racks).map(([template, { slots, cores, memory_gib }]) => ({
    template, kind: 'host', unit: 'machine', units_per_instance: 1, place: { rack: template }, model: 'owned',
    attributes: { cores, memory: { value: memory_gib, unit: 'GiB' } },
    // What can't be read is not stated; it is never told as zero.
    capacity: seen.isBlind(template) ? { max: slots } : { max: slots, available: freeIn(template, seen) },
    granularity: { max_units: slots }, price: { amount: config.price, currency: config.currency, per: 'hour' },
    billing: { starts: 'made', ends: 'gone' }, lead_time: { typical_s: config.boot_s, worst_s: config.boot_s + 60 },
  }));
  const revision = crypto.createHash('sha256').update(JSON.stringify(templates)).digest('hex').slice(0, 16);
  return revision === known ? { revision, base: known } : { revision, templates };
}

/** Pages in the order of ids; the cursor says after which id to go on, and whether all was readable so far (LS-3). */
function list({ cursor, limit, instances, scope }) {
  const seen = room.read();
  const [, before, after] = /^(all|some):(.*)$/.exec(cursor ?? 'all:') ?? [];
  if (before === undefined) throw new Refusal('cursor_gone');
  const rows = new Map();
  for (const { instance, mark, rack } of seen.machines.values()) {
    if (mark.cluster !== session.cluster || (mark.provider !== session.provider && scope !== 'cluster')) continue;
    rows.set(instance, { ...view(instance, rack, seen), mark });
  }
  for (const record of purchases.byName.values()) { // in a rack that can't be read: ours as far as known
    for (const id of record.instances.filter((each) => seen.isBlind(rackOf(each)) && !wasReturned(each))) {
      rows.set(id, { ...view(id, record.template, seen), mark: record.mark });
    }
  }
  if (instances) {
    return { instances: instances.filter((id) => rows.has(id)).map((id) => rows.get(id)), age_s: 0, complete: false,
      not_found: instances.filter((id) => !rows.has(id)) };
  }
  const ids = [...rows.keys()].filter((id) => id > after).sort();
  const page = ids.slice(0, limit ?? 1000);
  const isWhole = before === 'all' && !seen.missing.length;
  const result = { instances: page.map((id) => rows.get(id)), age_s: 0, complete: false };
  if (seen.missing.length) result.missing_places = seen.missing.map((rack) => ({ rack }));
  if (page.length < ids.length) return { ...result, next: `${isWhole ? 'all' : 'some'}:${page.at(-1)}` };
  return { ...result, complete: isWhole };
}

function ping() {
  const { missing } = room.read();
  if (state.damaged) return { health: 'down', problem: { error_class: 'internal', detail: 'records are unreadable' } };
  if (!missing.length) return { health: 'ok' };
  return { health: missing.length < Object.keys(config.racks).length ? 'degraded' : 'down',
    problem: { error_class: 'transient', detail: `can't read ${missing.join(', ')}`.slice(0, 500) } };
}

const leave = serve({
  spoken: ['2.0'],
  shapes,
  initialize,
  methods: { describe, request, request_status: requestStatus, cancel, forget, return: giveBack, return_status: returnStatus,
    list, ping },
  stop: (reason) => jobs.forEach((job) => job.stop.abort(new Refusal(reason))),
  open: () => jobs.size,
});
