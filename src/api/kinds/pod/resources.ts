// Checks of what containers ask for. Pure.
// Guarantees: amounts are no less than zero, known by name, and no request exceeds its limit.
import { type Cause, checkName, forbiddenField, invalidValue, required } from '../../causes.js';
import type { V1ResourceRequirements } from '../../gen/types.js';
import { qualifiedName } from '../../names.js';
import { canonicalQuantity, compareQuantities, tryParseQuantity } from '../../quantity.js';

const STANDARD = ['cpu', 'memory', 'ephemeral-storage'];

const HUGE_PAGES = 'hugepages-';
const isHugePages = (name: string) => name.startsWith(HUGE_PAGES);
const isStandard = (name: string) => STANDARD.includes(name) || isHugePages(name);
/** Amounts that cannot be promised to two at once: the request must equal the limit. */
const mayExceed = (name: string) => STANDARD.includes(name);

export function validateResources(resources: V1ResourceRequirements | undefined, at: string): Cause[] {
  const { limits = {}, requests = {} } = resources ?? {};
  const causes = [...validateAmounts(limits, `${at}.limits`), ...validateAmounts(requests, `${at}.requests`)];
  if (causes.length > 0) return causes;
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  const alone =
    names.some(isHugePages) && !names.some((name) => name === 'cpu' || name === 'memory')
      ? [forbiddenField(at, 'HugePages require cpu or memory')]
      : [];
  const order = Object.entries(requests).flatMap(([name, request]) => {
    const limit = Object.hasOwn(limits, name) ? limits[name] : undefined;
    if (limit === undefined)
      return mayExceed(name)
        ? []
        : [required(`${at}.limits`, 'Limit must be set for non overcommitable resources')];
    const difference = compareQuantities(request, limit);
    if (!mayExceed(name) && difference !== 0)
      return [invalidValue(`${at}.requests`, request, `must be equal to ${name} limit of ${limit}`)];
    return difference > 0
      ? [invalidValue(`${at}.requests`, request, `must be less than or equal to ${name} limit of ${limit}`)]
      : [];
  });
  return [...order, ...validateHugePages(limits, at), ...validateHugePages(requests, at), ...alone];
}

/** Whole pages only. */
function validateHugePages(amounts: Amounts, at: string): Cause[] {
  return Object.entries(amounts)
    .filter(([name]) => isHugePages(name))
    .flatMap(([name, amount]) => {
      const page = tryParseQuantity(name.slice(HUGE_PAGES.length))?.nanos ?? 0n;
      const isWhole = page > 0n && (tryParseQuantity(amount)?.nanos ?? 0n) % page === 0n;
      const shown = canonicalQuantity(amount);
      return isWhole ? [] : [invalidValue(at, shown, `${shown} is not positive integer multiple of ${name}`)];
    });
}

type Amounts = Readonly<Record<string, string>>;

function validateAmounts(amounts: Amounts, at: string): Cause[] {
  return Object.entries(amounts).flatMap(([name, amount]) => {
    const causes = checkName(at, name, qualifiedName);
    if (causes.length === 0 && !name.includes('/') && !isStandard(name))
      causes.push(
        invalidValue(at, name, 'must be a standard resource type or fully qualified'),
        invalidValue(at, name, 'must be a standard resource for containers'),
      );
    const parsed = tryParseQuantity(amount);
    if (parsed === undefined) causes.push(invalidValue(`${at}[${name}]`, amount, 'must be a quantity'));
    else if (parsed.nanos < 0n)
      causes.push(invalidValue(`${at}[${name}]`, amount, 'must be greater than or equal to 0'));
    else if (!mayExceed(name) && parsed.nanos % 1_000_000_000n !== 0n)
      causes.push(invalidValue(`${at}[${name}]`, amount, 'must be an integer'));
    return causes;
  });
}
