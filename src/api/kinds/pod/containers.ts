// Checks of a pod's containers: names, images, ports, environment, mounts. Pure.
// Guarantees: a mount names a volume of the pod; no two containers share a name or a port of the node.
import {
  type Cause,
  checkName,
  checkOneOf,
  checkRequiredName,
  duplicate,
  forbiddenField,
  invalidValue,
  notFoundValue,
  notSupported,
  required,
} from '../../causes.js';
import type { V1Container, V1ContainerPort, V1ContainerResizePolicy, V1PodSpec } from '../../gen/types.js';
import { dnsLabel, ipAddress, portName, portNumber } from '../../names.js';
import { validateEnv, validateEnvFrom, validateFileKeys } from './env.js';
import { validateEphemeralContainers } from './ephemeral.js';
import { validateMounts } from './mounts.js';
import { validateProbes } from './probes.js';
import { validateResources } from './resources.js';
import { validateRestartRules } from './restartRules.js';
import { validateContainerSecurity } from './security.js';
import { validateStopSignal } from './signals.js';
import { PULL_POLICIES } from './volumes.js';

const PROTOCOLS = ['SCTP', 'TCP', 'UDP'];

export function validateContainers(spec: V1PodSpec, at: string): Cause[] {
  const names = new Set<string>();
  const volumes = new Set((spec.volumes ?? []).map(({ name }) => name));
  const each = (containers: readonly V1Container[], path: string) =>
    containers.flatMap((container, index) => {
      const here = `${path}[${index}]`;
      const causes = checkRequiredName(`${here}.name`, container.name, dnsLabel);
      if (causes.length === 0 && names.has(container.name))
        causes.push(duplicate(`${here}.name`, container.name));
      names.add(container.name);
      return [
        ...causes,
        ...validateContainer(container, here, volumes),
        ...validateContainerSecurity(container.securityContext, `${here}.securityContext`, spec),
        ...validateStopSignal(container, here, spec.os),
        ...validateFileKeys(container, here, spec.volumes ?? []),
      ];
    });
  const containers = spec.containers ?? [];
  return [
    ...(containers.length === 0 ? [required(`${at}.containers`)] : []),
    ...each(containers, `${at}.containers`),
    ...each(spec.initContainers ?? [], `${at}.initContainers`),
    ...validateInitContainers(spec.initContainers ?? [], `${at}.initContainers`),
    ...each(spec.ephemeralContainers ?? [], `${at}.ephemeralContainers`),
    ...validateEphemeralContainers(spec, `${at}.ephemeralContainers`),
    ...validateHostPorts(containers, `${at}.containers`),
    ...validateHostNetwork(spec, `${at}.containers`),
    ...validateClaims(spec, at),
  ];
}

function validateContainer(container: V1Container, at: string, volumes: ReadonlySet<string>): Cause[] {
  const { image = '', imagePullPolicy, terminationMessagePolicy } = container;
  const causes: Cause[] = [];
  if (image === '') causes.push(required(`${at}.image`));
  else if (image.trim() !== image)
    causes.push(invalidValue(`${at}.image`, image, 'must not have leading or trailing whitespace'));
  return [
    ...causes,
    ...checkOneOf(`${at}.imagePullPolicy`, imagePullPolicy, PULL_POLICIES),
    ...checkOneOf(`${at}.terminationMessagePolicy`, terminationMessagePolicy, [
      'File',
      'FallbackToLogsOnError',
    ]),
    ...validatePorts(container.ports ?? [], `${at}.ports`),
    ...(container.env ?? []).flatMap((variable, index) => validateEnv(variable, `${at}.env[${index}]`)),
    ...(container.envFrom ?? []).flatMap((source, index) =>
      validateEnvFrom(source, `${at}.envFrom[${index}]`),
    ),
    ...validateMounts(container, at, volumes),
    ...validateResize(container.resizePolicy ?? [], `${at}.resizePolicy`),
    ...validateRestartRules(container, at),
    ...validateProbes(container, at),
    ...validateResources(container.resources, `${at}.resources`),
  ];
}

function validateInitContainers(containers: readonly V1Container[], at: string): Cause[] {
  const runningOnly = ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const;
  return containers.flatMap((container, index) => {
    const here = `${at}[${index}]`;
    const { restartPolicy } = container;
    if (restartPolicy !== undefined && !['Always', 'Never', 'OnFailure'].includes(restartPolicy))
      return [notSupported(`${here}.restartPolicy`, restartPolicy, ['Always', 'Never', 'OnFailure'])];
    if (restartPolicy === 'Always') return [];
    return [
      ...runningOnly
        .filter((field) => container[field] !== undefined)
        .map((field) =>
          forbiddenField(
            `${here}.${field}`,
            'may not be set for init containers without restartPolicy=Always',
          ),
        ),
      ...validateInitResize(container.resizePolicy ?? [], `${here}.resizePolicy`),
    ];
  });
}

