// The configuration in use, in the form of a KubeletConfiguration. Pure.
// Guarantees: fields under the file's names; durations in Go's form; nothing secret is among them.
import { formatGoDuration } from '../../base/goDuration.js';
import type { KubeletConfig } from '../config.js';
import { FIELDS } from '../configuration/fields.js';

export function configz(config: KubeletConfig): object {
  const out: Record<string, unknown> = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
  };
  for (const { path, target } of FIELDS) {
    if (path === undefined || !(target in config)) continue;
    const value = config[target as keyof KubeletConfig];
    put(out, path.split('.'), shown(target, value));
  }
  return out;
}

function put(object: Record<string, unknown>, [head = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) object[head] = value;
  else {
    object[head] ??= {};
    put(object[head] as Record<string, unknown>, rest, value);
  }
}

const DURATIONS = new Set([
  'imageMinimumGCAge',
  'imageMaximumGCAge',
  'evictionPressureTransition',
  'shutdownGracePeriod',
  'shutdownGracePeriodCriticalPods',
]);

function shown(target: string, value: unknown): unknown {
  if (typeof value === 'number' && (target.endsWith('Ms') || DURATIONS.has(target)))
    return formatGoDuration(value);
  if (target === 'containerLogMaxBytes') return String(value);
  if (target === 'evictionSoftGrace')
    return Object.fromEntries(
      Object.entries(value as object).map(([name, ms]) => [name, formatGoDuration(ms)]),
    );
  return value;
}
