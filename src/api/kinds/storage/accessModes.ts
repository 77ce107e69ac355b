// How a volume may be mounted, by its long and its short names. Pure.
// Guarantees: the short forms come in one order, each once.
import { type Cause, forbiddenField, notSupported, required } from '../../causes.js';

const SHORT: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};
const MODES = Object.keys(SHORT);
export const VOLUME_MODES = ['Block', 'Filesystem'];

/** `RWO,ROX`. */
export function shortAccessModes(modes: readonly string[] | undefined): string {
  return MODES.filter((mode) => modes?.includes(mode))
    .map((mode) => SHORT[mode])
    .join(',');
}

/** `why` says more where there is none: of a claim, not of a volume. */
export function validateAccessModes(modes: readonly string[], at: string, why?: string): Cause[] {
  if (modes.length === 0) return [required(at, why)];
  const unknown = modes.filter((mode) => !MODES.includes(mode));
  const causes = unknown.map((mode) => notSupported(at, mode, MODES));
  if (modes.length > 1 && modes.includes('ReadWriteOncePod'))
    causes.push(forbiddenField(at, 'may not use ReadWriteOncePod with other access modes'));
  return causes;
}
