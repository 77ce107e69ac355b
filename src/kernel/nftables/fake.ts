// An in-memory nf_tables that behaves like the kernel's for NftPort: same transactions, same refusals.
// Guarantees: all or nothing; whatever it lists is a copy. No packets run through it.
import { type Failure, KernelError } from '../error.js';
import type { Watch } from '../watch.js';
import { applyRequest, type Transaction } from './fake/apply.js';
import { checkElements, listElements } from './fake/elements.js';
import { eventsBetween } from './fake/events.js';
import { emptyRuleset, hasLoop, type Ruleset, tableKey } from './fake/model.js';
import { type Errno, errnoOf, Nonsense, Refusal } from './fake/refusal.js';
import type {
  ListedChain,
  ListedRule,
  ListedSet,
  ListedTable,
  NftEvent,
  NftFamily,
  NftPort,
  NftRequest,
} from './port.js';

type Filter = { family?: NftFamily; table?: string; chain?: string; name?: string };

export class FakeNft implements NftPort {
  #ruleset: Ruleset = emptyRuleset();
  #closed = false;
  readonly #listeners = new Set<(events: readonly NftEvent[]) => void>();
  readonly #now: () => number;

  /** `now` is the clock that element timeouts run by, in milliseconds. */
  constructor(options: { now?: () => number } = {}) {
    this.#now = options.now ?? (() => 0);
  }

  async commit(requests: readonly NftRequest[], options: { generation?: number } = {}): Promise<void> {
    this.#check();
    checkSense(requests);
    if (options.generation !== undefined && options.generation !== this.#ruleset.generation)
      throw new KernelError([failure('ERESTART', 'check generation')]);
    if (requests.length === 0) return;
    const ruleset = structuredClone(this.#ruleset);
    const transaction: Transaction = { ruleset, setNames: new Map(), now: this.#now() };
    const failures = requests.flatMap((request, index) => attempt(transaction, request, index));
    const [first, ...rest] = [...failures, ...(failures.length === 0 ? findLoops(ruleset, requests) : [])];
    if (first !== undefined) throw new KernelError([first, ...rest]);
    ruleset.generation += 1;
    this.#tell(eventsBetween(this.#ruleset, ruleset));
    this.#ruleset = ruleset;
  }

  async tables(filter: Filter = {}): Promise<ListedTable[]> {
    return this.#states(filter)
      .filter(({ table }) => filter.name === undefined || filter.name === table.name)
      .map(({ table }) => structuredClone({ kind: 'table', ...table }));
  }

  async chains(filter: Filter = {}): Promise<ListedChain[]> {
    return this.#states(filter)
      .flatMap(({ chains }) => [...chains.values()])
      .filter(({ chain }) => filter.name === undefined || filter.name === chain.name)
      .map(({ chain }) => structuredClone({ kind: 'chain', ...chain }));
  }

  async rules(filter: Filter = {}): Promise<ListedRule[]> {
    return this.#states(filter)
      .flatMap(({ chains }) => [...chains.values()])
      .filter(({ chain }) => filter.chain === undefined || filter.chain === chain.name)
      .flatMap(({ rules }) => rules.map((rule) => structuredClone({ kind: 'rule' as const, ...rule })));
  }

  async sets(filter: Filter = {}): Promise<ListedSet[]> {
    return this.#states(filter)
      .flatMap(({ sets }) => [...sets.values()])
      .filter(({ set }) => filter.name === undefined || filter.name === set.name)
      .map(({ set }) => structuredClone({ kind: 'set', ...set }));
  }

  async elements(of: { family: NftFamily; table: string; set: string }) {
    this.#check();
    const state = this.#ruleset.tables.get(tableKey(of.family, of.table))?.sets.get(of.set);
    if (state === undefined)
      throw new KernelError([failure('ENOENT', `list elements of ${of.table} ${of.set}`)]);
    return structuredClone(listElements(state, this.#now()));
  }

  async generation(): Promise<number> {
    this.#check();
    return this.#ruleset.generation;
  }

  watch(onEvents: (events: readonly NftEvent[]) => void): Watch {
    this.#check();
    this.#listeners.add(onEvents);
    return { close: () => void this.#listeners.delete(onEvents) };
  }

  close(): void {
    this.#closed = true;
    this.#listeners.clear();
  }

  /** Later, as the kernel's come, and not to whom has closed by then. */
  #tell(events: readonly NftEvent[]): void {
    for (const listener of this.#listeners)
      setTimeout(() => this.#listeners.has(listener) && listener(structuredClone(events)));
  }

  #states(filter: Filter) {
    this.#check();
    return [...this.#ruleset.tables.values()].filter(
      ({ table }) =>
        (filter.family === undefined || filter.family === table.family) &&
        (filter.table === undefined || filter.table === table.name),
    );
  }

  #check(): void {
    if (this.#closed) throw KernelError.closed();
  }
}

const describe = (request: NftRequest): string => {
  const name =
    'name' in request
      ? request.name
      : 'set' in request
        ? request.set
        : 'chain' in request
          ? request.chain
          : '';
  return `${request.do} ${request.kind} ${name}`.trim();
};

const failure = (code: Errno, operation: string): Failure => ({
  code,
  message: `${operation}: ${code}`,
  operation,
  kernel: '',
  errno: errnoOf(code),
});

const tooLong = (text: unknown, most: number) =>
  typeof text === 'string' && (text.length === 0 || new TextEncoder().encode(text).length > most);

/** What the core refuses before it sends anything. */
function checkSense(requests: readonly NftRequest[]): void {
  for (const [index, request] of requests.entries()) {
    try {
      const { name, table, chain, comment }: Partial<Record<string, unknown>> = { ...request };
      if ([name, table, chain].some((text) => tooLong(text, 255)))
        throw new Nonsense('a name must be 1 to 255 bytes long');
      if (tooLong(comment, 128)) throw new Nonsense("field 'comment' must be 1 to 128 bytes long");
      if (request.kind === 'element') checkElements(request);
    } catch (error) {
      if (!(error instanceof Nonsense)) throw error;
      const message = `${describe(request)}: ${error.message}`;
      throw new KernelError([{ code: 'INVALID', message, operation: '', kernel: '', errno: 0, index }]);
    }
  }
}

function attempt(transaction: Transaction, request: NftRequest, index: number): Failure[] {
  try {
    applyRequest(transaction, request);
    return [];
  } catch (error) {
    if (error instanceof Refusal) return [{ ...failure(error.errno, describe(request)), index }];
    throw error;
  }
}

/** The kernel looks for loops once everything is in place; the last request that could have closed it is told. */
function findLoops(ruleset: Ruleset, requests: readonly NftRequest[]): Failure[] {
  return [...ruleset.tables.values()].filter(hasLoop).flatMap(({ table }) => {
    const index = requests.findLastIndex(
      (request) =>
        (request.kind === 'rule' || request.kind === 'element') &&
        request.family === table.family &&
        request.table === table.name,
    );
    const request = requests[index];
    return request === undefined ? [] : [{ ...failure('EMLINK', describe(request)), index }];
  });
}
