// Values of a pod's own fields and resources, for variables and downward API files. Pure.
import type { ObjectFieldSelector, Pod, ResourceFieldSelector } from '../../api/generated/types/core-v1.ts';
import { milliValue, parseQuantity, quantityValue, tryParseQuantity } from '../../apimachinery/quantity.ts';
import { findContainer } from '../pod-format.ts';

export interface FieldContext {
  readonly podIPs: readonly string[];
  readonly nodeIPs: readonly string[];
  /** What a missing limit means: all of the node. */
  readonly allocatable: {
    readonly milliCpu: number;
    readonly memoryBytes: number;
    readonly ephemeralBytes: number;
  };
}

/** As Go's `%q`, which downward files use for map values. */
const goQuote = (text: string): string => JSON.stringify(text);
const mapText = (map: Record<string, string> | undefined): string =>
  Object.keys(map ?? {})
    .sort()
    .map((key) => `${key}=${goQuote(map![key]!)}`)
    .join('\n');

export function fieldValue(pod: Pod, ref: ObjectFieldSelector, context: FieldContext): string {
  const path = ref.fieldPath;
  const subscript = /^metadata\.(labels|annotations)\['(.*)'\]$/s.exec(path);
  if (subscript) {
    const map = pod.metadata[subscript[1] as 'labels' | 'annotations'] ?? {};
    const key = subscript[2]!;
    return Object.hasOwn(map, key) ? map[key]! : '';
  }
  switch (path) {
    case 'metadata.name':
      return pod.metadata.name ?? '';
    case 'metadata.namespace':
      return pod.metadata.namespace ?? '';
    case 'metadata.uid':
      return pod.metadata.uid ?? '';
    case 'metadata.labels':
      return mapText(pod.metadata.labels);
    case 'metadata.annotations':
      return mapText(pod.metadata.annotations);
    case 'spec.nodeName':
      return pod.spec.nodeName ?? '';
    case 'spec.serviceAccountName':
      return pod.spec.serviceAccountName ?? '';
    case 'spec.host':
      return pod.spec.nodeName ?? '';
    case 'status.hostIP':
      return context.nodeIPs[0] ?? '';
    case 'status.hostIPs':
      return context.nodeIPs.join(',');
    case 'status.podIP':
      return context.podIPs[0] ?? '';
    case 'status.podIPs':
      return context.podIPs.join(',');
    default:
      throw new Error(`unsupported fieldPath: ${path}`);
  }
}

function amount(pod: Pod, ref: ResourceFieldSelector, containerName: string, context: FieldContext): bigint {
  const container = findContainer(pod, containerName);
  if (!container) throw new Error(`container ${containerName} not found`);
  const [kind, ...rest] = ref.resource.split('.');
  const resource = rest.join('.');
  if ((kind !== 'limits' && kind !== 'requests') || resource === '') {
    throw new Error(`unsupported container resource : ${ref.resource}`);
  }
  const { allocatable } = context;
  const set = tryParseQuantity(container.resources?.[kind]?.[resource]);
  if (set) return set.nano;
  if (kind === 'requests') {
    return tryParseQuantity(container.resources?.limits?.[resource])?.nano ?? 0n;
  }
  switch (resource) {
    case 'cpu':
      return BigInt(allocatable.milliCpu) * 1_000_000n;
    case 'memory':
      return BigInt(allocatable.memoryBytes) * 1_000_000_000n;
    case 'ephemeral-storage':
      return BigInt(allocatable.ephemeralBytes) * 1_000_000_000n;
    default:
      return 0n;
  }
}

/** Rounded up to the divisor, as upstream. */
export function resourceValue(
  pod: Pod,
  ref: ResourceFieldSelector,
  containerName: string,
  context: FieldContext,
): string {
  const divisor = parseQuantity(String(ref.divisor ?? '1') === '0' ? '1' : (ref.divisor ?? '1'));
  const total = { nano: amount(pod, ref, containerName, context), format: 'DecimalSI' as const };
  const isCpu = ref.resource.endsWith('.cpu');
  const [value, unit] = isCpu
    ? [milliValue(total), milliValue(divisor)]
    : [quantityValue(total), quantityValue(divisor)];
  return String(Math.ceil(value / Math.max(unit, 1)));
}
