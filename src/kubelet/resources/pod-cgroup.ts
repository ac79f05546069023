// The control group of one pod: its limits as the pod is, and as it becomes while it runs.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { KubeletContext } from '../kubelet-context.ts';
import type { ObservedPod } from '../observed-pod.ts';
import type { ContainerResize } from '../pod-resize.ts';
import { asItRuns } from './actual-resources.ts';
import { cpuPeriodUs, type PodCgroupLimits, podCgroup, podCgroupLimits, widestLimits } from './qos.ts';

export class PodCgroup {
  readonly #ctx: Pick<KubeletContext, 'cgroups' | 'cgroupRoot' | 'nodeOs' | 'podPidsLimit'>;
  #limits: PodCgroupLimits | undefined;

  constructor(ctx: KubeletContext) {
    this.#ctx = ctx;
  }

  /** Throws when it has taken more memory than it is to have. */
  async set(pod: Pod): Promise<void> {
    const limits = podCgroupLimits(pod);
    const { memoryLimitBytes = 0 } = limits;
    if (this.#limits && memoryLimitBytes < (this.#limits.memoryLimitBytes ?? 0))
      await this.#checkUse(this.#nameOf(pod), memoryLimitBytes, 'pod');
    await this.#write(pod, limits);
    this.#limits = limits;
  }

  /** Room for its containers while they go from what they have to what they are to have. */
  async widen(pod: Pod, observed: ObservedPod): Promise<void> {
    this.#limits ??= podCgroupLimits(asItRuns(pod, observed));
    const limits = widestLimits(this.#limits, podCgroupLimits(pod));
    await this.#write(pod, limits);
    this.#limits = limits;
  }

  /** Throws when the container has taken more memory than it is to have: the kernel would end its programs for that. */
  async checkMemory(pod: Pod, { id, name, lessMemoryBytes }: ContainerResize): Promise<void> {
    if (lessMemoryBytes !== undefined)
      await this.#checkUse(
        `${this.#nameOf(pod)}/${id}`,
        lessMemoryBytes,
        `container ${JSON.stringify(name)}`,
      );
  }

  #nameOf(pod: Pod): string {
    return podCgroup(pod, this.#ctx.cgroupRoot);
  }

  async #checkUse(name: string, limit: number, whose: string): Promise<void> {
    const use = (await this.#ctx.cgroups?.usages()(name))?.memory?.usageBytes ?? 0;
    if (use > limit)
      throw new Error(`attempting to set ${whose} memory limit (${limit}) below current usage (${use})`);
  }

  async #write(pod: Pod, { cpuShares, cpuQuotaUs, memoryLimitBytes }: PodCgroupLimits): Promise<void> {
    const { cgroups, nodeOs, podPidsLimit } = this.#ctx;
    await cgroups?.ensure(this.#nameOf(pod), {
      ...(nodeOs.hasPodCgroups ? { cpuShares } : {}),
      ...(nodeOs.hasPodCgroups && cpuQuotaUs ? { cpuQuotaUs, cpuPeriodUs } : {}),
      ...(nodeOs.hasPodCgroups && memoryLimitBytes ? { memoryLimitBytes } : {}),
      ...(podPidsLimit > 0 ? { pidsLimit: podPidsLimit } : {}),
    });
  }
}
