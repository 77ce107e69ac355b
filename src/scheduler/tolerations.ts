// Whether a pod tolerates a taint. Pure.
import type { V1Taint, V1Toleration } from '../api/gen/types.js';

export function tolerates(tolerations: readonly V1Toleration[] | undefined, taint: V1Taint): boolean {
  return tolerations?.some((toleration) => toleratesBy(toleration, taint)) ?? false;
}

/** Without an effect a toleration means every effect; without a key, and with Exists, every taint. */
function toleratesBy(
  { key = '', operator = 'Equal', value = '', effect = '' }: V1Toleration,
  taint: V1Taint,
): boolean {
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  return (operator === 'Equal' || operator === '') && key !== '' && value === (taint.value ?? '');
}
