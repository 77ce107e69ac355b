// What pods, services and claims take of a quota.
import { describe, expect, it } from 'vitest';
import {
  claimUsage,
  inScope,
  podUsage,
  serviceUsage,
} from '../../../../src/controllers/resourceQuota/usage.js';
import { expiryOf } from '../../../../src/controllers/ttlAfterFinished.js';
import { ago, NOW, pod, service } from '../support/objects.js';

const asks = (cpu: string, limit?: string) => ({
  ...{ name: 'c', image: 'i' },
  resources: { requests: { cpu }, ...(limit === undefined ? {} : { limits: { cpu: limit } }) },
});

describe('podUsage', () => {
  it('adds the containers, under both names', () => {
    const used = podUsage(pod('p', { spec: { containers: [asks('100m', '1'), asks('200m')] } }));
    expect(used).toEqual({
      ...{ 'count/pods': '1', pods: '1', cpu: '300m', 'requests.cpu': '300m', 'limits.cpu': '1' },
    });
  });
  it('takes the greediest step of the start, with the sidecars before it', () => {
    const initContainers = [{ ...asks('100m'), restartPolicy: 'Always' }, asks('1')];
    expect(podUsage(pod('p', { spec: { containers: [asks('200m')], initContainers } }))['cpu']).toBe('1100m');
  });
  it('adds the overhead', () => {
    const spec = { containers: [asks('1')], overhead: { cpu: '250m' } };
    expect(podUsage(pod('p', { spec }))['cpu']).toBe('1250m');
  });
  it('asks nothing for a pod that has ended but its count', () => {
    expect(podUsage(pod('p', { phase: 'Succeeded', spec: { containers: [asks('1')] } }))).toEqual({
      'count/pods': '1',
    });
  });
});

describe('other usage', () => {
  it.each([
    [{}, {}],
    [{ type: 'NodePort' }, { 'services.nodeports': '1' }],
    [{ type: 'LoadBalancer' }, { 'services.nodeports': '1', 'services.loadbalancers': '1' }],
    [{ type: 'LoadBalancer', allocateLoadBalancerNodePorts: false }, { 'services.loadbalancers': '1' }],
  ])('a service %j', (spec, more) => {
    expect(serviceUsage(service(spec))).toEqual({ services: '1', 'count/services': '1', ...more });
  });
  it('a claim counts for its class too', () => {
    const spec = { storageClassName: 'fast', resources: { requests: { storage: '1Gi' } } };
    expect(claimUsage({ metadata: pod('c').metadata, spec, status: {} })).toMatchObject({
      'requests.storage': '1Gi',
      'fast.storageclass.storage.k8s.io/requests.storage': '1Gi',
    });
  });
});

describe('inScope', () => {
  const limited = pod('p', { spec: { activeDeadlineSeconds: 5, priorityClassName: 'high' } });
  it.each([
    ['Terminating', limited, true],
    ['NotTerminating', limited, false],
    ['BestEffort', limited, true],
    ['NotBestEffort', limited, false],
    ['PriorityClass', limited, true],
    ['CrossNamespacePodAffinity', limited, false],
    ['Unheard', limited, false],
  ])('%s', (scope, of, wanted) => {
    expect(inScope({ scopes: [scope] }, of)).toBe(wanted);
  });
  it('compares priority classes', () => {
    const scopeSelector = {
      matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['low'] }],
    };
    expect(inScope({ scopeSelector }, limited)).toBe(false);
  });
});

describe('expiryOf', () => {
  const job = (ttlSecondsAfterFinished: number | undefined, ended: boolean) => ({
    metadata: pod('j').metadata,
    spec: { template: {}, ttlSecondsAfterFinished },
    status: { conditions: ended ? [{ type: 'Failed', status: 'True', lastTransitionTime: ago(10) }] : [] },
  });
  it.each([
    [30, true, NOW + 20_000],
    [0, true, NOW - 10_000],
    [30, false, undefined],
    [undefined, true, undefined],
  ])('with %s seconds, ended %s: %s', (ttl, ended, wanted) => {
    expect(expiryOf(job(ttl, ended))).toBe(wanted);
  });
});
