// What a scheduler keeps in memory at 5,000 nodes and 30,000 pods: the informers' copies and the snapshot over them.
// Guarantees: a process of its own, so that no other benchmark's leftovers count; the kernel's account of it.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { V1Node, V1Pod } from '../../src/api/gen/types.js';
import type { Stored } from '../../src/api/object.js';
import { ObjectCache } from '../../src/client/cache.js';
import { Snapshot } from '../../src/scheduler/snapshot/snapshot.js';
import { againstLimit, type Figure } from '../lib/figure.js';
import { CASES } from './cases.js';
import { makeNode } from './run.js';

const NODES = 5_000;
const PODS = 30_000;
const LIMIT_MB = 300;

export async function memory(): Promise<Figure[]> {
  const file = fileURLToPath(import.meta.url);
  const script = `import(${JSON.stringify(file)}).then(({ fill }) => fill())`;
  const output = execFileSync(process.execPath, ['--expose-gc', '--input-type=module', '-e', script]);
  const value = Number(output.toString());
  return [
    againstLimit({ name: `a scheduler of ${NODES} nodes and ${PODS} pods`, value, unit: 'MB' }, LIMIT_MB),
  ];
}

/** In the process that is measured: prints its resident memory in MB. */
export function fill(): void {
  const [nodes, pods] = [new ObjectCache<V1Node>(), new ObjectCache<V1Pod>()];
  const snapshot = new Snapshot();
  // As they come over the wire: every text of every object anew.
  const stored = <T>(object: unknown, number: number): Stored<T> => {
    const copy = JSON.parse(JSON.stringify(object)) as { metadata: object };
    const meta = {
      uid: `00000000-0000-0000-0000-${number}`,
      resourceVersion: String(number),
      creationTimestamp: '2026-01-01T00:00:00Z',
    };
    return { ...copy, metadata: { ...copy.metadata, ...meta } } as Stored<T>;
  };
  for (let number = 0; number < NODES; number += 1) {
    const object = stored<V1Node>(makeNode(number), number);
    nodes.apply({ type: 'ADDED', object });
    snapshot.setNode(object);
  }
  for (let number = 0; number < PODS; number += 1) {
    const made = CASES[number % CASES.length]?.make(`pod-${number}`, number, 'before');
    const object = stored<V1Pod>(
      { ...made, spec: { ...made?.spec, nodeName: `node-${number % NODES}` }, status: {} },
      number,
    );
    pods.apply({ type: 'ADDED', object });
    snapshot.setPod(object);
  }
  globalThis.gc?.();
  console.log((process.memoryUsage.rss() / 1e6).toFixed(1));
  if (nodes.list().length + pods.list().length !== snapshot.nodeCount + snapshot.podCount)
    process.exitCode = 1;
}
