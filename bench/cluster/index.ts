// What a person who types `trellis up` meets: the start, the first answer, names, and the memory of every process.
// Guarantees: every run is a fresh cluster in a namespace of its own, with its image pulled anew.
import { repeated } from '../lib/compare.js';
import { againstLimit, type Figure, told } from '../lib/figure.js';
import { runsOf } from '../lib/options.js';
import type { Seen } from './inside.js';
import { inCluster } from './one.js';

const RUNS = 5;
const [FIRST_START_MS, SECOND_START_MS] = [6_000, 4_000];

async function oneNode(): Promise<Figure[]> {
  const runs = await repeated(runsOf(RUNS), () =>
    inCluster(async ({ readyMs, inside, trellis }) => {
      const seen = JSON.parse(await inside(new URL('./inside.js', import.meta.url))) as Seen;
      await trellis('down');
      const start = performance.now();
      await trellis('up', '--detach');
      return { readyMs, againMs: performance.now() - start, ...seen };
    }),
  );
  const samples = (of: (run: (typeof runs)[number]) => number) => runs.map(of);
  const processes = Object.keys(runs[0]?.residentMb ?? {});
  return [
    againstLimit(
      {
        name: '`trellis up` until the node is Ready and DNS answers',
        unit: 'ms',
        samples: samples((run) => run.readyMs),
      },
      FIRST_START_MS,
    ),
    againstLimit(
      {
        name: 'the same again, after `trellis down`',
        unit: 'ms',
        samples: samples((run) => run.againMs),
      },
      SECOND_START_MS,
    ),
    told({
      name: 'a Deployment and its Service, created until the first answer',
      note: 'image pull included',
      unit: 'ms',
      samples: samples((run) => run.firstAnswerMs),
    }),
    told({
      name: 'a name of the cluster asked of its DNS over UDP',
      note: 'client in Node included',
      unit: 'µs',
      samples: runs.flatMap((run) => run.dnsUs),
    }),
    ...processes.map((name) =>
      told({
        name: `memory, ${name}`,
        note: 'a minute after the start',
        unit: 'MB',
        samples: samples((run) => run.residentMb[name] ?? Number.NaN),
      }),
    ),
  ];
}

async function threeNodes(): Promise<Figure[]> {
  const samples = await repeated(runsOf(RUNS), () =>
    inCluster(async ({ readyMs }) => readyMs, ['--nodes', '3']),
  );
  return [told({ name: '`trellis up --nodes 3` until all three are Ready', unit: 'ms', samples })];
}

export const cluster: Record<string, () => Promise<Figure[]>> = { oneNode, threeNodes };
