// Three small plugins: AlwaysAdmit, AlwaysDeny, and AlwaysPullImages, which does not trust images on the node. Pure.
import { PODS } from '../../api/resources.js';
import { forbidden, invalid } from '../../api/status.js';
import type { AdmissionPlugin, AdmissionRequest } from '../admission.js';
import { draftOf, isAbout } from './requests.js';

export const alwaysAdmit: AdmissionPlugin = { name: 'AlwaysAdmit' };

/** What the server itself writes at its start is let through: without its roles and namespaces it would not serve at all. */
function deny({ type, name, user }: AdmissionRequest): void {
  if (user.name === 'system:apiserver') return;
  throw forbidden(type, name, 'admission control is denying all modifications');
}

export const alwaysDeny: AdmissionPlugin = { name: 'AlwaysDeny', mutate: deny, validate: deny };

/** An image on the node was perhaps pulled with credentials that this pod does not have. */
export const alwaysPullImages: AdmissionPlugin = {
  name: 'AlwaysPullImages',
  mutate(request) {
    const spec = draftOf(request, PODS, 'create', 'update')?.spec;
    if (spec === undefined) return;
    const old = (request.old as { spec?: typeof spec } | undefined)?.spec;
    const held = new Set(imagesOf(old));
    // A pod whose images stay may keep its policy: it was admitted before.
    if (request.operation === 'update' && imagesOf(spec).every((image) => held.has(image))) return;
    for (const container of containersOf(spec)) container.imagePullPolicy = 'Always';
  },
  validate(request) {
    if (!isAbout(request, PODS) || request.subresource !== '' || request.operation !== 'create') return;
    const { spec } = request.object as { spec?: PodSpec };
    const faults = (['initContainers', 'containers'] as const).flatMap((list) =>
      (spec?.[list] ?? []).flatMap(({ imagePullPolicy = '' }, at) =>
        imagePullPolicy === 'Always'
          ? []
          : [
              {
                field: `spec.${list}[${at}].imagePullPolicy`,
                reason: 'FieldValueNotSupported',
                message: `Unsupported value: "${imagePullPolicy}": supported values: "Always"`,
              },
            ],
      ),
    );
    if (faults.length > 0) throw invalid(PODS, request.name, faults);
  },
};

interface PodSpec {
  containers?: Container[] | undefined;
  initContainers?: Container[] | undefined;
}
interface Container {
  image?: string | undefined;
  imagePullPolicy?: string | undefined;
}

const containersOf = (spec: PodSpec | undefined): Container[] => [
  ...(spec?.initContainers ?? []),
  ...(spec?.containers ?? []),
];
const imagesOf = (spec: PodSpec | undefined): string[] => containersOf(spec).map(({ image = '' }) => image);
