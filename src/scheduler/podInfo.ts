// A pod as the scheduler sees it: the object, and what is computed from it once. Pure.
import type { V1Pod } from '../api/gen/types.js';
import { keyOf, type Stored } from '../api/object.js';
import { type Amounts, presumedRequestsOf, requestsOf } from './resources.js';

export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

export interface PodInfo {
  readonly key: string;
  readonly pod: Stored<V1Pod>;
  readonly spec: Stored<V1Pod>['spec'];
  readonly requests: Amounts;
  /** Requests as spreading counts them: never zero. */
  readonly presumed: { readonly cpu: number; readonly memory: number };
  readonly hostPorts: readonly HostPort[];
}

export function podInfoOf(pod: Stored<V1Pod>): PodInfo {
  const { spec } = pod;
  const requests = requestsOf(spec);
  return {
    key: keyOf(pod.metadata),
    pod,
    spec,
    requests,
    presumed: presumedRequestsOf(spec, requests),
    hostPorts: hostPortsOf(pod),
  };
}

/** A pod that has ended holds nothing of its node any more. */
export function hasEnded({ status }: Stored<V1Pod>): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

function hostPortsOf({ spec }: Stored<V1Pod>): readonly HostPort[] {
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...spec.containers, ...sidecars].flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort = 0, hostIP, protocol = 'TCP' }) =>
      hostPort > 0 ? [{ ip: hostIP || '0.0.0.0', protocol, port: hostPort }] : [],
    ),
  );
}
