// The kind Namespace: finalized by the API, labelled with its own name.
import { type Decoded, ensured } from '../../../apimachinery/decoded.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { dnsLabel } from '../../../apimachinery/validation/names.ts';
import type { Namespace } from '../../generated/types/core-v1.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';
import { validateNamespaceStatus } from './validate-statuses.ts';

const nameLabel = 'kubernetes.io/metadata.name';
/** The finalizer that keeps a namespace until it is empty. */
const kubernetesFinalizer = 'kubernetes';

function applyDefaults(namespace: Decoded<Namespace>): void {
  // A generated name is not known yet.
  const { metadata } = namespace;
  if (metadata?.name) ensured(metadata, 'labels')[nameLabel] = metadata.name;
  ensured(namespace, 'status').phase ??= 'Active';
}

function prepareForCreate(namespace: Decoded<Namespace>): void {
  namespace.status = { phase: 'Active' };
  const finalizers = namespace.spec?.finalizers ?? [];
  if (!finalizers.includes(kubernetesFinalizer))
    ensured(namespace, 'spec').finalizers = [...finalizers, kubernetesFinalizer];
}

/** Finalizers of the spec change only by the finalize subresource. */
function prepareForUpdate(
  namespace: Decoded<Namespace>,
  old: Decoded<Namespace>,
  context: { readonly subresource: string },
): void {
  if (context.subresource === '') namespace.spec = old.spec ?? {};
}

/** As upstream: it is deleted once the namespace controller has emptied and finalized it. */
const holdsDeletion = (namespace: Decoded<Namespace>): boolean =>
  (namespace.spec?.finalizers ?? []).length > 0;

function prepareForDelete(namespace: Decoded<Namespace>): void {
  ensured(namespace, 'status').phase = 'Terminating';
  delete namespace.metadata?.deletionGracePeriodSeconds;
}

export const namespace: KindBehaviour<Namespace> = {
  nameRule: dnsLabel,
  row: (o, now) => [nameCell(o), o.status?.phase ?? '', ageCell(o, now)],
  selectableFields: (o) => ({ 'status.phase': o.status?.phase ?? '' }),
  strategy: {
    applyDefaults,
    prepareForCreate,
    prepareForUpdate,
    validateUpdate: (o, _old, { subresource }) =>
      subresource === 'status' ? validateNamespaceStatus(o) : [],
    holdsDeletion,
    prepareForDelete,
  },
};
