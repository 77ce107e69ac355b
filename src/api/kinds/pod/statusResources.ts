// What a pod's status says of claims and devices. Pure.
// Guarantees: it tells of claims, containers and resources that the spec has, and of each once.
import { byteLength } from '../../byteLength.js';
import {
  type Cause,
  checkName,
  checkRequiredName,
  duplicate,
  forbiddenField,
  invalidValue,
  notSupported,
  required,
  tooLong,
} from '../../causes.js';
import type {
  V1Container,
  V1ContainerExtendedResourceRequest,
  V1ContainerStatus,
  V1PodSpec,
  V1PodStatus,
  V1ResourceHealth,
} from '../../gen/types.js';
import { dnsLabel, dnsSubdomain } from '../../names.js';

const HEALTHS = ['Healthy', 'Unhealthy', 'Unknown'];
const MAX_MESSAGE = 1024;

export function validateStatusResources(status: V1PodStatus, spec: V1PodSpec): Cause[] {
  const { containers = [], initContainers = [] } = spec;
  return [
    ...validateClaims(status, spec),
    ...validateExtended(status, [...initContainers, ...containers]),
    ...validateAllocated('containerStatuses', status.containerStatuses, containers),
    ...validateAllocated('initContainerStatuses', status.initContainerStatuses, initContainers),
    ...(status.ephemeralContainerStatuses ?? []).flatMap(({ allocatedResourcesStatus = [] }, index) =>
      allocatedResourcesStatus.length === 0
        ? []
        : [
            forbiddenField(
              `status.ephemeralContainerStatuses[${index}].allocatedResourcesStatus`,
              'must not be specified in container status',
            ),
          ],
    ),
  ];
}

function validateClaims({ resourceClaimStatuses = [] }: V1PodStatus, spec: V1PodSpec): Cause[] {
  const known = new Set((spec.resourceClaims ?? []).map(({ name }) => name));
  const seen = new Set<string>();
  return resourceClaimStatuses.flatMap(({ name, resourceClaimName }, index) => {
    const at = `status.resourceClaimStatuses[${index}]`;
    const causes: Cause[] = [];
    if (!known.has(name))
      causes.push(
        invalidValue(`${at}.name`, name, 'must match the name of an entry in `spec.resourceClaims`'),
      );
    if (seen.has(name)) causes.push(duplicate(`${at}.name`, name));
    seen.add(name);
    return resourceClaimName === undefined
      ? causes
      : [...causes, ...checkName(`${at}.resourceClaimName`, resourceClaimName, dnsSubdomain)];
  });
}

/** The claim that the scheduler made for resources which drivers hand out. */
function validateExtended(
  { extendedResourceClaimStatus: told }: V1PodStatus,
  containers: readonly V1Container[],
): Cause[] {
  if (told === undefined) return [];
  const whole = 'status.extendedResourceClaimStatus';
  const { requestMappings = [], resourceClaimName } = told;
  const seen = new Set<string>();
  const causes = requestMappings.flatMap((mapping, index) => {
    const { containerName, resourceName, requestName } = mapping;
    const at = `${whole}.requestMappings[${index}]`;
    const found = [
      ...validateMapped(mapping, containers, at),
      ...checkName(`${whole}.requestName`, requestName, dnsLabel),
    ];
    const names = { containerName, resourceName, requestName };
    const identity = JSON.stringify(names);
    if (seen.has(identity))
      found.push(...Object.entries(names).map(([field, name]) => duplicate(`${at}.${field}`, name)));
    seen.add(identity);
    return found;
  });
  if (requestMappings.length === 0)
    causes.push(required(`${whole}.requestMappings`, 'at least one request mapping is required'));
  return [...causes, ...checkRequiredName(`${whole}.resourceClaimName`, resourceClaimName, dnsSubdomain)];
}

function validateMapped(
  { containerName, resourceName }: V1ContainerExtendedResourceRequest,
  containers: readonly V1Container[],
  at: string,
): Cause[] {
  const container = containers.find(({ name }) => name === containerName);
  if (container === undefined)
    return [
      invalidValue(
        `${at}.containerName`,
        containerName,
        'must match the name of an entry in spec.initContainers.name or spec.containers.name',
      ),
    ];
  if (Object.hasOwn(container.resources?.requests ?? {}, resourceName)) return [];
  return [
    invalidValue(
      `${at}.resourceName`,
      resourceName,
      'must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests',
    ),
  ];
}

function validateAllocated(
  list: string,
  statuses: readonly V1ContainerStatus[] | undefined,
  containers: readonly V1Container[],
): Cause[] {
  return (statuses ?? []).flatMap(({ name: of, allocatedResourcesStatus = [] }, outer) => {
    const container = containers.find(({ name }) => name === of);
    return allocatedResourcesStatus.flatMap(({ name, resources = [] }, inner) => {
      const at = `status.${list}[${outer}].allocatedResourcesStatus[${inner}]`;
      const fault = container === undefined ? undefined : resourceFault(name, container);
      return [
        ...(fault === undefined ? [] : [invalidValue(`${at}.name`, name, fault)]),
        ...validateHealths(resources, `${at}.resources`),
      ];
    });
  });
}

/** Why the container has no such resource. */
function resourceFault(name: string, { resources }: V1Container): string | undefined {
  if (!name.startsWith('claim:'))
    return Object.hasOwn(resources?.requests ?? {}, name)
      ? undefined
      : "must match one of the container's resource requests";
  const claims = (resources?.claims ?? []).map((claim) =>
    claim.request ? `claim:${claim.name}/${claim.request}` : `claim:${claim.name}`,
  );
  return claims.includes(name)
    ? undefined
    : "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty";
}

function validateHealths(resources: readonly V1ResourceHealth[], list: string): Cause[] {
  const seen = new Set<string>();
  return resources.flatMap(({ health = '', message, resourceID }, index) => {
    const at = `${list}[${index}]`;
    const causes = HEALTHS.includes(health) ? [] : [notSupported(`${at}.health`, health, HEALTHS)];
    if (message === '') causes.push(required(`${at}.message`, 'must be non-empty if specified'));
    else if (message !== undefined && byteLength(message) > MAX_MESSAGE)
      causes.push(tooLong(`${at}.message`, MAX_MESSAGE));
    if (seen.has(resourceID)) causes.push(duplicate(`${at}.resourceID`, resourceID));
    seen.add(resourceID);
    return causes;
  });
}
