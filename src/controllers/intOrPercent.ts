// A number, or a percentage of a total. Pure.
// Guarantees: never negative; text that is no percentage counts as nothing, as validation has refused it.

type Rounding = 'up' | 'down';

export function resolveIntOrPercent(value: number | string, total: number, rounding: Rounding): number {
  if (typeof value === 'number') return Math.max(0, value);
  const percent = /^([0-9]+)%$/.exec(value)?.[1];
  if (percent === undefined) return 0;
  const exact = (Number(percent) * total) / 100;
  return rounding === 'up' ? Math.ceil(exact) : Math.floor(exact);
}
