// The name of a CSI driver. Pure.
import { dnsSubdomain, type NameCheck } from '../../names.js';

const MAX_LENGTH = 63;

/** A DNS name of any case, short enough for a label. */
export const driverName: NameCheck = (name) => {
  if (name.length > MAX_LENGTH) return [`must be no more than ${MAX_LENGTH} bytes`];
  return dnsSubdomain(name.toLowerCase());
};
