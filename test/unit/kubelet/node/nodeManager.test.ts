import { afterEach, expect, it } from 'vitest';
import type { V1Node } from '../../../../src/api/gen/types.js';
import { silentLog } from '../../../../src/api/log.js';
import { NODES } from '../../../../src/api/resources.js';
import { completeConfig } from '../../../../src/kubelet/config.js';
import { NodeManager } from '../../../../src/kubelet/node/nodeManager.js';
import { MemoryClient } from '../../../support/memoryClient.js';
import { until } from '../../../support/until.js';

const node = (ready: string): V1Node => ({
  metadata: { name: 'one' },
  status: { conditions: [{ type: 'Ready', status: ready }] },
});
let manager: NodeManager | undefined;
afterEach(() => manager?.stop());

function start(client: MemoryClient): void {
  manager = new NodeManager({
    client,
    config: completeConfig({ nodeName: 'one', nodeStatusUpdateFrequencyMs: 10 }),
    log: silentLog,
    now: () => 0,
    describe: async () => node('True'),
  });
  manager.start();
}

const statuses = ({ writes }: MemoryClient) => writes.filter(({ verb }) => verb === 'patch/status').length;

it('says that the node is Ready again after a controller has said that nobody knows', async () => {
  const client = new MemoryClient();
  start(client);
  await until(() => expect(statuses(client)).toBe(1));
  client.put(NODES, node('Unknown'));
  await until(() => expect(statuses(client)).toBeGreaterThan(1));
});

it('registers a node again that somebody has deleted', async () => {
  const client = new MemoryClient();
  const created = () =>
    client.writes.filter(({ verb, resource }) => verb === 'create' && resource === 'nodes');
  start(client);
  await until(() => expect(created()).toHaveLength(1));
  await client.of(NODES).delete({ name: 'one' });
  await until(() => expect(created()).toHaveLength(2));
});
