// The kernel's sets in memory, for tests of what stands on the port.
// Guarantees: held to the same contract suite as the kernel: same order, same codes, nothing done when a request is INVALID.
import { type Failure, KernelError } from '../error.js';
import { hasNets, PARTS, readEntry, type Shape } from './entry.js';
import { FakeSet, Refusal } from './fakeSet.js';
import type {
  IpSet,
  IpSetEntryRequest,
  IpSetHeader,
  IpSetMember,
  IpSetOptions,
  IpSetPort,
  IpSetRequest,
} from './port.js';

type SetRequest = Exclude<IpSetRequest, IpSetEntryRequest>;
type NewSet = Extract<SetRequest, { do: 'add' }>;

const OPTION_NAMES = [
  'family',
  'hashsize',
  'maxelem',
  'forceadd',
  'netmask',
  'range',
  'size',
  'timeout',
  'comment',
  'counters',
] as const satisfies readonly (keyof IpSetOptions)[];

const invalid = (message: string): never => {
  throw KernelError.invalid(message);
};

const asMember = (entry: string | IpSetMember): IpSetMember =>
  typeof entry === 'string' ? { entry } : entry;

function checkName(name: string | undefined, field = 'name'): void {
  if (name === undefined || name === '' || Buffer.byteLength(name) > 31)
    invalid(`field '${field}' must be the name of a set, 1 to 31 bytes long`);
}

/** Throws INVALID for options that are not the type's, as the core does before it sends anything. */
function checkNew(request: NewSet): void {
  checkName(request.name);
  if (!(request.type in PARTS)) invalid(`field 'type' must be one of ${Object.keys(PARTS).join('; ')}`);
  const method = request.type.split(':')[0];
  const allowed: Partial<Record<(typeof OPTION_NAMES)[number], boolean>> = {
    family: method === 'hash',
    hashsize: method === 'hash',
    maxelem: method === 'hash',
    forceadd: method === 'hash',
    netmask: request.type === 'hash:ip',
    range: method === 'bitmap',
    size: method === 'list',
  };
  for (const option of OPTION_NAMES)
    if (request[option] !== undefined && allowed[option] === false)
      invalid(`field '${option}' is not for sets of type ${request.type}`);
  if (method === 'bitmap' && request.range === undefined)
    invalid(`a set of type ${request.type} needs its range`);
}

