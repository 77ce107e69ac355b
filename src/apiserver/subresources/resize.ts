// pods/resize: other requests and limits for a pod that runs, for its containers or as a whole.
// Guarantees: nothing but resources and resize policies changes.
import type { V1Container } from '../../api/gen/types.js';
import type { Draft } from '../../api/kind.js';
import { validatePodResize, validateResizedContainers } from '../../api/kinds/pod/resize.js';
import { podPart } from './podPart.js';

export const resize = podPart({
  obstacles: (sent, old) => validateResizedContainers(sent.spec, old.spec),
  take: (draft, sent) => {
    takeResources(draft.spec?.initContainers, sent.spec?.initContainers);
    takeResources(draft.spec?.containers, sent.spec?.containers);
    if (draft.spec !== undefined && sent.spec?.resources !== undefined)
      draft.spec.resources = sent.spec.resources;
  },
  check: (draft, old) => validatePodResize(draft, old),
  partOf: ({ containers, initContainers, resources }) => ({
    ...(containers === undefined ? {} : { containers: containers.map(resourcesOf) }),
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map(resourcesOf) }),
    ...(resources === undefined ? {} : { resources }),
  }),
});

const resourcesOf = ({ name, resources, resizePolicy }: V1Container): V1Container => ({
  name,
  ...(resources === undefined ? {} : { resources }),
  ...(resizePolicy === undefined ? {} : { resizePolicy }),
});

function takeResources(held: Draft<V1Container>[] = [], sent: readonly Draft<V1Container>[] = []): void {
  for (const { name, resources, resizePolicy } of sent) {
    const container = held.find((one) => one.name === name);
    if (container === undefined) continue;
    container.resources = resources;
    container.resizePolicy = resizePolicy;
  }
}
