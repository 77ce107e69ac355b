// Other requests and limits for containers that run: seen from inside, from the host's control groups and in the API.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { V1Pod, V1ResourceRequirements } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { PODS } from '../../../src/api/resources.js';
import { ApiNode, SLEEP, shell } from '../../support/kubelet/apiNode.js';
import { describeWith } from '../../support/requires.js';
import { until } from '../../support/until.js';

const needs = { root: true, tools: ['containerd', 'runc', 'ctr'], files: ['/bin/busybox'] };
const MI = 1024 * 1024;

const burstable = (cpu: string, memory: string): V1ResourceRequirements => ({
  requests: { cpu, memory },
  limits: { cpu: '500m', memory: '128Mi' },
});

describeWith(needs, 'a resize of a running pod', () => {
  let node: ApiNode;
  beforeAll(async () => {
    node = await ApiNode.start();
  }, 120_000);
  afterAll(() => node?.stop());

  const resize = (name: string, resources: V1ResourceRequirements) =>
    node.client
      .of(PODS)
      .patch(
        { namespace: 'default', name },
        'strategic',
        { spec: { containers: [{ name: 'main', resources }] } },
        { subresource: 'resize' },
      );
  const first = ({ status }: Stored<V1Pod>) => status.containerStatuses?.[0];
  const condition = ({ status }: Stored<V1Pod>, type: string) =>
    status.conditions?.find((one) => one.type === type);
  const resized = (name: string, wanted: V1ResourceRequirements) =>
    node.until(
      'resized',
      name,
      (pod) =>
        JSON.stringify(first(pod)?.resources?.limits) === JSON.stringify(wanted.limits) &&
        JSON.stringify(first(pod)?.resources?.requests) === JSON.stringify(wanted.requests) &&
        condition(pod, 'PodResizeInProgress') === undefined,
    );
  /** Of the container's own control group, version 1 or 2. */
  const memoryLimit = ({ metadata }: Stored<V1Pod>, id = '') => {
    const group = `${node.node.node.cgroupParent}/kubepods/burstable/pod${metadata.uid}/${id}`;
    for (const file of [
      `/sys/fs/cgroup/memory${group}/memory.limit_in_bytes`,
      `/sys/fs/cgroup${group}/memory.max`,
    ])
      try {
        return Number(readFileSync(file, 'utf8'));
      } catch {
        // the other version
      }
    return Number.NaN;
  };
  const idOf = (pod: Stored<V1Pod>) => first(pod)?.containerID?.split('://')[1] ?? '';

  test('up and down without a restart: the groups of pod and container follow, and the status tells', async () => {
    await node.create('live', { containers: [shell(SLEEP, { resources: burstable('100m', '32Mi') })] });
    const before = await node.running('live');
    expect(first(before)).toMatchObject({
      resources: burstable('100m', '32Mi'),
      allocatedResources: { cpu: '100m', memory: '32Mi' },
    });
    const wanted = { requests: { cpu: '200m', memory: '64Mi' }, limits: { cpu: '1', memory: '256Mi' } };
    const sent = await resize('live', wanted);
    expect(sent.metadata.generation).toBe((before.metadata.generation ?? 0) + 1);
    const after = await resized('live', wanted);
    expect(first(after)).toMatchObject({ restartCount: 0, allocatedResources: wanted.requests });
    expect(idOf(after)).toBe(idOf(before));
    expect(memoryLimit(after, idOf(after))).toBe(256 * MI);
    expect(memoryLimit(after)).toBe(256 * MI);
    await node.event('live', ({ reason }) => reason === 'ResizeCompleted');
    const less = { requests: { cpu: '50m', memory: '16Mi' }, limits: { cpu: '200m', memory: '64Mi' } };
    await resize('live', less);
    const smaller = await resized('live', less);
    expect(memoryLimit(smaller, idOf(smaller))).toBe(64 * MI);
    expect(memoryLimit(smaller)).toBe(64 * MI);
    expect(first(smaller)?.restartCount).toBe(0);
    expect(smaller.status.observedGeneration).toBe(smaller.metadata.generation);
    await node.remove('live');
  });

  test('a resource whose policy says so restarts its container; another does not', async () => {
    const resizePolicy = [
      { resourceName: 'cpu', restartPolicy: 'NotRequired' },
      { resourceName: 'memory', restartPolicy: 'RestartContainer' },
    ];
    const resources = burstable('100m', '32Mi');
    await node.create('policy', { containers: [shell(SLEEP, { resources, resizePolicy })] });
    await node.running('policy');
    await resize('policy', burstable('200m', '32Mi'));
    expect(first(await resized('policy', burstable('200m', '32Mi')))?.restartCount).toBe(0);
    const larger = { ...resources, limits: { cpu: '500m', memory: '192Mi' } };
    await resize('policy', larger);
    const after = await node.until(
      'restarted',
      'policy',
      (pod) => first(pod)?.restartCount === 1 && first(pod)?.state?.running !== undefined,
    );
    expect(memoryLimit(after, idOf(after))).toBe(192 * MI);
    await resized('policy', larger);
    // The run before stays for its log; when there are two, the older one goes, and its log with it.
    const logs = path.join(node.node.node.directory, `logs/default_policy_${after.metadata.uid}/main`);
    expect(readdirSync(logs).sort()).toEqual(['0.log', '1.log']);
    await resize('policy', { ...resources, limits: { cpu: '500m', memory: '160Mi' } });
    await node.until('restarted', 'policy', (pod) => first(pod)?.restartCount === 2);
    await until(async () => {
      const labels = { 'io.kubernetes.pod.uid': after.metadata.uid };
      const runs = await node.node.cri.runtime.listContainers({ labels });
      expect(runs.map(({ metadata }) => metadata.attempt).sort()).toEqual([1, 2]);
      expect(readdirSync(logs).sort()).toEqual(['1.log', '2.log']);
    });
    await node.remove('policy');
  });

  test('an init container gets other resources while it runs, and its pod goes on', async () => {
    const gate = { name: 'gate', emptyDir: {} };
    const mounts = { volumeMounts: [{ name: 'gate', mountPath: '/gate' }] };
    const wait = 'while [ ! -e /gate/open ]; do sleep 0.1; done';
    await node.create('begins', {
      volumes: [gate],
      initContainers: [{ ...shell(wait, { resources: burstable('100m', '32Mi'), ...mounts }), name: 'init' }],
      containers: [shell(SLEEP)],
    });
    const init = ({ status }: Stored<V1Pod>) => status.initContainerStatuses?.[0];
    await node.until('begun', 'begins', (pod) => init(pod)?.state?.running !== undefined);
    const resources = { requests: { cpu: '100m', memory: '32Mi' }, limits: { cpu: '500m', memory: '192Mi' } };
    await node.client
      .of(PODS)
      .patch(
        { namespace: 'default', name: 'begins' },
        'strategic',
        { spec: { initContainers: [{ name: 'init', resources }] } },
        { subresource: 'resize' },
      );
    const after = await node.until(
      'resized',
      'begins',
      (pod) => init(pod)?.resources?.limits?.['memory'] === '192Mi',
    );
    expect(init(after)).toMatchObject({ restartCount: 0, resources, state: { running: {} } });
    const id = init(after)?.containerID?.split('://')[1] ?? '';
    expect(memoryLimit(after, id)).toBe(192 * MI);
    await node.event('begins', ({ reason }) => reason === 'ResizeCompleted');
    await node.node.cri.runtime.execSync(id, ['/bin/sh', '-c', 'touch /gate/open'], 20);
    await node.running('begins');
    await node.remove('begins');
  });

  test('what a pod has as a whole changes in its control group, and its containers stay as they are', async () => {
    const whole = (memory: string) => ({ requests: { cpu: '100m', memory: '32Mi' }, limits: { memory } });
    await node.create('whole', { resources: whole('128Mi'), containers: [shell(SLEEP)] });
    const before = await node.running('whole');
    expect(before.status).toMatchObject({
      resources: whole('128Mi'),
      allocatedResources: { cpu: '100m', memory: '32Mi' },
    });
    expect(memoryLimit(before)).toBe(128 * MI);
    for (const [memory, bytes] of [
      ['256Mi', 256 * MI],
      ['64Mi', 64 * MI],
    ] as const) {
      await node.client
        .of(PODS)
        .patch(
          { namespace: 'default', name: 'whole' },
          'merge',
          { spec: { resources: whole(memory) } },
          { subresource: 'resize' },
        );
      const after = await node.until(
        'resized',
        'whole',
        (pod) =>
          pod.status.resources?.limits?.['memory'] === memory &&
          condition(pod, 'PodResizeInProgress') === undefined,
      );
      expect(memoryLimit(after)).toBe(bytes);
      expect([idOf(after), first(after)?.restartCount]).toEqual([idOf(before), 0]);
    }
    await node.event('whole', ({ reason }) => reason === 'ResizeCompleted');
    await node.remove('whole');
  });

  test('what the node cannot ever give is infeasible, what others hold is deferred until they leave', async () => {
    const free = node.kubelet.allocatable()['cpu'] ?? '0';
    const cores = Number.parseInt(free, 10);
    const asks = (cpu: string) => ({ requests: { cpu, memory: '16Mi' } });
    await node.create('holder', { containers: [shell(SLEEP, { resources: asks(`${cores * 600}m`) })] });
    await node.create('grower', { containers: [shell(SLEEP, { resources: asks('100m') })] });
    await Promise.all([node.running('holder'), node.running('grower')]);
    await resize('grower', asks(`${cores * 10}`));
    const never = await node.until(
      'infeasible',
      'grower',
      (pod) => condition(pod, 'PodResizePending')?.reason === 'Infeasible',
    );
    expect(condition(never, 'PodResizePending')?.message).toContain("Node didn't have enough resource: cpu");
    expect(first(never)?.allocatedResources).toEqual({ cpu: '100m', memory: '16Mi' });
    const half = asks(`${cores * 600}m`);
    await resize('grower', half);
    await node.until(
      'deferred',
      'grower',
      (pod) => condition(pod, 'PodResizePending')?.reason === 'Deferred',
    );
    await node.remove('holder');
    const grown = await resized('grower', half);
    expect(condition(grown, 'PodResizePending')).toBeUndefined();
    await node.remove('grower');
  });

  test('what would change the class of the pod, or take a limit back, is refused', async () => {
    await node.create('refused', { containers: [shell(SLEEP, { resources: burstable('100m', '32Mi') })] });
    await node.running('refused');
    const equal = { cpu: '500m', memory: '128Mi' };
    await expect(resize('refused', { requests: equal, limits: equal })).rejects.toThrow(
      'Pod QOS Class may not change as a result of resizing',
    );
    await expect(resize('refused', { limits: { memory: null as never } })).rejects.toThrow(
      'resource limits cannot be removed',
    );
    await expect(resize('refused', { requests: { 'ephemeral-storage': '1Mi' } })).rejects.toThrow(
      'only cpu and memory resources are mutable',
    );
    await node.remove('refused');
  });
});
