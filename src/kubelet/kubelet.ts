// The kubelet: pods from the API and from manifests become containers, and their state becomes status.
// Guarantees: one call starts everything; stop() leaves every container running for the next kubelet to find.
import { mkdir } from 'node:fs/promises';
import { openCgroupStats } from '../kernel/cgroup/stats.js';
import { KubeletAssembly } from './assembly.js';
import { completeConfig } from './config.js';
import type { KubeletDependencies, RunningKubelet } from './dependencies.js';
import { noEvents } from './events.js';
import { requireKernelDefaults } from './kernelDefaults.js';
import { readMachine } from './node/machine.js';
import { PullRecords } from './pullRecords.js';

export async function runKubelet(around: KubeletDependencies): Promise<RunningKubelet> {
  const config = completeConfig(around.config);
  const { log, cgroups, events = noEvents, now = Date.now } = around;
  if (config.protectKernelDefaults) await requireKernelDefaults();
  await mkdir(config.rootDir, { recursive: true, mode: 0o750 });
  await mkdir(config.podLogsDir, { recursive: true, mode: 0o755 });
  const kubelet = new KubeletAssembly({
    ...around,
    config,
    events,
    now,
    machine: await readMachine(config.rootDir),
    // Part of the machine, so that those who run a kubelet need not open it.
    cgroupStats: around.cgroupStats ?? (cgroups && (await openCgroupStats())),
    pullRecords: await PullRecords.open({ config, log, now }),
  });
  kubelet.start();
  return kubelet;
}
