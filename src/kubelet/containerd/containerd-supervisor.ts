// Starts containerd again when it died; its containers live on under their shims meanwhile.
import { runEvery } from '../run-every.ts';
import {
  type ContainerdDeps,
  type EnsureContainerdOptions,
  ensureContainerd,
  runningPid,
} from './containerd-process.ts';

const everyMs = 1000;

/** Returns the function that ends the watch; containerd itself goes on. */
export function superviseContainerd(
  deps: ContainerdDeps,
  options: EnsureContainerdOptions,
): () => Promise<void> {
  return runEvery(deps.clock, everyMs, async () => {
    try {
      if ((await runningPid(deps, options)) !== undefined) return;
      deps.log.warn({ address: options.address }, 'containerd died and is started again');
      await ensureContainerd(deps, options);
    } catch (error) {
      deps.log.error({ error }, 'containerd could not be started again');
    }
  });
}
