// Many pods in a server, as many clients would have made them.
import { pod } from './bodies.ts';
import type { LoadResult, Target } from './load-job.ts';
import { load } from './servers.ts';

/** They name a scheduler that does not exist: they stay as they are. */
export function fillWithPods(target: Target, count: number): Promise<LoadResult> {
  return load(target, {
    kind: 'requests',
    protocol: 'h2',
    connections: 32,
    total: count,
    method: 'POST',
    path: '/api/v1/namespaces/default/pods',
    contentType: 'application/json',
    body: pod('filled-{i}', { schedulerName: 'nobody' }),
  });
}
