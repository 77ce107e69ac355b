// JSON patch, RFC 6902, with pointers of RFC 6901, as the library reads it that the stock apiserver uses: a member that is
// not there may be replaced and tests equal to null, and a list is also counted from its end. Pure.
// Guarantees: all operations or none; the document given is never changed; copies cannot grow without bound; a step ends
// before much has been copied or moved.
import { copyJson, getOwn, isMembers, type Members, sameJson, setOwn } from '../ownKeys.js';
import { type ApiError, statusError } from '../status.js';
import type { Steps } from '../steps.js';

const MAX_OPERATIONS = 10_000;
/** As many bytes as a request may have: a chain of copies that doubles would otherwise fill memory. */
const MAX_COPIED = 3 * 1024 * 1024;
/** Far beyond the deepest and the longest name. */
const MAX_POINTER = 64 * 1024;
/** Characters copied, or places in lists moved, in one step: some ten milliseconds of either. */
const STEP = 1_000_000;
/** Copying a character costs as much as moving so many places. */
const COPY_COST = 5;

interface Operation {
  readonly op: string;
  readonly path: readonly string[];
  readonly from: readonly string[];
  readonly value: unknown;
}

/** Throws BadRequest for what is no patch, Invalid for one that does not fit the document. */
export function* applyJsonPatch(document: unknown, patch: unknown): Steps<unknown> {
  const operations = readOperations(patch);
  yield;
  const root: Members = { document: copyJson(document) };
  yield;
  let copied = 0;
  let cost = 0;
  for (const operation of operations) {
    cost += inWords(operation, () => costOf(root, operation));
    if (operation.op === 'copy') {
      const size = JSON.stringify(inWords(operation, () => read(root, operation.from))).length;
      copied += size;
      cost += size * COPY_COST;
    }
    if (copied > MAX_COPIED)
      throw statusError('RequestEntityTooLarge', 'the JSON patch copies more than the allowed size');
    inWords(operation, () => apply(root, operation));
    if (cost < STEP) continue;
    cost = 0;
    yield;
  }
  return root['document'];
}

/** The places that an operation moves in its lists. A test costs no more than its own value, which the patch holds. */
function costOf(root: Members, { op, path, from }: Operation): number {
  const lengthAt = (at: readonly string[]) => {
    const { parent } = locate(root, at);
    return Array.isArray(parent) ? parent.length : 1;
  };
  if (op === 'test') return 1;
  return lengthAt(path) + (op === 'move' ? lengthAt(from) : 0);
}

function readOperations(patch: unknown): Operation[] {
  if (!Array.isArray(patch))
    throw malformed(`json: cannot unmarshal ${goKind(patch)} into Go value of type jsonpatch.Patch`);
  if (patch.length > MAX_OPERATIONS)
    throw statusError(
      'RequestEntityTooLarge',
      `The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${patch.length}`,
    );
  return patch.map((item: unknown) => {
    if (!isMembers(item))
      throw malformed(`json: cannot unmarshal ${goKind(item)} into Go value of type jsonpatch.Operation`);
    const { op, path, from } = item;
    if (typeof op !== 'string' || !OPERATIONS.includes(op))
      throw refusal(`Unexpected kind: ${typeof op === 'string' ? op : 'unknown'}`);
    const needsFrom = op === 'move' || op === 'copy';
    const needsValue = op === 'add' || op === 'replace' || op === 'test';
    if (needsValue && !Object.hasOwn(item, 'value')) throw malformed(`${op} operation has no value`);
    return {
      op,
      path: readPointer(path),
      from: needsFrom ? readPointer(from) : [],
      value: item['value'],
    };
  });
}

const OPERATIONS = ['add', 'remove', 'replace', 'move', 'copy', 'test'];

/** Every pointer starts at a holder of the document, so that the whole document has a parent too. */
function readPointer(pointer: unknown): string[] {
  if (typeof pointer !== 'string' || (pointer !== '' && !pointer.startsWith('/')))
    throw malformed(`${JSON.stringify(pointer)} is no JSON pointer`);
  if (pointer.length > MAX_POINTER) throw malformed(`a JSON pointer has more than ${MAX_POINTER} characters`);
  const parts = pointer.split('/').slice(1);
  return ['document', ...parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))];
}

/** What does not fit the document is told in the words of the library that Kubernetes applies patches with. */
function inWords<T>(operation: Operation, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof Misfit ? refusal(wordsFor(operation, error), error) : error;
  }
}

