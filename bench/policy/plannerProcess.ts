// In a process and a network namespace of its own: a planner of network policies and the kernel's tables that follow it.
// Guarantees: prints one JSON object, `Synced`; times reach from the objects to the kernel's answer.
import { openNft } from '../../src/kernel/nftables/adapter.js';
import { PolicyPlanner } from '../../src/network/policy/planner.js';
import { FAMILIES } from '../../src/network/policy/table.js';
import { residentMb } from '../lib/process.js';
import { LOCAL_PODS, namespaceOf, podOf, workload } from './workload.js';

export interface Synced {
  readonly syncMs: number;
  /** Of all threads of the process, in the kernel too. */
  readonly syncCpuMs: number;
  readonly residentMb: number;
  readonly addMs: readonly number[];
  readonly moveMs: readonly number[];
}

const CHANGES = 40;
const [pods = 0, policies = 0] = process.argv.slice(2).map(Number);
const { pods: before, policies: all } = workload(pods, policies);
const nft = await openNft();
const planner = new PolicyPlanner('trellis-bench');

async function timed(change: () => void): Promise<number> {
  const start = performance.now();
  change();
  const { images } = planner;
  await nft.commit(FAMILIES.flatMap((family) => images[family].changes()));
  const took = performance.now() - start;
  for (const family of FAMILIES) images[family].committed();
  return took;
}

const cpu = process.cpuUsage();
const syncMs = await timed(() => {
  planner.setPodRanges(['10.244.0.0/16']);
  for (let i = 0; i < 100; i++) planner.setNamespace(namespaceOf(i), {});
  for (const pod of before) planner.setPod(pod);
  for (const policy of all) planner.setPolicy(policy);
});
const { user, system } = process.cpuUsage(cpu);
const resident = residentMb(process.pid);
const [addMs, moveMs]: [number[], number[]] = [[], []];
const local = (i: number, labels = {}) => ({ ...podOf(i, labels), isLocal: true });
for (let i = 0; i < CHANGES; i++) addMs.push(await timed(() => planner.setPod(local(pods + i))));
for (let i = 0; i < CHANGES; i++)
  moveMs.push(await timed(() => planner.setPod(local(LOCAL_PODS + 10, { group: `g${i % 2}` }))));
nft.close();
// The first ones warm the compiler.
const settled = (times: readonly number[]) => times.slice(CHANGES / 4);
const synced: Synced = {
  syncMs,
  syncCpuMs: (user + system) / 1000,
  residentMb: resident,
  addMs: settled(addMs),
  moveMs: settled(moveMs),
};
process.stdout.write(JSON.stringify(synced));
