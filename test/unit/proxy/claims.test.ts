// Which service port has an address that several ask for.
import { expect, test } from 'vitest';
import { Claims } from '../../../src/proxy/claims.js';
import { servicePort } from '../../support/proxy/port.js';

test('leaves a cluster IP to its service, and the claimant what nobody else asks for', () => {
  const claims = new Claims();
  const owner = servicePort(2, { nodePort: 30_002, externalIps: ['192.0.2.2'] });
  const greedy = servicePort(1, { nodePort: 30_001, externalIps: [owner.clusterIp, '192.0.2.1'] });
  claims.set(greedy.key, greedy);
  expect(claims.set(owner.key, owner)).toEqual(new Set([owner.key, greedy.key]));
  expect(claims.granted(owner.key)).toBe(owner);
  expect(claims.granted(greedy.key)).toEqual({ ...greedy, externalIps: ['192.0.2.1'] });
  claims.set(owner.key, undefined);
  expect(claims.granted(greedy.key)).toBe(greedy);
});

test('gives other addresses to the first key, and to the next when that is gone', () => {
  const claims = new Claims();
  const [one, two] = [1, 2].map((n) => servicePort(n, { nodePort: 30_000, externalIps: ['192.0.2.1'] }));
  if (one === undefined || two === undefined) throw new Error('no ports');
  claims.set(two.key, two);
  claims.set(one.key, one);
  expect(claims.granted(one.key)).toBe(one);
  const { nodePort: _, ...rest } = two;
  expect(claims.granted(two.key)).toEqual({ ...rest, externalIps: [] });
  expect(claims.set(one.key, undefined)).toContain(two.key);
  expect(claims.granted(two.key)).toBe(two);
});
