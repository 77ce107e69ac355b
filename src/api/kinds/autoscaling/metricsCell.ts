// What `kubectl get hpa` shows of its metrics. Pure.
// Guarantees: at most two are shown; what is not measured yet is <unknown>.
import type { V2MetricSpec, V2MetricStatus, V2MetricTarget, V2MetricValueStatus } from '../../gen/types.js';

const SHOWN = 2;
const UNKNOWN = '<unknown>';

export function targetsCell(specs: readonly V2MetricSpec[], statuses: readonly V2MetricStatus[]): string {
  if (specs.length === 0) return '<none>';
  const shown = specs.slice(0, SHOWN).map((spec, index) => metricText(spec, statuses[index]));
  const more = specs.length > SHOWN ? ` + ${specs.length - SHOWN} more...` : '';
  return `${shown.join(', ')}${more}`;
}

function metricText(spec: V2MetricSpec, status: V2MetricStatus | undefined): string {
  switch (spec.type) {
    case 'Resource':
      return `${spec.resource?.name}: ${resourceText(spec.resource?.target, status?.resource?.current)}`;
    case 'ContainerResource': {
      const { name, target } = spec.containerResource ?? {};
      return `${name}: ${resourceText(target, status?.containerResource?.current)}`;
    }
    case 'Pods':
      return `${status?.pods?.current.averageValue ?? UNKNOWN}/${spec.pods?.target.averageValue ?? UNKNOWN}`;
    case 'Object':
      return valueText(spec.object?.target, status?.object?.current);
    case 'External':
      return valueText(spec.external?.target, status?.external?.current);
    default:
      return '<unknown type>';
  }
}

function resourceText(target: V2MetricTarget | undefined, current: V2MetricValueStatus | undefined): string {
  if (target?.averageValue !== undefined) return `${current?.averageValue ?? UNKNOWN}/${target.averageValue}`;
  const percent = (share: number | undefined, otherwise: string) =>
    share === undefined ? otherwise : `${share}%`;
  return `${percent(current?.averageUtilization, UNKNOWN)}/${percent(target?.averageUtilization, '<auto>')}`;
}

function valueText(target: V2MetricTarget | undefined, current: V2MetricValueStatus | undefined): string {
  if (target?.averageValue !== undefined)
    return `${current?.averageValue ?? UNKNOWN}/${target.averageValue} (avg)`;
  return `${current?.value ?? UNKNOWN}/${target?.value ?? UNKNOWN}`;
}
