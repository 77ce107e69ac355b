// What the eviction manager looks at, by Kubernetes' names. Pure.
// Guarantees: a signal that a machine cannot tell is absent, never zero.
import type { MachinePressure } from '../node/machine.js';

export const SIGNALS = [
  'memory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'containerfs.available',
  'containerfs.inodesFree',
  'pid.available',
] as const;

export type Signal = (typeof SIGNALS)[number];

export interface Observation {
  readonly available: number;
  readonly capacity: number;
}

export type Observations = ReadonlyMap<Signal, Observation>;

export type PressureCondition = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

/** The condition of the node that a signal speaks for. */
export function conditionOf(signal: Signal): PressureCondition {
  if (signal === 'memory.available') return 'MemoryPressure';
  return signal === 'pid.available' ? 'PIDPressure' : 'DiskPressure';
}

/** The resource whose name messages use. */
export function resourceOf(signal: Signal): 'memory' | 'ephemeral-storage' | 'inodes' | 'pids' {
  if (signal === 'memory.available') return 'memory';
  if (signal === 'pid.available') return 'pids';
  return signal.endsWith('inodesFree') ? 'inodes' : 'ephemeral-storage';
}

/** `image` is the disk of the images, which may be the node's own. */
export function observe(
  node: MachinePressure & { readonly memoryTotalBytes: number },
  image: Pick<MachinePressure, 'diskAvailableBytes' | 'diskTotalBytes' | 'inodesFree' | 'inodesTotal'>,
): Observations {
  const all: [Signal, number, number][] = [
    ['memory.available', node.memoryAvailableBytes, node.memoryTotalBytes],
    ['nodefs.available', node.diskAvailableBytes, node.diskTotalBytes],
    ['nodefs.inodesFree', node.inodesFree, node.inodesTotal],
    ['imagefs.available', image.diskAvailableBytes, image.diskTotalBytes],
    ['imagefs.inodesFree', image.inodesFree, image.inodesTotal],
    ['containerfs.available', image.diskAvailableBytes, image.diskTotalBytes],
    ['containerfs.inodesFree', image.inodesFree, image.inodesTotal],
    ['pid.available', node.pidsMax - node.pidsUsed, node.pidsMax],
  ];
  // Some file systems count no inodes, and some machines have no limit of processes.
  return new Map(
    all
      .filter(
        ([, available, capacity]) => capacity > 0 && Number.isFinite(capacity) && Number.isFinite(available),
      )
      .map(([signal, available, capacity]) => [signal, { available, capacity }]),
  );
}
