// Counts of nodes added up over a topology: all nodes with one value of a label are one domain. Pure.
import type { LabelColumn } from '../snapshot/labelColumns.js';
import type { SlotCounts } from '../snapshot/podClasses.js';

/** Sum by domain number; that of nodes without the label (number 0) stays zero. */
export function sumByDomain(
  counts: SlotCounts,
  { ids, values }: LabelColumn,
  sums: Float64Array = new Float64Array(values.length),
  factor = 1,
): Float64Array {
  for (const [slot, count] of counts) {
    const domain = ids[slot] ?? 0;
    if (domain !== 0) sums[domain] = (sums[domain] ?? 0) + factor * count;
  }
  return sums;
}
