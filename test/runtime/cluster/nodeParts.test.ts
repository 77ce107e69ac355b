// The identities of a joined node: its kubelet's certificate, and a token for each of its other parts.
// Guarantees: `kubectl auth can-i --list` of each is the golden text; what one part may read the others may not.
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AuthenticationV1TokenRequest } from '../../../src/api/gen/types.js';
import type { KubeObject } from '../../../src/api/object.js';
import {
  CLUSTER_ROLE_BINDINGS,
  CONFIG_MAPS,
  CUSTOM_RESOURCE_DEFINITIONS,
  ENDPOINT_SLICES,
  ENDPOINTS,
  EVENTS,
  NAMESPACES,
  NETWORK_POLICIES,
  NODES,
  PODS,
  type ResourceType,
  SECRETS,
  SERVICE_ACCOUNTS,
  SERVICE_CIDRS,
  SERVICES,
} from '../../../src/api/resources.js';
import {
  NODE_PART_ACCOUNTS,
  NODE_PARTS,
  NODE_PARTS_NAMESPACE,
  type NodePart,
} from '../../../src/apiserver/auth/defaults/nodeParts.js';
import type { Client } from '../../../src/client/client.js';
import { openHttps } from '../../../src/client/httpTransport.js';
import { openClient } from '../../../src/client/typedClient.js';
import { ensureJoinObjects } from '../../../src/cluster/join/objects.js';
import { tokenText } from '../../../src/cluster/join/token.js';
import { createToken } from '../../../src/cluster/join/tokens.js';
import { openPartClients } from '../../../src/cluster/nodeIdentity.js';
import { defaultSettings, settle } from '../../../src/cluster/settings.js';
import { newKey, obtainCertificate } from '../../../src/kubelet/certificates/certificateRequest.js';
import { type Kubectl, openKubectl } from '../../support/kubectl.js';
import { describeWith } from '../../support/requires.js';
import { TestControlPlane } from '../../support/testControlPlane.js';
import { until } from '../../support/until.js';

const NAME = 'worker';
const FORBIDDEN = { reason: 'Forbidden' };
const READABLE: Readonly<Record<NodePart, readonly ResourceType<KubeObject>[]>> = {
  proxy: [SERVICES, ENDPOINTS, ENDPOINT_SLICES, NODES, SERVICE_CIDRS],
  overlay: [NODES],
  nameServer: [SERVICES, ENDPOINT_SLICES, NODES, NAMESPACES],
  networkPolicy: [PODS, NAMESPACES, NETWORK_POLICIES, CUSTOM_RESOURCE_DEFINITIONS],
};
const EVERYTHING = [
  ...new Set([...Object.values(READABLE).flat(), SECRETS, CONFIG_MAPS, SERVICE_ACCOUNTS, EVENTS]),
];

