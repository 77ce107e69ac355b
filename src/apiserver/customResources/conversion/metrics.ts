// What is counted of conversions by webhooks, under Kubernetes' names.
// Guarantees: a call is counted once, with the kind of its failure.
import { Counter, doublingBounds, type Family, Histogram, seriesKey } from '../../../base/metrics.js';
import { ConversionError } from './error.js';

const FAILURES = {
  CALL: 'conversion_webhook_call_failure',
  MALFORMED: 'conversion_webhook_malformed_response_failure',
  PARTIAL: 'conversion_webhook_partial_response_failure',
  OBJECT: 'conversion_webhook_invalid_converted_object_failure',
} as const;

const versionBounds = doublingBounds(0.001, 15);
const callBounds = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60];

interface Measured {
  readonly definition: string;
  readonly from: string;
  readonly to: string;
  readonly seconds: number;
  readonly error?: unknown;
}

export class ConversionMetrics {
  readonly #calls = new Counter({
    name: 'apiserver_conversion_webhook_request_total',
    help: 'Counter for conversion webhook requests with success/failure and failure error type',
  });
  readonly #callSeconds = new Histogram({
    name: 'apiserver_conversion_webhook_duration_seconds',
    help: 'Conversion webhook request latency',
    bounds: callBounds,
  });
  readonly #seconds = new Histogram({
    name: 'apiserver_crd_conversion_webhook_duration_seconds',
    help: 'CRD webhook conversion duration in seconds',
    bounds: versionBounds,
  });

  get families(): readonly Family[] {
    return [this.#calls, this.#callSeconds, this.#seconds];
  }

  observe({ definition, from, to, seconds, error }: Measured): void {
    const result = error === undefined ? 'success' : 'failure';
    const failure =
      error === undefined ? '' : FAILURES[error instanceof ConversionError ? error.code : 'CALL'];
    const call = seriesKey({ result, failure_type: failure });
    this.#calls.series(call).value += 1;
    this.#callSeconds.observe(call, seconds);
    const succeeded = String(error === undefined);
    const versions = { crd_name: definition, from_version: from, to_version: to, succeeded };
    this.#seconds.observe(seriesKey(versions), seconds);
  }
}
