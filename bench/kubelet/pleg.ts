// The relist's core: from the bytes of the runtime's lists to events, natively and by decoding with protobufjs.
// Guarantees: both contestants answer the same events; every sample is a relist in which 1 of 100 containers changed.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import { openPleg } from '../../src/kernel/pleg/adapter.js';
import { againstLimit, againstPeer, type Figure } from '../lib/figure.js';

const PODS = 2_000;
const CONTAINERS = 4_000;
const CHANGED = CONTAINERS / 100;
const SAMPLES = 60;
const [RUNNING, EXITED] = [1, 2];

interface Lists {
  readonly sandboxes: Buffer;
  readonly containers: Buffer;
}

export async function pleg(): Promise<Figure[]> {
  const messages = await loadMessages();
  const rounds = [lists(messages, 0), lists(messages, CHANGED)] as const;
  const native = openPleg();
  const plain = new DecodedDiffer(messages);
  (await native.relist(rounds[0].sandboxes, rounds[0].containers)).commit();
  plain.relist(rounds[0]);
  const [ours, peers]: [number[], number[]] = [[], []];
  for (let i = 1; i <= SAMPLES; i++) {
    const round = rounds[i % 2 === 0 ? 0 : 1];
    const start = performance.now();
    const relist = await native.relist(round.sandboxes, round.containers);
    const middle = performance.now();
    relist.commit();
    const begin = performance.now();
    const changed = plain.relist(round);
    const end = performance.now();
    assert.equal(changed.length, CHANGED);
    assert.deepEqual(
      relist.changed.flatMap(({ events }) => events.map(({ id }) => id)),
      changed,
    );
    // The first tenth warms the compiler for both.
    if (i <= SAMPLES / 10) continue;
    ours.push(middle - start);
    peers.push(end - begin);
  }
  const figure = {
    name: `PLEG: ${PODS} pods, ${CONTAINERS} containers, 1% changed`,
    samples: ours,
    unit: 'ms',
  };
  return [
    againstPeer({ ...figure, peer: 'protobufjs and a diff in JavaScript', peerSamples: peers }, 1 / 15),
    againstLimit({ ...figure, name: `${figure.name}, bytes to events` }, 3),
  ];
}

interface Messages {
  readonly sandboxes: protobuf.Type;
  readonly containers: protobuf.Type;
}

async function loadMessages(): Promise<Messages> {
  const root = await protobuf.load(fileURLToPath(new URL('../../src/cri/proto/cri.proto', import.meta.url)));
  return {
    sandboxes: root.lookupType('runtime.v1.ListPodSandboxResponse'),
    containers: root.lookupType('runtime.v1.ListContainersResponse'),
  };
}

/** As containerd lists a node full of pods: labels and annotations of the usual size, two containers a pod. */
function lists(messages: Messages, exited: number): Lists {
  const hex = (seed: number) => seed.toString(16).padStart(64, '0');
  const labels = (pod: number) => ({
    'io.kubernetes.pod.name': `web-6b8f9c7d5-${pod}`,
    'io.kubernetes.pod.namespace': 'production',
    'io.kubernetes.pod.uid': uidOf(pod),
  });
  const items = Array.from({ length: PODS }, (_, pod) => ({
    id: hex(pod),
    metadata: { name: `web-6b8f9c7d5-${pod}`, uid: uidOf(pod), namespace: 'production', attempt: 0 },
    state: 0,
    createdAt: 1_700_000_000_000,
    labels: { ...labels(pod), app: 'web', 'pod-template-hash': '6b8f9c7d5' },
    annotations: {
      'kubernetes.io/config.source': 'api',
      'kubernetes.io/config.seen': '2026-01-01T00:00:00Z',
    },
  }));
  const containers = Array.from({ length: CONTAINERS }, (_, i) => ({
    id: hex(1_000_000 + i),
    podSandboxId: hex(i >> 1),
    metadata: { name: i % 2 === 0 ? 'main' : 'helper', attempt: 0 },
    image: { image: 'trellis.local/busybox:latest' },
    imageRef: `sha256:${hex(7)}`,
    // Spread over the node, one of a pod at most.
    state: i % (CONTAINERS / CHANGED) === 0 && exited > 0 ? EXITED : RUNNING,
    createdAt: 1_700_000_000_000,
    labels: { ...labels(i >> 1), 'io.kubernetes.container.name': i % 2 === 0 ? 'main' : 'helper' },
    annotations: {
      'io.kubernetes.container.hash': '1a2b3c4d',
      'io.kubernetes.container.restartCount': '0',
      'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
      'io.kubernetes.container.terminationMessagePolicy': 'File',
      'io.kubernetes.pod.terminationGracePeriod': '30',
    },
  }));
  const encode = (type: protobuf.Type, value: object) =>
    Buffer.from(type.encode(type.fromObject(value)).finish());
  return {
    sandboxes: encode(messages.sandboxes, { items }),
    containers: encode(messages.containers, { containers }),
  };
}

const uidOf = (pod: number) => `8a4c0d0e-0000-4000-8000-${pod.toString(16).padStart(12, '0')}`;

interface Listed {
  readonly id: string;
  readonly state: number;
  readonly podSandboxId?: string;
}

/** The peer: every message becomes objects, and what was kept is compared with what came. */
class DecodedDiffer {
  readonly #messages: Messages;

  #record = new Map<string, number>();

  constructor(messages: Messages) {
    this.#messages = messages;
  }

  /** The ids of what changed, in order. */
  relist({ sandboxes, containers }: Lists): string[] {
    const pods = this.#messages.sandboxes.decode(sandboxes) as unknown as { items: Listed[] };
    const runs = this.#messages.containers.decode(containers) as unknown as { containers: Listed[] };
    const now = new Map<string, number>();
    for (const { id, state } of pods.items) now.set(id, state);
    for (const { id, state } of runs.containers) now.set(id, state);
    const changed = [...now].filter(([id, state]) => this.#record.get(id) !== state).map(([id]) => id);
    const gone = [...this.#record.keys()].filter((id) => !now.has(id));
    const first = this.#record.size === 0;
    this.#record = now;
    return first ? [] : [...changed, ...gone].sort();
  }
}
