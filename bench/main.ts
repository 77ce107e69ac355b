// Runs benchmarks by name and reports them as a table, and as JSON with --json.
// usage: npm run bench -- [name ...] [--json FILE]      names: a group ("native") or one of it ("native/routes")
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { apiserver } from './apiserver/index.js';
import { cni } from './cni/index.js';
import { controllers } from './controllers/index.js';
import { hostile } from './hostile/index.js';
import { kubelet } from './kubelet/index.js';
import { type Figure, renderFigures } from './lib/figure.js';
import { native } from './native/index.js';
import { proxy } from './proxy/index.js';
import { scheduler } from './scheduler/index.js';

const groups: Record<string, Record<string, () => Promise<Figure[]>>> = {
  native,
  cni,
  apiserver,
  hostile,
  scheduler,
  controllers,
  kubelet,
  proxy,
};

const all = Object.entries(groups).flatMap(([group, benchmarks]) =>
  Object.entries(benchmarks).map(([name, run]) => ({ name: `${group}/${name}`, run })),
);

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'string' } },
});

const unknown = positionals.filter(
  (wanted) => !all.some(({ name }) => name === wanted || name.startsWith(`${wanted}/`)),
);
if (unknown.length > 0) {
  console.error(
    `no benchmark is called ${unknown.join(', ')}; there are: ${all.map(({ name }) => name).join(', ')}`,
  );
  process.exit(2);
}

const chosen = all.filter(
  ({ name }) =>
    positionals.length === 0 ||
    positionals.some((wanted) => name === wanted || name.startsWith(`${wanted}/`)),
);

const figures: Figure[] = [];
for (const { name, run } of chosen) {
  const start = performance.now();
  process.stderr.write(`${name} ...\n`);
  figures.push(...(await run()));
  process.stderr.write(`${name} done in ${((performance.now() - start) / 1000).toFixed(1)} s\n`);
}

console.log(renderFigures(figures));
const missed = figures.filter(({ met }) => !met);
console.log(
  missed.length === 0
    ? `all ${figures.length} goals met`
    : `${missed.length} of ${figures.length} goals not met: ${missed.map(({ name }) => name).join('; ')}`,
);
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(figures, null, 2)}\n`);
process.exit(0);
