// Why a cluster cannot be brought up or taken down, in words for the person at the terminal.
import { CodedError } from '../base/codedError.js';

export type ClusterErrorCode =
  | 'NOT_ROOT'
  | 'MISSING_PROGRAM'
  | 'NO_ADDRESS'
  | 'PORT_IN_USE'
  | 'ALREADY_RUNNING'
  | 'NOT_RUNNING'
  | 'NOT_OURS'
  | 'BAD_OPTION'
  | 'BAD_TOKEN'
  /** A part of the cluster's authority is missing, or does not fit. */
  | 'BROKEN_PKI'
  /** The server of a cluster to join does not answer, or is not the one that was meant. */
  | 'UNREACHABLE'
  | 'UNTRUSTED'
  | 'NAME_TAKEN'
  | 'COMPONENT_FAILED'
  | 'TIMEOUT'
  /** Somebody asked for the end of a start. */
  | 'INTERRUPTED'
  | 'REMAINS';

export class ClusterError extends CodedError<ClusterErrorCode> {
  override readonly name = 'ClusterError';
}
