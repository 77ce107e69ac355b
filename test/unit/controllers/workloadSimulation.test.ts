// StatefulSets, DaemonSets and Jobs against an API with late caches and refusals, their controllers restarted at any point.
import { afterEach, expect, test } from 'vitest';
import type { V1Pod } from '../../../src/api/gen/types.js';
import type { KubeObject, Stored } from '../../../src/api/object.js';
import {
  DAEMON_SETS,
  JOBS,
  NODES,
  PODS,
  type ResourceType,
  STATEFUL_SETS,
} from '../../../src/api/resources.js';
import { statusError } from '../../../src/api/status.js';
import { daemonSetController } from '../../../src/controllers/daemonSet/controller.js';
import { jobController } from '../../../src/controllers/job/controller.js';
import { isActive, isFinished, isReady } from '../../../src/controllers/pods.js';
import { statefulSetController } from '../../../src/controllers/statefulSet/controller.js';
import { FakeApi } from '../../support/fakeApi.js';
import { random, turn } from '../../support/random.js';
import { startControllers } from './support/running.js';

type Pod = Stored<V1Pod>;
const SEEDS = Array.from({ length: 6 }, (_, at) => at + 1);
const RESTART = 0.05;
const PATIENCE_MS = 30_000;
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

interface World {
  readonly api: FakeApi;
  readonly chance: () => number;
  readonly faults: string[];
  /** What must not be, looked for after every change. */
  fault: (pods: readonly Pod[]) => string | undefined;
  restart(): Promise<void>;
}

async function open(seed: number, controller: string): Promise<World> {
  const chance = random(seed);
  const refusals = seed % 2 === 0 ? 0.05 : 0;
  const faults: string[] = [];
  const api = new FakeApi({
    lag: async () => {
      for (let turns = Math.floor(chance() * 12); turns > 0; turns--) await turn();
    },
    before: (verb) => {
      if (verb !== 'list' && chance() < refusals) throw statusError('InternalError', 'refused for the test');
    },
    changed: () => {
      const found = world.fault(api.all(PODS));
      if (found !== undefined) faults.push(found);
    },
  });
  let stop = startControllers(api, { enabled: [controller] });
  const world: World = {
    api,
    chance,
    faults,
    fault: () => undefined,
    async restart() {
      await stop();
      stop = startControllers(api, { enabled: [controller] });
    },
  };
  stops.push(() => stop());
  return world;
}

async function persist(work: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await work();
      return;
    } catch {
      await turn();
    }
  }
}

const change = <T extends KubeObject>(
  { api }: World,
  type: ResourceType<T>,
  edit: (spec: object) => object,
): Promise<void> =>
  persist(async () => {
    const present = await api.of(type).get({ name: 'web', namespace: 'default' });
    const { spec } = present as unknown as { spec: object };
    await api.of(type).update({ ...present, spec: { ...spec, ...edit(spec) } });
  });

const create = <T extends KubeObject>({ api }: World, type: ResourceType<T>, spec: object): Promise<void> =>
  persist(() =>
    api.of(type).create({ metadata: { name: 'web', namespace: 'default' }, spec } as unknown as T),
  );

/** One turn of the kubelets: `end` tells how a pod that runs goes on. */
function play({ api, chance }: World, end: (pod: Pod) => object | undefined = () => undefined): void {
  for (const pod of api.all(PODS)) {
    const { metadata, status } = pod;
    if (chance() > 0.3) continue;
    if (metadata.deletionTimestamp !== undefined) {
      if ((metadata.finalizers ?? []).length === 0) api.remove(PODS, metadata);
      else if (!isFinished(pod)) api.setStatus(PODS, metadata, { ...status, phase: 'Failed' });
    } else if (status?.phase !== 'Running' && !isFinished(pod)) {
      const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }];
      api.setStatus(PODS, metadata, { phase: 'Running', conditions });
    } else if (!isFinished(pod)) {
      const next = end(pod);
      if (next !== undefined) api.setStatus(PODS, metadata, next);
    }
  }
}

async function go(world: World, turns: number, end?: (pod: Pod) => object | undefined): Promise<void> {
  for (let at = 0; at < turns; at++) {
    play(world, end);
    if (world.chance() < RESTART) await world.restart();
    await turn();
  }
}

