// What the store can't do, as the API tells it.
import { StatusError } from '../../apimachinery/errors.ts';
import { CompactedError } from '../storage.ts';
import { StorageError } from '../storage-error.ts';

/** The answer to a write was lost: it may be stored, now or in a moment. */
export const isUnknownOutcome = (error: unknown): boolean =>
  error instanceof StatusError && error.code === 504;

/** In etcd's words, or upstream's, where they have some; what is no failure of the store stays as it is. */
export function storeStatus(error: unknown): unknown {
  if (error instanceof CompactedError) return new StatusError(410, 'Expired', error.message);
  if (!(error instanceof StorageError)) return error;
  if (error.code === 'NoSpace') return new StatusError(500, '', 'etcdserver: mvcc: database space exceeded');
  // As upstream tells what its storage says without a reason.
  if (error.code === 'Unsealed') return new StatusError(500, '', error.message);
  if (error.code !== 'Unknown') return new StatusError(500, 'InternalError', error.message);
  const text = 'Timeout: request did not complete within requested timeout - context deadline exceeded';
  return new StatusError(504, 'Timeout', text, {});
}