function wordsFor({ op, path, from }: Operation, { at, isPathMissing, message }: Misfit): string {
  const isSource = at === from && from.length > 0;
  const where = textOf(at);
  if (isPathMissing) {
    const quoted = op === 'add' || op === 'remove' ? `"${where}"` : where;
    const role =
      op === 'test'
        ? 'is missing'
        : `doc is missing${isSource ? ' from' : from.length > 0 ? ' destination' : ''}`;
    return `${op} operation does not apply: ${role} path: ${quoted}: missing value`;
  }
  if (op === 'replace')
    return `replace operation does not apply: doc is missing key: ${where}: missing value`;
  if (op === 'copy' && isSource) return `error in copy for from: '${where}': ${message}`;
  return `error in ${op} for path: '${op === 'move' && isSource ? (path.at(-1) ?? '') : where}': ${message}`;
}

class Misfit extends Error {
  override readonly name = 'Misfit';

  constructor(
    message: string,
    readonly at: readonly string[],
    readonly isPathMissing = false,
  ) {
    super(message);
  }
}

function apply(root: Members, { op, path, from, value }: Operation): void {
  switch (op) {
    case 'add':
      add(root, path, copyJson(value));
      break;
    case 'remove':
      remove(root, path);
      break;
    case 'replace':
      replace(root, path, copyJson(value));
      break;
    case 'copy':
      add(root, path, copyJson(read(root, from)));
      break;
    case 'move':
      if (path.length > from.length && from.every((part, index) => part === path[index]))
        throw refusal(`cannot move ${textOf(from)} below itself`);
      add(root, path, remove(root, from));
      break;
    default:
      if (!sameJson(readOrNull(root, path), value))
        throw refusal(`testing value ${textOf(path)} failed: test failed`);
  }
}

function add(root: Members, path: readonly string[], value: unknown): void {
  const { parent, key } = locate(root, path);
  if (!Array.isArray(parent)) setOwn(parent, key, value);
  else parent.splice(key === '-' ? parent.length : indexIn(key, path, parent.length + 1), 0, value);
}

function remove(root: Members, path: readonly string[]): unknown {
  const value = read(root, path);
  const { parent, key } = locate(root, path);
  if (Array.isArray(parent)) parent.splice(indexIn(key, path, parent.length), 1);
  else delete parent[key];
  return value;
}

function replace(root: Members, path: readonly string[], value: unknown): void {
  const { parent, key } = locate(root, path);
  if (Array.isArray(parent)) parent[indexIn(key, path, parent.length)] = value;
  else setOwn(parent, key, value);
}

function read(root: Members, path: readonly string[]): unknown {
  const { parent, key } = locate(root, path);
  return memberOf(parent, key, path);
}

function readOrNull(root: Members, path: readonly string[]): unknown {
  const { parent, key } = locate(root, path);
  return Array.isArray(parent) || Object.hasOwn(parent, key) ? memberOf(parent, key, path) : null;
}

function locate(root: Members, path: readonly string[]): { parent: Members | unknown[]; key: string } {
  let parent: Members | unknown[] = root;
  for (const part of path.slice(0, -1)) {
    const next: unknown = stepInto(parent, part);
    if (!Array.isArray(next) && !isMembers(next)) throw new Misfit('missing value', path, true);
    parent = next;
  }
  return { parent, key: path.at(-1) ?? '' };
}

/** Undefined where there is nothing. */
function stepInto(parent: Members | unknown[], key: string): unknown {
  if (!Array.isArray(parent)) return getOwn(parent, key);
  const index = /^[+-]?\d+$/.test(key) ? Number(key) : Number.NaN;
  return parent[index < 0 ? index + parent.length : index];
}

function memberOf(parent: Members | unknown[], key: string, path: readonly string[]): unknown {
  if (Array.isArray(parent)) return parent[indexIn(key, path, parent.length)];
  if (!Object.hasOwn(parent, key))
    throw new Misfit(`Unable to remove nonexistent key: ${key}: missing value`, path);
  return parent[key];
}

/** One of `places` places; -1 is the last of them. */
function indexIn(key: string, path: readonly string[], places: number): number {
  const index = /^[+-]?\d+$/.test(key) ? Number(key) : Number.NaN;
  if (Number.isNaN(index))
    throw new Misfit(
      `value was not a proper array index: '${key}': strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`,
      path,
    );
  if (!(index < places && index >= -places))
    throw new Misfit(`Unable to access invalid index: ${index}: invalid index referenced`, path);
  return index < 0 ? index + places : index;
}

const textOf = (path: readonly string[]) => `/${path.slice(1).join('/')}`;

const malformed = (why: string): ApiError => statusError('BadRequest', why);

/** The stock apiserver gives the sentence alone; the cause says which path it was. */
const refusal = (why: string, cause?: unknown): ApiError =>
  statusError(
    'Invalid',
    'the server rejected our request due to an error in our request',
    { causes: [{ reason: 'UnexpectedServerResponse', message: why }] },
    { cause },
  );

/** What Go calls a value of JSON. */
function goKind(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}
