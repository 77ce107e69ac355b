// The comparison of modes on the kernel this process runs on; rows as they come, figures with their goals at the end.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { againstLimit, againstPeer, type Figure } from '../lib/figure.js';
import { benchNetNs, removeNetNs, runTool } from '../lib/tool.js';
import type { Contender, Row } from './measure.js';

/** `TRELLIS_BENCH_SIZES=100,1000` takes the place of the sizes. */
export function sizes(usual: readonly number[]): number[] {
  const wanted = (process.env['TRELLIS_BENCH_SIZES'] ?? '')
    .split(',')
    .map(Number)
    .filter((size) => size > 0);
  return wanted.length > 0 ? wanted : [...usual];
}

const ONE = join(dirname(fileURLToPath(import.meta.url)), 'one.js');

/** Each contender at each size that it can, one after the other; one that fails is told and left out. */
export async function compareModes(
  contenders: readonly Contender[],
  of: readonly number[],
  connections: number,
): Promise<Row[]> {
  const jobs = of.flatMap((services) =>
    contenders.flatMap((contender) =>
      services > (contender.upTo ?? services) ? [] : [{ services, contender }],
    ),
  );
  const rows: Row[] = [];
  for (const [done, { services, contender }] of jobs.entries()) {
    showProgress(done, jobs.length, `${contender.label}, ${services} services`);
    try {
      const argv = [ONE, JSON.stringify(contender), String(services), String(connections)];
      rows.push(
        JSON.parse(
          await (contender.mode === 'userspace' ? runInside(argv) : runTool([process.execPath, ...argv])),
        ) as Row,
      );
    } catch (error) {
      process.stderr.write(
        `  ${contender.label} with ${services} services failed: ${String(error).slice(0, 500)}\n`,
      );
    }
  }
  if (rows.length === 0) throw new Error('no mode could be measured');
  return rows;
}

/** The userspace mode's sockets are where its process is: that runs in the node's namespace. */
async function runInside(argv: readonly string[]): Promise<string> {
  const node = await benchNetNs();
  try {
    return await runTool([process.execPath, ...argv, node], { netns: node });
  } finally {
    await removeNetNs(node);
  }
}

const BAR = 20;

function showProgress(done: number, all: number, what: string): void {
  const full = Math.round((BAR * done) / all);
  process.stderr.write(`  [${'#'.repeat(full)}${'.'.repeat(BAR - full)}] ${done + 1} of ${all}: ${what}\n`);
}

const find = (rows: readonly Row[], label: string, services: number) =>
  rows.find((row) => row.label === label && row.services === services);

/** What the host's kernel must reach, at the largest size that was measured. */
export function hostFigures(rows: readonly Row[]): Figure[] {
  const most = Math.max(...rows.map(({ services }) => services));
  const least = Math.min(...rows.map(({ services }) => services));
  const at = (label: string, services = most) => find(rows, label, services);
  const nft = at('nftables');
  const small = at('nftables', least);
  const iptablesMost = Math.max(
    ...rows.filter(({ label }) => label === 'iptables-nft').map(({ services }) => services),
  );
  const iptables = at('iptables-nft', iptablesMost);
  const name = (text: string) => `${text}, ${most} services`;
  const figures: (Figure | undefined)[] = [
    nft &&
      againstLimit(
        { name: name('nftables: full sync'), value: nft.fullMs, unit: 'ms' },
        Math.max(200, most / 5),
      ),
    nft && againstLimit({ name: name('nftables: one changed endpoint'), value: nft.changeMs, unit: 'ms' }, 5),
    nft &&
      small &&
      againstPeer(
        {
          name: name('nftables: new connection'),
          value: nft.lastUs,
          unit: 'µs',
          peer: `${least} services`,
          peerValue: small.lastUs,
        },
        1.3,
      ),
    iptables &&
      againstLimit(
        {
          name: `iptables-nft: one changed endpoint, ${iptablesMost} services`,
          value: iptables.changeMs,
          unit: 'ms',
        },
        200,
      ),
    nft &&
      againstLimit(
        { name: name('nftables: memory'), value: nft.rssMb, unit: 'MB' },
        Math.max(150, most / 60),
      ),
    nft &&
      iptables &&
      againstPeer(
        {
          name: name('one changed endpoint'),
          value: nft.changeMs,
          unit: 'ms',
          peer: `iptables-nft, ${iptablesMost}`,
          peerValue: iptables.changeMs,
        },
        0.5,
      ),
  ];
  return figures.flatMap((figure) => figure ?? []);
}
