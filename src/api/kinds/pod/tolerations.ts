// Checks of tolerations: which taints a pod does not mind. Pure.
// Guarantees: each can match a taint, and waits only where waiting means something.
import { type Cause, checkName, checkOneOf, invalidValue, notSupported } from '../../causes.js';
import type { V1Toleration } from '../../gen/types.js';
import { labelValue, qualifiedName } from '../../names.js';

export function validateToleration(
  { key, operator, value, effect, tolerationSeconds }: V1Toleration,
  at: string,
): Cause[] {
  const causes: Cause[] = key ? checkName(`${at}.key`, key, qualifiedName) : [];
  if (!key && operator !== 'Exists')
    causes.push(
      invalidValue(
        `${at}.operator`,
        operator ?? '',
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
      ),
    );
  if (tolerationSeconds !== undefined && effect !== 'NoExecute')
    causes.push(
      invalidValue(
        `${at}.effect`,
        effect ?? '',
        "effect must be 'NoExecute' when `tolerationSeconds` is set",
      ),
    );
  if (operator === 'Exists' && value)
    causes.push(invalidValue(`${at}.operator`, value, "value must be empty when `operator` is 'Exists'"));
  else if (operator !== undefined && !['', 'Equal', 'Exists', 'Gt', 'Lt'].includes(operator))
    causes.push(notSupported(`${at}.operator`, operator, ['Equal', 'Exists']));
  else if (value) causes.push(...checkName(`${at}.operator`, value, labelValue));
  if (effect)
    causes.push(...checkOneOf(`${at}.effect`, effect, ['NoSchedule', 'PreferNoSchedule', 'NoExecute']));
  return causes;
}
