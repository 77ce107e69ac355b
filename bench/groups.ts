// Every benchmark by group and name.
// Guarantees: a name stands for one benchmark, a group's name for all of it.
import { apiserver } from './apiserver/index.js';
import { cluster } from './cluster/index.js';
import { cni } from './cni/index.js';
import { controllers } from './controllers/index.js';
import { hostile } from './hostile/index.js';
import { kubelet } from './kubelet/index.js';
import type { Figure } from './lib/figure.js';
import { native } from './native/index.js';
import { policy } from './policy/index.js';
import { proxy } from './proxy/index.js';
import { scheduler } from './scheduler/index.js';

export interface Benchmark {
  readonly group: string;
  readonly name: string;
  run(): Promise<Figure[]>;
}

const groups: Record<string, Record<string, () => Promise<Figure[]>>> = {
  cluster,
  native,
  cni,
  apiserver,
  hostile,
  scheduler,
  controllers,
  kubelet,
  proxy,
  policy,
};

export const BENCHMARKS: readonly Benchmark[] = Object.entries(groups).flatMap(([group, benchmarks]) =>
  Object.entries(benchmarks).map(([name, run]) => ({ group, name: `${group}/${name}`, run })),
);
