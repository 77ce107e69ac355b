// Reserves quota: the writes that wait in one namespace are judged together and written down in one update a quota.
// Guarantees: nothing is admitted beyond a limit, whoever else writes the quotas: an update that meets a newer version is judged again.
import type { V1ResourceQuota } from '../../../api/gen/types.js';
import type { Stored } from '../../../api/object.js';
import { compareQuantities, subtractQuantities } from '../../../api/quantity.js';
import { exceeded } from '../../../api/quota/decide.js';
import { sum, type Usage } from '../../../api/quota/usage.js';
import { ApiError, statusError } from '../../../api/status.js';

export type Quota = Stored<V1ResourceQuota>;

/** What one write needs of one quota; empty when the quota does not speak of it. */
export type NeedOf = (quota: Quota) => Usage;

export interface QuotaBook {
  /** The newest version of every quota of the namespace, each with its use known. */
  read(namespace: string): Promise<readonly Quota[]>;
  /** Throws Conflict when the version is not the newest. */
  write(quota: Quota): Promise<Quota>;
}

export interface Ledger {
  /** Throws the refusal that `refuse` makes of the reason. Answers how to give it back. */
  reserve(namespace: string, need: NeedOf, refuse: Refuse): Promise<() => Promise<void>>;
  /** Only looks, for a dry run. */
  check(namespace: string, need: NeedOf, refuse: Refuse): Promise<void>;
}

export type Refuse = (why: string) => ApiError;

interface Waiting {
  readonly need: NeedOf;
  readonly refuse: Refuse;
  /** What is written down already, by quota. */
  readonly done: Map<string, Usage>;
  refusal?: ApiError;
  settle(): void;
}

const ATTEMPTS = 20;

export function makeLedger(book: QuotaBook): Ledger {
  const queues = new Map<string, Waiting[]>();
  /** Versions that this ledger wrote last: another one means that somebody else has counted since. */
  const written = new Map<string, { version: string; epoch: number }>();

  function epochOf({ metadata }: Quota): number {
    const known = written.get(metadata.uid);
    if (known !== undefined && known.version === metadata.resourceVersion) return known.epoch;
    const epoch = (known?.epoch ?? 0) + 1;
    written.set(metadata.uid, { version: metadata.resourceVersion, epoch });
    return epoch;
  }

  async function put(quota: Quota, used: Usage): Promise<boolean> {
    const epoch = epochOf(quota);
    try {
      const next = await book.write({ ...quota, status: { hard: quota.spec?.hard ?? {}, used } });
      written.set(next.metadata.uid, { version: next.metadata.resourceVersion, epoch });
      return true;
    } catch (error) {
      if (ApiError.is(error, 'Conflict', 'NotFound')) return false;
      throw error;
    }
  }

  /** One round over all that wait; true when nothing is left to write. */
  async function round(namespace: string, batch: readonly Waiting[]): Promise<boolean> {
    const plans = planFor(await book.read(namespace));
    for (const waiting of batch) if (waiting.refusal === undefined) judge(waiting, plans);
    let isSettled = true;
    for (const { quota, used, takers } of plans) {
      if (takers.length === 0) continue;
      if (!(await put(quota, used))) isSettled = false;
      else for (const { waiting, delta } of takers) waiting.done.set(quota.metadata.uid, delta);
    }
    return isSettled;
  }

  async function work(namespace: string): Promise<void> {
    for (let batch = queues.get(namespace) ?? []; batch.length > 0; batch = queues.get(namespace) ?? []) {
      queues.set(namespace, []);
      try {
        let isSettled = false;
        for (let attempt = 0; attempt < ATTEMPTS && !isSettled; attempt += 1)
          isSettled = await round(namespace, batch);
        if (!isSettled)
          throw statusError('Conflict', 'the quotas of the namespace change too fast; try again');
      } catch (error) {
        const refusal = error instanceof ApiError ? error : unavailable(error);
        for (const waiting of batch) waiting.refusal ??= refusal;
      }
      for (const waiting of batch) waiting.settle();
    }
    queues.delete(namespace);
  }

  async function release(
    namespace: string,
    done: ReadonlyMap<string, Usage>,
    epochs: ReadonlyMap<string, number>,
  ) {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      let isSettled = true;
      for (const quota of await book.read(namespace)) {
        const delta = done.get(quota.metadata.uid);
        // Somebody has counted since, without this write: there is nothing left to give back.
        if (delta === undefined || epochOf(quota) !== epochs.get(quota.metadata.uid)) continue;
        if (!(await put(quota, without(quota.status?.used ?? {}, delta)))) isSettled = false;
      }
      if (isSettled) return;
    }
  }

  return {
    async check(namespace, need, refuse) {
      const waiting: Waiting = { need, refuse, done: new Map(), settle: () => {} };
      judge(waiting, planFor(await book.read(namespace)));
      if (waiting.refusal !== undefined) throw waiting.refusal;
    },
    async reserve(namespace, need, refuse) {
      const waiting = await new Promise<Waiting>((resolve) => {
        const entry: Waiting = { need, refuse, done: new Map(), settle: () => resolve(entry) };
        const queue = queues.get(namespace);
        if (queue !== undefined) queue.push(entry);
        else {
          queues.set(namespace, [entry]);
          void work(namespace);
        }
      });
      const epochs = new Map([...waiting.done.keys()].map((uid) => [uid, written.get(uid)?.epoch ?? 0]));
      const giveBack = () => release(namespace, waiting.done, epochs);
      if (waiting.refusal === undefined) return giveBack;
      if (waiting.done.size > 0) await giveBack();
      throw waiting.refusal;
    },
  };
}

interface Taker {
  readonly waiting: Waiting;
  readonly delta: Usage;
}

interface Plan {
  readonly quota: Quota;
  used: Usage;
  readonly takers: Taker[];
}

function planFor(quotas: readonly Quota[]): Plan[] {
  return quotas.map((quota) => ({ quota, used: quota.status?.used ?? {}, takers: [] }));
}

/** Takes from every quota or from none. */
function judge(waiting: Waiting, plans: readonly Plan[]): void {
  const taken: { plan: Plan; delta: Usage }[] = [];
  for (const plan of plans) {
    const { quota, used } = plan;
    if (waiting.done.has(quota.metadata.uid)) continue;
    let delta: Usage;
    try {
      delta = waiting.need(quota);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      waiting.refusal = error;
      return;
    }
    if (Object.keys(delta).length === 0) continue;
    const why = exceeded(quota.metadata.name, quota.spec?.hard ?? {}, used, delta);
    if (why !== undefined) {
      waiting.refusal = waiting.refuse(why);
      return;
    }
    taken.push({ plan, delta });
  }
  for (const { plan, delta } of taken) {
    plan.used = sum(plan.used, delta);
    plan.takers.push({ waiting, delta });
  }
}

function without(used: Usage, delta: Usage): Usage {
  const rest: Record<string, string> = { ...used };
  for (const [name, amount] of Object.entries(delta)) {
    const left = subtractQuantities(rest[name] ?? '0', amount);
    rest[name] = compareQuantities(left, '0') < 0 ? '0' : left;
  }
  return rest;
}

const unavailable = (cause: unknown): ApiError =>
  statusError('InternalError', 'Internal error occurred: quota could not be reserved', {}, { cause });
