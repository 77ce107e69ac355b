// Objects as Kubernetes' internal types write them, and the diff of two: what a refused change of a pod shows. Pure.
// Guarantees: the text of a stock v1.36 server where the difference is unambiguous; what is too large is not shown at all.
import { isQuantity } from './formats.js';
import { schemas } from './gen/schemas.js';
import { goText } from './goForm.js';
import { INTERNAL_FIELDS } from './internalFields.js';
import { lineDiff } from './lineDiff.js';
import { getOwn, isMembers, type Members, setOwn } from './ownKeys.js';
import { isPointer } from './zeroValues.js';

/** Bytes of JSON: the internal form writes every empty field, and grows to some thirty times as much. */
const MAX_LENGTH = 32_768;
const MAX_DIFF = 16_384;

/** What differs, as lines; empty where the objects or their difference are too large. */
export function internalDiff(model: string, before: object, after: object): string {
  if ([before, after].some((object) => JSON.stringify(object).length > MAX_LENGTH)) return '';
  const [old, next] = [before, after].map((object) => linesOf(internalForm(model, object)));
  const text = lineDiff(old ?? [], next ?? []) ?? '';
  return text.length > MAX_DIFF ? '' : text;
}

const linesOf = (form: unknown): readonly string[] => goText(form, 1).split('\n');

/** Its metadata stand among its own fields. */
const CLAIM_TEMPLATE = 'V1PersistentVolumeClaimTemplate';
const HOST_FIELDS = ['HostNetwork', 'HostPID', 'HostIPC', 'ShareProcessNamespace', 'HostUsers'];

function internalForm(model: string, value: unknown): unknown {
  const names = getOwn(INTERNAL_FIELDS, model);
  if (names === undefined || !isMembers(value)) return tagged(model, value);
  const schema = getOwn(schemas, model) ?? {};
  const byName = new Map(Object.keys(schema).map((name) => [name.toLowerCase(), name]));
  const form: Members = {};
  for (const name of names.split(' ')) {
    const [shown = '', renamed] = name.split('=');
    const field = renamed ?? byName.get(shown.toLowerCase());
    if (field !== undefined) setOwn(form, shown, fieldForm(model, field, value));
  }
  if (model === 'V1PodSpec') return withHostFields(form, value);
  return model === CLAIM_TEMPLATE ? { ...(getOwn(value, 'metadata') as object | undefined), ...form } : form;
}

/** Inside, what a pod shares with its node is part of its security context, which is always there. */
function withHostFields(form: Members, spec: Members): Members {
  const security = isMembers(form['SecurityContext'])
    ? form['SecurityContext']
    : (internalForm('V1PodSecurityContext', {}) as Members);
  const host = HOST_FIELDS.map((name) => {
    const field = name.charAt(0).toLowerCase() + name.slice(1);
    return [name, getOwn(spec, field) ?? (isPointer('V1PodSpec', field) ? null : false)];
  });
  return { ...form, SecurityContext: { ...Object.fromEntries(host), ...security } };
}

function fieldForm(model: string, field: string, members: Members): unknown {
  const code = (getOwn(getOwn(schemas, model) ?? {}, field) ?? '').replace(/^!/, '');
  const value = getOwn(members, field) ?? undefined;
  if (value === undefined) return absent(model, field, code);
  if (code.startsWith('[]') && Array.isArray(value))
    return value.map((item) => internalForm(code.slice(2), item));
  if (code.startsWith('{}') && isMembers(value)) return sortedMap(value);
  return internalForm(code, value);
}

/** Go's zero value of the field. */
function absent(model: string, field: string, code: string): unknown {
  if (isPointer(model, field) || /^(\[\]|\{\})/.test(code)) return null;
  if (isQuantity(model, field)) return '0';
  if (getOwn(schemas, code) !== undefined) return internalForm(code, {});
  return { s: '', b: false, i: 0, n: 0, x: 0 }[code] ?? null;
}

/** Types of the metadata's own room have their JSON names inside too, in this order, and leave out what is empty. */
const TAGGED: Readonly<Record<string, readonly string[]>> = {
  V1LabelSelector: ['matchLabels', 'matchExpressions'],
  V1LabelSelectorRequirement: ['key', 'operator', 'values'],
};

function tagged(model: string, value: unknown): unknown {
  const names = getOwn(TAGGED, model);
  if (names === undefined || !isMembers(value)) return value;
  const form: Members = {};
  for (const name of names) {
    const member = getOwn(value, name);
    if (Array.isArray(member)) form[name] = member.map((item) => tagged('V1LabelSelectorRequirement', item));
    else if (member !== undefined && member !== null)
      form[name] = isMembers(member) ? sortedMap(member) : member;
  }
  return form;
}

function sortedMap(members: Members): Members {
  const result: Members = {};
  for (const key of Object.keys(members).sort()) setOwn(result, key, members[key]);
  return result;
}
