// LimitRange: bounds and defaults for what the pods of a namespace ask for. Pure.
// Guarantees: its own amounts do not contradict one another.
import { type Cause, duplicate, forbiddenField, invalidValue, required } from '../causes.js';
import { createdAtColumn, nameColumn } from '../columns.js';
import type { V1LimitRange, V1LimitRangeItem } from '../gen/types.js';
import type { Draft, KindDefinition } from '../kind.js';
import { qualifiedName } from '../names.js';
import { compareQuantities } from '../quantity.js';
import { LIMIT_RANGES } from '../resources.js';

export const limitRangeKind: KindDefinition<V1LimitRange> = {
  type: LIMIT_RANGES,
  createdByUpdate: true,
  singular: 'limitrange',
  shortNames: ['limits'],
  categories: [],
  model: 'V1LimitRange',
  hasStatus: false,
  hasGeneration: false,
  nameRule: 'dnsSubdomain',
  defaults(draft) {
    for (const item of draft.spec?.limits ?? []) if (item.type === 'Container') defaultItem(item);
  },
  validate({ spec }) {
    const types = new Set<string>();
    return (spec?.limits ?? []).flatMap((item, index) => {
      const at = `spec.limits[${index}]`;
      const causes = validateItem(item, at);
      if (types.has(item.type)) causes.push(duplicate(`${at}.type`, item.type));
      types.add(item.type);
      return causes;
    });
  },
  columns: [nameColumn, createdAtColumn],
};

/** What is given bounds what is not: the most is the usual, the usual is what is asked for. */
function defaultItem(item: Draft<V1LimitRangeItem>): void {
  const limits = { ...item.max, ...item.default };
  if (Object.keys(limits).length > 0) item.default = limits;
  const requests = { ...item.min, ...limits, ...item.defaultRequest };
  if (Object.keys(requests).length > 0) item.defaultRequest = requests;
}

type Amounts = Readonly<Record<string, string>>;

function validateItem(item: V1LimitRangeItem, at: string): Cause[] {
  const { type, min = {}, max = {}, maxLimitRequestRatio: ratio = {} } = item;
  const causes: Cause[] = [];
  if (!type) causes.push(required(`${at}.type`));
  else causes.push(...qualifiedName(type).map((why) => invalidValue(`${at}.type`, type, why)));
  for (const field of ['default', 'defaultRequest'] as const)
    if (type === 'Pod' && Object.keys(item[field] ?? {}).length > 0)
      causes.push(forbiddenField(`${at}.${field}`, "may not be specified when `type` is 'Pod'"));
  if (type === 'PersistentVolumeClaim' && min['storage'] === undefined && max['storage'] === undefined)
    causes.push(
      required(
        `${at}.limits`,
        'either minimum or maximum storage value is required, but neither was provided',
      ),
    );
  for (const [name, value] of Object.entries(ratio))
    if (compareQuantities(value, '1') < 0)
      causes.push(
        invalidValue(`${at}.maxLimitRequestRatio[${name}]`, value, `ratio ${value} is less than 1`),
      );
  return [...causes, ...validateOrder(item, at)];
}

function validateOrder(item: V1LimitRangeItem, at: string): Cause[] {
  const { min = {}, max = {}, default: usual = {}, defaultRequest: asked = {} } = item;
  const pairs: readonly [string, string, Amounts, string, Amounts][] = [
    ['min', 'min value', min, 'max value', max],
    ['defaultRequest', 'default request value', asked, 'max value', max],
    ['default', 'default value', usual, 'max value', max],
    ['default', 'min value', min, 'default value', usual],
    ['defaultRequest', 'min value', min, 'default request value', asked],
    ['defaultRequest', 'default request value', asked, 'default limit value', usual],
  ];
  return pairs.flatMap(([field, smallName, small, largeName, large]) =>
    Object.keys(small).flatMap((name) => {
      const low = small[name];
      const high = Object.hasOwn(large, name) ? large[name] : undefined;
      if (low === undefined || high === undefined || compareQuantities(low, high) <= 0) return [];
      const shown = field === 'min' || small !== min ? low : high;
      return [
        invalidValue(
          `${at}.${field}[${name}]`,
          shown,
          `${smallName} ${low} is greater than ${largeName} ${high}`,
        ),
      ];
    }),
  );
}
