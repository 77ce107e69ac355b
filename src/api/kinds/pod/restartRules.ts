// Checks of what a container's rules say of its next run. Pure.
// Guarantees: each rule names exit codes and an action that the kubelet knows.
import { type Cause, checkOneOf, invalidValue, notSupported, required } from '../../causes.js';
import type { V1Container } from '../../gen/types.js';

const ACTIONS = ['Restart', 'RestartAllContainers'];
const OPERATORS = ['In', 'NotIn'];
const MAX_RULES = 20;
const MAX_CODES = 255;

export function validateRestartRules(
  { restartPolicy, restartPolicyRules: rules = [] }: V1Container,
  at: string,
): Cause[] {
  if (rules.length === 0) return [];
  const here = `${at}.restartPolicyRules`;
  const causes: Cause[] = restartPolicy
    ? []
    : [required(`${at}.restartPolicy`, 'must specify restartPolicy when restart rules are used')];
  if (rules.length > MAX_RULES)
    causes.push(invalidValue(here, rules.length, `must have at most ${MAX_RULES} items`));
  for (const [index, { action, exitCodes }] of rules.entries()) {
    const field = `${here}[${index}]`;
    if (action) causes.push(...checkOneOf(`${field}.action`, action, ACTIONS));
    else causes.push(required(`${field}.action`));
    if (exitCodes === undefined) {
      causes.push(required(`${field}.exitCodes`, 'must be specified'));
      continue;
    }
    const { operator, values = [] } = exitCodes;
    if (!OPERATORS.includes(operator))
      causes.push(notSupported(`${field}.exitCodes.operator`, operator ?? '', OPERATORS));
    if (values.length > MAX_CODES)
      causes.push(
        invalidValue(`${field}.exitCodes.values`, values.length, `must have at most ${MAX_CODES} items`),
      );
  }
  return causes;
}
