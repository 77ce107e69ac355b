// Refuses new external IPs of Services: who may write a Service could else take another's traffic. Off unless enabled. Pure.
// Guarantees: what a Service has already may stay or go.
import type { V1Service } from '../../api/gen/types.js';
import { SERVICES } from '../../api/resources.js';
import { forbidden } from '../../api/status.js';
import type { AdmissionPlugin } from '../admission.js';
import { isAbout } from './requests.js';

export const denyServiceExternalIps: AdmissionPlugin = {
  name: 'DenyServiceExternalIPs',
  validate(request) {
    const { operation, subresource } = request;
    if (!isAbout(request, SERVICES) || subresource !== '') return;
    if (operation !== 'create' && operation !== 'update') return;
    const held = new Set((request.old as V1Service | undefined)?.spec?.externalIPs ?? []);
    const wanted = (request.object as V1Service | undefined)?.spec?.externalIPs ?? [];
    if (wanted.every((ip) => held.has(ip))) return;
    throw forbidden(SERVICES, request.name, 'Use of external IPs is denied by admission control');
  },
};
