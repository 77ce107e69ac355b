// The requests that the contract of NftPort is told in.
import { KernelError } from '../../../../src/kernel/error.js';
import * as x from '../../../../src/kernel/nftables/expressions.js';
import type { NftRequest, NftSet } from '../../../../src/kernel/nftables/port.js';

export const t = { family: 'inet', table: 't' } as const;
export const table: NftRequest = { do: 'add', kind: 'table', family: 'inet', name: 't' };
export const chain = (name: string): NftRequest => ({ do: 'add', kind: 'chain', ...t, name });
export const input: NftRequest = {
  do: 'add',
  kind: 'chain',
  ...t,
  name: 'input',
  type: 'filter',
  hook: 'input',
  priority: 0,
  policy: 'accept',
};
export const rule = (name: string, ...parts: x.Part[]): NftRequest => ({
  do: 'add',
  kind: 'rule',
  ...t,
  chain: name,
  expressions: x.rule(...parts),
});
export const services: NftSet = {
  ...t,
  name: 'services',
  type: ['ipv4_addr', 'inet_proto', 'inet_service'],
  mapType: ['verdict'],
};
export const networks: NftSet = { ...t, name: 'networks', type: ['ipv6_addr'], flags: ['interval'] };
export const makeSet = (set: NftSet): NftRequest => ({ do: 'add', kind: 'set', ...set });
export const elementsOf = ({ family, table: inTable, name, type, mapType, flags }: NftSet) => ({
  kind: 'element' as const,
  family,
  table: inTable,
  set: name,
  type,
  ...(mapType === undefined ? {} : { mapType }),
  ...(flags === undefined ? {} : { flags }),
});
export const addService = (key: string, verdict: 'accept' | 'drop' | `goto ${string}`): NftRequest => ({
  do: 'add',
  ...elementsOf(services),
  elements: [{ key, verdict }],
});

/** The codes of a refused commit by request, as [index, code]. */
export async function refusals(work: Promise<unknown>): Promise<[number | undefined, string][]> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof KernelError)) throw error ?? new Error('nothing was refused');
  return error.failures.map(({ index, code }) => [index, code]);
}
