// Reserves quota: the writes that wait in one namespace are judged together and written down in one update a quota.
// Guarantees: nothing is admitted beyond a limit, whoever else writes the quotas: an update that meets a newer version is
// judged again; what a failed write took is given back, also when other servers have written since.
import type { V1ResourceQuota } from '../../../api/gen/types.js';
import type { Stored } from '../../../api/object.js';
import { compareQuantities, subtractQuantities } from '../../../api/quantity.js';
import { exceeded } from '../../../api/quota/decide.js';
import { sum, type Usage } from '../../../api/quota/usage.js';
import { ApiError, statusError } from '../../../api/status.js';
import { Recounts } from './recounts.js';

export type Quota = Stored<V1ResourceQuota>;

/** What one write needs of one quota; empty when the quota does not speak of it. */
export type NeedOf = (quota: Quota) => Usage;

export interface QuotaAccess {
  /** The newest version of every quota of the namespace, each with its use known. */
  read(namespace: string): Promise<readonly Quota[]>;
  /** As the manager `QUOTA_MANAGER`. Throws Conflict when the version is not the newest. */
  write(quota: Quota): Promise<Quota>;
}

interface Reservations {
  /** Throws the refusal that `refuse` makes of the reason. Answers how to give it back. */
  reserve(namespace: string, need: NeedOf, refuse: Refuse): Promise<() => Promise<void>>;
  /** Only looks, for a dry run. */
  check(namespace: string, need: NeedOf, refuse: Refuse): Promise<void>;
}

type Refuse = (why: string) => ApiError;

/** What one write took of each quota, and how often that had been counted anew by then. */
interface Taken {
  readonly usage: Usage;
  readonly recounts: ReadonlyMap<string, number>;
}

interface Waiting {
  readonly need: NeedOf;
  readonly refuse: Refuse;
  /** What is written down already, by quota. */
  readonly done: Map<string, Taken>;
  refusal?: ApiError;
  settle(): void;
}

/** What is to be given back, by quota; each goes when it is written down. */
interface Return {
  readonly back: Map<string, Taken>;
  settle(): void;
}

interface Queue {
  waiting: Waiting[];
  returns: Return[];
}

const ATTEMPTS = 20;

export function makeReservations(book: QuotaAccess): Reservations {
  return new QuotaReservations(book);
}

/** All writes of a namespace's quotas go through one worker, so that a version it did not make is another's. */
class QuotaReservations implements Reservations {
  readonly #book: QuotaAccess;

  readonly #queues = new Map<string, Queue>();
  readonly #recounts = new Recounts();

  constructor(book: QuotaAccess) {
    this.#book = book;
  }

  async check(namespace: string, need: NeedOf, refuse: Refuse): Promise<void> {
    const waiting: Waiting = { need, refuse, done: new Map(), settle: () => {} };
    decide(waiting, planFor(await this.#book.read(namespace)));
    if (waiting.refusal !== undefined) throw waiting.refusal;
  }

  async reserve(namespace: string, need: NeedOf, refuse: Refuse): Promise<() => Promise<void>> {
    const waiting = await new Promise<Waiting>((resolve) => {
      const entry: Waiting = { need, refuse, done: new Map(), settle: () => resolve(entry) };
      this.#queue(namespace).waiting.push(entry);
    });
    const giveBack = () => this.#giveBack(namespace, waiting.done);
    if (waiting.refusal === undefined) return giveBack;
    if (waiting.done.size > 0) await giveBack();
    throw waiting.refusal;
  }

  #giveBack(namespace: string, done: ReadonlyMap<string, Taken>): Promise<void> {
    return new Promise((settle) => this.#queue(namespace).returns.push({ back: new Map(done), settle }));
  }

  /** What is put into it now is worked on: by the worker that is there, or by a new one. */
  #queue(namespace: string): Queue {
    const held = this.#queues.get(namespace);
    if (held !== undefined) return held;
    const queue: Queue = { waiting: [], returns: [] };
    this.#queues.set(namespace, queue);
    queueMicrotask(() => void this.#work(namespace, queue));
    return queue;
  }

  async #work(namespace: string, queue: Queue): Promise<void> {
    while (queue.waiting.length > 0 || queue.returns.length > 0) {
      const batch: Queue = { waiting: queue.waiting, returns: queue.returns };
      queue.waiting = [];
      queue.returns = [];
      try {
        let isSettled = false;
        for (let attempt = 0; attempt < ATTEMPTS && !isSettled; attempt += 1)
          isSettled = await this.#round(namespace, batch);
        if (!isSettled)
          throw statusError('Conflict', 'the quotas of the namespace change too fast; try again');
      } catch (error) {
        const refusal = error instanceof ApiError ? error : unavailable(error);
        for (const waiting of batch.waiting) waiting.refusal ??= refusal;
      }
      // What could not be given back is found by the next count.
      for (const { settle } of [...batch.waiting, ...batch.returns]) settle();
    }
    this.#queues.delete(namespace);
  }

  /** One round over all that wait; true when nothing is left to write. */
  async #round(namespace: string, { waiting, returns }: Queue): Promise<boolean> {
    const quotas = await this.#book.read(namespace);
    for (const quota of quotas) this.#recounts.see(quota);
    const plans = planFor(quotas);
    for (const plan of plans) for (const { back } of returns) this.#takeBack(plan, back);
    for (const one of waiting) if (one.refusal === undefined) decide(one, plans);
    let isSettled = true;
    for (const plan of plans) if (!(await this.#put(plan))) isSettled = false;
    return isSettled;
  }

  #takeBack(plan: Plan, back: Map<string, Taken>): void {
    const { uid } = plan.quota.metadata;
    const taken = back.get(uid);
    if (taken === undefined) return;
    // What somebody has counted since was counted without the write that failed: nothing is left to give back.
    const names = Object.entries(taken.usage).filter(
      ([name]) => this.#recounts.of(uid, name) === taken.recounts.get(name),
    );
    plan.used = without(plan.used, Object.fromEntries(names));
    plan.returned.push(back);
  }

  async #put({ quota, used, takers, returned }: Plan): Promise<boolean> {
    if (takers.length === 0 && returned.length === 0) return true;
    const { uid } = quota.metadata;
    try {
      this.#recounts.wrote(
        await this.#book.write({ ...quota, status: { hard: quota.spec?.hard ?? {}, used } }),
      );
    } catch (error) {
      if (ApiError.is(error, 'Conflict', 'NotFound')) return false;
      throw error;
    }
    for (const { waiting, delta } of takers) {
      const counts = Object.keys(delta).map((name) => [name, this.#recounts.of(uid, name)] as const);
      waiting.done.set(uid, { usage: delta, recounts: new Map(counts) });
    }
    for (const back of returned) back.delete(uid);
    return true;
  }
}

interface Taker {
  readonly waiting: Waiting;
  readonly delta: Usage;
}

interface Plan {
  readonly quota: Quota;
  used: Usage;
  readonly takers: Taker[];
  /** Those whose reservations are given back. */
  readonly returned: Map<string, Taken>[];
}

function planFor(quotas: readonly Quota[]): Plan[] {
  return quotas.map((quota) => ({ quota, used: quota.status?.used ?? {}, takers: [], returned: [] }));
}

/** Takes from every quota or from none. */
function decide(waiting: Waiting, plans: readonly Plan[]): void {
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
