// A version of a group that another server answers for, and what that server says it serves there.
import type { JsonObject } from '../json.ts';

export interface RemoteVersion {
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
  /** Stale: what is listed may not be so any more. */
  readonly freshness: 'Current' | 'Stale';
  /** As aggregated discovery lists resources of a version. */
  readonly resources: readonly JsonObject[];
}
