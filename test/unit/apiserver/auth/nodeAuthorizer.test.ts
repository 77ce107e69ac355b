// A kubelet reaches its own pods' things and nobody else's.
import { describe, expect, test } from 'vitest';
import { KINDS } from '../../../../src/api/kinds/index.js';
import {
  PERSISTENT_VOLUMES,
  PODS,
  RESOURCE_SLICES,
  VOLUME_ATTACHMENTS,
} from '../../../../src/api/resources.js';
import { demandedFields } from '../../../../src/api/selectors.js';
import { makeNodeAuthorizer } from '../../../../src/apiserver/auth/nodeAuthorizer.js';
import { StaticInformers } from '../../../support/staticInformers.js';

const informers = new StaticInformers();
const authorizer = makeNodeAuthorizer(informers, KINDS);
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
      { name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: {} } } },
    ],
    resourceClaims: [{ name: 'd', resourceClaimTemplateName: 't' }],
  },
  status: { resourceClaimStatuses: [{ name: 'd', resourceClaimName: `${name}-device` }] },
});
const volume = (name: string, claim: string, secret: string) => ({
  metadata: { name },
  spec: {
    claimRef: { namespace: 'ns', name: claim },
    csi: {
      driver: 'd',
      volumeHandle: 'h',
      nodeStageSecretRef: { namespace: 'ns', name: secret },
      controllerPublishSecretRef: { namespace: 'ns', name: 'attach' },
    },
  },
});
informers.of(PERSISTENT_VOLUMES).set(volume('scratch', 'mine-scratch', 'stage'));
informers.of(PERSISTENT_VOLUMES).set(volume('foreign', 'theirs-scratch', 'foreign'));
for (const [name, nodeName] of [
  ['here', 'n1'],
  ['there', 'n2'],
] as const) {
  informers.of(VOLUME_ATTACHMENTS).set({
    metadata: { name },
    spec: { nodeName, attacher: 'a', source: {} },
  });
  informers.of(RESOURCE_SLICES).set({
    metadata: { name },
    spec: { nodeName, driver: 'd', pool: { name: 'p', generation: 1, resourceSliceCount: 1 } },
  });
}
informers.of(PODS).set({
  metadata: { name: 'static', namespace: 'ns', annotations: { 'kubernetes.io/config.mirror': 'x' } },
  spec: { nodeName: 'n1', containers: [{ name: 'c', envFrom: [{ configMapRef: { name: 'mirrored' } }] }] },
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
  ['get', 'pods', 'gone', false],
  ['get', 'pods/log', 'mine', false],
  ['watch', 'pods', '', false],
  ['watch', 'pods', 'mine', true],
  ['watch', 'pods', 'theirs', false],
  ['patch', 'pods/status', 'mine', true],
  ['patch', 'pods', 'mine', false],
  ['delete', 'nodes', 'n1', false],
  ['get', 'nodes', 'n1', true],
  ['get', 'nodes', 'n2', false],
  ['watch', 'nodes', 'n1', true],
  ['list', 'nodes', '', false],
  ['patch', 'nodes', 'n1', true],
  ['create', 'serviceaccounts/token', 'default', false],
  ['get', 'configmaps', 'mirrored', false],
  ['get', 'persistentvolumeclaims', 'mine-scratch', true],
  ['list', 'persistentvolumeclaims', 'mine-scratch', false],
  ['patch', 'persistentvolumeclaims/status', 'mine-scratch', true],
  ['get', 'persistentvolumes', 'scratch', true],
  ['get', 'persistentvolumes', 'foreign', false],
  ['list', 'persistentvolumes', '', false],
  ['get', 'secrets', 'stage', true],
  ['get', 'secrets', 'attach', false],
  ['get', 'secrets', 'foreign', false],
  ['get', 'resource.k8s.io.resourceclaims', 'mine-device', true],
  ['get', 'resource.k8s.io.resourceclaims', 'theirs-device', false],
  ['get', 'storage.k8s.io.volumeattachments', 'here', true],
  ['get', 'storage.k8s.io.volumeattachments', 'there', false],
  ['patch', 'storage.k8s.io.csinodes', 'n1', true],
  ['patch', 'storage.k8s.io.csinodes', 'n2', false],
  ['create', 'storage.k8s.io.csinodes', '', true],
  ['list', 'storage.k8s.io.csinodes', '', false],
  ['patch', 'resource.k8s.io.resourceslices', 'here', true],
  ['patch', 'resource.k8s.io.resourceslices', 'there', false],
  ['list', 'resource.k8s.io.resourceslices', '', false],
  ['patch', 'nodes/status', 'n1', true],
];
describe('the kubelet of n1', () => {
  test.each(cases)('%s %s %s: %s', (verb, what, name, allowed) => {
    const [kind = '', subresource = ''] = what.split('/');
    const split = kind.lastIndexOf('.');
    const [group, resource] = [kind.slice(0, Math.max(split, 0)), kind.slice(split + 1)];
    const asked = {
      user: kubelet,
      verb,
      resource,
      subresource,
      name,
      group,
      version: 'v1',
      namespace: 'ns',
    };
    expect(authorizer.authorize(asked).verdict === 'allow').toBe(allowed);
  });
  test.each([
    ['list', '/pods', 'spec.nodeName=n1', true],
    ['watch', '/pods', 'status.phase!=Failed,spec.nodeName=n1', true],
    ['watch', '/pods', 'spec.nodeName=n2', false],
    ['watch', '/pods', 'spec.nodeName!=n1', false],
    ['watch', '/pods', 'status.phase=x\\,spec.nodeName\\=n1', false],
    ['deletecollection', 'resource.k8s.io/resourceslices', 'spec.nodeName=n1', true],
    ['list', 'resource.k8s.io/resourceslices', 'spec.nodeName=n2', false],
  ])('%s %s with %s: %s', (verb, what, selector, allowed) => {
    const [group = '', resource = ''] = what.split('/');
    const asked = {
      user: kubelet,
      verb,
      group,
      resource,
      subresource: '',
      name: '',
      version: 'v1',
      namespace: '',
    };
    const fieldSelector = demandedFields(selector);
    expect(authorizer.authorize({ ...asked, fieldSelector }).verdict === 'allow').toBe(allowed);
  });
  test.each([
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

test('others get no opinion, and a nodes group without a node name gets nothing', () => {
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
