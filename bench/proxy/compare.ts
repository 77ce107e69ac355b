// The comparison of modes on the kernel this process runs on; rows as they come, figures with their goals at the end.
import { againstLimit, againstPeer, type Figure } from '../lib/figure.js';
import { type Contender, measure, type Row } from './measure.js';

/** `TRELLIS_BENCH_SIZES=100,1000` takes the place of the sizes. */
export function sizes(usual: readonly number[]): number[] {
  const wanted = (process.env['TRELLIS_BENCH_SIZES'] ?? '')
    .split(',')
    .map(Number)
    .filter((size) => size > 0);
  return wanted.length > 0 ? wanted : [...usual];
}

export async function compareModes(
  contenders: readonly Contender[],
  of: readonly number[],
  connections: number,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const services of of)
    for (const contender of contenders) {
      if (services > (contender.upTo ?? services)) continue;
      process.stderr.write(`  ${contender.label}, ${services} services ...\n`);
      rows.push(await measure(contender, services, connections));
    }
  return rows;
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
