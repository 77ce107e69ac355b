// GET and LIST of ComponentStatus: the store, and those parts of the control plane that hold a lease.
// Guarantees: looked at when asked; a part that cannot be known (it runs without a lease) is not spoken of.
import type { V1ComponentStatus, V1Lease } from '../api/gen/types.js';
import type { KindDefinition } from '../api/kind.js';
import { componentStatusKind } from '../api/kinds/componentStatus.js';
import { leaseKind } from '../api/kinds/lease.js';
import { LEASES } from '../api/resources.js';
import { notFound } from '../api/status.js';
import { messageOf } from '../base/errorMessage.js';
import type { ApiResponse } from './exchange.js';
import { renderList, renderObject } from './output/render.js';
import { CachedObject } from './registry/cached.js';
import { encodeForStore } from './registry/encode.js';
import { objectKey } from './registry/keys.js';
import { pageOf } from './registry/list.js';
import { selectionOf } from './registry/selection.js';
import type { Call, ServerContext } from './serverContext.js';

/** By the names that kubectl has always shown, and those of their leases. */
const LEADERS: Readonly<Record<string, string>> = {
  'controller-manager': 'kube-controller-manager',
  scheduler: 'kube-scheduler',
};
/** As kube-apiserver calls it, whichever store it is. */
const STORE = 'etcd-0';

const kind = componentStatusKind as KindDefinition;

/** Undefined for other verbs. */
export function componentStatusHandler(verb: string) {
  return verb === 'get' ? getOne : verb === 'list' ? getAll : undefined;
}

async function getAll(server: ServerContext, call: Call): Promise<ApiResponse> {
  const { revision } = server.feed;
  const selection = selectionOf(kind, call.query);
  const items = (await look(server)).map(
    (object) =>
      new CachedObject(
        kind,
        objectKey(kind.type, '', object.metadata?.name ?? ''),
        encodeForStore(kind, object),
        revision,
      ),
  );
  const page = pageOf(
    items.filter((item) => selection.matches(item)),
    revision,
  );
  return renderList(kind, call, page, server.now());
}

async function getOne(server: ServerContext, call: Call): Promise<ApiResponse> {
  const { name } = call.info;
  const found = (await look(server)).find(({ metadata }) => metadata?.name === name);
  if (found === undefined) throw notFound(kind.type, name);
  return renderObject(kind, call, encodeForStore(kind, found), 200, server.now());
}

async function look(server: ServerContext): Promise<readonly V1ComponentStatus[]> {
  // The store first: when it answers, the leases are as new as it is.
  const store = await storeStatus(server);
  const leaders = Object.entries(LEADERS).flatMap(([name, lease]) => leaderStatus(server, name, lease) ?? []);
  return [...leaders, store];
}

async function storeStatus({ feed }: ServerContext): Promise<V1ComponentStatus> {
  try {
    await feed.current();
    return status(STORE, 'ok');
  } catch (error) {
    return status(STORE, undefined, messageOf(error));
  }
}

function leaderStatus(
  { feed, now }: ServerContext,
  name: string,
  lease: string,
): V1ComponentStatus | undefined {
  const held = feed.cacheOf(leaseKind as KindDefinition).get(objectKey(LEASES, 'kube-system', lease));
  if (held === undefined) return undefined;
  const { holderIdentity = '', renewTime = '', leaseDurationSeconds = 0 } = held.parse<V1Lease>().spec ?? {};
  const isHeld = holderIdentity !== '' && Date.parse(renewTime) + leaseDurationSeconds * 1000 > now();
  return isHeld
    ? status(name, 'ok')
    : status(name, undefined, `its lease was last renewed at ${renewTime || '<never>'}`);
}

function status(name: string, message: string | undefined, error?: string): V1ComponentStatus {
  const condition = { type: 'Healthy', status: error === undefined ? 'True' : 'False' };
  const said = { ...(message === undefined ? {} : { message }), ...(error === undefined ? {} : { error }) };
  return { metadata: { name }, conditions: [{ ...condition, ...said }] };
}
