// An expression from its text to what can be run: read, checked, estimated.
// Guarantees: what compiles has the result type that was asked for; running it takes at most the given budget.
import { checkExpression } from './check.js';
import { estimateCost } from './cost.js';
import { type Budget, makeProgram } from './program.js';
import { parseExpression } from './syntax.js';
import type { CelType } from './types.js';
import type { Value } from './values.js';

export interface Expression {
  readonly type: CelType;
  /** At worst, with data that keeps to the bounds of the variables' types. */
  readonly maxCost: number;
  uses(variable: string): boolean;
  /** Throws CelError. Variables that are left out and used are an error of the evaluation. */
  run(variables: ReadonlyMap<string, Value>, budget: Budget): Value;
}

/** Throws CelError with the code SYNTAX or TYPE. */
export function compileExpression(source: string, variables: ReadonlyMap<string, CelType>): Expression {
  const expr = parseExpression(source);
  const checked = checkExpression(expr, source, variables);
  return {
    type: checked.type,
    maxCost: estimateCost(expr, checked, variables),
    uses: (variable) => checked.variables.has(variable),
    run: makeProgram(expr, checked, variables.keys()),
  };
}