async function settle(
  world: World,
  isWhole: () => boolean,
  end?: (pod: Pod) => object | undefined,
): Promise<void> {
  const until = Date.now() + PATIENCE_MS;
  while (!isWhole() && Date.now() < until) {
    play(world, end);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  expect(isWhole(), JSON.stringify(world.api.all(PODS).map(({ metadata }) => metadata.name))).toBe(true);
  expect(world.faults).toEqual([]);
}

const template = (image: string, more: object = {}) => ({
  metadata: { labels: { app: 'web' } },
  spec: { nodeName: 'n', containers: [{ name: 'main', image }], ...more },
});
const selector = { matchLabels: { app: 'web' } };
const imageOf = ({ spec }: Pod) => spec.containers[0]?.image;

test.each(SEEDS)(
  'a StatefulSet scales and rolls with at most one of its pods away (run %i)',
  async (seed) => {
    const world = await open(seed, statefulSetController.name);
    const { api, chance } = world;
    let [replicas, image] = [3, 'v0'];
    await create(world, STATEFUL_SETS, { replicas, serviceName: 'web', selector, template: template(image) });
    const isWhole = () => {
      const pods = api.all(PODS);
      const names = pods.map(({ metadata }) => metadata.name).sort();
      const wanted = Array.from({ length: replicas }, (_, ordinal) => `web-${ordinal}`);
      return names.join() === wanted.join() && pods.every((pod) => isReady(pod) && imageOf(pod) === image);
    };
    await settle(world, isWhole);
    world.fault = (pods) => {
      // Those that are scaled away go one by one too, but beside an update that had begun before.
      const isWished = ({ metadata }: Pod) => Number(metadata.name.slice('web-'.length)) < replicas;
      const away = pods.filter((pod) => isWished(pod) && !(isReady(pod) && isActive(pod)));
      return away.length > 1 ? `${away.map(({ metadata }) => metadata.name)} are away` : undefined;
    };
    for (let step = 0; step < 6; step++) {
      if (chance() < 0.5) {
        replicas = 1 + Math.floor(chance() * 5);
        await change(world, STATEFUL_SETS, () => ({ replicas }));
      } else {
        image = `v${Math.floor(chance() * 3)}`;
        await change(world, STATEFUL_SETS, () => ({ template: template(image) }));
      }
      await go(world, Math.floor(chance() * 60));
    }
    await settle(world, isWhole);
  },
  90_000,
);

test.each(SEEDS)(
  'a DaemonSet has one pod a node, and rolls one node at a time (run %i)',
  async (seed) => {
    const world = await open(seed, daemonSetController.name);
    const { api, chance } = world;
    const nodes = ['n0', 'n1', 'n2', 'n3', 'n4'];
    const makeNode = (name: string) =>
      persist(() => api.of(NODES).create({ metadata: { name }, spec: {}, status: {} }));
    for (const name of nodes) await makeNode(name);
    const free = (image: string) => {
      const { metadata, spec } = template(image);
      const { nodeName: _, ...rest } = spec;
      return { metadata, spec: rest };
    };
    let image = 'v0';
    const rollingUpdate = { maxUnavailable: 1, maxSurge: 0 };
    await create(world, DAEMON_SETS, {
      selector,
      template: free(image),
      updateStrategy: { type: 'RollingUpdate', rollingUpdate },
    });
    const placeOf = ({ spec }: Pod) =>
      spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms[0]
        ?.matchFields?.[0]?.values?.[0] ?? '';
    // The scheduler's part: a pod goes where it is pinned to.
    const bind = () => {
      for (const pod of api.all(PODS))
        if (!pod.spec.nodeName)
          void persist(async () => {
            const present = api.get(PODS, `default/${pod.metadata.name}`);
            if (present === undefined || present.spec.nodeName) return;
            await api.of(PODS).update({ ...present, spec: { ...present.spec, nodeName: placeOf(present) } });
          });
    };
    const isWhole = () => {
      bind();
      const pods = api.all(PODS);
      const places = pods.map(({ spec }) => spec.nodeName ?? '').sort();
      // Seen ready by the controller too: an old pod that it believes broken is replaced at once, whatever the limit.
      const { numberAvailable, updatedNumberScheduled } = api.get(DAEMON_SETS, 'default/web')?.status ?? {};
      const isSeen = [numberAvailable, updatedNumberScheduled].every((count) => count === nodes.length);
      const isRight = (pod: Pod) => isReady(pod) && imageOf(pod) === image;
      return isSeen && places.join() === nodes.join() && pods.every(isRight);
    };
    await settle(world, isWhole);
    world.fault = (pods) => {
      const active = pods.filter(isActive);
      if (new Set(active.map(placeOf)).size < active.length) return 'two active pods on one node';
      const ready = active.filter(isReady).length;
      return ready < nodes.length - 1 ? `only ${ready} of ${nodes.length} are ready` : undefined;
    };
    for (let step = 0; step < 4; step++) {
      image = `v${Math.floor(chance() * 3)}`;
      await change(world, DAEMON_SETS, () => ({ template: free(image) }));
      for (let turns = Math.floor(chance() * 50); turns > 0; turns--) {
        bind();
        await go(world, 1);
      }
    }
    await settle(world, isWhole);
  },
  90_000,
);

test.each(SEEDS)(
  'a Job runs as many pods at a time as it may, and counts each once (run %i)',
  async (seed) => {
    const world = await open(seed, jobController.name);
    const { api, chance } = world;
    const [completions, parallelism] = [12, 3];
    world.fault = (pods) => {
      const active = pods.filter(isActive);
      return active.length > parallelism ? `${active.length} pods at a time` : undefined;
    };
    const ended = { succeeded: new Set<string>(), failed: new Set<string>() };
    const end = ({ metadata }: Pod) => {
      const fails = ended.failed.size < 3 && chance() < 0.3;
      ended[fails ? 'failed' : 'succeeded'].add(metadata.uid);
      // Long ago: failures are then not waited for.
      const state = { terminated: { exitCode: fails ? 1 : 0, finishedAt: '2020-01-01T00:00:00Z' } };
      const containerStatuses = [{ name: 'main', state, ready: false, restartCount: 0 }];
      return { phase: fails ? 'Failed' : 'Succeeded', containerStatuses };
    };
    await create(world, JOBS, {
      completions,
      parallelism,
      backoffLimit: 10,
      completionMode: 'NonIndexed',
      selector,
      manualSelector: true,
      template: template('v0', { restartPolicy: 'Never' }),
    });
    await go(world, 60, end);
    const isWhole = () => {
      const status = api.get(JOBS, 'default/web')?.status;
      return (status?.conditions ?? []).some(({ type }) => type === 'Complete');
    };
    await settle(world, isWhole, end);
    const { succeeded, failed = 0, uncountedTerminatedPods } = api.get(JOBS, 'default/web')?.status ?? {};
    expect([succeeded, failed]).toEqual([completions, ended.failed.size]);
    expect(ended.succeeded.size).toBe(completions);
    expect(Object.values(uncountedTerminatedPods ?? {}).flat()).toEqual([]);
  },
  90_000,
);
