// NetworkPolicies of which a part cannot be read: that part opens nothing, the policy holds, others are as they were, and the
// log says so.
import { describe, expect, test } from 'vitest';
import { type LogFields, silentLog } from '../../../../src/api/log.js';
import { NAMESPACES, NETWORK_POLICIES, PODS } from '../../../../src/api/resources.js';
import { judge } from '../../../../src/network/policy/judge.js';
import { PolicyPlanner } from '../../../../src/network/policy/planner.js';
import { PolicyObjects } from '../../../../src/network/policy/policyObjects.js';
import { podObject } from '../../../support/policy/worldPlanner.js';
import { StaticInformers } from '../../../support/staticInformers.js';

const ONE = '10.244.0.1';
const ODD = { matchExpressions: [{ key: 'a', operator: 'Near' }] };
const ODD_TEXT = '"Near" is not a valid label selector operator';

/** Pods one and two of namespace a, and three of namespace b, which a policy of its own opens to everybody. */
function node() {
  const informers = new StaticInformers();
  const planner = new PolicyPlanner();
  const warnings: (LogFields | undefined)[] = [];
  const log = { ...silentLog, warn: (_: string, fields?: LogFields) => void warnings.push(fields) };
  new PolicyObjects({ informers, nodeName: 'here', planner, log, onChange: () => {} });
  for (const [i, [namespace = '', name = '']] of ['a/one', 'a/two', 'b/three']
    .map((key) => key.split('/'))
    .entries()) {
    informers.of(NAMESPACES).set({ metadata: { name: namespace } });
    const ips = [`10.244.0.${i + 1}`];
    informers.of(PODS).set(podObject({ namespace, name, labels: { name }, ips, ports: [] }, true));
  }
  const put = (namespace: string, spec: object) =>
    informers.of(NETWORK_POLICIES).set({ metadata: { namespace, name: 'p' }, spec });
  put('b', { podSelector: {}, ingress: [{}] });
  const reaches = (source: string, destination: string) =>
    judge(planner, { source, destination, protocol: 'tcp', port: 80 }).isAllowed;
  return { put, warnings, reaches };
}

describe('a NetworkPolicy opens nothing, and says so, with', () => {
  const from = (...peers: object[]) => ({ podSelector: {}, ingress: [{ from: peers }] });
  const ports = (...some: object[]) => ({ podSelector: {}, ingress: [{ ports: some }] });
  test.each<[string, object, string]>([
    ['a selector of pods', from({ podSelector: ODD }), `${ODD_TEXT}, so the peer is nobody`],
    ['a selector of namespaces', from({ namespaceSelector: ODD }), `${ODD_TEXT}, so the peer is nobody`],
    ['a peer of a newer API', from({}), 'a peer has no field that is known, so the peer is nobody'],
    ['a network', from({ ipBlock: { cidr: '10/8' } }), '"10/8" is no network, so the peer is nobody'],
    [
      'an exception from a network',
      from({ ipBlock: { cidr: '10.0.0.0/8', except: ['10.244/16'] } }),
      '"10.244/16" is no network, so the peer is nobody',
    ],
    ['a protocol', ports({ protocol: 'QUIC', port: 80 }), 'protocol QUIC is not known, so the port is none'],
    [
      'a protocol that is a word of JavaScript',
      ports({ protocol: 'constructor' }),
      'protocol constructor is not known, so the port is none',
    ],
  ])('%s that cannot be read', (_, spec, text) => {
    const { put, warnings, reaches } = node();
    put('a', spec);
    expect(reaches(ONE, '10.244.0.2')).toBe(false);
    expect(reaches(ONE, '10.244.0.3')).toBe(true);
    expect(warnings).toEqual([{ policy: 'a/p', reason: `ingress rule 0: ${text}` }]);
  });

  test('pods that cannot be read: it is for all of its namespace, and its rules count', () => {
    const { put, warnings, reaches } = node();
    put('a', { podSelector: ODD, ingress: [{ from: [{ podSelector: { matchLabels: { name: 'one' } } }] }] });
    expect(reaches(ONE, '10.244.0.2')).toBe(true);
    expect(reaches('192.0.2.7', '10.244.0.2')).toBe(false);
    expect(reaches('192.0.2.7', '10.244.0.3')).toBe(true);
    const reason = `podSelector: ${ODD_TEXT}, so the policy is for every pod of the namespace`;
    expect(warnings).toEqual([{ policy: 'a/p', reason }]);
  });

  test('one part that cannot be read beside one that can: the latter counts', () => {
    const { put, reaches } = node();
    put('a', from({ podSelector: ODD }, { ipBlock: { cidr: `${ONE}/32` } }));
    expect(reaches(ONE, '10.244.0.2')).toBe(true);
    expect(reaches('192.0.2.7', '10.244.0.2')).toBe(false);
  });
});

test('of a NetworkPolicy that can be read nothing is said', () => {
  const { put, warnings, reaches } = node();
  put('a', {
    podSelector: { matchLabels: { name: 'two' } },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [
      { from: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.245.0.0/16'] } }, { namespaceSelector: {} }] },
    ],
    egress: [{ ports: [{ port: 53, protocol: 'UDP' }, { port: 'http' }, { port: 80, endPort: 90 }] }],
  });
  expect(reaches(ONE, '10.244.0.2')).toBe(true);
  expect(warnings).toEqual([]);
});

test('a NetworkPolicy whose types an older server left empty has those of its rules', () => {
  const { put, reaches } = node();
  put('a', { podSelector: { matchLabels: { name: 'two' } }, policyTypes: [] });
  expect(reaches(ONE, '10.244.0.2')).toBe(false);
  expect(reaches('10.244.0.2', ONE)).toBe(true);
  put('a', { podSelector: { matchLabels: { name: 'two' } }, policyTypes: [], egress: [{ to: [] }, {}] });
  expect(reaches('10.244.0.2', ONE)).toBe(true);
  put('a', {
    podSelector: { matchLabels: { name: 'two' } },
    policyTypes: [],
    egress: [{ ports: [{ port: 81 }] }],
  });
  expect(reaches('10.244.0.2', ONE)).toBe(false);
});
