// Tokens of service accounts in a running pod: whom they name, whom they are for, who may read them, and their renewal.
import { generateKeyPairSync } from 'node:crypto';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ObjectName } from '../../../src/api/object.js';
import { NODES, PODS, SECRETS, SERVICE_ACCOUNTS } from '../../../src/api/resources.js';
import { makeTokenIssuer } from '../../../src/apiserver/auth/tokenIssuer.js';
import { makeTokenSubresource } from '../../../src/apiserver/auth/tokenSubresource.js';
import { SLEEP, shell } from '../../support/kubelet/nodePods.js';
import { NEEDS, PodNode } from '../../support/kubelet/podNode.js';
import { describeWith } from '../../support/requires.js';
import { eventually } from '../../support/testCluster.js';

const ISSUER = 'https://cluster.test';
/** Shorter than any cluster's, so that the renewal is seen. */
const LIFE_SECONDS = 15;

describeWith(NEEDS, 'tokens of service accounts', () => {
  let pods: PodNode;

  beforeAll(async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const issuer = makeTokenIssuer({
      privateKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      issuer: ISSUER,
      audiences: [ISSUER],
      maxExpirationSeconds: LIFE_SECONDS,
    });
    const lookups = {
      pod: (at: ObjectName) => pods.client.of(PODS).get(at),
      node: (at: ObjectName) => pods.client.of(NODES).get(at),
      secret: (at: ObjectName) => pods.client.of(SECRETS).get(at),
    };
    const hook = makeTokenSubresource({ issuer, lookups, admission: [] });
    pods = await PodNode.start({ syncFrequency: '1s' }, { server: { parts: { subresourceHooks: [hook] } } });
    await pods.client.of(SERVICE_ACCOUNTS).create({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'worker', namespace: 'default' },
    });
  });
  afterAll(() => pods?.stop());

  test('bound to its pod, for its audience, readable by its user alone, and renewed while the pod runs', async () => {
    const serviceAccountToken = { audience: 'vault', expirationSeconds: 600, path: 'sub/token' };
    await pods.create('bearer', {
      serviceAccountName: 'worker',
      securityContext: { runAsUser: 1234 },
      volumes: [{ name: 'token', projected: { sources: [{ serviceAccountToken }] } }],
      containers: [shell(SLEEP, { volumeMounts: [{ name: 'token', mountPath: '/token' }] })],
    });
    const { metadata } = await pods.running('bearer');
    const read = () => pods.inside('bearer', 'cat /token/sub/token');
    const first = await read();
    const claims = decodeJwt(first);
    expect(claims).toMatchObject({
      iss: ISSUER,
      sub: 'system:serviceaccount:default:worker',
      aud: ['vault'],
      'kubernetes.io': {
        pod: { name: 'bearer', uid: metadata.uid },
        node: { name: 'node-1' },
        serviceaccount: { name: 'worker' },
      },
    });
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(LIFE_SECONDS);
    const seen =
      'busybox stat -L -c %a:%u /token/sub/token; busybox awk \'$2=="/token"{print $3}\' /proc/mounts';
    expect((await pods.inside('bearer', seen)).split('\n')).toEqual(['600:1234', 'tmpfs']);
    const next = decodeJwt(await eventually(read, (token) => token !== first));
    expect(next.exp).toBeGreaterThan(claims.exp ?? 0);
    expect(next['kubernetes.io']).toEqual(claims['kubernetes.io']);
    await pods.drop('bearer');
  });
});
