// What both ways of writing iptables rules are held to: the same lines natively and by the tool leave the same kernel.
import { test } from 'vitest';
import { Applied } from '../../../proxy-modes/iptables/applied.js';
import { planService } from '../../../proxy-modes/iptables/plan/service.js';
import { fullTransaction, transaction } from '../../../proxy-modes/iptables/transaction.js';
import type { IpFamily, ProxyState } from '../../../proxy-modes/mode.js';
import { planService as planRelay } from '../../../proxy-modes/userspace/plan/service.js';
import type { IptablesPort } from '../../../src/kernel/iptables/port.js';
import { random, randomPort, stateOf } from './port.js';
import { trafficOf } from './trafficOptions.js';

/** Two namespaces: what is written goes into one natively and into the other by the tool. */
export interface NativeAndTool {
  write(lines: readonly string[]): Promise<void>;
  compare(): Promise<void>;
  /** What the tool finds. */
  found(): ReturnType<IptablesPort['save']>;
}

const CASES = (['ip', 'ip6'] as const).flatMap((family) =>
  trafficOf[family].map((traffic, seed) => ({ family, traffic, seed, name: JSON.stringify(traffic) })),
);

/** `isFirst` of each family, for what need not be tried with every option. */
export function sameRulesByNativeAndTool(
  both: (family: IpFamily, isFirst: boolean) => Promise<NativeAndTool>,
  { rounds }: { readonly rounds: number },
): void {
  test.each(CASES)(
    'are those of the tool, also after changes ($family, $name)',
    async ({ family, traffic, seed }) => {
      const next = random(seed + 1);
      const place = await both(family, seed === 0);
      const anyPort = (n: number) =>
        randomPort(next, n, { family, protocol: (['tcp', 'udp', 'sctp'] as const)[n % 3] ?? 'tcp' });
      let state: ProxyState = stateOf(...Array.from({ length: 40 }, (_, n) => anyPort(n)));
      const full = fullTransaction({ family, state }, await place.found(), traffic);
      const applied = new Applied();
      applied.change(full.services);
      await place.write([...full.lines]);
      await place.compare();
      for (let round = 0; round < rounds; round++) {
        const ports = [...state.values()].filter(() => next() < 0.9);
        state = stateOf(...ports, ...Array.from({ length: 5 }, () => anyPort(Math.floor(next() * 48))));
        const step = transaction({ family, state }, applied, traffic);
        if (step.lines.length > 0) await place.write(step.lines);
        applied.change(step.services);
      }
      await place.compare();
    },
  );

  test.each(['ip', 'ip6'] as const)('without comments are those of the tool (%s)', async (family) => {
    const place = await both(family, false);
    const next = random(11);
    const chains = Array.from({ length: 20 }, (_, n) => n).flatMap((n) => [
      ...planService(randomPort(next, n, { family }), { isLarge: true }).chains,
    ]);
    const rules = chains.flatMap(([chain, lines]) => lines.map((line) => `-A ${chain} ${line}`));
    const named = ['KUBE-MARK-MASQ', ...chains.map(([chain]) => chain)];
    await place.write(['*nat', ...named.map((chain) => `:${chain} - [0:0]`), ...rules, 'COMMIT']);
    await place.compare();
  });

  test.each(['ip', 'ip6'] as const)('redirect to a relay as the tool does (%s)', async (family) => {
    const place = await both(family, false);
    const port = randomPort(random(7), 1, { family });
    const lines = planRelay({ ...port, nodePort: 30_080 }, { port: 34_567, hostPort: 34_568 });
    const chains = new Set(lines.map((line) => line.split(' ')[1]));
    await place.write(['*nat', ...[...chains].map((chain) => `:${chain} - [0:0]`), ...lines, 'COMMIT']);
    await place.compare();
  });
}
