// NodeRestriction as a table: what a kubelet may write, and in which words it is refused the rest.
import { describe, expect, test } from 'vitest';
import type { Draft } from '../../../../src/api/kind.js';
import type { KubeObject } from '../../../../src/api/object.js';
import {
  CERTIFICATE_SIGNING_REQUESTS,
  CSI_NODES,
  LEASES,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  RESOURCE_SLICES,
  type ResourceType,
  SERVICE_ACCOUNTS,
} from '../../../../src/api/resources.js';
import { makeNodeRestriction } from '../../../../src/apiserver/admission/nodeRestriction.js';
import type { AdmissionRequest } from '../../../../src/apiserver/admission.js';
import { admissionRequest } from '../../../support/admissionRequest.js';
import { craftRequest, named, OID, text } from '../../../support/certificateRequests.js';

type DraftObject = Draft<KubeObject>;
const objects: Record<string, unknown> = {
  'pod/live/mine': {
    metadata: { name: 'mine', namespace: 'live', uid: 'u1' },
    spec: {
      nodeName: 'n1',
      volumes: [
        { name: 'a', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
        { name: 'b', projected: { sources: [{ serviceAccountToken: { path: 'v', audience: 'vault' } }] } },
        { name: 'c', ephemeral: { volumeClaimTemplate: { spec: {} } } },
      ],
    },
  },
  'claim/live/mine-c': { metadata: { name: 'mine-c' }, spec: { volumeName: 'pv1' } },
  'volume/pv1': {
    metadata: { name: 'pv1' },
    spec: { csi: { driver: 'disk.example.com', volumeHandle: 'x' } },
  },
  'driver/disk.example.com': {
    metadata: { name: 'disk.example.com' },
    spec: { tokenRequests: [{ audience: 'disks' }] },
  },
  'node/n1': { metadata: { name: 'n1', uid: 'node-1' } },
  'pod/live/theirs': { metadata: { name: 'theirs', uid: 'u2' }, spec: { nodeName: 'n2' } },
};
const find =
  (kind: string) =>
  async ({ namespace, name }: { namespace?: string | undefined; name: string }) =>
    objects[[kind, namespace, name].filter((part) => part !== undefined).join('/')] as never;
const plugin = makeNodeRestriction({
  lookups: {
    pod: find('pod'),
    node: find('node'),
    claim: find('claim'),
    volume: find('volume'),
    csiDriver: find('driver'),
  },
  authorizer: { authorize: () => ({ verdict: 'no opinion', reason: '' }) },
});
const kubelet = { name: 'system:node:n1', groups: ['system:nodes'] };
const request = (type: ResourceType, changes: Partial<AdmissionRequest> = {}) =>
  admissionRequest({ type, namespace: type.namespaced ? 'live' : '', ...changes });

describe('NodeRestriction, for the kubelet of n1', () => {
  const node = (name: string, labels = {}, taints: object[] = []) =>
    ({ metadata: { name, labels }, spec: { taints } }) as DraftObject;
  const old = (name: string) => objects[`pod/live/${name}`] as DraftObject;
  const itself = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'node-1', controller: true };
  const mirror = (nodeName: string, spec = {}, ownerReferences: readonly object[] = [itself]) =>
    ({
      metadata: { name: 'x', annotations: { 'kubernetes.io/config.mirror': 'y' }, ownerReferences },
      spec: { nodeName, containers: [], ...spec },
    }) as unknown as DraftObject;
  const token = (name: string, uid: string, ...audiences: readonly string[]) =>
    ({
      spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid }, audiences },
    }) as unknown as DraftObject;
  const projected = (source: object) => ({ volumes: [{ name: 'v', projected: { sources: [source] } }] });
  const sliced = (nodeName: string) => ({ metadata: { name: 'x' }, spec: { nodeName } }) as DraftObject;
  const signed = (commonName: string) =>
    ({
      spec: {
        signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
        request: craftRequest(named(OID.commonName, text(commonName))).request,
      },
    }) as unknown as DraftObject;
  const changed = (wanted: object, held: object = {}) => ({
    operation: 'update' as const,
    name: 'n1',
    object: { metadata: { name: 'n1' }, ...wanted } as DraftObject,
    old: { metadata: { name: 'n1' }, ...held } as DraftObject,
  });
  const claimed = (status: object, changes = {}) => ({
    operation: 'update' as const,
    subresource: 'status',
    object: { metadata: { name: 'x' }, status, ...changes } as DraftObject,
    old: { metadata: { name: 'x' }, status: {} } as DraftObject,
  });
  const bound = { subresource: 'token', name: 'default' };
  const network = { subresource: 'token', namespace: 'kube-system', name: 'node-proxy' };
  const ofNode = (name: string, ...audiences: readonly string[]) =>
    ({
      spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Node', name }, audiences },
    }) as unknown as DraftObject;
  const lasting = (object: DraftObject, expirationSeconds: number) => ({
    ...object,
    spec: { ...(object as { readonly spec?: object }).spec, expirationSeconds },
  });
  type Case = [string, AdmissionRequest, string | undefined];
  const cases: readonly Case[] = [
    [
      'registers itself',
      request(NODES, { name: 'n1', object: node('n1', { 'kubernetes.io/hostname': 'n1' }) }),
      undefined,
    ],
    [
      'does not register another',
      request(NODES, { name: 'n2', object: node('n2') }),
      'node "n1" is not allowed to modify node "n2"',
    ],
    [
      'does not take its taints off',
      request(NODES, {
        operation: 'update',
        name: 'n1',
        object: node('n1'),
        old: node('n1', {}, [{ key: 'k' }]),
      }),
      'node "n1" is not allowed to modify taints',
    ],
    [
      'does not name its role',
      request(NODES, {
        operation: 'update',
        name: 'n1',
        object: node('n1', { 'node-role.kubernetes.io/x': '' }),
        old: node('n1'),
      }),
      'is not allowed to modify labels: node-role.kubernetes.io/x',
    ],
    [
      'sets labels outside the reserved domains',
      request(NODES, {
        operation: 'update',
        name: 'n1',
        object: node('n1', { 'example.com/x': '' }),
        old: node('n1'),
      }),
      undefined,
    ],
    [
      'renews its lease',
      request(LEASES, { operation: 'update', namespace: 'kube-node-lease', name: 'n1', object: {}, old: {} }),
      undefined,
    ],
    [
      'not the lease of another',
      request(LEASES, { operation: 'update', namespace: 'kube-node-lease', name: 'n2', object: {}, old: {} }),
      'can only access node lease with the same name',
    ],
    [
      'writes the status of its pod',
      request(PODS, {
        operation: 'update',
        subresource: 'status',
        name: 'mine',
        object: old('mine'),
        old: old('mine'),
      }),
      undefined,
    ],
    [
      'not of another',
      request(PODS, {
        operation: 'update',
        subresource: 'status',
        name: 'theirs',
        object: old('theirs'),
        old: old('theirs'),
      }),
      'node "n1" can only update pod status for pods with spec.nodeName set to itself',
    ],
    ['deletes its pod', request(PODS, { operation: 'delete', name: 'mine', old: old('mine') }), undefined],
    [
      'not another',
      request(PODS, { operation: 'delete', name: 'theirs' }),
      'node "n1" can only delete pods with spec.nodeName set to itself',
    ],
    ['creates a mirror pod', request(PODS, { object: mirror('n1') }), undefined],
    ...(
      [
        ['no owner', [], 'with an owner reference set to itself'],
        ['two owners', [itself, itself], 'with a single owner reference set to itself'],
        [
          'an owner that is no node',
          [{ ...itself, kind: 'ReplicaSet' }],
          'with an owner reference set to itself',
        ],
        ['another node as owner', [{ ...itself, name: 'n2' }], 'with an owner reference set to itself'],
        [
          'an owner that does not control it',
          [{ ...itself, controller: false }],
          'a controller owner reference',
        ],
        [
          'an owner that it blocks',
          [{ ...itself, blockOwnerDeletion: true }],
          'must not set blockOwnerDeletion',
        ],
        [
          'a node of that name before',
          [{ ...itself, uid: 'node-0' }],
          'node n1 UID mismatch: expected node-0 got',
        ],
      ] as const
    ).map(
      ([what, owners, why]): Case => [
        `no mirror pod with ${what}`,
        request(PODS, { object: mirror('n1', {}, owners) }),
        why,
      ],
    ),
    ...(
      [
        ['a service account', { serviceAccountName: 'default' }, 'serviceaccounts'],
        [
          'a token',
          projected({ serviceAccountToken: { path: 'x' } }),
          'serviceaccounts (via projected volumes)',
        ],
        [
          'a Secret of its environment',
          { containers: [{ name: 'c', envFrom: [{ secretRef: { name: 's' } }] }] },
          'secrets',
        ],
        ['a config map', projected({ configMap: { name: 'x' } }), 'configmaps'],
        ['trust bundles', projected({ clusterTrustBundle: { path: 'x' } }), 'clustertrustbundles'],
        ['a claim of devices', { resourceClaims: [{ name: 'c', resourceClaimName: 'x' }] }, 'resourceclaims'],
        [
          'a claim',
          { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'x' } }] },
          'persistentvolumeclaims',
        ],
        [
          'an ephemeral claim',
          { volumes: [{ name: 'v', ephemeral: {} }] },
          'persistentvolumeclaims (via ephemeral',
        ],
        ['a CSI volume', { volumes: [{ name: 'v', csi: { driver: 'd' } }] }, 'csidrivers (via CSI volumes)'],
        ['a volume of an unknown kind', { volumes: [{ name: 'v' }] }, 'objects by unknown volume type'],
      ] as const
    ).map(
      ([what, spec, why]): Case => [
        `no mirror pod with ${what}`,
        request(PODS, { object: mirror('n1', spec) }),
        `node "n1" can not create pods that reference ${why}`,
      ],
    ),
    [
      'a mirror pod of its host’s files',
      request(PODS, { object: mirror('n1', { volumes: [{ name: 'v', hostPath: { path: '/x' } }] }) }),
      undefined,
    ],
    [
      'does not take an owner',
      request(NODES, changed({ metadata: { name: 'n1', ownerReferences: [{ ...itself, name: 'gone' }] } })),
      'node "n1" is not allowed to modify ownerReferences',
    ],
    [
      'does not take its configuration from elsewhere',
      request(NODES, changed({ spec: { configSource: { configMap: {} } } })),
      'node "n1" is not allowed to update configSource to a new non-nil configSource',
    ],
    [
      'does not register with such a configuration',
      request(NODES, { name: 'n1', object: { spec: { configSource: {} } } as DraftObject }),
      'node "n1" is not allowed to create pods with a non-nil configSource',
    ],
    [
      'does not register with a role',
      request(NODES, { name: 'n1', object: node('n1', { 'node-role.kubernetes.io/x': '' }) }),
      'node "n1" is not allowed to set the following labels: node-role.kubernetes.io/x',
    ],
    ['writes its CSINode', request(CSI_NODES, changed({})), undefined],
    [
      'not another’s CSINode',
      request(CSI_NODES, { ...changed({}), name: 'n2' }),
      'can only access CSINode with the same name as the requesting node',
    ],
    ['makes its ResourceSlice', request(RESOURCE_SLICES, { object: sliced('n1') }), undefined],
    [
      'not another’s ResourceSlice',
      request(RESOURCE_SLICES, { object: sliced('n2') }),
      'can only create ResourceSlice with the same NodeName as the requesting node',
    ],
    [
      'deletes not another’s ResourceSlice',
      request(RESOURCE_SLICES, { operation: 'delete', old: sliced('n2') }),
      'can only delete ResourceSlice with the same NodeName as the requesting node',
    ],
    [
      'asks for its certificate',
      request(CERTIFICATE_SIGNING_REQUESTS, { object: signed('system:node:n1') }),
      undefined,
    ],
    [
      'not for another’s certificate',
      request(CERTIFICATE_SIGNING_REQUESTS, { object: signed('system:node:n2') }),
      'can only create a node CSR with CN=system:node:n1',
    ],
    [
      'reports the size of a claim',
      request(PERSISTENT_VOLUME_CLAIMS, claimed({ capacity: { storage: '2Gi' } })),
      undefined,
    ],
    [
      'nothing else of a claim',
      request(PERSISTENT_VOLUME_CLAIMS, claimed({ phase: 'Lost' })),
      'is not allowed to update fields other than status.quantity and status.conditions',
    ],
    [
      'no label of a claim',
      request(PERSISTENT_VOLUME_CLAIMS, claimed({}, { metadata: { name: 'x', labels: { a: 'b' } } })),
      'is not allowed to update fields other than status.quantity and status.conditions',
    ],
    [
      'no claims of devices of its pods',
      request(PODS, {
        operation: 'update',
        subresource: 'status',
        name: 'mine',
        old: old('mine'),
        object: { ...old('mine'), status: { resourceClaimStatuses: [{ name: 'c' }] } } as DraftObject,
      }),
      'node "n1" cannot update resource claim statues',
    ],
    [
      'no other part of a pod',
      request(PODS, { operation: 'update', subresource: 'resize', name: 'mine', object: old('mine') }),
      "unexpected pod subresource \"resize\", only 'status' and 'eviction' are allowed",
    ],
    ...(['vault', 'disks'] as const).map(
      (audience): Case => [
        `gets a token for ${audience}, which its pod names`,
        request(SERVICE_ACCOUNTS, { ...bound, object: token('mine', 'u1', audience) }),
        undefined,
      ],
    ),
    [
      'gets no token for an audience that its pod does not name',
      request(SERVICE_ACCOUNTS, { ...bound, object: token('mine', 'u1', 'https://elsewhere') }),
      'system:node:n1 is not authorized to request tokens for audience "https://elsewhere"',
    ],
    [
      'gets no token for two audiences',
      request(SERVICE_ACCOUNTS, { ...bound, object: token('mine', 'u1', 'vault', 'disks') }),
      'node may only request 0 or 1 audiences',
    ],
    [
      'not on another node',
      request(PODS, { object: mirror('n2') }),
      'node "n1" can only create pods with spec.nodeName set to itself',
    ],
    [
      'not with a secret',
      request(PODS, { object: mirror('n1', { volumes: [{ name: 'v', secret: { secretName: 's' } }] }) }),
      'can not create pods that reference secrets',
    ],
    [
      'not an ordinary pod',
      request(PODS, { object: { metadata: {}, spec: { nodeName: 'n1', containers: [] } } as DraftObject }),
      'can only create mirror pods',
    ],
    [
      'asks a token for its pod',
      request(SERVICE_ACCOUNTS, { ...bound, object: token('mine', 'u1') }),
      undefined,
    ],
    [
      'not for another',
      request(SERVICE_ACCOUNTS, { ...bound, object: token('theirs', 'u2') }),
      'node requested token bound to a pod scheduled on a different node',
    ],
    [
      'not for nothing',
      request(SERVICE_ACCOUNTS, { ...bound, object: {} }),
      'node requested token not bound to a pod',
    ],
    [
      'asks a token for the other parts of its node',
      request(SERVICE_ACCOUNTS, { ...network, object: ofNode('n1') }),
      undefined,
    ],
    [
      'not for those of another node',
      request(SERVICE_ACCOUNTS, { ...network, object: ofNode('n2') }),
      'node requested token bound to another node',
    ],
    [
      'not for another server',
      request(SERVICE_ACCOUNTS, { ...network, object: ofNode('n1', 'vault') }),
      'node requested token for an audience of its own choice',
    ],
    [
      'not for longer than an hour',
      request(SERVICE_ACCOUNTS, { ...network, object: lasting(ofNode('n1'), 3601) }),
      'node requested token that lasts longer than an hour',
    ],
    [
      'but for an hour',
      request(SERVICE_ACCOUNTS, { ...network, object: lasting(ofNode('n1'), 3600) }),
      undefined,
    ],
    [
      'not bound to its node for another account',
      request(SERVICE_ACCOUNTS, { ...network, name: 'default', object: ofNode('n1') }),
      'node requested token not bound to a pod',
    ],
    [
      'not for an account of that name elsewhere',
      request(SERVICE_ACCOUNTS, { ...network, namespace: 'live', object: ofNode('n1') }),
      'node requested token not bound to a pod',
    ],
  ];
  test.each(cases)('%s', async (_, asked, message) => {
    const answer = Promise.resolve().then(() => plugin.validate?.({ ...asked, user: kubelet }));
    await (message === undefined
      ? expect(answer).resolves.toBeUndefined()
      : expect(answer).rejects.toThrow(message));
    await expect(Promise.resolve().then(() => plugin.validate?.(asked))).resolves.toBeUndefined();
  });
});
