// Memory that one user of a cluster can make a node's agent hold: at the worst moment of each attack, and five minutes later.
// TRELLIS_HOSTILE_WAIT_S=30 waits less than five minutes.
import { inCluster } from '../cluster/one.js';
import { againstLimit, type Figure } from '../lib/figure.js';
import type { AgentMeasured } from './agentInside.js';

const MOST_MB = 256;
const LEFT_MB = 40;

export async function agent(): Promise<Figure[]> {
  const { worst, left } = await inCluster<AgentMeasured>(async ({ inside }) =>
    JSON.parse(await inside(new URL('./agentInside.js', import.meta.url))),
  );
  return [
    ...Object.entries(worst).map(([name, mb]) =>
      againstLimit({ name: `agent: ${name}, at worst`, samples: [mb], unit: 'MB' }, MOST_MB),
    ),
    againstLimit({ name: 'agent: all of that, and later', samples: [left], unit: 'MB' }, LEFT_MB),
  ];
}
