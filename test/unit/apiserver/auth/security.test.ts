// The whole of it together: a service account's token from its request to a decision about what it may do.
import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { NODES, PODS, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS } from '../../../../src/api/resources.js';
import { makeSecurity } from '../../../../src/apiserver/auth/security.js';
import { FakeApi } from '../../../support/fakeApi.js';
import { StaticInformers } from '../../../support/staticInformers.js';

const serviceAccountKeyPem = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString();

test('a pod’s token is issued, known, judged, and dies with the pod', async () => {
  const client = new FakeApi();
  const informers = new StaticInformers();
  const account = { metadata: { name: 'bot', namespace: 'ns', uid: 'a1' } };
  informers.of(SERVICE_ACCOUNTS).set(account);
  informers.of(NODES).set({ metadata: { name: 'n1', uid: 'node-1' } });
  const pod = {
    metadata: { name: 'p', namespace: 'ns', uid: 'p1' },
    spec: { nodeName: 'n1', serviceAccountName: 'bot', containers: [] },
  };
  client.put(PODS, pod);
  informers.of(ROLES).set({
    metadata: { name: 'r', namespace: 'ns' },
    rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }],
  });
  informers.of(ROLE_BINDINGS).set({
    metadata: { name: 'b', namespace: 'ns' },
    roleRef: { kind: 'Role', name: 'r' },
    subjects: [{ kind: 'ServiceAccount', name: 'bot' }],
  });
  // The server's own copy keeps little of a pod; whoever asks for the whole of it gets it from the API.
  const security = makeSecurity({ client, informers, serviceAccountKeyPem, issuer: 'https://k' });

  informers.of(PODS).set(pod);
  const body = {
    spec: {
      expirationSeconds: 3607,
      boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p', uid: 'p1' },
    },
  };
  const answer = (await security.subresourceHooks[0]?.create(account, body as object, {
    user: { name: 'admin', groups: ['system:masters'] },
    dryRun: false,
  })) as unknown as {
    spec: object;
    status: { token: string };
  };
  expect(answer).toMatchObject({
    kind: 'TokenRequest',
    spec: { audiences: ['https://k'], expirationSeconds: 3607 },
  });
  const authorization = `Bearer ${answer.status.token}`;
  const user = await security.authenticator.authenticate({ authorization });
  expect(user.extra).toMatchObject({ 'authentication.kubernetes.io/node-uid': ['node-1'] });
  const asked = {
    user,
    group: '',
    version: 'v1',
    resource: 'pods',
    subresource: '',
    namespace: 'ns',
    name: 'p',
  };
  expect(security.authorizer.authorize({ ...asked, verb: 'get' }).verdict).toBe('allow');
  expect(security.authorizer.authorize({ ...asked, verb: 'delete' }).verdict).toBe('no opinion');

  informers.of(PODS).remove('ns/p');
  client.remove(PODS, pod.metadata);
  await expect(security.authenticator.authenticate({ authorization })).rejects.toThrow('Unauthorized');
});
