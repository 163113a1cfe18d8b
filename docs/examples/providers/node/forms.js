// What values look like on the wire (§3 of the contract), and how all faults of a message are found at once.
// Knows no method and does nothing but look.
'use strict';

const isObject = (v) => v !== null && typeof v === 'object' && !Array.isArray(v);
const absent = (v) => v === undefined || v === null; // the contract: null means "not stated"

/** A check of one value: it adds {path, detail} to `faults` for everything wrong with `v`. */
const check = (test, detail) => (v, path, faults) => { if (!test(v)) faults.push({ path, detail }); };
const text = (pattern, detail) => check((v) => typeof v === 'string' && pattern.test(v), detail);
const int = (least, most = Number.MAX_SAFE_INTEGER) =>
  check((v) => Number.isInteger(v) && v >= least && v <= most, `must be an integer from ${least} to ${most}`);

const is = {
  name: text(/^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/, 'must be up to 40 of a-z, 0-9 and inner hyphens'),
  ref: text(/^[A-Za-z0-9][A-Za-z0-9._:@=+/-]{0,199}$/, 'must be a reference'),
  cursor: text(/^[ -~]{1,2048}$/, 'must be 1 to 2048 printable ASCII characters'),
  text: text(/^[^]{0,500}$/, 'must be a text of up to 500 characters'),
  path: text(/^\/[^\0]*$/, 'must be an absolute path'),
  amount: text(/^(0|[1-9][0-9]{0,11})(\.[0-9]{1,9})?$/, 'must be an amount like "2.19", as text'),
  currency: text(/^[A-Z]{3}$/, 'must be a currency of three capital letters'),
  per: text(/^(hour|unit_hour|purchase)$/, 'must be hour, unit_hour or purchase'),
  mode: text(/^(serve|check)$/, 'must be serve or check'),
  time: check((v) => typeof v === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/.test(v) &&
    !Number.isNaN(Date.parse(v)), 'must be a time like 2031-03-04T17:58:12Z'),
  number: check(Number.isFinite, 'must be a number'),
  object: check(isObject, 'must be an object'),
  int,
};

/** An object; `shape` maps each name to must(check) or may(check). A closed one allows no other names. */
const fields = (shape, closed) => (v, path, faults) => {
  if (!isObject(v)) {
    faults.push({ path, detail: 'must be an object' });
    return;
  }
  for (const [name, { needed, form }] of Object.entries(shape)) {
    if (!absent(v[name])) form(v[name], `${path}/${name}`, faults);
    else if (needed) faults.push({ path: `${path}/${name}`, detail: 'is required' });
  }
  for (const name of closed ? Object.keys(v) : []) {
    if (!Object.hasOwn(shape, name)) faults.push({ path: `${path}/${name}`, detail: 'is not known here' });
  }
};
const must = (form) => ({ needed: true, form });
const may = (form) => ({ needed: false, form });

const array = (form, least, most) => (v, path, faults) => {
  if (!Array.isArray(v) || v.length < least || v.length > most) {
    faults.push({ path, detail: `must be a list of ${least} to ${most}` });
  } else {
    v.forEach((each, place) => form(each, `${path}/${place}`, faults));
  }
};

/** An object that maps free names to values of one form. */
const map = (pattern, form) => (v, path, faults) => {
  if (!isObject(v) || !Object.keys(v).length) {
    faults.push({ path, detail: 'must be an object that is not empty' });
    return;
  }
  for (const [name, each] of Object.entries(v)) {
    if (!pattern.test(name)) faults.push({ path: `${path}/${name}`, detail: `its name must match ${pattern.source}` });
    form(each, `${path}/${name}`, faults);
  }
};

function faultsOf(form, v) {
  const faults = [];
  form(v, '', faults);
  return faults.slice(0, 100);
}

/** Money is never a floating-point number. */
function nanos(amount) {
  const [whole, part = ''] = amount.split('.');
  return BigInt(whole + part.padEnd(9, '0'));
}

module.exports = { is, fields, must, may, array, map, faultsOf, isObject, nanos };
