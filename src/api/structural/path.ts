// Where a walk through an instance stands: names of members and indexes of items. Pure.
// Guarantees: kept as they come, and made into text only for those who tell a fault.

export type Step = string | number;

/** `spec.list[3].name`, and nothing for the whole. */
export const pathText = (steps: readonly Step[]): string =>
  steps
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .replace(/^\./, '');
