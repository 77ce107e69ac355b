// The scheduler as a process has it: over HTTPS with a certificate, from a configuration, one leader among two.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { LEASES } from '../../../src/api/resources.js';
import { openHttps } from '../../../src/client/httpTransport.js';
import { parseConfiguration } from '../../../src/scheduler/configuration/configuration.js';
import { runStandalone } from '../../../src/scheduler/standalone.js';
import { cpu, Playground, until } from './support.js';

const CONFIGURATION = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 100ms}
profiles:
- schedulerName: default-scheduler
- schedulerName: packer
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated}}
  plugins:
    score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit}]}
`;

let ground: Playground;
beforeAll(async () => {
  ground = await Playground.open();
});
afterAll(() => ground.close());

async function begin(identity: string) {
  const { api } = ground;
  const own = await api.pki.client('system:kube-scheduler');
  const openTransport = () => openHttps({ server: api.url, ca: api.pki.ca, ...own });
  const ending = new AbortController();
  const configuration = parseConfiguration(CONFIGURATION);
  const { signal } = ending;
  const ended = runStandalone({ openTransport, configuration, identity, log: silentLog, signal });
  return { ended, end: () => ending.abort() };
}

async function start(identity: string): Promise<() => Promise<void>> {
  const { ended, end } = await begin(identity);
  return async () => {
    end();
    expect(await ended).toBe(true);
  };
}

const leader = async () => {
  const lease = await ground.api.client.of(LEASES).get({ name: 'kube-scheduler', namespace: 'kube-system' });
  return lease.spec.holderIdentity;
};

test('packs where its profile says so, and another takes over when it ends', async () => {
  for (const name of ['a', 'b']) await ground.node(name);
  const stopFirst = await start('first');
  await until(async () => expect(await leader()).toBe('first'));
  const stopSecond = await start('second');
  await ground.pod('seed', { ...cpu('500m'), nodeSelector: { 'kubernetes.io/hostname': 'b' } });
  await until(async () => expect(await ground.placements()).toEqual({ seed: 'b' }));
  await ground.pod('packed', { ...cpu('500m'), schedulerName: 'packer' });
  await until(async () => expect(await ground.placements()).toEqual({ seed: 'b', packed: 'b' }));
  await stopFirst();
  await until(async () => expect(await leader()).toBe('second'));
  await ground.pod('spread', cpu('500m'));
  await ground.pod('stranger', { schedulerName: 'someone-else' });
  await until(async () => expect(await ground.placements()).toEqual({ seed: 'b', packed: 'b', spread: 'a' }));
  await stopSecond();
});

test('says that it lost the lease when another has taken it, and places nothing more', async () => {
  const leases = ground.api.client.of(LEASES);
  const running = await begin('loser');
  await until(async () => expect(await leader()).toBe('loser'));
  const lease = await leases.get({ name: 'kube-scheduler', namespace: 'kube-system' });
  await leases.patch({ name: 'kube-scheduler', namespace: 'kube-system' }, 'merge', {
    spec: { ...lease.spec, holderIdentity: 'somebody' },
  });
  expect(await running.ended).toBe(false);
  await ground.pod('late', cpu('1m'));
  expect(await ground.placements()).not.toHaveProperty('late');
});
