// Small makers for the rows of doctor's tables, so that a row says only what is particular to it. Pure.
// Guarantees: rows of one kind get their remedy and judgement in the same words.
import { type Answer, type Check, type FileProbe, type KernelProbe, type Need, present } from '../check.js';

interface FeatureRow {
  readonly id: string;
  readonly title: string;
  readonly need: Need;
  readonly purpose: string;
  /** The module that brings the feature, where it can be one, and the option that builds it in. */
  readonly module?: string;
  readonly option: string;
  readonly script: string;
}

/** Rows of a section whose features are asked of the kernel with one tool. */
export function features(section: string, tool: string, rows: readonly FeatureRow[]): Check<KernelProbe>[] {
  return rows.map(({ module, option, script, ...row }) => ({
    ...row,
    section,
    remedy: `${module === undefined ? '' : `modprobe ${module}, or `}a kernel built with ${option}`,
    probe: { kind: 'kernel', tool, script },
  }));
}

/** Judges the first number in a text against the least that is recommended. */
export const atLeast =
  (least: number, read: (text: string) => number = Number.parseFloat) =>
  (text: string): Answer => {
    const value = read(text);
    if (Number.isNaN(value)) return { state: 'unknown', found: `not a number: ${text.trim().slice(0, 40)}` };
    return value >= least ? present(String(value)) : { state: 'low', found: `${value}, below ${least}` };
  };

export const file = (path: string, judge: (text: string) => Answer): FileProbe => ({
  kind: 'file',
  paths: [path],
  judge,
});

/** A setting in /proc/sys, by its sysctl name. */
export const sysctlPath = (name: string) => `/proc/sys/${name.replaceAll('.', '/')}`;
