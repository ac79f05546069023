// What can go wrong with a durable store, for the person who must repair it.

export type StorageErrorCode = 'Locked' | 'Corrupt' | 'Unsupported' | 'WriteFailed' | 'Closed';

export class StorageError extends Error {
  readonly code: StorageErrorCode;
  constructor(code: StorageErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'StorageError';
    this.code = code;
  }
}
