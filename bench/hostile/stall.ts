// How long hostile requests of an ordinary user keep everybody else waiting: one by one, and two hundred at once.
// Guarantees: a wait is one question's, from its sending to its answer, asked on a connection and a thread of its own.
import { makePlace, type Place } from '../apiserver/testbed.js';
import { againstLimit, type Figure, worstAgainstLimit } from '../lib/figure.js';
import { corpus, type HostileRequest, NAMESPACE } from './corpus.js';
import { Gaps } from './gaps.js';
import { type Asker, prepare } from './user.js';

const MOST_MS = 250;
const USUAL_MS = 50;
const AT_ONCE = 200;
const P99_MS = 500;
const TOLD = 10;

export async function stall(): Promise<Figure[]> {
  const place = await makePlace();
  try {
    const server = await place.start('apiserver');
    const { admin, user } = await prepare(place, server.port);
    const figures = [
      ...(await oneByOne(place, server.port, user)),
      ...(await atOnce(place, server.port, user)),
    ];
    for (const asker of [admin, user]) asker.close();
    return figures;
  } finally {
    await place.clean();
  }
}

interface Wait {
  readonly name: string;
  readonly ms: number;
}

async function oneByOne(place: Place, port: number, user: Asker): Promise<Figure[]> {
  const gaps = await Gaps.open({ tls: place.tls, port, path: '/livez' });
  const waits = new Map<string, Wait[]>();
  for (const request of corpus()) {
    const body = request.body();
    await gaps.take();
    await user.ask(request, body);
    const ms = Math.max(...(await gaps.take()));
    const kind = kindOf(request);
    waits.set(kind, [...(waits.get(kind) ?? []), { name: request.name, ms }]);
  }
  await gaps.close();
  tellWorst([...waits.values()].flat());
  return [...waits].flatMap(([kind, own]) => {
    const samples = own.map(({ ms }) => ms);
    return [
      againstLimit({ name: `longest wait during a hostile request: ${kind}`, unit: 'ms', samples }, USUAL_MS),
      worstAgainstLimit({ name: `the worst of them: ${kind}`, unit: 'ms', samples }, MOST_MS),
    ];
  });
}

const kindOf = ({ name }: HostileRequest): string =>
  /^(YAML|protobuf|value|selector|managed fields|definition|custom object|wide|\w+ patch):/.exec(name)?.[1] ??
  'shape of JSON';

function tellWorst(waits: readonly Wait[]): void {
  const worst = [...waits].sort((a, b) => b.ms - a.ms).slice(0, TOLD);
  for (const { name, ms } of worst) process.stderr.write(`  ${Math.round(ms)} ms  ${name}\n`);
}

/** Another user's GETs while one sends the same costly requests from two hundred connections. */
async function atOnce(place: Place, port: number, user: Asker): Promise<Figure[]> {
  const path = `/api/v1/namespaces/${NAMESPACE}`;
  const gaps = await Gaps.open({ tls: place.tls, port, path });
  const costly = corpus().filter(({ name }) => COSTLY.some((word) => name.includes(word)));
  const bodies = costly.map((request) => ({ request, body: request.body() }));
  await gaps.take();
  await Promise.all(
    Array.from({ length: AT_ONCE }, (_, index) => {
      const { request, body } = bodies[index % bodies.length] as (typeof bodies)[number];
      // One that is refused, or cut off, has done its worst.
      return user.ask(request, body).catch(() => undefined);
    }),
  );
  const taken = (await gaps.take()).sort((a, b) => a - b);
  await gaps.close();
  const p99 = taken[Math.floor(taken.length * 0.99)] ?? Number.NaN;
  const name = `a GET of another user under ${AT_ONCE} of them at once, p99 of ${taken.length}`;
  return [againstLimit({ name, unit: 'ms', samples: [p99] }, P99_MS)];
}

const COSTLY = [
  'merge patch: ',
  'wide: configmaps data',
  'wide: pods spec.containers',
  'YAML: many keys',
  'nested brackets',
];
