// Groups of the Kubernetes community are not everybody's: a definition in one says where it was approved, or that it was not.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { invalid, required } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import type { CustomResourceDefinition } from '../../generated/types/apiextensions-v1.ts';

type Crd = Decoded<CustomResourceDefinition>;

const annotation = 'api-approved.kubernetes.io';
const proposal = 'see https://github.com/kubernetes/enhancements/pull/1111';

type ApprovalState = 'approved' | 'bypassed' | 'missing' | 'invalid';

const protectedDomains = ['k8s.io', 'kubernetes.io'] as const;

export const isProtectedGroup = (group: string): boolean =>
  protectedDomains.some((domain) => group === domain || group.endsWith(`.${domain}`));

export function approvalOf(annotations: Readonly<Record<string, string | undefined>> | undefined): {
  readonly state: ApprovalState;
  readonly reason: string;
} {
  const text = annotations?.[annotation] ?? '';
  const needed = `protected groups must have approval annotation ${JSON.stringify(annotation)}`;
  if (text === '') return { state: 'missing', reason: `${needed}, ${proposal}` };
  if (text.startsWith('unapproved'))
    return { state: 'bypassed', reason: `not approved: ${JSON.stringify(text)}` };
  if (/^[a-zA-Z][a-zA-Z0-9+.-]*:\/\/[^/?#\s]+\S*$/.test(text))
    return { state: 'approved', reason: `approved in ${text}` };
  return {
    state: 'invalid',
    reason: `${needed} with either a URL or a reason starting with "unapproved", ${proposal}`,
  };
}

/** A state that was there before may stay: who only changes the spec is not held up. */
export function approvalErrors(crd: Crd, old: Crd | undefined): Errors {
  if (!isProtectedGroup(crd.spec?.group ?? '')) return [];
  const { state, reason } = approvalOf(crd.metadata?.annotations);
  if (old !== undefined && approvalOf(old.metadata?.annotations).state === state) return [];
  const field = `metadata.annotations[${annotation}]`;
  if (state === 'missing') return [required(field, reason)];
  return state === 'invalid' ? [invalid(field, crd.metadata?.annotations?.[annotation] ?? '', reason)] : [];
}
