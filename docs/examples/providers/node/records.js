// The state folder: records that survive a crash, its lock, the highest epoch that was here (§9, §10 of the contract).
// Knows files only, and nothing of what they record. All of it is synchronous on purpose: a record is on the disk
// before the next statement runs, and nothing can come between.
'use strict';
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { spawnSync } = require('node:child_process');
const { Refusal } = require('./wire.js');

/** ST-2: temporary file, fsync, rename, fsync of the folder. A crash leaves the old file or the new one, whole. */
function replace(file, value) {
  writeDurably(`${file}.tmp`, value);
  fs.renameSync(`${file}.tmp`, file);
  syncFolder(path.dirname(file));
}

function writeDurably(file, value) {
  const fd = fs.openSync(file, 'w', 0o600);
  try {
    fs.writeFileSync(fd, JSON.stringify(value));
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

function syncFolder(folder) {
  const fd = fs.openSync(folder, 'r');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

class StateFolder {
  constructor(folder) {
    this.folder = folder;
    this.damaged = false; // a record was unreadable, now or at an earlier start
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /** HS-6. Node has no flock(2), but a lock belongs to the open file, so flock(1) can take it through our descriptor. */
  lock() {
    const fd = fs.openSync(path.join(this.folder, 'lock'), 'a', 0o600); // stays open, and locked, while we live
    const taken = spawnSync('flock', ['--nonblock', '3'], { stdio: ['ignore', 'ignore', 'ignore', fd] });
    if (taken.error) throw new Refusal('transient', 'flock(1) of util-linux is needed');
    if (taken.status !== 0) throw new Refusal('state_locked', 'another process serves this state folder');
  }

  /** EP-1 and ST-4: remember the epoch; return the random id that tells whether the folder is still the same. */
  claimEpoch(lineage, epoch) {
    const memory = this.#read('memory.json') ?? { state_id: crypto.randomBytes(16).toString('hex'), epochs: {} };
    if ((memory.epochs[lineage] ?? 0) > epoch) throw new Refusal('fenced', 'a higher epoch was here');
    memory.epochs[lineage] = epoch;
    replace(path.join(this.folder, 'memory.json'), memory);
    return memory.state_id;
  }

  /** EP-2: the epoch on the disk now. */
  epochOf(lineage) {
    return this.#read('memory.json')?.epochs[lineage];
  }

  /** All records of one kind, by name. Names come from the wire, but only ever as `name` (a-z, 0-9, hyphens). */
  open(kind) {
    const records = new Records(path.join(this.folder, kind));
    fs.mkdirSync(records.folder, { recursive: true, mode: 0o700 });
    for (const file of fs.readdirSync(records.folder)) {
      if (file.endsWith('.unreadable')) this.damaged = true; // until somebody has looked and removed it
      const record = file.endsWith('.json') ? this.#read(path.join(kind, file)) : undefined;
      if (record !== undefined) records.byName.set(file.slice(0, -'.json'.length), record);
    }
    return records;
  }

  /** ST-2: what can't be read is set aside for people, and never taken for "there was none". */
  #read(name) {
    const file = path.join(this.folder, name);
    try {
      return JSON.parse(fs.readFileSync(file, 'utf8'));
    } catch (problem) {
      if (problem.code === 'ENOENT') return undefined;
      fs.renameSync(file, `${file}.unreadable`);
      this.damaged = true;
      return undefined;
    }
  }
}

class Records {
  constructor(folder) {
    this.folder = folder;
    this.byName = new Map();
  }

  get(name) {
    return this.byName.get(name);
  }

  /** On the disk first, then in memory: whatever we say was said from what survives. */
  keep(name, record) {
    replace(path.join(this.folder, `${name}.json`), record);
    this.byName.set(name, record);
    return record;
  }

  drop(name) {
    fs.rmSync(path.join(this.folder, `${name}.json`), { force: true });
    this.byName.delete(name);
  }
}

module.exports = { StateFolder, writeDurably, syncFolder };
