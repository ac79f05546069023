// Runs the admission plugins: all that change first, then all that check. Most decide at once, and are not waited for.
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts';

export interface AdmissionChain {
  /** Lets plugins change `request.object`, in order; a refusal is thrown. */
  admit(request: AdmissionRequest): Promise<void>;
  validate(request: AdmissionRequest): Promise<void>;
  handles(operation: AdmissionRequest['operation']): boolean;
}

async function admitBy(plugins: readonly AdmissionPlugin[], request: AdmissionRequest): Promise<void> {
  for (const plugin of plugins) {
    const deciding = plugin.admit?.(request);
    if (deciding !== undefined) await deciding;
  }
}

export function admissionChain(plugins: readonly AdmissionPlugin[]): AdmissionChain {
  const list = (operation: AdmissionRequest['operation'], phase: 'admit' | 'validate'): AdmissionPlugin[] =>
    plugins.filter((p) => p.operations.includes(operation) && p[phase] !== undefined);
  const operations: readonly AdmissionRequest['operation'][] = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'];
  const table = Object.fromEntries(
    operations.map((o) => [o, { admit: list(o, 'admit'), validate: list(o, 'validate') }]),
  );
  return {
    handles: (operation) => table[operation]!.admit.length > 0 || table[operation]!.validate.length > 0,
    async admit(request) {
      const plugins = table[request.operation]!.admit;
      await admitBy(plugins, request);
      if (!request.reinvocation.wanted) return;
      request.reinvocation.again = true;
      await admitBy(plugins, request);
    },
    async validate(request) {
      for (const plugin of table[request.operation]!.validate) {
        const deciding = plugin.validate?.(request);
        if (deciding !== undefined) await deciding;
      }
    },
  };
}
