// The one error class of this room.
// Guarantees: a code to branch on, the plugin's own code and words where a plugin spoke, the cause kept.

type CniErrorCode =
  /** A configuration file that cannot be used; the message names file, place and field. */
  | 'CONFIG_INVALID'
  /** No configuration has this network's name, or the directory holds none. */
  | 'NETWORK_NOT_FOUND'
  /** The caller's own container ID, interface name or arguments make no sense. */
  | 'ARGUMENT_INVALID'
  /** The configuration's version does not have this command (CHECK before 0.4.0). */
  | 'VERSION_UNSUPPORTED'
  /** CHECK of an attachment that nobody added. */
  | 'NOT_ATTACHED'
  | 'PLUGIN_NOT_FOUND'
  /** The plugin said no: `cniCode`, `msg` and `details` are its own words. */
  | 'PLUGIN_FAILED'
  /** The plugin died by a signal, or ended with a failure that it did not explain. */
  | 'PLUGIN_CRASHED'
  | 'PLUGIN_TIMEOUT'
  /** The plugin printed something that is no result. */
  | 'PLUGIN_OUTPUT'
  /** The result cache could not be written or removed. */
  | 'CACHE_FAILED'
  /** Several attachments or plugins failed in one clean-up: see `errors`. */
  | 'GC_FAILED'
  /** A file that is not ours is where an executable should go, or there is nothing to install. */
  | 'INSTALL_REFUSED';

export interface CniErrorFields {
  /** The `type` of the plugin that failed. */
  readonly plugin?: string;
  /** ADD, DEL, CHECK, GC, STATUS or VERSION. */
  readonly command?: string;
  /** The number of the CNI specification that the plugin gave: 1-99 well known, from 100 its own. */
  readonly cniCode?: number;
  /** The plugin's own sentence. */
  readonly msg?: string;
  /** The plugin's own details and what it wrote to standard error. */
  readonly details?: string;
  /** What else failed: the clean-up after a failed ADD, or every failure of a GC. */
  readonly errors?: readonly CniError[];
  readonly cause?: unknown;
}

export class CniError extends Error {
  override readonly name = 'CniError';
  readonly code: CniErrorCode;
  readonly plugin: string | undefined;
  readonly command: string | undefined;
  readonly cniCode: number | undefined;
  readonly msg: string;
  readonly details: string;
  readonly errors: readonly CniError[];

  constructor(code: CniErrorCode, message: string, fields: CniErrorFields = {}) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.code = code;
    this.plugin = fields.plugin;
    this.command = fields.command;
    this.cniCode = fields.cniCode;
    this.msg = fields.msg ?? message;
    this.details = fields.details ?? '';
    this.errors = fields.errors ?? [];
  }

  /** The same failure with others that followed it. */
  with(errors: readonly CniError[]): CniError {
    if (errors.length === 0) return this;
    const { plugin, command, cniCode, msg, details, cause } = this;
    return new CniError(this.code, this.message, {
      ...(plugin !== undefined && { plugin }),
      ...(command !== undefined && { command }),
      ...(cniCode !== undefined && { cniCode }),
      ...(cause !== undefined && { cause }),
      msg,
      details,
      errors: [...this.errors, ...errors],
    });
  }
}
