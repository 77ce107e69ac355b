// A kubelet reaches its own pods' things and nobody else's.
import { describe, expect, it } from 'vitest';
import { PODS } from '../../../../src/api/resources.js';
import { makeNodeAuthorizer } from '../../../../src/apiserver/auth/nodeAuthorizer.js';
import { StaticInformers } from '../../../support/staticInformers.js';

const informers = new StaticInformers();
const authorizer = makeNodeAuthorizer(informers);
const pod = (name: string, nodeName: string | undefined, secret: string) => ({
  metadata: { name, namespace: 'ns' },
  spec: {
    ...(nodeName === undefined ? {} : { nodeName }),
    serviceAccountName: `${name}-account`,
    containers: [
      { name: 'c', env: [{ name: 'E', valueFrom: { configMapKeyRef: { name: `${name}-env`, key: 'k' } } }] },
    ],
    volumes: [
      { name: 'v', secret: { secretName: secret } },
      { name: 'w', projected: { sources: [{ configMap: { name: 'ca' } }] } },
    ],
  },
});
informers.of(PODS).set(pod('mine', 'n1', 'open'));
informers.of(PODS).set(pod('theirs', 'n2', 'closed'));
informers.of(PODS).set(pod('nowhere', undefined, 'later'));
const kubelet = { name: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] };

const cases: readonly [string, string, string, boolean][] = [
  ['get', 'secrets', 'open', true],
  ['watch', 'secrets', 'open', true],
  ['update', 'secrets', 'open', false],
  ['get', 'secrets', 'closed', false],
  ['get', 'secrets', 'later', false],
  ['list', 'secrets', '', false],
  ['get', 'configmaps', 'ca', true],
  ['get', 'configmaps', 'mine-env', true],
  ['get', 'configmaps', 'theirs-env', false],
  ['create', 'serviceaccounts/token', 'mine-account', true],
  ['create', 'serviceaccounts/token', 'theirs-account', false],
  ['get', 'pods', 'mine', true],
  ['get', 'pods', 'theirs', false],
  ['get', 'pods', 'gone', true],
  ['get', 'pods/log', 'mine', false],
  ['watch', 'pods', '', true],
  ['patch', 'pods/status', 'mine', true],
  ['patch', 'pods', 'mine', false],
  ['delete', 'nodes', 'n1', false],
  ['patch', 'nodes/status', 'n1', true],
];
describe('the kubelet of n1', () => {
  it.each(cases)('%s %s %s: %s', (verb, what, name, allowed) => {
    const [resource = '', subresource = ''] = what.split('/');
    const asked = {
      user: kubelet,
      verb,
      resource,
      subresource,
      name,
      group: '',
      version: 'v1',
      namespace: 'ns',
    };
    expect(authorizer.authorize(asked).verdict === 'allow').toBe(allowed);
  });
  it.each([
    ['n1', 'kube-node-lease', true],
    ['n2', 'kube-node-lease', false],
    ['n1', 'default', false],
  ])('lease %s in %s: %s', (name, namespace, allowed) => {
    const asked = {
      user: kubelet,
      verb: 'update',
      resource: 'leases',
      subresource: '',
      name,
      group: 'coordination.k8s.io',
      version: 'v1',
      namespace,
    };
    expect(authorizer.authorize(asked).verdict === 'allow').toBe(allowed);
  });
});

it('others get no opinion, and a nodes group without a node name gets nothing', () => {
  const asked = {
    verb: 'get',
    resource: 'services',
    subresource: '',
    name: 'x',
    group: '',
    version: 'v1',
    namespace: 'ns',
  };
  for (const user of [
    { name: 'jane', groups: [] },
    { name: 'system:node:n1', groups: [] },
    { name: 'jane', groups: ['system:nodes'] },
  ])
    expect(authorizer.authorize({ ...asked, user }).verdict).toBe('no opinion');
});
