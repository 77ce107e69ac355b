// Why objects could not be converted.
// Guarantees: every failure has a code of this set, which metrics tell as Kubernetes does.
import { CodedError } from '../../../base/codedError.js';

type ConversionCode = 'CALL' | 'MALFORMED' | 'PARTIAL' | 'OBJECT';

export class ConversionError extends CodedError<ConversionCode> {
  override readonly name = 'ConversionError';
}
