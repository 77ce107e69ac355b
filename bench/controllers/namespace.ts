// A namespace with 5,000 objects of several kinds: how long its deletion takes.
import { CONFIG_MAPS, NAMESPACES, PODS, ROLES, SECRETS, SERVICE_ACCOUNTS } from '../../src/api/resources.js';
import { ApiError } from '../../src/api/status.js';
import { repeated } from '../lib/compare.js';
import { againstLimit, type Figure } from '../lib/figure.js';
import { runsOf } from '../lib/options.js';
import { inParallel, makeTestbed } from './controlPlane.js';

const RUNS = 3;
const NAME = 'team';
const SECONDS = 5;
const LOOK_MS = 20;

export async function namespace(): Promise<Figure[]> {
  const samples = await repeated(runsOf(RUNS), measure);
  return [againstLimit({ name: 'a namespace with 5,000 objects deleted', samples, unit: 's' }, SECONDS)];
}

/** Seconds. */
async function measure(): Promise<number> {
  const testbed = await makeTestbed();
  try {
    const { client, cpuSeconds } = await testbed.start();
    await client.of(NAMESPACES).create({ metadata: { name: NAME } });
    await until(async () => {
      await client.of(SERVICE_ACCOUNTS).get({ name: 'default', namespace: NAME });
      return true;
    });
    const named = (name: string) => ({ metadata: { name, namespace: NAME } });
    await inParallel(5_000, async (number) => {
      const own = named(`object-${number}`);
      if (number < 2_500) await client.of(CONFIG_MAPS).create({ ...own, data: { key: 'value' } });
      else if (number < 4_000) await client.of(SECRETS).create({ ...own, stringData: { key: 'value' } });
      else if (number < 4_500) await client.of(ROLES).create({ ...own, rules: [] });
      else await client.of(PODS).create({ ...own, spec: { containers: [{ name: 'main', image: 'i' }] } });
    });
    const [start, cpu] = [performance.now(), cpuSeconds()];
    await client.of(NAMESPACES).delete({ name: NAME });
    await until(async () => {
      await client.of(NAMESPACES).get({ name: NAME });
      return false;
    });
    const seconds = (performance.now() - start) / 1000;
    process.stderr.write(`  ${(cpuSeconds() - cpu).toFixed(1)} s of the control plane's CPU\n`);
    return seconds;
  } finally {
    await testbed.clean();
  }
}

/** Not there counts as "no" while waiting for it, and as "yes" while waiting for its end. */
async function until(look: () => Promise<boolean>): Promise<void> {
  let wasThere = false;
  for (;;) {
    try {
      if (await look()) return;
      wasThere = true;
    } catch (error) {
      if (!ApiError.is(error, 'NotFound')) throw error;
      if (wasThere) return;
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
