// The paths of the kubelet's API: what each asks for, and which right it needs. Pure.
// Guarantees: a path that is not known needs the widest right, so that nothing opens by being forgotten.
import { VERB_OF_METHOD } from '../../api/requestVerbs.js';

export type Route =
  | { readonly kind: 'healthz' | 'pods' | 'runningPods' }
  | {
      readonly kind: 'logs' | 'checkpoint';
      readonly namespace: string;
      readonly pod: string;
      readonly container: string;
    }
  | {
      readonly kind: 'exec' | 'attach' | 'run';
      readonly namespace: string;
      readonly pod: string;
      readonly uid: string | undefined;
      readonly container: string;
    }
  | {
      readonly kind: 'portForward';
      readonly namespace: string;
      readonly pod: string;
      readonly uid: string | undefined;
    }
  /** Answered by what others put in: metrics, statistics, configuration. */
  | { readonly kind: 'other'; readonly path: string };

export interface Attributes {
  readonly verb: string;
  /** Any one of them suffices; asked in this order. */
  readonly subresources: readonly string[];
}

/** Undefined for a path that cannot be read. */
export function routeOf(path: string): Route | undefined {
  let parts: string[];
  try {
    parts = path.split('/').slice(1).map(decodeURIComponent);
  } catch {
    return undefined;
  }
  const [head = '', namespace = '', pod = '', third = '', fourth, ...rest] = parts;
  const name = head.toLowerCase();
  if (name === 'healthz' && parts.length === 1) return { kind: 'healthz' };
  if (name === 'pods' && parts.length === 1) return { kind: 'pods' };
  if (name === 'runningpods' && parts.length <= 2 && namespace === '') return { kind: 'runningPods' };
  const complete = namespace !== '' && pod !== '' && rest.length === 0;
  if (head === 'containerLogs' || head === 'checkpoint') {
    if (!complete || third === '' || fourth !== undefined) return undefined;
    const kind = head === 'checkpoint' ? 'checkpoint' : 'logs';
    return { kind, namespace, pod, container: third };
  }
  if (head === 'exec' || head === 'attach' || head === 'run') {
    if (!complete || third === '' || fourth === '') return undefined;
    const [uid, container] = fourth === undefined ? [undefined, third] : [third, fourth];
    return { kind: head, namespace, pod, uid, container };
  }
  if (head === 'portForward') {
    if (!complete || fourth !== undefined) return undefined;
    return { kind: 'portForward', namespace, pod, uid: third === '' ? undefined : third };
  }
  return { kind: 'other', path };
}

/** The right on `nodes/<subresource>` that a request needs. */
export function attributesOf(method: string, path: string): Attributes {
  const verb = VERB_OF_METHOD[method] ?? '';
  return { verb, subresources: subresourcesOf(path) };
}

function subresourcesOf(path: string): readonly string[] {
  const below = (prefix: string) => path === prefix || path.startsWith(`${prefix}/`);
  if (below('/stats')) return ['stats'];
  if (below('/metrics')) return ['metrics'];
  if (below('/logs')) return ['log'];
  if (below('/checkpoint')) return ['checkpoint'];
  if (below('/healthz')) return ['healthz', 'proxy'];
  if (below('/configz')) return ['configz', 'proxy'];
  if (below('/pods') || below('/runningpods')) return ['pods', 'proxy'];
  return ['proxy'];
}
