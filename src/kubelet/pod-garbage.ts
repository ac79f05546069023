// What a pod leaves in the runtime: containers that ended long ago, sandboxes that nobody uses, at its end everything.
import type { RuntimeService } from '../rpc-api/cri.ts';
import { isGrpcError } from '../wire/grpc-client.ts';
import type { ObservedPod } from './observed-pod.ts';

/** Containers of one name that are kept after their end: the last one and the one before. */
const keptDead = 2;

async function unlessGone(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isGrpcError(error, 'NotFound')) throw error;
  }
}

export async function removeOld(runtime: RuntimeService, observed: ObservedPod): Promise<void> {
  const seen = new Map<string, number>();
  const removed = new Set<string>();
  for (const c of observed.containers) {
    if (c.state !== 'exited') continue;
    const count = (seen.get(c.name) ?? 0) + 1;
    seen.set(c.name, count);
    if (count <= keptDead) continue;
    removed.add(c.id);
    await unlessGone(runtime.removeContainer(c.id));
  }
  for (const sandbox of observed.sandboxes.slice(1)) {
    const used = observed.containers.some((c) => c.sandboxId === sandbox.id && !removed.has(c.id));
    if (!sandbox.ready && !used) await unlessGone(runtime.removePodSandbox(sandbox.id));
  }
}

export async function removeContainers(runtime: RuntimeService, { containers }: ObservedPod): Promise<void> {
  for (const { id } of containers) await unlessGone(runtime.removeContainer(id));
}

export async function removeSandboxes(runtime: RuntimeService, { sandboxes }: ObservedPod): Promise<void> {
  for (const { id } of sandboxes) await unlessGone(runtime.removePodSandbox(id));
}
