// The image of sandboxes, which no registry has: without it a node makes no pod, so it is loaded whenever the runtime has it not.
import type { Logger } from '../../component-base/logger.ts';

export interface SandboxImagePorts {
  readonly reference: string;
  isThere(): Promise<boolean>;
  load(): Promise<unknown>;
  readonly log: Logger;
}

export interface SandboxImage {
  /** Does not throw. */
  ensure(): Promise<void>;
  /**
   * Of a runtime that starts: resolves once it is known whether the image is there; what is missing is a problem until it is loaded.
   * `anew`: also when one is there, of another release maybe.
   */
  begin(options: { readonly anew: boolean }): Promise<void>;
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

  const isMissing = async (): Promise<boolean> => !(await isThere().catch(() => true)); // who does not say is asked again

  async function loadNow(wasGone: boolean): Promise<void> {
    try {
      await load();
      if (wasGone) log.warn({ image: reference }, 'the sandbox image was gone; loaded again');
      problem = undefined;
    } catch (error) {
      failed(error);
    }
  }

  let loading: Promise<void> = Promise.resolve();
  return {
    ensure: async () => {
      await loading;
      if (await isMissing()) await loadNow(true);
      else problem = undefined;
    },
    begin: async ({ anew }) => {
      const missing = await isMissing();
      if (missing) problem = `sandbox image ${reference} is being loaded`;
      if (missing || anew) loading = loadNow(!anew);
    },
    problem: () => problem,
  };
}
