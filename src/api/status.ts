// Errors of the API as Kubernetes returns them: a Status with code, reason, message and causes. Pure.
// Guarantees: every reason has its HTTP code here and nowhere else; messages read as the stock apiserver's.
import type { V1Status, V1StatusCause } from './gen/types.js';
import type { ResourceType } from './resources.js';

const CODES = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Gone: 410,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
} as const;

type StatusReason = keyof typeof CODES;

export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: V1Status;
  readonly code: number;
  readonly reason: string;

  constructor(status: V1Status, options?: ErrorOptions) {
    super(status.message ?? status.reason ?? 'the server refused the request', options);
    this.status = status;
    this.code = status.code ?? 500;
    this.reason = status.reason ?? 'InternalError';
  }

  /** True for ApiErrors of that reason; false for anything else, so a catch can ask without a cast. */
  static is(error: unknown, ...reasons: readonly StatusReason[]): error is ApiError {
    return error instanceof ApiError && (reasons as readonly string[]).includes(error.reason);
  }
}

export function statusError(
  reason: StatusReason,
  message: string,
  details?: V1Status['details'],
  options?: ErrorOptions,
): ApiError {
  const code = CODES[reason];
  return new ApiError(
    {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      reason,
      ...(details === undefined ? {} : { details }),
      code,
    },
    options,
  );
}

/** `deployments.apps` or `pods`: how messages name a resource. */
export function qualifiedResource({ group, resource }: Pick<ResourceType, 'group' | 'resource'>): string {
  return group === '' ? resource : `${resource}.${group}`;
}

export function notFound(type: Pick<ResourceType, 'group' | 'resource'>, name: string): ApiError {
  return statusError('NotFound', `${qualifiedResource(type)} "${name}" not found`, detailsOf(type, name));
}

export function alreadyExists(type: Pick<ResourceType, 'group' | 'resource'>, name: string): ApiError {
  const message = `${qualifiedResource(type)} "${name}" already exists`;
  return statusError('AlreadyExists', message, detailsOf(type, name));
}

export function conflict(
  type: Pick<ResourceType, 'group' | 'resource'>,
  name: string,
  why: string,
): ApiError {
  const message = `Operation cannot be fulfilled on ${qualifiedResource(type)} "${name}": ${why}`;
  return statusError('Conflict', message, detailsOf(type, name));
}

export function forbidden(
  type: Pick<ResourceType, 'group' | 'resource'>,
  name: string,
  why: string,
): ApiError {
  const subject = name === '' ? qualifiedResource(type) : `${qualifiedResource(type)} "${name}"`;
  return statusError('Forbidden', `${subject} is forbidden: ${why}`, detailsOf(type, name));
}

/** `causes` are the failed fields, each with its own sentence. */
export function invalid(
  type: Pick<ResourceType, 'group' | 'kind'>,
  name: string,
  causes: readonly V1StatusCause[],
): ApiError {
  const sentences = causes.map(({ field, message }) => `${field}: ${message}`);
  const list = sentences.length === 1 ? sentences[0] : `[${sentences.join(', ')}]`;
  const kind = type.group === '' ? type.kind : `${type.kind}.${type.group}`;
  return statusError('Invalid', `${kind} "${name}" is invalid: ${list}`, {
    name,
    ...(type.group === '' ? {} : { group: type.group }),
    kind: type.kind,
    causes,
  });
}

function detailsOf({ group, resource }: Pick<ResourceType, 'group' | 'resource'>, name: string) {
  return { ...(name === '' ? {} : { name }), ...(group === '' ? {} : { group }), kind: resource };
}
