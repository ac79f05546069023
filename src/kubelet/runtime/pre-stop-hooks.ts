// preStop hooks of one pod: each runs once, however often and by whom the end of its container is asked for.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { untilAborted } from '../../base/until-aborted.ts';
import { type KubeletContext, podEvent } from '../kubelet-context.ts';
import { failureText, findContainer } from '../pod-format.ts';
import { runHook } from './lifecycle-hooks.ts';

interface Hook {
  readonly work: Promise<void>;
  readonly end: AbortController;
}

export interface HookOwner {
  readonly pod: Pod;
  readonly container: { readonly id: string; readonly name: string };
  readonly podIP: string;
}

export class PreStopHooks {
  readonly #ctx: KubeletContext;
  readonly #hooks = new Map<string, Hook>();

  constructor(ctx: KubeletContext) {
    this.#ctx = ctx;
  }

  /**
   * Waits for the hook of a container, at most for its grace; answers the seconds that took. Who leaves by the signal leaves
   * the hook as it is: a shorter grace ends the wait for it sooner, and does not begin it anew.
   */
  async run(owner: HookOwner, graceSeconds: number, signal: AbortSignal): Promise<number> {
    const hook = graceSeconds > 0 && this.#hookOf(owner);
    if (!hook) return 0;
    const { clock } = this.#ctx;
    const began = clock.monotonic();
    const done = new AbortController();
    const waiting = AbortSignal.any([signal, done.signal]);
    const deadline = clock.sleep(graceSeconds * 1000, waiting).catch(() => undefined);
    try {
      await untilAborted(Promise.race([hook.work, deadline]), signal);
    } finally {
      done.abort();
    }
    return (clock.monotonic() - began) / 1000;
  }

  /** Its container has ended; a hook that did not come to its end is waited for no longer. */
  forget(containerId: string): void {
    this.#hooks.get(containerId)?.end.abort();
    this.#hooks.delete(containerId);
  }

  /** The agent leaves, or the pod is gone. */
  stop(): void {
    for (const id of [...this.#hooks.keys()]) this.forget(id);
  }

  #hookOf(owner: HookOwner): Hook | undefined {
    const { pod, container, podIP } = owner;
    const known = this.#hooks.get(container.id);
    if (known) return known;
    const spec = findContainer(pod, container.name);
    const handler = spec?.lifecycle?.preStop;
    if (!spec || !handler) return undefined;
    const end = new AbortController();
    const { signal } = end;
    const input = { pod, container: spec, containerId: container.id, podIP, handler, signal };
    const work = runHook(this.#ctx, input).catch((error: unknown) => {
      if (!signal.aborted) this.#failed(owner, error);
    });
    const begun = { work, end };
    this.#hooks.set(container.id, begun);
    return begun;
  }

  #failed({ pod, container }: HookOwner, error: unknown): void {
    this.#ctx.log.warn({ error: failureText(error), container: container.name }, 'preStop failed');
    podEvent(this.#ctx, pod, {
      type: 'Warning',
      reason: 'FailedPreStopHook',
      message: 'PreStopHook failed',
      container: container.name,
    });
  }
}
