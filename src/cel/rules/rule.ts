// One rule of a schema (x-kubernetes-validations), compiled: its condition and its message.
// Guarantees: a rule that compiles gives a truth and a text; faults are said in Kubernetes' words.
import type { V1ValidationRule } from '../../api/gen/types.js';
import { spendWork } from '../../api/workLimit.js';
import { CelError } from '../error.js';
import { compileExpression, type Expression } from '../expression.js';
import { type CelType, optionalOf } from '../types.js';

export const SELF = 'self';
export const OLD_SELF = 'oldSelf';

/** Units of work: reading, checking and estimating an expression. */
const COMPILE = 300;
const COMPILE_CHARACTER = 10;

export interface CompiledRule {
  readonly rule: V1ValidationRule;
  readonly condition: Expression;
  readonly message: Expression | undefined;
  readonly usesOldSelf: boolean;
}

interface RuleFaults {
  readonly rule?: string;
  readonly messageExpression?: string;
}

export function compileRule(rule: V1ValidationRule, type: CelType): CompiledRule | RuleFaults {
  const variables = new Map<string, CelType>([
    [SELF, type],
    [OLD_SELF, rule.optionalOldSelf === true ? optionalOf(type) : type],
  ]);
  const condition = compile(rule.rule, variables);
  if (typeof condition === 'string') return { rule: `compilation failed: ${condition}` };
  if (condition.type.kind !== 'bool') return { rule: 'cel expression must evaluate to a bool' };
  const message = rule.messageExpression ? compile(rule.messageExpression, variables) : undefined;
  if (typeof message === 'string')
    return { messageExpression: `messageExpression compilation failed: ${message}` };
  if (message !== undefined && message.type.kind !== 'string')
    return { messageExpression: 'messageExpression must evaluate to a string' };
  return { rule, condition, message, usesOldSelf: condition.uses(OLD_SELF) };
}

export const isCompiled = (rule: CompiledRule | RuleFaults): rule is CompiledRule => 'condition' in rule;

function compile(source: string, variables: ReadonlyMap<string, CelType>): Expression | string {
  spendWork(COMPILE + source.length * COMPILE_CHARACTER);
  try {
    return compileExpression(source, variables);
  } catch (error) {
    if (error instanceof CelError) return error.message;
    throw error;
  }
}
