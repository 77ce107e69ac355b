// Ownership of fields where managers wrote in versions that a webhook converts between.
// Guarantees: a manager's fields stay in the version it wrote in; what another version changed is taken from it, and what it
// owns is not removed by another, as that version has it. A manager of a version that is gone owns nothing.
import type { V1ManagedFieldsEntry } from '../../api/gen/types.js';
import type { KindDefinition } from '../../api/kind.js';
import type { KubeObject } from '../../api/object.js';
import { atOnce, inSteps } from '../../api/steps.js';
import {
  type Application,
  type ApplyRequest,
  applyConfiguration,
  managersBefore,
  namedFields,
  settle,
} from './apply.js';
import { type Manager, managerKey, readManagers } from './managers.js';
import { pruneAcross } from './prune.js';
import { rootShape } from './shape.js';
import { type ChangesByVersion, sentEntries, trackWrite, type Writer } from './track.js';
import { type Changes, changesBetween, mergeValues } from './typed.js';

type Form = Pick<KindDefinition, 'model' | 'custom'>;
type Pause = () => Promise<void> | undefined;

/** How objects become those of another version. */
export interface Versions {
  /** Undefined for a version that the kind does not have. */
  kindOf(apiVersion: string): Form | undefined;
  convert(objects: readonly KubeObject[], to: string): Promise<readonly KubeObject[]>;
}

/** As trackWrite. */
export async function trackAcross(
  { kind, live, next, writer }: { kind: Form; live: KubeObject; next: KubeObject; writer: Writer },
  versions: Versions | undefined,
  pause: Pause,
): Promise<V1ManagedFieldsEntry[]> {
  const managers = versions === undefined ? [] : readManagers(sentEntries(live, next)).values();
  const others = otherVersions(managers, writer);
  const inVersions =
    versions === undefined ? undefined : await changesIn(versions, others, { before: live, after: next });
  return inSteps(trackWrite(kind, live, next, writer, inVersions), pause);
}

/** As applyConfiguration. */
export async function applyAcross(
  request: ApplyRequest,
  versions: Versions | undefined,
  pause: Pause,
): Promise<Application> {
  if (versions === undefined) return inSteps(applyConfiguration(request), pause);
  const { kind, live, config, writer } = request;
  const managers = managersBefore(request);
  const others = otherVersions(managers.values(), writer);
  if (others.size === 0) return inSteps(applyConfiguration(request), pause);
  const self = managerKey(writer.id);
  const last = managers.get(self);
  const set = namedFields(request);
  const now = new Map(managers).set(self, { id: writer.id, time: writer.time, set }).values();
  const merged = mergeValues(rootShape(kind), live, config) as KubeObject;
  const object = await pruneAcross({ merged, last, managers: now }, versions);
  const inVersions = await changesIn(versions, others, { before: live ?? {}, after: object });
  return inSteps(settle(request, { object, managers, set }, inVersions), pause);
}

function otherVersions(managers: Iterable<Manager>, { id }: Writer): ReadonlySet<string> {
  const found = new Set([...managers].map((manager) => manager.id.apiVersion));
  found.delete(id.apiVersion);
  return found;
}

interface Change {
  readonly before: KubeObject;
  readonly after: KubeObject;
}

async function changesIn(
  versions: Versions,
  wanted: Iterable<string>,
  { before, after }: Change,
): Promise<ChangesByVersion> {
  const found = new Map<string, Changes>();
  for (const apiVersion of wanted) {
    const kind = versions.kindOf(apiVersion);
    if (kind === undefined) continue;
    const [old = {}, next = {}] = await versions.convert([before, after], apiVersion);
    found.set(apiVersion, atOnce(changesBetween(rootShape(kind), old, next)));
  }
  return found;
}
