// Deployment and ReplicaSet controllers together, against an API with late caches, refusals and dying pods.
import { afterEach, describe, expect, test } from 'vitest';
import type { V1Deployment } from '../../../src/api/gen/types.js';
import { controllerOf, type Stored } from '../../../src/api/object.js';
import { DEPLOYMENTS, PODS, REPLICA_SETS } from '../../../src/api/resources.js';
import { statusError } from '../../../src/api/status.js';
import { deploymentController } from '../../../src/controllers/deployment/controller.js';
import { isActive, isReady } from '../../../src/controllers/pods.js';
import { replicaSetController } from '../../../src/controllers/replicaSet/controller.js';
import { FakeApi } from '../../support/fakeApi.js';
import { random, turn } from '../../support/random.js';
import { startControllers } from './support/running.js';

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

interface World {
  readonly api: FakeApi;
  readonly faults: string[];
  readonly chance: () => number;
  /** The most pods that may be active now. */
  limit: number;
  /** The fewest pods that must be available now. */
  minimum: number;
}

function makeWorld(seed: number, refusals: number): World {
  const chance = random(seed);
  const faults: string[] = [];
  const world: World = {
    chance,
    faults,
    limit: Infinity,
    minimum: 0,
    api: new FakeApi({
      lag: async () => {
        for (let turns = Math.floor(chance() * 12); turns > 0; turns--) await turn();
      },
      before: (verb) => {
        if (verb !== 'list' && chance() < refusals)
          throw statusError('InternalError', 'refused for the test');
      },
      changed: () => {
        const active = world.api.all(PODS).filter(isActive);
        const available = active.filter(isReady).length;
        if (active.length > world.limit) faults.push(`${active.length} active pods, ${world.limit} allowed`);
        if (available < world.minimum) faults.push(`${available} available pods, ${world.minimum} needed`);
      },
    }),
  };
  return world;
}

function start({ api }: World): () => Promise<void> {
  const stop = startControllers(api, { enabled: [deploymentController.name, replicaSetController.name] });
  stops.push(stop);
  return stop;
}

/** Plays the kubelets for one turn: some pods become ready, some that were deleted go. */
function playKubelets({ api, chance }: World, { kill = 0 } = {}): void {
  for (const { metadata, status } of api.all(PODS)) {
    if (metadata.deletionTimestamp !== undefined) {
      if (chance() < 0.3) api.remove(PODS, metadata);
    } else if (chance() < kill) api.remove(PODS, metadata);
    else if (status?.phase !== 'Running' && chance() < 0.3) {
      const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }];
      api.setStatus(PODS, metadata, { phase: 'Running', conditions });
    }
  }
}

async function change(
  { api }: World,
  edit: (spec: NonNullable<V1Deployment['spec']>) => object,
): Promise<void> {
  for (;;) {
    try {
      const present = await api.of(DEPLOYMENTS).get({ name: 'web', namespace: 'default' });
      await api.of(DEPLOYMENTS).update({ ...present, spec: { ...present.spec, ...edit(present.spec) } });
      return;
    } catch {
      await turn();
    }
  }
}

const withImage = (image: string) => ({
  template: {
    metadata: { labels: { app: 'web' } },
    spec: { nodeName: 'n', containers: [{ name: 'main', image }] },
  },
});

async function create({ api }: World, spec: object): Promise<void> {
  const wanted: V1Deployment = {
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      replicas: 5,
      selector: { matchLabels: { app: 'web' } },
      progressDeadlineSeconds: 600,
      ...withImage('v0'),
      ...spec,
    },
  };
  for (;;) {
    try {
      await api.of(DEPLOYMENTS).create(wanted);
      return;
    } catch {
      await turn();
    }
  }
}

function isWhole({ api }: World): boolean {
  const web = api.get(DEPLOYMENTS, 'default/web') as Stored<V1Deployment>;
  const desired = web.spec.replicas ?? 1;
  const pods = api.all(PODS);
  const {
    observedGeneration,
    replicas = 0,
    updatedReplicas = 0,
    availableReplicas = 0,
    conditions = [],
  } = web.status;
  const image = web.spec.template.spec?.containers[0]?.image;
  return (
    observedGeneration === web.metadata.generation &&
    [replicas, updatedReplicas, availableReplicas, pods.length].every((count) => count === desired) &&
    pods.every(({ spec }) => spec.containers[0]?.image === image) &&
    conditions.some(({ type, reason }) => type === 'Progressing' && reason === 'NewReplicaSetAvailable')
  );
}

async function settle(world: World): Promise<void> {
  const until = Date.now() + 8000;
  while (!isWhole(world) && Date.now() < until) {
    playKubelets(world);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  expect(isWhole(world), JSON.stringify(world.api.get(DEPLOYMENTS, 'default/web')?.status)).toBe(true);
}

describe('deployments and replica sets with late caches', () => {
  test.each([1, 2, 3, 4, 5, 6])(
    'roll, scale, go back and lose pods, never above desired plus surge (run %i)',
    async (seed) => {
      const world = makeWorld(seed, seed % 2 === 0 ? 0.05 : 0);
      const surge = 1 + Math.floor(world.chance() * 3);
      const most = 8;
      world.limit = most + surge;
      start(world);
      await create(world, {
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: surge, maxUnavailable: seed % 3 } },
      });
      for (let step = 0; step < 8; step++) {
        const choice = world.chance();
        if (choice < 0.5) await change(world, () => withImage(`v${Math.floor(world.chance() * 4)}`));
        else if (choice < 0.75) await change(world, () => ({ replicas: most }));
        else await change(world, () => ({ replicas: 1 + Math.floor(world.chance() * most) }));
        for (let turns = Math.floor(world.chance() * 60); turns > 0; turns--) {
          playKubelets(world, { kill: 0.01 });
          await turn();
        }
      }
      await settle(world);
      expect(world.faults).toEqual([]);
    },
  );

  test('makes exactly the pods asked for when every cache is late and the controllers restart', async () => {
    const world = makeWorld(42, 0);
    world.limit = 40;
    const stop = start(world);
    await create(world, {
      replicas: 40,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
    });
    for (let turns = 0; turns < 30; turns++) await turn();
    await stop();
    start(world);
    await settle(world);
    expect(world.faults).toEqual([]);
    const [set] = world.api.all(REPLICA_SETS);
    expect(world.api.all(PODS).every((pod) => controllerOf(pod)?.uid === set?.metadata.uid)).toBe(true);
    expect(world.api.requests.filter((request) => request === 'create pods')).toHaveLength(40);
  });

  test.each([1, 2, 3])('keeps enough pods available while templates change (run %i)', async (seed) => {
    const world = makeWorld(seed, 0);
    start(world);
    await create(world, {
      replicas: 6,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: seed - 1, maxUnavailable: 1 } },
    });
    await settle(world);
    world.limit = 6 + seed - 1;
    world.minimum = 5;
    for (let step = 0; step < 5; step++) {
      await change(world, () => withImage(`v${Math.floor(world.chance() * 4)}`));
      for (let turns = Math.floor(world.chance() * 80); turns > 0; turns--) {
        playKubelets(world);
        await turn();
      }
    }
    await settle(world);
    expect(world.faults).toEqual([]);
  });

  test('recreates only after the last old pod is gone', async () => {
    const world = makeWorld(7, 0);
    start(world);
    await create(world, { strategy: { type: 'Recreate' } });
    await settle(world);
    world.limit = 5;
    await change(world, () => withImage('v1'));
    await settle(world);
    expect(world.faults).toEqual([]);
  });
});
