// Why objects could not be converted.
// Guarantees: every failure has a code of this set, which metrics tell as Kubernetes does.

type ConversionCode = 'CALL' | 'MALFORMED' | 'PARTIAL' | 'OBJECT';

export class ConversionError extends Error {
  override readonly name = 'ConversionError';

  constructor(
    readonly code: ConversionCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
