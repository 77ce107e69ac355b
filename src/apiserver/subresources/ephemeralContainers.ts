// pods/ephemeralcontainers: containers added to a pod that runs, for whoever looks for a fault in it.
// Guarantees: nothing but that list changes; what it holds already is neither changed nor removed.
import { type Cause, forbiddenField } from '../../api/causes.js';
import type { V1EphemeralContainer } from '../../api/gen/types.js';
import { internalDiff } from '../../api/internalForm.js';
import { sameMeaning } from '../../api/meaning.js';
import { type PodDraft, podPart } from './podPart.js';

export const ephemeralContainers = podPart({
  take: (draft, sent) => {
    if (draft.spec !== undefined) draft.spec.ephemeralContainers = sent.spec?.ephemeralContainers;
  },
  check: keptContainers,
  partOf: ({ ephemeralContainers: added }) => (added === undefined ? {} : { ephemeralContainers: added }),
});

function keptContainers(draft: PodDraft, old: PodDraft): Cause[] {
  const next: readonly V1EphemeralContainer[] = draft.spec?.ephemeralContainers ?? [];
  return (old.spec?.ephemeralContainers ?? []).flatMap((held) => {
    const same = next.find((container) => container.name === held.name);
    if (same !== undefined && sameMeaning('V1EphemeralContainer', same, held)) return [];
    const how =
      same === undefined ? 'removed\n' : `changed\n${internalDiff('V1EphemeralContainer', held, same)}`;
    return [
      forbiddenField(
        'spec.ephemeralContainers',
        `existing ephemeral containers ${JSON.stringify(held.name)} may not be ${how}`,
      ),
    ];
  });
}
