// The far side: a folder in which room/RACK/07.json exists while slot 7 of that rack is taken. Several providers may share
// a room. Replace this file by one that calls your own machines, and keep its three questions.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { writeDurably, syncFolder } = require('./records.js');
const { Refusal } = require('./wire.js');

const rackOf = (instance) => instance.split('-')[0];

class Room {
  constructor(folder, racks, bootS) {
    Object.assign(this, { folder, racks, bootS });
  }

  /** Only for a room of our own. A configured one must be there: a disk that is not mounted must not look like empty racks. */
  furnish() {
    for (const rack of Object.keys(this.racks)) fs.mkdirSync(path.join(this.folder, rack), { recursive: true });
  }

  /** Every machine that is taken, by its id, and which racks could not be read: of those nothing is known. */
  read() {
    const machines = new Map(), missing = new Set(Object.keys(this.racks));
    let racks = [];
    try {
      racks = fs.readdirSync(this.folder).filter((name) => /^[a-z0-9]{1,16}$/.test(name));
    } catch (problem) {
      console.error(`the room: ${problem.message}`);
      return { machines, missing: [...missing], isBlind: () => true };
    }
    for (const rack of racks) {
      missing.delete(rack);
      try {
        for (const machine of this.#machinesIn(rack)) machines.set(machine.instance, machine);
      } catch (problem) {
        console.error(`rack ${rack}: ${problem.message}`);
        missing.add(rack);
      }
    }
    return { machines, missing: [...missing], isBlind: (rack) => missing.has(rack) };
  }

  #machinesIn(rack) {
    return fs.readdirSync(path.join(this.folder, rack)).filter((name) => /^\d\d\.json$/.test(name)).map((name) => {
      const file = path.join(this.folder, rack, name);
      return { ...JSON.parse(fs.readFileSync(file, 'utf8')), rack, file };
    });
  }

  /** Take one free slot, whole or not at all: link(2) fails if the name exists, whoever else is looking for one. */
  take({ template, token, mark, image, price }) {
    const folder = path.join(this.folder, template), draft = path.join(folder, `.${token}`);
    for (let number = 1; number <= this.racks[template].slots; number += 1) {
      const slot = String(number).padStart(2, '0');
      const instance = `${template}-${slot}.${token}`; // IN-1: the slot will be sold again, this id never
      const now = Date.now();
      writeDurably(draft, { instance, mark, image, price, made_at: now, ready_at: now + this.bootS * 1000 });
      try {
        fs.linkSync(draft, path.join(folder, `${slot}.json`));
        return instance;
      } catch (problem) {
        if (problem.code !== 'EEXIST') throw problem;
      } finally {
        fs.rmSync(draft, { force: true });
        syncFolder(folder);
      }
    }
    throw new Refusal('no_capacity', 'the rack is full');
  }

  free({ file }) {
    fs.rmSync(file, { force: true });
    syncFolder(path.dirname(file));
  }
}

module.exports = { Room, rackOf };
