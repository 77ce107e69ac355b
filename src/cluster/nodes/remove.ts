// Takes the further nodes of a machine away: what runs in them, their control groups, networks and the wire between.
// Guarantees: works from names on the disk and in /run alone, also after everything was killed; success also when nothing
// is there.
import { openCgroups } from '../../kernel/cgroup/adapter.js';
import type { Layout } from '../layout.js';
import { knownNodes } from './space.js';
import { removeUnderlay, type UnderlayPorts } from './underlay.js';

export async function clearNodes(layout: Layout, ports: UnderlayPorts): Promise<void> {
  const nodes = await knownNodes(layout);
  const cgroups = await openCgroups();
  // Their mounts and what is in their networks go with their processes.
  await Promise.all(
    nodes.map(async ({ layout: { cgroup } }) => {
      await cgroups.kill(cgroup);
      await cgroups.remove(cgroup);
    }),
  );
  await removeUnderlay(layout, nodes, ports);
}
