// Checks of where a container sees the pod's volumes: as directories or as devices. Pure.
// Guarantees: each names a volume of the pod, at a path of its own.
import {
  type Cause,
  checkOneOf,
  forbiddenField,
  invalidValue,
  notFoundValue,
  required,
} from '../../causes.js';
import type { V1Container, V1VolumeDevice, V1VolumeMount } from '../../gen/types.js';
import { hasBacksteps, validateInside } from './volumes.js';

const PROPAGATIONS = ['Bidirectional', 'HostToContainer', 'None'];

export function validateMounts(container: V1Container, at: string, volumes: ReadonlySet<string>): Cause[] {
  const paths = new Set<string>();
  const causes = (container.volumeMounts ?? []).flatMap((mount, index) => {
    const here = `${at}.volumeMounts[${index}]`;
    const { name, mountPath } = mount;
    const faults: Cause[] = [];
    if (!name) faults.push(required(`${here}.name`));
    else if (!volumes.has(name)) faults.push(notFoundValue(`${here}.name`, name));
    if (!mountPath) faults.push(required(`${here}.mountPath`));
    else if (paths.has(mountPath))
      faults.push(invalidValue(`${here}.mountPath`, mountPath, 'must be unique'));
    paths.add(mountPath);
    return [...faults, ...validateMount(mount, container, here)];
  });
  return [
    ...causes,
    ...validateDevices(container.volumeDevices ?? [], `${at}.volumeDevices`, { paths, volumes }),
  ];
}

function validateMount(mount: V1VolumeMount, { securityContext }: V1Container, at: string): Cause[] {
  const { subPath, subPathExpr, mountPropagation: propagation, readOnly, recursiveReadOnly } = mount;
  const causes: Cause[] = subPath ? validateInside(subPath, `${at}.subPath`) : [];
  if (subPathExpr) {
    if (subPath)
      causes.push(
        invalidValue(`${at}.subPathExpr`, subPathExpr, 'subPathExpr and subPath are mutually exclusive'),
      );
    causes.push(...validateInside(subPathExpr, `${at}.subPathExpr`));
  }
  causes.push(...checkOneOf(`${at}.mountPropagation`, propagation, PROPAGATIONS));
  if (propagation === 'Bidirectional' && securityContext?.privileged !== true)
    causes.push(
      forbiddenField(
        `${at}.mountPropagation`,
        'Bidirectional mount propagation is available only to privileged containers',
      ),
    );
  causes.push(
    ...checkOneOf(`${at}.recursiveReadOnly`, recursiveReadOnly, ['Disabled', 'Enabled', 'IfPossible']),
  );
  if (recursiveReadOnly === 'Enabled' && readOnly !== true)
    causes.push(forbiddenField(`${at}.recursiveReadOnly`, 'may only be specified when readOnly is true'));
  return causes;
}

interface Taken {
  readonly paths: ReadonlySet<string>;
  readonly volumes: ReadonlySet<string>;
}

function validateDevices(devices: readonly V1VolumeDevice[], at: string, { paths, volumes }: Taken): Cause[] {
  const seen = new Set<string>();
  return devices.flatMap(({ name, devicePath }, index) => {
    const here = `${at}[${index}]`;
    const causes: Cause[] = [];
    if (!name) causes.push(required(`${here}.name`));
    else if (!volumes.has(name)) causes.push(notFoundValue(`${here}.name`, name));
    if (!devicePath) return [...causes, required(`${here}.devicePath`)];
    if (seen.has(devicePath)) causes.push(invalidValue(`${here}.devicePath`, devicePath, 'must be unique'));
    if (hasBacksteps(devicePath))
      causes.push(invalidValue(`${here}.devicePath`, devicePath, "can not contain backsteps ('..')"));
    if (paths.has(devicePath))
      causes.push(
        invalidValue(`${here}.devicePath`, devicePath, 'must not already exist as a path in volumeMounts'),
      );
    seen.add(devicePath);
    return causes;
  });
}
