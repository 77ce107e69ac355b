// CertificateSigningRequest: someone asks a signer for a certificate, someone else approves. Pure.
// Guarantees: who asked is who was authenticated; a verdict, once given, is not taken back.
import { ageColumn, column, nameColumn } from '../columns.js';
import { humanDuration } from '../duration.js';
import type { V1CertificateSigningRequest, V1CertificateSigningRequestCondition } from '../gen/types.js';
import type { Draft, KindDefinition } from '../kind.js';
import { copyJson } from '../ownKeys.js';
import { CERTIFICATE_SIGNING_REQUESTS } from '../resources.js';
import { validateRequest, validateStatus } from './certificateValidate.js';

/** Given through /approval only. */
const VERDICTS = ['Approved', 'Denied'];

export const certificateSigningRequestKind: KindDefinition<V1CertificateSigningRequest> = {
  type: CERTIFICATE_SIGNING_REQUESTS,
  singular: 'certificatesigningrequest',
  shortNames: ['csr'],
  categories: [],
  model: 'V1CertificateSigningRequest',
  hasStatus: true,
  statusParts: ['approval'],
  hasGeneration: false,
  nameRule: 'pathSegment',
  prepareForCreate(draft, { user }) {
    const { username: _n, uid: _u, groups: _g, extra: _e, ...asked } = draft.spec;
    draft.spec = {
      ...asked,
      username: user.name,
      ...(user.uid ? { uid: user.uid } : {}),
      groups: [...user.groups],
      ...(user.extra === undefined ? {} : { extra: copyExtra(user.extra) }),
    };
    draft.status = {};
  },
  prepareForUpdate(draft, old, { subresource, time }) {
    draft.spec = copyJson(old.spec) as Draft<V1CertificateSigningRequest>['spec'];
    const sent = draft.status?.conditions ?? [];
    const before = (old.status?.conditions ?? []) as Draft<V1CertificateSigningRequestCondition>[];
    if (subresource === 'approval') draft.status = { ...(old.status as object), conditions: sent };
    else if (subresource === 'status' && draft.status !== undefined) {
      const isVerdict = ({ type }: { readonly type: string }) => VERDICTS.includes(type);
      const conditions = [...before.filter(isVerdict), ...sent.filter((some) => !isVerdict(some))];
      if (conditions.length > 0) draft.status.conditions = conditions;
      else delete draft.status.conditions;
    }
    for (const condition of draft.status?.conditions ?? []) stamp(condition, before, time);
  },
  validate: (object, old) => [
    ...(old === undefined ? validateRequest(object.spec) : []),
    ...validateStatus(object.status ?? {}, old?.status),
  ],
  columns: [
    nameColumn,
    ageColumn,
    column('SignerName', ({ spec }) => spec?.signerName ?? '', { description: 'Who is asked to sign.' }),
    column('Requestor', ({ spec }) => spec?.username ?? '', { description: 'Who asks.' }),
    column('RequestedDuration', durationCell, { description: 'How long the certificate shall hold.' }),
    column('Condition', conditionCell, { description: 'The verdict, and whether it was issued.' }),
  ],
  fields: ({ spec }) => ({ 'spec.signerName': spec?.signerName ?? '' }),
};

const copyExtra = (extra: Readonly<Record<string, readonly string[]>>): Record<string, string[]> =>
  Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]]));

function stamp(
  condition: Draft<V1CertificateSigningRequestCondition>,
  before: readonly V1CertificateSigningRequestCondition[],
  time: string,
): void {
  condition.lastUpdateTime ??= time;
  const same = before.find(({ type, status }) => type === condition.type && status === condition.status);
  condition.lastTransitionTime ??= same?.lastTransitionTime ?? time;
}

function durationCell({ spec }: V1CertificateSigningRequest): string {
  const seconds = spec?.expirationSeconds;
  return seconds === undefined ? '<none>' : humanDuration(seconds * 1000);
}

function conditionCell({ status }: V1CertificateSigningRequest): string {
  const has = (wanted: string) => status?.conditions?.some(({ type }) => type === wanted) ?? false;
  const verdict = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending';
  return `${verdict}${has('Failed') ? ',Failed' : ''}${status?.certificate ? ',Issued' : ''}`;
}
