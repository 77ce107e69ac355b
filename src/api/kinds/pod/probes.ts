// Checks of probes and lifecycle hooks. Pure.
// Guarantees: each has exactly one way to act, with a port that can be reached.
import {
  type Cause,
  checkName,
  checkNotNegative,
  checkOneOf,
  forbiddenField,
  invalidValue,
  required,
} from '../../causes.js';
import type { V1Container, V1LifecycleHandler, V1Probe } from '../../gen/types.js';
import { portName, portNumber } from '../../names.js';

export function validateProbes(container: V1Container, at: string): Cause[] {
  const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
  return [
    ...validateProbe(livenessProbe, `${at}.livenessProbe`),
    ...validateSuccess(livenessProbe, `${at}.livenessProbe`),
    ...validateProbe(readinessProbe, `${at}.readinessProbe`),
    ...validateReadinessGrace(readinessProbe, `${at}.readinessProbe`),
    ...validateProbe(startupProbe, `${at}.startupProbe`),
    ...validateSuccess(startupProbe, `${at}.startupProbe`),
    ...(lifecycle?.postStart === undefined
      ? []
      : validateHandler(lifecycle.postStart, `${at}.lifecycle.postStart`)),
    ...(lifecycle?.preStop === undefined
      ? []
      : validateHandler(lifecycle.preStop, `${at}.lifecycle.preStop`)),
  ];
}

const COUNTS = [
  'initialDelaySeconds',
  'timeoutSeconds',
  'periodSeconds',
  'successThreshold',
  'failureThreshold',
] as const;

function validateProbe(probe: V1Probe | undefined, at: string): Cause[] {
  if (probe === undefined) return [];
  const causes = validateHandler(probe, at);
  for (const name of COUNTS) causes.push(...checkNotNegative(`${at}.${name}`, probe[name]));
  const grace = probe.terminationGracePeriodSeconds;
  if (grace !== undefined && grace <= 0)
    causes.push(invalidValue(`${at}.terminationGracePeriodSeconds`, grace, 'must be greater than 0'));
  return causes;
}

/** A container is alive or started at the first success: more makes no sense. */
function validateSuccess(probe: V1Probe | undefined, at: string): Cause[] {
  const count = probe?.successThreshold ?? 1;
  return count === 1 ? [] : [invalidValue(`${at}.successThreshold`, count, 'must be 1')];
}

/** Nothing is ended for not being ready. */
function validateReadinessGrace(probe: V1Probe | undefined, at: string): Cause[] {
  const grace = probe?.terminationGracePeriodSeconds;
  return grace === undefined
    ? []
    : [invalidValue(`${at}.terminationGracePeriodSeconds`, grace, 'must not be set for readinessProbes')];
}

const HEADER = /^[-A-Za-z0-9]+$/;

type Handler = V1LifecycleHandler & Pick<V1Probe, 'grpc'>;

function validateHandler(handler: Handler, at: string): Cause[] {
  const kinds = (['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'] as const).filter(
    (kind) => handler[kind] !== undefined,
  );
  if (kinds.length === 0) return [required(at, 'must specify a handler type')];
  const extra = kinds
    .slice(1)
    .map((kind) => forbiddenField(`${at}.${kind}`, 'may not specify more than 1 handler type'));
  const { exec, httpGet, tcpSocket, grpc } = handler;
  const causes: Cause[] = [...extra];
  if (exec !== undefined && (exec.command ?? []).length === 0) causes.push(required(`${at}.exec.command`));
  if (httpGet !== undefined) {
    if (!httpGet.path) causes.push(required(`${at}.httpGet.path`));
    causes.push(...validatePort(httpGet.port, `${at}.httpGet.port`));
    causes.push(...checkOneOf(`${at}.httpGet.scheme`, httpGet.scheme, ['HTTP', 'HTTPS']));
    for (const [index, { name }] of (httpGet.httpHeaders ?? []).entries())
      if (!HEADER.test(name ?? ''))
        causes.push(
          invalidValue(
            `${at}.httpGet.httpHeaders[${index}]`,
            name ?? '',
            "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
          ),
        );
  }
  if (tcpSocket !== undefined) causes.push(...validatePort(tcpSocket.port, `${at}.tcpSocket.port`));
  if (handler.sleep !== undefined)
    causes.push(...checkNotNegative(`${at}.sleep.seconds`, handler.sleep.seconds));
  if (grpc !== undefined) causes.push(...validatePort(grpc.port, `${at}.grpc.port`));
  return causes;
}

/** A number, or the name of one of the container's ports. */
function validatePort(port: number | string | undefined, at: string): Cause[] {
  if (typeof port === 'string') return checkName(at, port, portName);
  const number = port ?? 0;
  return portNumber(number).map((why) => invalidValue(at, number, why));
}
