// What admission plugins are asked about in tests: jane's creation of x in the namespace ns, unless told otherwise.
import type { AdmissionRequest } from '../../src/apiserver/admission.js';

export const admissionRequest = (changes: object): AdmissionRequest =>
  ({
    operation: 'create',
    subresource: '',
    namespace: 'ns',
    name: 'x',
    dryRun: false,
    user: { name: 'jane', groups: [] },
    ...changes,
  }) as unknown as AdmissionRequest;
