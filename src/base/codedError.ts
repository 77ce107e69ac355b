// An error of one of a closed set of codes: what callers branch on, while the message is for the person who reads it.
// Guarantees: the cause is kept.

export abstract class CodedError<Code extends string> extends Error {
  constructor(
    readonly code: Code,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
