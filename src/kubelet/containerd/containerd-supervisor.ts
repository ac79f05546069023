// Starts containerd again when it died; its containers live on under their shims meanwhile.
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
  const stopped = new AbortController();
  async function loop(): Promise<void> {
    for (;;) {
      try {
        await deps.clock.sleep(everyMs, stopped.signal);
      } catch {
        return; // stopped
      }
      try {
        if ((await runningPid(deps, options)) !== undefined) continue;
        deps.log.warn({ address: options.address }, 'containerd died and is started again');
        await ensureContainerd(deps, options);
      } catch (error) {
        deps.log.error({ error }, 'containerd could not be started again');
      }
    }
  }
  const work = loop();
  return async () => {
    stopped.abort();
    await work;
  };
}
