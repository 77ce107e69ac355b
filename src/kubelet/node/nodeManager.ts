// Keeps this node's Node object and Lease: registration, status at every change, heartbeats, events of what changed.
// Guarantees: the first status goes out at once; a change at the next look; an unchanged one every five minutes.
import { isDeepStrictEqual } from 'node:util';
import type { V1Node, V1NodeStatus } from '../../api/gen/types.js';
import type { Log } from '../../api/log.js';
import type { Stored } from '../../api/object.js';
import { LEASES, NODES } from '../../api/resources.js';
import { ApiError } from '../../api/status.js';
import { backOffMs } from '../../base/backOff.js';
import { messageOf } from '../../base/errorMessage.js';
import type { Client, ResourceClient } from '../../client/client.js';
import { sleep } from '../abort.js';
import type { KubeletConfig } from '../config.js';
import type { EventSink } from '../events.js';
import { apiMicroTime } from '../status/time.js';
import { type NodeEvent, nodeEvents, schedulingEvents } from './nodeEvents.js';
import { withExtended } from './nodeStatus.js';

interface NodeManagerOptions {
  readonly client: Client;
  readonly config: KubeletConfig;
  readonly log: Log;
  readonly now: () => number;
  /** The node as it is now; `previous` are the conditions that the API has. */
  readonly describe: (previous: V1NodeStatus['conditions']) => Promise<V1Node>;
  readonly events: EventSink;
}

const LEASE_NAMESPACE = 'kube-node-lease';
const RETRY = { firstMs: 200, longestMs: 7_000 };
const STARTING: NodeEvent = { type: 'Normal', reason: 'Starting', message: 'Starting kubelet.' };

export class NodeManager {
  readonly #options: NodeManagerOptions;

  readonly #stopping = new AbortController();
  #loops: Promise<unknown> = Promise.resolve();
  #node: Stored<V1Node> | undefined;
  #reportedAt = Number.NEGATIVE_INFINITY;
  #wake: (() => void) | undefined;
  #wanted = false;
  #hasTold = false;
  /** The uid of the node that the lease names. */
  #leaseOwner: string | undefined;
  #reading: Promise<void> | undefined;

  constructor(options: NodeManagerOptions) {
    this.#options = options;
  }