describeWith({ tools: ['kubectl'] }, 'a node that joined', () => {
  let plane: TestControlPlane;
  let kubelet: Client;
  let others: ReturnType<typeof openPartClients>;
  let kubectl: Kubectl;
  const ending = new AbortController();

  beforeAll(async () => {
    plane = await TestControlPlane.start();
    const { server, pki, admin } = plane;
    kubectl = await openKubectl(server, pki.ca.cert, pki.admin);
    const joining = plane.as(tokenText(await createToken(admin, { ttlMs: 3_600_000 })));
    const own = await obtainCertificate(joining, { nodeName: NAME, hosts: [] }, newKey(), ending.signal);
    joining.close();
    kubelet = openClient(openHttps({ server, ca: pki.ca.cert, ...own }));
    await kubelet.of(NODES).create({ metadata: { name: NAME } });
    others = openPartClients({ server, ca: pki.ca.cert, kubelet, nodeName: NAME });
  });
  afterAll(async () => {
    ending.abort();
    others?.close();
    kubelet?.close();
    await kubectl?.close();
    await plane?.stop();
  });

  const tokenFor = (account: string, node = NAME, audiences: readonly string[] = []) =>
    kubelet
      .of(SERVICE_ACCOUNTS)
      .post<AuthenticationV1TokenRequest>({ namespace: NODE_PARTS_NAMESPACE, name: account }, 'token', {
        spec: { audiences, boundObjectRef: { apiVersion: 'v1', kind: 'Node', name: node } },
      });

  const rights = async (...who: readonly string[]): Promise<string[]> => {
    const { code, stdout, stderr } = await kubectl('auth', 'can-i', '--list', '--no-headers', ...who);
    expect({ code, stderr: stderr.replace(/^warning: the list may be incomplete.*\n/, '') }).toEqual({
      code: 0,
      stderr: '',
    });
    return stdout
      .split('\n')
      .map((line) => line.trim().replace(/\s+/g, ' '))
      .filter((line) => line !== '');
  };

  test('has identities with exactly the rights of the golden text', async () => {
    const names = [...NODE_PART_ACCOUNTS.map((name) => `system:serviceaccount:kube-system:${name}`)];
    const asNode = ['--as', `system:node:${NAME}`, '--as-group', 'system:nodes'];
    const anybody = new Set(await rights('--as', 'system:serviceaccount:kube-system:default'));
    const sections = await Promise.all([
      ...names.map(async (name) => [name, ...(await rights('--as', name, '-n', 'kube-system'))]),
      ['system:nodes, beside the Node authorizer', ...(await rights(...asNode))],
      ['system:nodes in kube-system', ...(await rights(...asNode, '-n', 'kube-system'))],
    ]);
    const text = sections
      .map(([title, ...lines]) => [title, ...lines.filter((line) => !anybody.has(line)).sort()].join('\n  '))
      .join('\n');
    expect(`${text}\n`).toBe(await readFile(new URL('golden/nodeParts.txt', import.meta.url), 'utf8'));
  });

  test.each(Object.keys(READABLE) as NodePart[])(
    'its %s reads what it needs and nothing else',
    async (part) => {
      const client = others.parts[part];
      for (const type of EVERYTHING) {
        const listed = client.of(type).list();
        if (READABLE[part].includes(type)) await listed;
        else await expect(listed, type.resource).rejects.toMatchObject(FORBIDDEN);
      }
    },
  );

  test('has parts that write nothing, read no Secret by name and ask for no tokens', async () => {
    const at = { namespace: NODE_PARTS_NAMESPACE, name: 'x' };
    await plane.admin.of(SECRETS).create({ metadata: at });
    for (const client of Object.values(others.parts)) {
      const refused = [
        client.of(NODES).patch({ name: NAME }, 'merge', { metadata: { labels: { a: 'b' } } }),
        client.of(SECRETS).get(at),
        client.of(PODS).create({ metadata: at, spec: { containers: [{ name: 'c', image: 'i' }] } }),
        client
          .of(SERVICE_ACCOUNTS)
          .post({ ...at, name: NODE_PARTS.networkPolicy.account }, 'token', { spec: { audiences: [] } }),
      ];
      for (const one of refused) await expect(one).rejects.toMatchObject(FORBIDDEN);
    }
  });

  test("has a kubelet whose certificate reads its own Node and pods, and nobody else's", async () => {
    await kubelet.of(NODES).get({ name: NAME });
    await kubelet.of(PODS).list({ fieldSelector: `spec.nodeName=${NAME}` });
    const refused = [
      kubelet.of(NODES).list(),
      kubelet.of(NODES).get({ name: 'server' }),
      kubelet.of(PODS).list(),
      kubelet.of(PODS).list({ fieldSelector: 'spec.nodeName=server' }),
      ...[ENDPOINT_SLICES, ENDPOINTS, NAMESPACES, NETWORK_POLICIES, SECRETS, CONFIG_MAPS].map((type) =>
        kubelet.of(type as ResourceType<KubeObject>).list(),
      ),
    ];
    for (const one of refused) await expect(one).rejects.toMatchObject(FORBIDDEN);
  });

  test('gets tokens for its parts alone, bound to itself and for the server alone', async () => {
    for (const account of NODE_PART_ACCOUNTS) {
      expect((await tokenFor(account)).status?.token).toMatch(/^ey/);
      await expect(tokenFor(account, 'server')).rejects.toMatchObject(FORBIDDEN);
      await expect(tokenFor(account, NAME, ['vault'])).rejects.toMatchObject(FORBIDDEN);
    }
    for (const account of ['default', 'namespace-controller', 'node-network'])
      await expect(tokenFor(account)).rejects.toMatchObject(FORBIDDEN);
  });

  test('loses what earlier versions gave to every node when such a data directory is opened', async () => {
    const group = { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:nodes' };
    const old = { kind: 'ServiceAccount', namespace: NODE_PARTS_NAMESPACE, name: 'node-network' };
    await plane.admin.of(SERVICE_ACCOUNTS).create({ metadata: { namespace: old.namespace, name: old.name } });
    const by = { fieldManager: 'trellis-server', force: true };
    for (const { binding, role } of Object.values(NODE_PARTS)) {
      const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role };
      await plane.admin.of(CLUSTER_ROLE_BINDINGS).patch(
        { name: binding },
        'apply',
        {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'ClusterRoleBinding',
          metadata: { name: binding },
          roleRef,
          subjects: [group, old],
        },
        by,
      );
    }
    await until(async () => void (await kubelet.of(ENDPOINT_SLICES).list()));
    const settings = await settle(plane.layout, {}, defaultSettings('server'));
    const joinObjects = { settings, ca: plane.pki.ca.cert, server: plane.server };
    await ensureJoinObjects(plane.admin, joinObjects);
    await until(() => expect(kubelet.of(ENDPOINT_SLICES).list()).rejects.toMatchObject(FORBIDDEN));
    expect(await rights('--as', 'system:serviceaccount:kube-system:node-network')).toEqual(
      await rights('--as', 'system:serviceaccount:kube-system:default'),
    );
    for (const [part, types] of Object.entries(READABLE))
      for (const type of types) await until(() => others.parts[part as NodePart].of(type).list());
  });

  test('has tokens that end with its Node, and new ones once it is back', async () => {
    const { status } = await tokenFor(NODE_PARTS.overlay.account);
    const held = plane.as(status?.token ?? '');
    await held.of(NODES).list();
    await plane.admin.of(NODES).delete({ name: NAME });
    await until(() => expect(held.of(NODES).list()).rejects.toMatchObject({ reason: 'Unauthorized' }));
    held.close();
    await kubelet.of(NODES).create({ metadata: { name: NAME } });
    for (const [part, [type]] of Object.entries(READABLE))
      await until(() => others.parts[part as NodePart].of(type as ResourceType<KubeObject>).list());
  });
});
