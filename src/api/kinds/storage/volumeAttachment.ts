// VolumeAttachment: that a volume is, or shall be, attached to a node. Pure.
// Guarantees: which volume and which node never changes.
import { type Cause, checkImmutable, checkRequiredName, forbiddenField, required } from '../../causes.js';
import { ageColumn, column, nameColumn } from '../../columns.js';
import type { V1VolumeAttachment, V1VolumeAttachmentSpec } from '../../gen/types.js';
import { type KindDefinition, STATUS_METADATA } from '../../kind.js';
import { dnsSubdomain } from '../../names.js';
import { VOLUME_ATTACHMENTS } from '../../resources.js';
import { driverName } from './driverName.js';
import { validateVolume } from './persistentVolume.js';

export const volumeAttachmentKind: KindDefinition<V1VolumeAttachment> = {
  type: VOLUME_ATTACHMENTS,
  needsResourceVersion: true,
  singular: 'volumeattachment',
  shortNames: [],
  categories: [],
  model: 'V1VolumeAttachment',
  hasStatus: true,
  statusKeeps: STATUS_METADATA,
  hasGeneration: false,
  nameRule: 'dnsSubdomain',
  prepareForCreate(draft) {
    draft.status = { attached: false };
  },
  validate: ({ spec }, old) => [
    ...validateSpec(spec),
    ...(old === undefined ? [] : checkImmutable('spec', 'V1VolumeAttachment.spec', spec, old.spec)),
  ],
  columns: [
    nameColumn,
    column('Attacher', ({ spec }) => spec.attacher, { description: 'The driver that attaches it.' }),
    column('PV', ({ spec }) => spec.source.persistentVolumeName ?? '', { description: 'The volume.' }),
    column('Node', ({ spec }) => spec.nodeName, { description: 'The node.' }),
    column('Attached', ({ status }) => String(status?.attached ?? false), {
      description: 'Whether it is attached by now.',
    }),
    ageColumn,
  ],
};

function validateSpec({ attacher, nodeName, source }: V1VolumeAttachmentSpec): Cause[] {
  const { persistentVolumeName: volume, inlineVolumeSpec: inline } = source ?? {};
  const causes = [
    ...checkRequiredName('spec.attacher', attacher, driverName),
    ...checkRequiredName('spec.nodeName', nodeName, dnsSubdomain),
  ];
  if (inline === undefined && volume === undefined)
    causes.push(
      required('spec.source', 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'),
    );
  else if (inline !== undefined && volume !== undefined)
    causes.push(
      forbiddenField('spec.source', 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'),
    );
  else if (volume !== undefined)
    causes.push(...checkRequiredName('spec.source.persistentVolumeName', volume, dnsSubdomain));
  return inline === undefined ? causes : [...causes, ...validateVolume(inline)];
}
