// CNI's error codes, and the JSON in which a plugin reports them.

const cniErrorCodes = {
  incompatibleVersion: 1,
  unsupportedField: 2,
  unknownContainer: 3,
  invalidEnvironment: 4,
  ioFailure: 5,
  decodingFailure: 6,
  invalidNetworkConfig: 7,
  tryAgainLater: 11,
  pluginNotAvailable: 50,
  internal: 999,
} as const;

export class CniError extends Error {
  readonly code: number;
  readonly details: string;
  constructor(kind: keyof typeof cniErrorCodes, message: string, details = '', options?: ErrorOptions) {
    super(message, options);
    this.name = 'CniError';
    this.code = cniErrorCodes[kind];
    this.details = details;
  }
}

export function cniErrorJson(error: unknown, cniVersion: string): string {
  const known =
    error instanceof CniError
      ? error
      : new CniError('internal', error instanceof Error ? error.message : String(error));
  return `${JSON.stringify({
    cniVersion,
    code: known.code,
    msg: known.message,
    ...(known.details === '' ? {} : { details: known.details }),
  })}\n`;
}
