import { describe, expect, test } from 'vitest';
import { completeConfig } from '../../../../src/kubelet/config.js';
import { sameStatus } from '../../../../src/kubelet/node/nodeManager.js';
import { type NodeFactsFull, nodeStatus } from '../../../../src/kubelet/node/nodeStatus.js';

const GIB = 2 ** 30;
const condition = (type: string, status: boolean, message = '') => ({ type, status, reason: 'Why', message });
const facts: NodeFactsFull = {
  config: completeConfig({ nodeName: 'node-1', kubeReserved: { cpu: '100m' } }),
  machine: {
    hostname: 'h',
    architecture: 'amd64',
    kernelVersion: '6',
    osImage: 'Debian',
    machineID: 'm',
    systemUUID: 's',
    bootID: 'b',
    cpus: 2,
    memoryBytes: GIB,
    ephemeralBytes: 10 * GIB,
    hasAppArmor: false,
    hugePages: [],
  },
  hasPressure: () => false,
  runtime: {
    version: { runtimeName: 'containerd', runtimeVersion: 'v1.6.20' },
    conditions: [condition('RuntimeReady', true), condition('NetworkReady', true)],
    problem: undefined,
    images: [],
    handlers: [],
    features: undefined,
    cgroupDriver: undefined,
  },
  plegProblem: undefined,
  shutdownProblem: undefined,
  addresses: ['192.0.2.1'],
  previous: [],
  now: 0,
};
const readyOf = (more: Partial<NodeFactsFull>) =>
  nodeStatus({ ...facts, ...more }).conditions?.find(({ type }) => type === 'Ready');

describe('the status of a node', () => {
  test('a healthy node', () => {
    const status = nodeStatus(facts);
    expect(status.conditions?.map((one) => `${one.type}=${one.status}`)).toEqual([
      'MemoryPressure=False',
      'DiskPressure=False',
      'PIDPressure=False',
      'Ready=True',
    ]);
    expect(status.allocatable).toMatchObject({ cpu: '1900m', memory: '946176Ki', pods: '110' });
    expect(status.nodeInfo?.containerRuntimeVersion).toBe('containerd://1.6.20');
  });

  test.each([
    ['CGROUPFS', 'True', 'kubelet is posting ready status'],
    ['SYSTEMD', 'False', 'it leaves control groups to systemd'],
  ] as const)('with a runtime whose driver is %s it is ready: %s', (cgroupDriver, status, message) => {
    expect(readyOf({ runtime: { ...facts.runtime, cgroupDriver } })).toMatchObject({
      status,
      message: expect.stringContaining(message),
    });
  });

  test('memory in large pages is told by size, and is not given out twice', () => {
    const hugePages = [
      { pageBytes: GIB, count: 0 },
      { pageBytes: 2 * 2 ** 20, count: 50 },
    ];
    const status = nodeStatus({ ...facts, machine: { ...facts.machine, hugePages } });
    expect(status.capacity).toMatchObject({ 'hugepages-1Gi': '0', 'hugepages-2Mi': '100Mi' });
    expect(status.allocatable).toMatchObject({ 'hugepages-2Mi': '100Mi', memory: '843776Ki' });
  });

  test('a network that is not up is told in the words of the runtime', () => {
    const conditions = [
      condition('RuntimeReady', true),
      condition('NetworkReady', false, 'cni plugin not initialized'),
    ];
    expect(readyOf({ runtime: { ...facts.runtime, conditions } })).toMatchObject({
      status: 'False',
      reason: 'KubeletNotReady',
      message:
        'container runtime network not ready: NetworkReady=false reason:Why message:cni plugin not initialized',
    });
  });

  test('a runtime that does not answer, and a generator that does not relist', () => {
    expect(readyOf({ runtime: { ...facts.runtime, conditions: [], problem: 'refused' } })?.message).toBe(
      'container runtime is down: refused',
    );
    expect(readyOf({ shutdownProblem: 'node is shutting down' })).toMatchObject({
      status: 'False',
      reason: 'KubeletNotReady',
      message: 'node is shutting down',
    });
    expect(readyOf({ plegProblem: 'pleg has yet to be successful' })?.message).toBe(
      'PLEG is not healthy: pleg has yet to be successful',
    );
  });

  test('pressure', () => {
    const status = nodeStatus({ ...facts, hasPressure: () => true });
    expect(status.conditions?.slice(0, 3).map((one) => one.status)).toEqual(['True', 'True', 'True']);
  });

  test('a heartbeat alone is no change', () => {
    const before = nodeStatus(facts);
    const after = nodeStatus({ ...facts, previous: before.conditions ?? [], now: 60_000 });
    expect(sameStatus(before, after)).toBe(true);
    expect(after.conditions?.[0]?.lastTransitionTime).toBe(before.conditions?.[0]?.lastTransitionTime);
    expect(sameStatus(before, { ...after, capacity: { cpu: '4' } })).toBe(false);
  });
});

describe('the configuration', () => {
  test.each([
    [{ nodeName: 'Bad Name' }, 'nodeName: '],
    [{ nodeName: 'a', rootDir: 'relative' }, 'rootDir: '],
    [{ nodeName: 'a', port: 70000 }, 'port: '],
    [{ nodeName: 'a', fileCheckFrequencyMs: 0 }, 'fileCheckFrequency: '],
  ])('a wrong value is refused by name', (options, message) => {
    expect(() => completeConfig(options)).toThrow(message);
  });
});
