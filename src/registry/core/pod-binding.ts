// Binding: the scheduler's word on which node a pod runs.
import type { Binding, Pod, PodCondition } from '../../api/generated/types/core-v1.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { badRequest, conflict, invalidObject } from '../../apimachinery/errors.ts';
import { type FieldError, notSupported, required } from '../../apimachinery/field-error.ts';
import { meta } from '../../apimachinery/json-access.ts';
import type { RestAnswer, RestHandler, RestRequest } from '../../apiserver/registry/rest-storage.ts';
import { checkStoragePreconditions } from '../../apiserver/registry/storage-preconditions.ts';
import { rfc3339 } from '../../base/clock.ts';

const bindingResource = { group: '', resource: 'pods/binding' };

function validate(binding: Binding): FieldError[] {
  const errors: FieldError[] = [];
  const kind = binding.target?.kind ?? '';
  if (kind !== '' && kind !== 'Node') errors.push(notSupported('target.kind', kind, ['Node', '<empty>']));
  if ((binding.target?.name ?? '') === '') errors.push(required('target.name'));
  return errors;
}

function bind(pod: Pod, binding: Binding, name: string, now: string): Pod {
  const refuse = (why: string): never => {
    throw conflict(bindingResource, name, why);
  };
  if (pod.metadata?.deletionTimestamp !== undefined) {
    refuse(`pod ${name} is being deleted, cannot be assigned to a host`);
  }
  if ((pod.spec.nodeName ?? '') !== '') {
    refuse(`pod ${name} is already assigned to node ${JSON.stringify(pod.spec.nodeName)}`);
  }
  if ((pod.spec.schedulingGates?.length ?? 0) > 0) refuse(`pod ${name} has non-empty .spec.schedulingGates`);
  const annotations = { ...pod.metadata?.annotations, ...binding.metadata?.annotations };
  const condition: PodCondition = { type: 'PodScheduled', status: 'True', lastTransitionTime: now };
  const others = (pod.status?.conditions ?? []).filter((c) => c.type !== 'PodScheduled');
  const metadata = { ...pod.metadata };
  if (Object.keys(annotations).length > 0) metadata.annotations = annotations;
  // As upstream: those of the binding, which PodTopologyLabels adds to, win.
  const labels = binding.metadata?.labels;
  if (labels !== undefined) metadata.labels = { ...metadata.labels, ...labels };
  // A promise of a node is over once there is one.
  const { nominatedNodeName: _, ...status } = pod.status ?? {};
  return {
    ...pod,
    metadata,
    spec: { ...pod.spec, nodeName: binding.target.name ?? '' },
    status: { ...status, conditions: [...others, condition] },
  };
}

const created: JsonObject = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };

async function create(request: RestRequest): Promise<RestAnswer> {
  const binding = request.object as unknown as Binding;
  const errors = validate(binding);
  const named = binding.metadata?.name ?? '';
  const name = request.name === '' ? named : request.name;
  if (name !== named) throw badRequest('name in URL does not match name in Binding object');
  if (errors.length > 0) throw invalidObject({ group: '', kind: 'Binding' }, name, errors);
  const now = rfc3339(request.clock.now());
  const { context: asker, namespace, dryRun } = request;
  const store = request.store('', 'pods');
  const place = { declaration: store.declaration, namespace, name };
  const { uid, resourceVersion } = binding.metadata ?? {};
  await store.update(
    namespace,
    name,
    (pod) => {
      checkStoragePreconditions(place, meta(pod!), { uid, resourceVersion });
      return bind(pod as unknown as Pod, binding, name, now) as unknown as JsonObject;
    },
    { asker, subresource: 'binding', dryRun },
  );
  return { status: 201, object: created };
}

export const podBinding: RestHandler = { create };
