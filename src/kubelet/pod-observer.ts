// Looks at one pod, and adds what its runtime does not know: full exit codes, the system's reasons, the last words.
import type { Pod } from '../api/generated/types/core-v1.ts';
import type { KubeletContext } from './kubelet-context.ts';
import {
  type ExitedCache,
  nothingObserved,
  type ObservedContainer,
  type ObservedPod,
  observePod,
} from './observed-pod.ts';
import { podUid } from './pod-format.ts';
import { terminationMessage } from './runtime/termination-message.ts';

interface End {
  readonly message: string | undefined;
  readonly exitCode: number;
}

export class PodObserver {
  readonly #ctx: KubeletContext;
  readonly #exited: ExitedCache = new Map();
  /** By container: what ended once stays as it is. */
  readonly #ends = new Map<string, End>();
  #last: ObservedPod = nothingObserved;

  constructor(ctx: KubeletContext) {
    this.#ctx = ctx;
  }

  get last(): ObservedPod {
    return this.#last;
  }

  messageOf(containerId: string): string | undefined {
    return this.#ends.get(containerId)?.message;
  }

  async look(pod: Pod, signal: AbortSignal): Promise<ObservedPod> {
    const { sandboxes, containers } = await observePod(
      this.#ctx.cri.runtime,
      podUid(pod),
      this.#exited,
      signal,
    );
    for (const id of this.#ends.keys()) if (!this.#exited.has(id)) this.#ends.delete(id);
    this.#last = {
      sandboxes,
      containers: await Promise.all(containers.map((c) => this.#completed(pod, c))),
    };
    return this.#last;
  }

  async #completed(pod: Pod, c: ObservedContainer): Promise<ObservedContainer> {
    if (c.state !== 'exited') return c;
    const end = this.#ends.get(c.id) ?? (await this.#endOf(pod, c));
    this.#ends.set(c.id, end);
    const { exitCode } = end;
    return { ...c, exitCode, reason: this.#ctx.nodeOs.terminatedReason(c.reason, exitCode) };
  }

  async #endOf(pod: Pod, c: ObservedContainer): Promise<End> {
    const message = await terminationMessage(this.#ctx.storage, pod, c);
    const full = await this.#ctx.fullExitCode(c.id);
    // The API holds a signed number: 0xC000013A is -1073741510, as on a real Windows node.
    return { message, exitCode: full === undefined ? c.exitCode : full | 0 };
  }
}
