// How often a DaemonSet's template was changed, and the label by which pods name theirs.
import type { DaemonSet } from '../../api/generated/types/apps-v1.ts';

export const templateGenerationLabel = 'pod-template-generation';

/** As a label tells it; undefined for one that was stored before templates were counted. */
export function templateGeneration({ metadata }: DaemonSet): string | undefined {
  const text = metadata.annotations?.['deprecated.daemonset.template.generation'];
  return text !== undefined && /^-?\d{1,19}$/.test(text) ? text : undefined;
}
