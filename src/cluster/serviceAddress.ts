// Addresses that are known in advance: of the service range, and of the apiserver. Pure.
import { addressAt, parseCidr } from '../api/ip.js';
import { ClusterError } from './error.js';
import { rangesOf, type Settings } from './settings.js';

/** The place of the cluster's DNS in the range, as kubeadm has it. */
export const DNS_ADDRESS = 10;

/** The nth address of the range, of the first family; 1 is the `kubernetes` Service. */
export function serviceAddress({ serviceCidr }: Pick<Settings, 'serviceCidr'>, n: number): string {
  const cidr = parseCidr(rangesOf(serviceCidr)[0] ?? '');
  const address = cidr === undefined ? undefined : addressAt(cidr, BigInt(n));
  if (address !== undefined) return address;
  throw new ClusterError(
    'BAD_OPTION',
    `the service range ${serviceCidr} is no network that can hold addresses`,
  );
}

export const serverUrl = (address: string, port: number): string =>
  `https://${address.includes(':') ? `[${address}]` : address}:${port}`;
