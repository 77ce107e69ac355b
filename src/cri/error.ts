// A call of the runtime that failed, with the name of its gRPC code.
// Guarantees: callers branch on the code; the text is the runtime's own.

export class CriError extends Error {
  override readonly name = 'CriError';
  constructor(
    /** The CRI call, such as `RunPodSandbox`. */
    readonly call: string,
    /** gRPC's name of the code, such as `NOT_FOUND` or `DEADLINE_EXCEEDED`. */
    readonly code: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
