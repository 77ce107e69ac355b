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
import type { V1Container, V1ContainerPort, V1EnvVar, V1PodSpec, V1VolumeMount } from '../../gen/types.js';
import { dnsLabel, envName, portName, portNumber } from '../../names.js';
import { validateProbes } from './probes.js';
import { validateResources } from './resources.js';
import { validateInside } from './volumes.js';

const PULL_POLICIES = ['Always', 'IfNotPresent', 'Never'];
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
      return [...causes, ...validateContainer(container, here, volumes)];
    });
  const containers = spec.containers ?? [];
  return [
    ...(containers.length === 0 ? [required(`${at}.containers`)] : []),
    ...each(containers, `${at}.containers`),
    ...each(spec.initContainers ?? [], `${at}.initContainers`),
    ...validateInitContainers(spec.initContainers ?? [], `${at}.initContainers`),
    ...each(spec.ephemeralContainers ?? [], `${at}.ephemeralContainers`),
    ...validateHostPorts(containers, `${at}.containers`),
  ];
}

function validateContainer(container: V1Container, at: string, volumes: ReadonlySet<string>): Cause[] {
  const { image = '', imagePullPolicy, terminationMessagePolicy, securityContext } = container;
  const causes: Cause[] = [];
  if (image === '') causes.push(required(`${at}.image`));
  else if (image.trim() !== image)
    causes.push(invalidValue(`${at}.image`, image, 'must not have leading or trailing whitespace'));
  if (securityContext?.privileged === true && securityContext.allowPrivilegeEscalation === false)
    causes.push(
      invalidValue(
        `${at}.securityContext`,
        securityContext,
        'cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
      ),
    );
  return [
    ...causes,
    ...checkOneOf(`${at}.imagePullPolicy`, imagePullPolicy, PULL_POLICIES),
    ...checkOneOf(`${at}.terminationMessagePolicy`, terminationMessagePolicy, [
      'File',
      'FallbackToLogsOnError',
    ]),
    ...validatePorts(container.ports ?? [], `${at}.ports`),
    ...(container.env ?? []).flatMap((variable, index) => validateEnv(variable, `${at}.env[${index}]`)),
    ...validateMounts(container.volumeMounts ?? [], `${at}.volumeMounts`, volumes),
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
    return runningOnly
      .filter((field) => container[field] !== undefined)
      .map((field) =>
        forbiddenField(`${here}.${field}`, 'may not be set for init containers without restartPolicy=Always'),
      );
  });
}

function validatePorts(ports: readonly V1ContainerPort[], at: string): Cause[] {
  const names = new Set<string>();
  return ports.flatMap(({ name, containerPort, hostPort, protocol }, index) => {
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

function validateEnv({ name, value, valueFrom }: V1EnvVar, at: string): Cause[] {
  const causes = checkRequiredName(`${at}.name`, name, envName);
  if (valueFrom === undefined) return causes;
  const here = `${at}.valueFrom`;
  const sources = Object.values(valueFrom).filter((source) => source !== undefined).length;
  if (sources === 0)
    causes.push(
      invalidValue(
        here,
        '',
        'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`',
      ),
    );
  else if (value) causes.push(invalidValue(here, '', 'may not be specified when `value` is not empty'));
  else if (sources > 1)
    causes.push(invalidValue(here, '', 'may not have more than one field specified at a time'));
  for (const ref of ['configMapKeyRef', 'secretKeyRef'] as const) {
    const selector = valueFrom[ref];
    if (selector !== undefined && !selector.key) causes.push(required(`${here}.${ref}.key`));
    if (selector !== undefined && !selector.name) causes.push(required(`${here}.${ref}.name`));
  }
  if (valueFrom.fieldRef !== undefined && !valueFrom.fieldRef.fieldPath)
    causes.push(required(`${here}.fieldRef.fieldPath`));
  return causes;
}

function validateMounts(mounts: readonly V1VolumeMount[], at: string, volumes: ReadonlySet<string>): Cause[] {
  const paths = new Set<string>();
  return mounts.flatMap(({ name, mountPath, subPath }, index) => {
    const here = `${at}[${index}]`;
    const causes: Cause[] = [];
    if (!name) causes.push(required(`${here}.name`));
    else if (!volumes.has(name)) causes.push(notFoundValue(`${here}.name`, name));
    if (!mountPath) causes.push(required(`${here}.mountPath`));
    else if (paths.has(mountPath))
      causes.push(invalidValue(`${here}.mountPath`, mountPath, 'must be unique'));
    paths.add(mountPath);
    if (subPath) causes.push(...validateInside(subPath, `${here}.subPath`));
    return causes;
  });
}
