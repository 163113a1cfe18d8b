// The params of every method served here, and the configuration. Fields nobody knows are ignored in params (GR-2); in the
// configuration, where they are somebody's slip of the pen, they are faults.
'use strict';
const crypto = require('node:crypto');
const { is, fields, must, may, array, map } = require('./forms.js');

const MARK = fields({ cluster: must(is.name), lineage: must(is.name), provider: must(is.name),
  request_id: must(is.name), token: must(is.name), epoch: must(is.int(0)) });
const MONEY = fields({ amount: must(is.amount), currency: must(is.currency), per: must(is.per) });
const FENCE = { epoch: must(is.int(0)), not_after: must(is.number) };
const PURCHASE = { request_id: must(is.name), token: must(is.name), template: must(is.ref), units: must(is.int(1)),
  mark: must(MARK) };
const CONTENT = { ...PURCHASE, min_units: may(is.int(1)), price_cap: may(MONEY), quote: may(is.ref),
  duration_s: may(is.int(0)), deadline: may(is.time), consumer: may(is.name), data: may(is.object) };
const shapes = {
  initialize: fields({ versions: must(array(is.text, 1, 16)), mode: must(is.mode), cluster: must(is.name),
    lineage: must(is.name), provider: must(is.name), owner: must(is.name), epoch: must(is.int(0)),
    config: must(is.object), state_dir: must(is.path), frame_bytes: must(is.int(1024 * 1024)),
    answer_s_max: must(is.int(1)), credentials_dir: may(is.path) }),
  describe: fields({ known: may(is.text), cursor: may(is.cursor) }),
  request: fields({ ...CONTENT, ...FENCE }),
  request_status: fields({ requests: must(array(fields(PURCHASE), 1, 500)) }),
  cancel: fields({ request_id: must(is.name), token: must(is.name), ...FENCE }),
  forget: fields({ tokens: may(array(is.name, 0, 1000)), returns: may(array(is.name, 0, 1000)) }),
  return: fields({ return_id: must(is.name), ...FENCE,
    items: must(array(fields({ instance: must(is.ref), keep: must(is.int(0)) }), 1, 1000)) }),
  return_status: fields({ returns: must(array(is.name, 1, 500)) }),
  list: fields({ cursor: may(is.cursor), limit: may(is.int(1, 1000)), instances: may(array(is.ref, 0, 1000)) }),
  ping: fields({}),
  shutdown: fields({ grace_s: must(is.int(0)) }),
};
const RACK = fields({ slots: must(is.int(1, 99)), cores: must(is.int(1)), memory_gib: must(is.int(1)) }, 'closed');
const CONFIG = fields({ racks: must(map(/^[a-z0-9]{1,16}$/, RACK)), price: must(is.amount), currency: may(is.currency),
  room: may(is.path), image: may(is.text), boot_s: may(is.int(0, 3600)), slow_s: may(is.int(0, 3600)) }, 'closed');
const DEFAULTS = { currency: 'USD', image: 'base', boot_s: 2, slow_s: 0 };

/** RQ-1: the content is all that is known of a purchase but the fence; stating a default is no other content. */
function contentOf(params) {
  const sorted = (v) => (v === null || typeof v !== 'object' || Array.isArray(v) ? v
    : Object.fromEntries(Object.keys(v).sort().filter((key) => v[key] !== null).map((key) => [key, sorted(v[key])])));
  const content = Object.keys(CONTENT).map((name) => sorted(params[name] ?? (name === 'min_units' ? 1 : null)));
  return crypto.createHash('sha256').update(JSON.stringify(content)).digest('hex');
}

module.exports = { shapes, CONFIG, DEFAULTS, contentOf };
