// What a scheduler tells about itself: health to everyone, metrics to whom the apiserver says may read them.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, SERVICE_ACCOUNTS } from '../../../src/api/resources.js';
import { readBody } from '../../../src/client/answer.js';
import { type HttpsOptions, openHttps } from '../../../src/client/httpTransport.js';
import { defaultConfiguration } from '../../../src/scheduler/configuration/configuration.js';
import { runStandalone } from '../../../src/scheduler/standalone.js';
import { cpu, Playground, until } from './support.js';

let ground: Playground;
let server: string;
let stop: () => Promise<void>;
beforeAll(async () => {
  ground = await Playground.open();
  const { api } = ground;
  const own = await api.pki.client('system:kube-scheduler');
  const openTransport = () => openHttps({ server: api.url, ca: api.pki.ca, ...own });
  const ending = new AbortController();
  const tls = { ...(await api.pki.server()), clientCa: api.pki.ca };
  let running: Promise<boolean> | undefined;
  const port = await new Promise<number>((listening, fail) => {
    running = runStandalone({
      openTransport,
      configuration: defaultConfiguration(),
      identity: 'alone',
      log: silentLog,
      signal: ending.signal,
      serving: { host: '127.0.0.1', port: 0, tls, listening },
    });
    running.catch(fail);
  });
  server = `https://127.0.0.1:${port}`;
  stop = async () => {
    ending.abort();
    await running;
  };
});
afterAll(async () => {
  await stop();
  await ground.close();
});

async function get(path: string, as: Partial<HttpsOptions> = {}): Promise<{ status: number; text: string }> {
  const transport = openHttps({ server, ca: ground.api.pki.ca, ...as });
  try {
    const response = await transport.request({ method: 'GET', path });
    return { status: response.status, text: (await readBody(response)).toString() };
  } finally {
    transport.close();
  }
}

test('health is told to everyone', async () => {
  for (const path of ['/healthz', '/livez']) expect(await get(path)).toEqual({ status: 200, text: 'ok' });
  await until(async () => expect((await get('/readyz')).status).toBe(200));
  expect((await get('/readyz?verbose')).text).toBe('[+]ping ok\n[+]informer-sync ok\nreadyz check passed\n');
});

test('metrics are refused to nobody known, to a stranger and to who has no right', async () => {
  const { pki } = ground.api;
  expect((await get('/metrics')).status).toBe(403);
  expect((await get('/metrics', { token: 'made-up' })).status).toBe(401);
  expect((await get('/metrics', await pki.client('eve'))).status).toBe(403);
  expect((await get('/nothing-here', await pki.client('eve'))).status).toBe(403);
  expect((await get('/nothing-here', await pki.client('root', 'system:masters'))).status).toBe(404);
});

test('metrics have the names of kube-scheduler, and count what happens', async () => {
  await ground.node('a', { allocatable: { cpu: '1' } });
  await ground.pod('small', cpu('500m'));
  await ground.pod('big', cpu('3'));
  await ground.pod('gated', { schedulingGates: [{ name: 'example.com/wait' }] });
  const admin = await ground.api.pki.client('root', 'system:masters');
  const lines = [
    'scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 1',
    'scheduler_pod_scheduling_attempts_count 1',
    'scheduler_pending_pods{queue="gated"} 1',
    'scheduler_pending_pods{queue="unschedulable"} 1',
    'scheduler_pending_pods{queue="active"} 0',
    'scheduler_unschedulable_pods{plugin="NodeResourcesFit"} 1',
    'scheduler_cache_size{type="nodes"} 1',
    'scheduler_cache_size{type="pods"} 1',
    'scheduler_cache_size{type="assumed_pods"} 0',
    'scheduler_preemption_attempts_total 1',
    'leader_election_master_status{name="kube-scheduler"} 1',
  ];
  await until(async () => {
    const { text } = await get('/metrics', admin);
    expect(text.split('\n')).toEqual(expect.arrayContaining(lines));
  });
  const { text } = await get('/metrics', admin);
  expect(text).toMatch(
    /^scheduler_schedule_attempts_total\{profile="default-scheduler",result="unschedulable"\} \d+$/m,
  );
  expect(text).toMatch(/^scheduler_scheduling_attempt_duration_seconds_bucket\{.*le="0\.001"\} \d+$/m);
  expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
});

test('a service account reads them with a right on the path', async () => {
  const { client } = ground.api;
  const name = 'reader';
  await client.of(SERVICE_ACCOUNTS).create({ metadata: { name, namespace: 'default' } });
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [] } };
  const { status } = await client
    .of(SERVICE_ACCOUNTS)
    .post<{ status: { token: string } }>({ name, namespace: 'default' }, 'token', request);
  expect((await get('/metrics', { token: status.token })).status).toBe(403);
  const second = { name: 'reader-2', namespace: 'default' };
  await client.of(SERVICE_ACCOUNTS).create({ metadata: second });
  const allowed = await client
    .of(SERVICE_ACCOUNTS)
    .post<{ status: { token: string } }>(second, 'token', request);
  await client
    .of(CLUSTER_ROLES)
    .create({ metadata: { name }, rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }] });
  await client.of(CLUSTER_ROLE_BINDINGS).create({
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name: second.name, namespace: 'default' }],
  });
  // Asked once before the role is known to the apiserver, the refusal would be kept for half a minute.
  await until(async () => {
    const { status: review } = await client.raw<{ status: { allowed: boolean } }>(
      'POST',
      '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: {
          user: `system:serviceaccount:default:${second.name}`,
          nonResourceAttributes: { path: '/metrics', verb: 'get' },
        },
      },
    );
    expect(review.allowed).toBe(true);
  });
  expect((await get('/metrics', { token: allowed.status.token })).status).toBe(200);
});
