// Nothing is created where there is no namespace, or in one that is going; three namespaces never go.
// Guarantees: content of a namespace that is known to be terminating only shrinks, so that its controller can finish.
import { NAMESPACES } from '../../api/resources.js';
import { forbidden, notFound, statusError } from '../../api/status.js';
import type { AdmissionPlugin } from '../admission.js';
import type { AdmissionLookups } from './lookups.js';
import { isAbout } from './requests.js';

const IMMORTAL = ['default', 'kube-system', 'kube-public'];

export function makeNamespaceLifecycle({
  namespace: lookup,
}: Pick<AdmissionLookups, 'namespace'>): AdmissionPlugin {
  return {
    name: 'NamespaceLifecycle',
    async mutate({ operation, type, subresource, namespace, name }) {
      if (
        operation !== 'create' ||
        namespace === '' ||
        subresource !== '' ||
        (type.group === NAMESPACES.group && type.resource === NAMESPACES.resource)
      )
        return;
      const found = await lookup({ name: namespace });
      if (found === undefined) throw notFound(NAMESPACES, namespace);
      if (found.metadata.deletionTimestamp === undefined && found.status?.phase !== 'Terminating') return;
      const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
      const { message, status } = forbidden(type, name, why);
      throw statusError('Forbidden', message, {
        ...status.details,
        causes: [
          {
            reason: 'NamespaceTerminating',
            message: `namespace ${namespace} is being terminated`,
            field: 'metadata.namespace',
          },
        ],
      });
    },
    validate(request) {
      if (request.operation !== 'delete' || !isAbout(request, NAMESPACES) || !IMMORTAL.includes(request.name))
        return;
      throw forbidden(NAMESPACES, request.name, 'this namespace may not be deleted');
    },
  };
}

/** Off by default: NamespaceLifecycle does the same and more. */
export function makeNamespaceExists({
  namespace: lookup,
}: Pick<AdmissionLookups, 'namespace'>): AdmissionPlugin {
  return {
    name: 'NamespaceExists',
    async validate({ operation, type, namespace }) {
      const isNamespace = type.group === NAMESPACES.group && type.resource === NAMESPACES.resource;
      if (namespace === '' || isNamespace || operation === 'connect') return;
      if ((await lookup({ name: namespace })) === undefined) throw notFound(NAMESPACES, namespace);
    },
  };
}
