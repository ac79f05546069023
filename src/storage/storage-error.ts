// What can go wrong with a durable store, for the person who must repair it.

export type StorageErrorCode =
  | 'Locked'
  /** Something that was stored is not what is read. */
  | 'Corrupt'
  /** Writes that were acknowledged are missing. */
  | 'Lost'
  | 'Unsupported'
  /** This write is not stored; later ones are tried again. */
  | 'WriteFailed'
  /** As WriteFailed: there is no space. */
  | 'NoSpace'
  /** Its key can't be had now: this write is not stored. */
  | 'Unsealed'
  /** Whether this write is stored is not known: the answer to it was lost. */
  | 'Unknown'
  /** The lease that a write named is over. */
  | 'NoLease'
  /** Nothing can be promised any more until the store is opened anew. */
  | 'Broken'
  | 'Closed';

export class StorageError extends Error {
  readonly code: StorageErrorCode;
  constructor(code: StorageErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'StorageError';
    this.code = code;
  }
}
