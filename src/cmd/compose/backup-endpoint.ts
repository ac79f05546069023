// GET /porthole/backup: the whole store as of one revision, for whoever may do everything.
import { methodNotAllowed } from '../../apimachinery/errors.ts';
import { forbiddenBy } from '../../apiserver/authorization/attributes.ts';
import type { Authorizer } from '../../apiserver/authorization/authorizer.ts';
import type { ApiResponse, PullBody } from '../../apiserver/http.ts';
import type { PathHandler } from '../../apiserver/server-config.ts';
import { type Clock, rfc3339 } from '../../base/clock.ts';
import { type BackupEntry, encodeBackup } from '../../storage/backup/backup-format.ts';
import type { Entry, LeaseId, Storage } from '../../storage/storage.ts';

export const backupPath = '/porthole/backup';

export interface BackupDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly authorizer: Authorizer;
}

/** It holds every Secret: a right to the path, which a role for all paths gives, is not enough. */
const everything = {
  verb: '*',
  isResource: true,
  group: '*',
  version: '*',
  resource: '*',
  subresource: '',
  namespace: '',
  name: '',
  path: '',
} as const;

export function backupHandler({ storage, clock, authorizer }: BackupDependencies): PathHandler {
  return async ({ request, user }): Promise<ApiResponse> => {
    if (request.method !== 'GET') throw methodNotAllowed();
    const asked = { ...everything, user };
    const { decision, reason } = await authorizer.authorize(asked);
    if (decision !== 'allow') throw forbiddenBy(asked, reason);
    const { entries: stored, revision } = await storage.list('');
    const entries = await withLeases(storage, stored);
    const createdAt = rfc3339(clock.now());
    return {
      status: 200,
      headers: { 'content-type': 'application/octet-stream' },
      body: pulled(encodeBackup({ revision, createdAt, entries, files: [] })),
    };
  };
}

/** What is left of leases is told with what they are of. */
async function withLeases(storage: Storage, entries: readonly Entry[]): Promise<readonly BackupEntry[]> {
  const leases = new Set(entries.flatMap(({ lease }) => lease ?? []));
  const left = new Map<LeaseId, number>();
  for (const lease of leases) left.set(lease, Math.max(1, (await storage.timeToLive(lease)) ?? 0));
  if (left.size === 0) return entries;
  return entries.map((entry) =>
    entry.lease === undefined ? entry : { ...entry, remainingMs: left.get(entry.lease) },
  );
}

/** Who takes nothing for so long holds the whole store in memory, as it was, for nothing. */
const stallMs = 60_000;

/** Encoded as fast as the client takes it. */
export function pulled(chunks: Generator<Buffer, void, void>): PullBody {
  let rest: Buffer | undefined;
  return {
    stallMs,
    pull(maxBytes) {
      const chunk = rest ?? chunks.next().value ?? null;
      rest = chunk === null || chunk.length <= maxBytes ? undefined : chunk.subarray(maxBytes);
      return chunk === null ? null : chunk.subarray(0, maxBytes);
    },
    onReady: (callback) => setImmediate(callback),
    close() {
      rest = undefined;
      chunks.return();
    },
  };
}