function checkMember(member: IpSetMember, shape: Shape): void {
  readEntry(member.entry, shape);
  if (Buffer.byteLength(member.comment ?? '') > 255)
    invalid("field 'comment' must be at most 255 bytes long");
  if (/["\n]/.test(member.comment ?? ''))
    invalid("field 'comment' must hold neither a double quote nor a line's end");
  if (member.nomatch === true && !hasNets(shape.type))
    invalid(`field 'nomatch' is not for sets of type ${shape.type}`);
}

export class FakeIpset implements IpSetPort {
  #sets = new Map<string, FakeSet>();
  #closed = false;
  readonly #nowMs: () => number;

  /** Without a clock no timeout ever ends. */
  constructor(nowMs: () => number = () => 0) {
    this.#nowMs = nowMs;
  }

  async apply(requests: readonly IpSetRequest[]): Promise<void> {
    this.#turn();
    this.#check(requests);
    const failures: Failure[] = [];
    const attempt = (request: IpSetRequest, index: number, work: () => void, entry?: number) => {
      try {
        work();
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        failures.push(describe(request, index, error, entry));
      }
    };
    for (const [index, request] of requests.entries()) {
      if (request.kind === 'set') {
        attempt(request, index, () => this.#doSet(request));
        continue;
      }
      const set = this.#sets.get(request.set);
      if (set === undefined) {
        if (!(request.do === 'delete' && request.missingOk === true))
          failures.push(describe(request, index, new Refusal('ENOENT', 'there is no such set')));
        continue;
      }
      for (const [i, entry] of request.entries.entries())
        attempt(request, index, () => this.#doEntry(request, set, asMember(entry)), i);
    }
    const [first, ...rest] = failures;
    if (first !== undefined) throw new KernelError([first, ...rest]);
  }

  async list(): Promise<IpSet[]> {
    this.#turn();
    return [...this.#sets]
      .sort(([, a], [, b]) => Number(a.options.type === 'list:set') - Number(b.options.type === 'list:set'))
      .map(([name, set]) => ({ ...this.#header(name, set), entries: set.list(this.#nowMs()) }));
  }

  async listHeaders(): Promise<IpSetHeader[]> {
    return (await this.list()).map(({ entries: _, ...header }) => header);
  }

  async get(name: string): Promise<IpSet | undefined> {
    checkName(name);
    return (await this.list()).find((set) => set.name === name);
  }

  async test(name: string, entries: readonly string[]): Promise<boolean[]> {
    this.#turn();
    const set = this.#sets.get(name);
    const operation = `test entries of set ${name}`;
    if (set === undefined)
      throw new KernelError([
        {
          code: 'ENOENT',
          message: `${operation}: there is no such set`,
          operation,
          kernel: 'there is no such set',
          errno: 2,
        },
      ]);
    return entries.map((entry) => set.has(entry));
  }

  close(): void {
    this.#closed = true;
  }

  #turn(): void {
    if (this.#closed) throw KernelError.closed();
    for (const set of this.#sets.values()) set.expire(this.#nowMs());
  }

  // Reads all requests before the first is done, following what names will mean by then.
  #check(requests: readonly IpSetRequest[]): void {
    const shapes = new Map([...this.#sets].map(([name, set]) => [name, set.shape]));
    for (const request of requests) {
      if (request.kind === 'entry') {
        checkName(request.set, 'set');
        const shape = shapes.get(request.set);
        if (shape !== undefined) for (const entry of request.entries) checkMember(asMember(entry), shape);
      } else if (request.do === 'add') {
        checkNew(request);
        shapes.set(request.name, new FakeSet(request).shape);
      } else if (request.do === 'rename' || request.do === 'swap') {
        const other = request.do === 'rename' ? request.newName : request.with;
        checkName(request.name);
        checkName(other, request.do === 'rename' ? 'newName' : 'with');
        const [mine, theirs] = [shapes.get(request.name), shapes.get(other)];
        if (mine !== undefined) shapes.set(other, mine);
        if (request.do === 'swap' && theirs !== undefined) shapes.set(request.name, theirs);
      } else if (!('all' in request)) {
        checkName(request.name);
      }
    }
  }

  #doSet(request: SetRequest): void {
    if (request.do === 'add') {
      this.#create(request);
      return;
    }
    if ('all' in request) {
      if (request.do === 'flush') for (const set of this.#sets.values()) set.members.clear();
      else if ([...this.#sets.keys()].some((name) => this.#references(name) > 0))
        throw new Refusal('IPSET_ERR_BUSY');
      else this.#sets.clear();
      return;
    }
    const set = this.#sets.get(request.name);
    if (set === undefined) {
      if (request.do === 'delete' && request.missingOk === true) return;
      throw new Refusal('ENOENT');
    }
    if (request.do === 'flush') set.members.clear();
    else if (request.do === 'delete') this.#destroy(request.name);
    else if (request.do === 'rename') this.#rename(request.name, request.newName, set);
    else this.#swap(request.name, request.with, set);
  }

  #create(request: NewSet): void {
    const existing = this.#sets.get(request.name);
    if (existing === undefined) {
      this.#sets.set(request.name, new FakeSet(request));
      return;
    }
    if (request.existsOk !== true) throw new Refusal('EEXIST');
    const key = (options: IpSetOptions) =>
      JSON.stringify([
        options.type,
        options.family ?? 'inet',
        options.maxelem ?? 65536,
        options.timeout,
        options.netmask,
        options.range,
        options.size ?? 8,
        options.comment === true,
        options.counters === true,
        options.forceadd === true,
      ]);
    if (key(existing.options) !== key(request))
      throw new Refusal('IPSET_ERR_TYPE_MISMATCH', 'the set exists with another type, family or options');
  }

  #destroy(name: string): void {
    if (this.#references(name) > 0) throw new Refusal('IPSET_ERR_BUSY');
    this.#sets.delete(name);
  }

  #rename(name: string, newName: string, set: FakeSet): void {
    if (this.#references(name) > 0) throw new Refusal('IPSET_ERR_REFERENCED');
    if (this.#sets.has(newName)) throw new Refusal('EEXIST', `there is a set ${newName}`);
    this.#sets.delete(name);
    this.#sets.set(newName, set);
  }

  #swap(name: string, other: string, set: FakeSet): void {
    const theirs = this.#sets.get(other);
    if (theirs === undefined) throw new Refusal('ENOENT', `there is no set ${other}`);
    const kind = ({ type, family }: Shape) => `${type.split(':')[0]} ${PARTS[type].join()} ${family}`;
    if (kind(set.shape) !== kind(theirs.shape)) throw new Refusal('IPSET_ERR_TYPE_MISMATCH');
    this.#sets.set(name, theirs);
    this.#sets.set(other, set);
  }

  #doEntry(request: IpSetEntryRequest, set: FakeSet, member: IpSetMember): void {
    if (set.options.type === 'list:set') this.#checkListed(member);
    if (request.do === 'add') set.add(member, { existsOk: request.existsOk === true, nowMs: this.#nowMs() });
    else set.delete(member.entry, { missingOk: request.missingOk === true });
  }

  #checkListed({ entry, before, after }: IpSetMember): void {
    const listed = this.#sets.get(entry);
    if (listed === undefined) throw new Refusal('IPSET_ERR_NAME');
    if (listed.options.type === 'list:set') throw new Refusal('IPSET_ERR_LOOP');
    const reference = before ?? after;
    if (reference !== undefined && !this.#sets.has(reference)) throw new Refusal('IPSET_ERR_NAMEREF');
  }

  #references(name: string): number {
    const lists = [...this.#sets.values()].filter((set) => set.options.type === 'list:set');
    return lists.filter((list) => list.members.has(name)).length;
  }

  #header(name: string, set: FakeSet): IpSetHeader {
    const { type } = set.options;
    const given = Object.fromEntries(
      OPTION_NAMES.filter((option) => set.options[option] !== undefined && set.options[option] !== false).map(
        (option) => [option, set.options[option]],
      ),
    );
    const defaults = type.startsWith('hash:')
      ? { family: 'inet' as const, hashsize: 1024, maxelem: 65536 }
      : type === 'list:set'
        ? { size: 8 }
        : {};
    return {
      name,
      type,
      revision: 0,
      ...defaults,
      ...given,
      references: this.#references(name),
      memsize: 0,
      numentries: set.members.size,
    };
  }
}

function describe(request: IpSetRequest, index: number, refusal: Refusal, entry?: number): Failure {
  const named = request.kind === 'entry' ? request.set : 'name' in request ? request.name : '';
  const text =
    request.kind === 'entry' && entry !== undefined ? asMember(request.entries[entry] ?? '').entry : '';
  const operation = [request.do, request.kind, named, text].filter((word) => word !== '').join(' ');
  return {
    code: refusal.code,
    message: `${operation}: ${refusal.code}${refusal.text === '' ? '' : ` (${refusal.text})`}`,
    operation,
    kernel: refusal.text,
    errno: 0,
    index,
    ...(entry === undefined ? {} : { entry }),
  };
}
