// Which address a load-balanced Service gets, and the claims of ephemeral volumes.
import { describe, expect, test } from 'vitest';
import { parseCidr } from '../../../../src/api/ip.js';
import { planBalancer } from '../../../../src/controllers/service/pool.js';
import { planEphemeral } from '../../../../src/controllers/volumes/ephemeral.js';
import { pod, service } from '../support/objects.js';

const pools = ['192.0.2.0/30', '2001:db8::/126'].flatMap((text) => parseCidr(text) ?? []);
const balanced = (name: string, ip?: string, spec: object = {}) => {
  const made = service({ type: 'LoadBalancer', ...spec }, { name });
  return ip === undefined ? made : { ...made, status: { loadBalancer: { ingress: [{ ip }] } } };
};
const plan = (of: ReturnType<typeof balanced>, ...others: ReturnType<typeof balanced>[]) =>
  planBalancer(of, [of, ...others], pools);

describe('planBalancer', () => {
  test.each([
    [
      'the first free one',
      plan(balanced('a'), balanced('b', '192.0.2.1')),
      { do: 'set', addresses: ['192.0.2.2'] },
    ],
    ['the one it has', plan(balanced('a', '192.0.2.2')), { do: 'nothing' }],
    [
      'the one it asks for',
      plan(balanced('a', undefined, { loadBalancerIP: '192.0.2.2' })),
      { do: 'set', addresses: ['192.0.2.2'] },
    ],
    [
      'one of each family',
      plan(balanced('a', undefined, { ipFamilies: ['IPv4', 'IPv6'] })),
      { do: 'set', addresses: ['192.0.2.1', '2001:db8::1'] },
    ],
    [
      'another one when the pool has changed',
      plan(balanced('a', '198.51.100.1')),
      { do: 'set', addresses: ['192.0.2.1'] },
    ],
    [
      'none when it is no longer one',
      plan(balanced('a', '192.0.2.1', { type: 'ClusterIP' })),
      { do: 'set', addresses: [] },
    ],
    [
      'none when another class is to serve it',
      plan(balanced('a', undefined, { loadBalancerClass: 'example.com/lb' })),
      { do: 'nothing' },
    ],
  ])('gives %s', (_, result, wanted) => {
    expect(result).toEqual(wanted);
  });
  test('waits when all are given, and never takes one that is not in the pool', () => {
    expect(plan(balanced('a'), balanced('b', '192.0.2.1'), balanced('c', '192.0.2.2')).do).toBe('wait');
    expect(plan(balanced('a', undefined, { loadBalancerIP: '10.0.0.1' })).do).toBe('wait');
  });
});

describe('planEphemeral', () => {
  const user = pod('user', {
    spec: {
      volumes: [{ name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: {} } } }, { name: 'other' }],
    },
  });
  test('makes a claim that the pod owns', () => {
    const { create } = planEphemeral(user, () => undefined);
    expect(create[0]?.metadata).toMatchObject({
      name: 'user-scratch',
      ownerReferences: [{ kind: 'Pod', uid: 'uid-user' }],
    });
    expect(create).toHaveLength(1);
  });
  test('does not use a claim of the same name that it does not own', () => {
    expect(planEphemeral(user, () => pod('user-scratch')).foreign).toEqual(['user-scratch']);
  });
});
