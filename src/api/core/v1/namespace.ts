// The kind Namespace: finalized by the API, labelled with its own name.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import {
  ensure,
  meta,
  nameOf,
  setDefault,
  spec,
  status,
  str,
  strs,
} from '../../../apimachinery/json-access.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { dnsLabel } from '../../../apimachinery/validation/names.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';

const nameLabel = 'kubernetes.io/metadata.name';
/** The finalizer that keeps a namespace until it is empty. */
const kubernetesFinalizer = 'kubernetes';

function applyDefaults(namespace: JsonObject): void {
  // A generated name is not known yet.
  if (nameOf(namespace) !== '') ensure(meta(namespace), 'labels')[nameLabel] = nameOf(namespace);
  setDefault(ensure(namespace, 'status'), 'phase', 'Active');
}

function prepareForCreate(namespace: JsonObject): void {
  namespace['status'] = { phase: 'Active' };
  const finalizers = strs(spec(namespace)['finalizers']);
  if (!finalizers.includes(kubernetesFinalizer))
    ensure(namespace, 'spec')['finalizers'] = [...finalizers, kubernetesFinalizer];
}

/** Finalizers of the spec change only by the finalize subresource. */
function prepareForUpdate(
  namespace: JsonObject,
  old: JsonObject,
  context: { readonly subresource: string },
): void {
  if (context.subresource === '') namespace['spec'] = old['spec'] ?? {};
}

/** As upstream: it is deleted once the namespace controller has emptied and finalized it. */
const holdsDeletion = (namespace: JsonObject): boolean => strs(spec(namespace)['finalizers']).length > 0;

function prepareForDelete(namespace: JsonObject): void {
  ensure(namespace, 'status')['phase'] = 'Terminating';
  delete meta(namespace)['deletionGracePeriodSeconds'];
}

export const namespace: KindBehaviour = {
  nameRule: dnsLabel,
  row: (o, now) => [nameCell(o), str(status(o)['phase']), ageCell(o, now)],
  selectableFields: (o) => ({ 'status.phase': str(status(o)['phase']) }),
  strategy: { applyDefaults, prepareForCreate, prepareForUpdate, holdsDeletion, prepareForDelete },
};