const validateInitResize = (policies: readonly V1ContainerResizePolicy[], at: string): Cause[] =>
  policies.flatMap(({ restartPolicy }, index) =>
    restartPolicy === 'RestartContainer'
      ? [
          invalidValue(
            `${at}[${index}].restartPolicy`,
            restartPolicy,
            "must not be set to 'RestartContainer' for non-sidecar initContainers",
          ),
        ]
      : [],
  );

function validatePorts(ports: readonly V1ContainerPort[], at: string): Cause[] {
  const names = new Set<string>();
  return ports.flatMap(({ name, containerPort, hostPort, hostIP, protocol }, index) => {
    const here = `${at}[${index}]`;
    const causes: Cause[] = [];
    if (name) {
      const faults = checkName(`${here}.name`, name, portName);
      if (faults.length === 0 && names.has(name)) faults.push(duplicate(`${here}.name`, name));
      names.add(name);
      causes.push(...faults);
    }
    if (!containerPort) causes.push(required(`${here}.containerPort`));
    else causes.push(...checkPort(`${here}.containerPort`, containerPort));
    if (hostPort) causes.push(...checkPort(`${here}.hostPort`, hostPort));
    if (hostIP) causes.push(...checkName(`${here}.hostIP`, hostIP, ipAddress));
    if (!protocol) causes.push(required(`${here}.protocol`));
    else causes.push(...checkOneOf(`${here}.protocol`, protocol, PROTOCOLS));
    return causes;
  });
}

const checkPort = (at: string, port: number) => portNumber(port).map((why) => invalidValue(at, port, why));

function validateHostPorts(containers: readonly V1Container[], at: string): Cause[] {
  const taken = new Set<string>();
  return containers.flatMap(({ ports = [] }, i) =>
    ports.flatMap(({ hostPort, hostIP = '', protocol = '' }, j) => {
      if (!hostPort) return [];
      const key = `${protocol}/${hostIP}/${hostPort}`;
      const isTaken = taken.has(key);
      taken.add(key);
      return isTaken ? [duplicate(`${at}[${i}].ports[${j}].hostPort`, key)] : [];
    }),
  );
}

/** On the node's own network a container's port is the node's: the two cannot differ. */
function validateHostNetwork({ hostNetwork, containers = [] }: V1PodSpec, at: string): Cause[] {
  if (hostNetwork !== true) return [];
  return containers.flatMap(({ ports = [] }, i) =>
    ports.flatMap(({ hostPort, containerPort }, j) =>
      // A template may leave it to the pods that are made of it.
      !hostPort || hostPort === containerPort
        ? []
        : [
            invalidValue(
              `${at}[${i}].ports[${j}].hostPort`,
              hostPort,
              'must match `containerPort` when `hostNetwork` is true',
            ),
          ],
    ),
  );
}

/** What a container claims is one of the pod's claims. */
function validateClaims(
  { containers = [], initContainers = [], resourceClaims = [] }: V1PodSpec,
  at: string,
) {
  const known = new Set(resourceClaims.map(({ name }) => name));
  const each = (list: readonly V1Container[], path: string) =>
    list.flatMap(({ resources }, index) => {
      const seen = new Set<string>();
      return (resources?.claims ?? []).flatMap(({ name, request = '' }, i) => {
        const here = `${path}[${index}].resources.claims[${i}]`;
        if (!name) return [required(`${here}.name`)];
        const key = `${name}/${request}`;
        const causes: Cause[] = known.has(name) ? [] : [notFoundValue(`${here}.name`, name)];
        if (seen.has(key)) causes.push(duplicate(here, request === '' ? name : key));
        seen.add(key);
        return causes;
      });
    });
  return [...each(containers, `${at}.containers`), ...each(initContainers, `${at}.initContainers`)];
}

function validateResize(policies: readonly V1ContainerResizePolicy[], at: string): Cause[] {
  const seen = new Set<string>();
  return policies.flatMap(({ resourceName, restartPolicy }, index) => {
    const here = `${at}[${index}]`;
    const causes = checkOneOf(`${here}.resourceName`, resourceName, ['cpu', 'memory']);
    if (seen.has(resourceName)) causes.push(duplicate(`${here}`, resourceName));
    seen.add(resourceName);
    causes.push(...checkOneOf(`${here}.restartPolicy`, restartPolicy, ['NotRequired', 'RestartContainer']));
    return causes;
  });
}
