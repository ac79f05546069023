// The image of sandboxes, which no registry has: without it a node makes no pod, so it is loaded whenever the runtime has it not.
import type { Logger } from '../../component-base/logger.ts';

export interface SandboxImagePorts {
  readonly reference: string;
  isThere(): Promise<boolean>;
  load(): Promise<unknown>;
  readonly log: Logger;
}

export interface SandboxImage {
  /** `anew`: also when one is there, of another release maybe. Does not throw. */
  ensure(options?: { readonly anew?: boolean }): Promise<void>;
  /** Why this node can make no pod. */
  problem(): string | undefined;
}

export function keepSandboxImage({ reference, isThere, load, log }: SandboxImagePorts): SandboxImage {
  let problem: string | undefined;

  function failed(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    const text = `sandbox image ${reference} is missing and could not be loaded: ${why}`;
    if (text !== problem) log.error({ error }, text);
    problem = text;
  }

  return {
    ensure: async ({ anew = false } = {}) => {
      const missing = !(await isThere().catch(() => true)); // who does not say is asked again
      try {
        if (missing || anew) await load();
        if (missing && !anew) log.warn({ image: reference }, 'the sandbox image was gone; loaded again');
        problem = undefined;
      } catch (error) {
        failed(error);
      }
    },
    problem: () => problem,
  };
}
