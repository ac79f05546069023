// How the node is: the runtime's conditions, its images, what it is short of.
import type { ContainerImage } from '../../api/generated/types/core-v1.ts';
import type { HostStats } from '../../os/stats.ts';
import type { Image } from '../../rpc-api/generated/cri-v1.ts';
import type { PressureCondition } from '../eviction/thresholds.ts';
import type { KubeletContext } from '../kubelet-context.ts';
import { failureText } from '../pod-format.ts';
import type { Pleg } from '../pod-lifecycle-event-generator.ts';
import type { NodeHealth } from './node-object.ts';

type HealthContext = Pick<KubeletContext, 'cri' | 'log'>;

/** Upstream: nodeStatusMaxImages. */
const maxImages = 50;
const maxNamesEach = 5;

const largest = (images: readonly Image[]): ContainerImage[] =>
  images
    .map((image) => ({
      names: [...(image.repoDigests ?? []), ...(image.repoTags ?? [])].slice(0, maxNamesEach),
      sizeBytes: image.size ?? 0,
    }))
    .sort((a, b) => b.sizeBytes - a.sizeBytes)
    .slice(0, maxImages);

/** What it knew last when the runtime does not tell: the rest of the status is worth more than its images. */
function imagesOf({ cri, log }: HealthContext): () => Promise<ContainerImage[]> {
  let last: ContainerImage[] = [];
  return async () => {
    try {
      last = largest(await cri.images.listImages());
    } catch (error) {
      log.warn({ error }, 'the runtime did not list its images');
    }
    return last;
  };
}

async function problemsOf(ctx: HealthContext, pleg: Pleg): Promise<string[]> {
  const problems: string[] = [];
  try {
    const { status } = await ctx.cri.runtime.status();
    for (const type of ['RuntimeReady', 'NetworkReady']) {
      const condition = status?.conditions?.find((c) => c.type === type);
      if (condition?.status) continue;
      const what =
        type === 'RuntimeReady' ? 'container runtime not ready' : 'container runtime network not ready';
      problems.push(
        `${what}: ${type}=false reason:${condition?.reason ?? ''} message:${condition?.message ?? ''}`,
      );
    }
  } catch (error) {
    problems.push(`container runtime is down: ${failureText(error)}`);
  }
  const seen = pleg.healthy();
  if (!seen.ok) problems.push(`PLEG is not healthy: ${seen.message}`);
  return problems;
}

export function runtimeHealth(deps: {
  readonly ctx: HealthContext;
  readonly pleg: Pleg;
  readonly stats: HostStats;
  readonly pressures: () => readonly PressureCondition[];
  /** What this node lacks beside what the runtime says of itself. */
  readonly more: () => readonly string[];
}): () => Promise<Omit<NodeHealth, 'now'>> {
  const images = imagesOf(deps.ctx);
  return async () => {
    const problems = await problemsOf(deps.ctx, deps.pleg);
    return {
      problems: [...problems, ...deps.more()],
      images: problems.length === 0 ? await images() : [],
      usage: await deps.stats.usage(),
      pressures: deps.pressures(),
    };
  };
}
