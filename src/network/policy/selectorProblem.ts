// Why a selector of a policy cannot be read. Pure.
// Guarantees: undefined for every selector that can be compared with labels.
import type { V1LabelSelector } from '../../api/gen/types.js';
import { compileLabelSelector } from '../../api/selectors.js';

/** Definitions, and servers of a newer version, let operators pass that no selector has here. */
export function selectorProblem(selector: V1LabelSelector): string | undefined {
  try {
    compileLabelSelector(selector);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
