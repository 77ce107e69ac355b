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
  mergeConfiguration,
  settle,
} from './apply.js';
import { EMPTY, type FieldSet, union } from './fieldSet.js';
import { type Manager, readManagers } from './managers.js';
import { rootShape } from './shape.js';
import { type ChangesByVersion, sentEntries, trackWrite, type Writer } from './track.js';
import { type Changes, changesBetween, mergeValues, removePaths } from './typed.js';

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
  const { live, writer } = request;
  const managers = managersBefore(request);
  const others = otherVersions(managers.values(), writer);
  const inForm = others.size === 0 ? managers : await managersInForm(request, managers, versions);
  const merged = await inSteps(mergeConfiguration(request, managers, inForm), pause);
  const before = live ?? {};
  const inVersions = await changesIn(versions, others, { before, after: merged.object });
  return inSteps(settle(request, merged, inVersions), pause);
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

/** Each manager with its fields as the version at hand has them: what goes from the object when they go. */
async function managersInForm(
  { kind, live, config }: ApplyRequest,
  managers: ReadonlyMap<string, Manager>,
  versions: Versions,
): Promise<ReadonlyMap<string, Manager>> {
  const shape = rootShape(kind);
  const merged = mergeValues(shape, live, config) as KubeObject;
  const own = merged.apiVersion ?? '';
  const result = new Map<string, Manager>();
  for (const [key, manager] of managers) {
    const { apiVersion } = manager.id;
    const set = apiVersion === own ? manager.set : await setInForm(manager.set, apiVersion);
    result.set(key, { ...manager, set });
  }
  return result;

  async function setInForm(set: FieldSet, apiVersion: string): Promise<FieldSet> {
    const theirs = versions.kindOf(apiVersion);
    if (theirs === undefined) return EMPTY;
    const [whole] = await versions.convert([merged], apiVersion);
    const without = removePaths(rootShape(theirs), whole, set, EMPTY) as KubeObject;
    const [back = {}] = await versions.convert([without], own);
    const { removed, written } = atOnce(changesBetween(shape, merged, back));
    return union(removed, written);
  }
}