  start(): void {
    const { nodeStatusUpdateFrequencyMs, nodeLeaseDurationSeconds } = this.#options.config;
    this.#loops = Promise.all([
      this.#repeat('node status', nodeStatusUpdateFrequencyMs, () => this.#report()),
      this.#repeat('node lease', nodeLeaseDurationSeconds * 250, () => this.#renew()),
    ]);
  }

  current(): Stored<V1Node> | undefined {
    return this.#node;
  }

  /** Reads the node anew; who asks meanwhile gets the answer of a later request. */
  async readNow(): Promise<void> {
    await this.#reading?.catch(() => {}); // that one began too early for this caller
    this.#reading ??= this.#readAgain().finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
  }

  /** A watch tells of the node. Answers of requests may be newer: the newest counts. */
  heard(node: Stored<V1Node>): void {
    const known = this.#node;
    // Before its registration the node is not known, whatever one of an earlier run says.
    if (known === undefined || !isNewer(node, known)) return;
    this.#node = node;
    this.#tell(node, schedulingEvents(this.#options.config.nodeName, known, node));
  }

  /** Something changed that the node's status shows: look now. */
  changed(): void {
    this.#wanted = true;
    this.#wake?.();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the kubelet stops'));
    await this.#loops;
  }

  async #repeat(what: string, periodMs: number, work: () => Promise<void>): Promise<void> {
    const { signal } = this.#stopping;
    let failures = 0;
    while (!signal.aborted) {
      let delayMs = periodMs;
      try {
        await work();
        failures = 0;
      } catch (error) {
        delayMs = Math.min(backOffMs(failures++, RETRY), periodMs);
        this.#options.log.warn(`cannot update the ${what}`, { error: messageOf(error), retryMs: delayMs });
      }
      await this.#pause(delayMs, what === 'node status');
    }
  }

  async #pause(ms: number, canBeWoken: boolean): Promise<void> {
    const { signal } = this.#stopping;
    if (canBeWoken && this.#wanted) {
      this.#wanted = false;
      return;
    }
    const woken = canBeWoken
      ? new Promise<void>((resolve) => {
          this.#wake = resolve;
        })
      : new Promise<never>(() => {});
    const done = new AbortController();
    const either = AbortSignal.any([signal, done.signal]);
    await Promise.race([sleep(ms, either), woken]).catch(() => {});
    done.abort();
    if (canBeWoken) this.#wanted = false;
  }

  async #report(): Promise<void> {
    const { config, now, describe } = this.#options;
    const known = this.#node;
    const isNew = known === undefined && (await this.#register(await describe(undefined)));
    if (known !== undefined) await this.#readAgain();
    const current = this.#node;
    if (current === undefined) return;
    this.#tell(current, this.#hasTold ? [] : [STARTING]);
    this.#hasTold = true;
    if (known !== undefined) this.#tell(current, schedulingEvents(config.nodeName, known, current));
    const status = withExtended((await describe(current.status.conditions)).status ?? {}, current.status);
    const due = now() - this.#reportedAt >= config.nodeStatusReportFrequencyMs;
    if (!due && sameStatus(current.status, status)) return;
    this.#node = await this.#whileThere((nodes, name) =>
      nodes.patch(name, 'strategic', patchOf(status), { subresource: 'status' }),
    );
    this.#reportedAt = now();
    this.#tell(this.#node, nodeEvents(config.nodeName, isNew ? undefined : current.status, status));
  }

  #tell(node: Stored<V1Node>, events: readonly NodeEvent[]): void {
    for (const event of events) this.#options.events.event({ ...node, kind: 'Node' }, event);
  }

  /** Others write there, too: a controller that has not heard of the node for long says that its state is not known. */
  async #readAgain(): Promise<void> {
    this.#node = await this.#whileThere((nodes, name) => nodes.get(name));
  }

  async #whileThere(
    work: (nodes: ResourceClient<V1Node>, name: { name: string }) => Promise<Stored<V1Node>>,
  ): Promise<Stored<V1Node>> {
    const { client, config } = this.#options;
    try {
      return await work(client.of(NODES), { name: config.nodeName });
    } catch (error) {
      // Deleted by somebody: the next look registers it again.
      if (ApiError.is(error, 'NotFound')) this.#node = undefined;
      throw error;
    }
  }

  /** Whether it was not there before. */
  async #register(wanted: V1Node): Promise<boolean> {
    const { client, config, log } = this.#options;
    const nodes = client.of(NODES);
    const name = { name: config.nodeName };
    if (config.registerNode)
      try {
        this.#node = await nodes.create(wanted);
        log.info('registered the node', name);
        return true;
      } catch (error) {
        if (!ApiError.is(error, 'AlreadyExists')) throw error;
      }
    const labels = wanted.metadata?.labels ?? {};
    const existing = await nodes.get(name);
    const stale = Object.entries(labels).some(([key, value]) => existing.metadata.labels?.[key] !== value);
    this.#node =
      stale && config.registerNode ? await nodes.patch(name, 'merge', { metadata: { labels } }) : existing;
    return false;
  }

  async #renew(): Promise<void> {
    const { client, config, now } = this.#options;
    const leases = client.of(LEASES);
    const name = { namespace: LEASE_NAMESPACE, name: config.nodeName };
    const spec = {
      holderIdentity: config.nodeName,
      leaseDurationSeconds: config.nodeLeaseDurationSeconds,
      renewTime: apiMicroTime(now()),
    };
    const uid = this.#node?.metadata.uid;
    const owner = uid && {
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: config.nodeName, uid }],
    };
    // The first may be written before the node is registered: the next one says whose it is.
    const metadata = owner && uid !== this.#leaseOwner ? { metadata: owner } : {};
    try {
      await leases.patch(name, 'merge', { ...metadata, spec });
    } catch (error) {
      if (!ApiError.is(error, 'NotFound')) throw error;
      const whole = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', spec };
      await leases.create({ ...whole, metadata: { ...name, ...(owner || {}) } });
    }
    this.#leaseOwner = uid;
  }
}

const isNewer = (one: Stored<V1Node>, other: Stored<V1Node>) =>
  !(Number(one.metadata.resourceVersion) <= Number(other.metadata.resourceVersion));

/** Whether only heartbeats differ. */
export function sameStatus(current: V1NodeStatus, wanted: V1NodeStatus): boolean {
  const bare = ({ conditions, ...rest }: V1NodeStatus) => ({
    ...rest,
    conditions: (conditions ?? [])
      .filter(({ type }) => wanted.conditions?.some((one) => one.type === type))
      .map(({ type, status, reason, message }) => ({ type, status, reason, message })),
  });
  const ours = Object.keys(wanted) as (keyof V1NodeStatus)[];
  const left = bare(current);
  const right = bare(wanted);
  return ours.every((key) => isDeepStrictEqual(plain(left[key]), plain(right[key])));
}

/** Addresses would be merged by type, and a node of two families has two of one type: the list is replaced. */
function patchOf(wanted: V1NodeStatus): object {
  return { status: { ...wanted, addresses: [...(wanted.addresses ?? []), { $patch: 'replace' }] } };
}

const plain = (value: unknown) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));
