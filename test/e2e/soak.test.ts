// Hours of ordinary churn on one node: pods, Services, ConfigMaps, their events and leases, at about 60 pods per minute.
// TRELLIS_SOAK_MINUTES=60 is the proof; without it nothing runs here.
// Guarantees: server and agent end with the memory and descriptors they began with, and the machine with what it had.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lookAtMachine, type MachineState } from '../support/machine.js';
import { describeWith } from '../support/requires.js';
import { eventually, TestCluster } from '../support/testCluster.js';

const NEEDS = { root: true, tools: ['containerd', 'runc', 'kubectl', 'busybox', 'nft', 'nsenter', 'ip'] };
const MINUTES = Number(process.env['TRELLIS_SOAK_MINUTES'] ?? 0);
const PODS = 10;
/** Ten pods each: sixty per minute. */
const ROUND_MS = 10_000;
const MOST_GROWN_MB = 40;
/** Longer than history is kept in memory. */
const SETTLE_MS = 100_000;
/** Connections come and go; what leaks in an hour of sixty pods per minute is in the thousands. */
const MOST_DESCRIPTORS = 20;

interface ProcessState {
  /** One that was started anew in between would hide what it had grown by. */
  readonly pid: number;
  readonly residentMb: number;
  readonly descriptors: number;
}

const container = (name: string) => ({
  name,
  image: 'trellis.local/busybox',
  command: ['httpd', '-f', '-p', '8080', '-h', '/etc'],
  volumeMounts: [{ name: 'settings', mountPath: '/settings' }],
});

function objectsOf(round: number): object[] {
  const name = `churn-${round}`;
  const labels = { app: name };
  const settings = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name },
    data: { text: 'x'.repeat(20_000) },
  };
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
  };
  const lease = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name },
    spec: { holderIdentity: name, leaseDurationSeconds: 15 },
  };
  const pods = Array.from({ length: PODS }, (_, i) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `${name}-${i}`, labels },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [container('web')],
      volumes: [{ name: 'settings', configMap: { name } }],
    },
  }));
  return [settings, service, lease, ...pods];
}

function lookAtProcess(pid: number): ProcessState {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const residentMb = (Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024) / 1e6;
  return { pid, residentMb, descriptors: readdirSync(`/proc/${pid}/fd`).length };
}

/** What pods leave where they were not taken away whole; addresses and names differ from pod to pod, their number does not. */
function counts({ links, routes, nft, iptables, mounts, cgroups, processes }: MachineState) {
  const lists = { links, routes, nft, iptables, mounts, cgroups, processes };
  return Object.fromEntries(Object.entries(lists).map(([kind, words]) => [kind, words.length]));
}

describeWith(NEEDS, 'ordinary churn for a long time', () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    if (MINUTES > 0) cluster = await TestCluster.make();
  });
  afterAll(() => cluster?.remove());

  const look = async () => {
    const entries = Object.entries(await cluster.processes());
    return new Map(entries.map(([name, pid]) => [name, lookAtProcess(pid)]));
  };

  const churn = async (round: number) => {
    const file = path.join(path.dirname(cluster.dataDir), 'churn.json');
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objectsOf(round) }));
    await cluster.kubectl('apply', '-f', file);
    await cluster.kubectl(
      'wait',
      '--for=condition=Ready',
      'pod',
      '-l',
      `app=churn-${round}`,
      '--timeout=100s',
    );
    await cluster.kubectl('delete', '-f', file, '--wait=true', '--timeout=100s');
  };

  test.runIf(MINUTES > 0)(
    'leaves memory, descriptors and the machine as they were',
    async () => {
      expect(await cluster.trellis('up', '--detach')).toMatchObject({ code: 0 });
      // What is made when it is first needed is there after a few rounds.
      for (let round = 0; round < 6; round += 1) await churn(round);
      await sleep(SETTLE_MS);
      const before = { processes: await look(), machine: counts(await lookAtMachine(cluster.place)) };
      const end = Date.now() + MINUTES * 60_000;
      let rounds = 0;
      for (let next = Date.now(); Date.now() < end; rounds += 1) {
        await churn(100 + rounds);
        next = Math.max(next + ROUND_MS, Date.now());
        await sleep(Math.max(0, Math.min(next, end) - Date.now()));
      }
      await sleep(SETTLE_MS);
      await eventually(
        async () => counts(await lookAtMachine(cluster.place)),
        (machine) => JSON.stringify(machine) === JSON.stringify(before.machine),
      );
      const after = await look();
      const figures = [...after].map(([name, is]) => {
        const was = before.processes.get(name) ?? { residentMb: 0, descriptors: 0 };
        return {
          name,
          grownMb: is.residentMb - was.residentMb,
          descriptors: is.descriptors - was.descriptors,
        };
      });
      console.log(`${rounds * PODS} pods in ${MINUTES} min: ${JSON.stringify(figures)}`);
      for (const { name, grownMb, descriptors } of figures) {
        expect(grownMb, `${name} grew by ${grownMb} MB`).toBeLessThanOrEqual(MOST_GROWN_MB);
        expect(descriptors, `${name} has ${descriptors} more descriptors`).toBeLessThanOrEqual(
          MOST_DESCRIPTORS,
        );
      }
      const pids = (of: Awaited<ReturnType<typeof look>>) =>
        [...of].map(([name, { pid }]) => [name, pid]).sort();
      expect(pids(after)).toEqual(pids(before.processes));
    },
    MINUTES * 60_000 + 900_000,
  );
});
