// The scale subresource: a workload seen as a number of replicas.
import type { ColumnDefinition, JsonObject } from '../../apimachinery/declaration.ts';
import { conflict, invalidObject } from '../../apimachinery/errors.ts';
import { invalid } from '../../apimachinery/field-error.ts';
import { ageOf } from '../../apimachinery/human-duration.ts';
import { meta, num, obj, spec, status, str } from '../../apimachinery/json-access.ts';
import { formatLabelSelector } from '../../apimachinery/label-selector.ts';
import { formatLabels } from '../../apimachinery/labels.ts';
import type { TableForm } from '../../apimachinery/table.ts';
import type { RestHandler } from '../../apiserver/registry/rest-storage.ts';

const column = (name: string, type: string): ColumnDefinition => ({ name, type, priority: 0 });
const table: TableForm = {
  columns: [
    column('Name', 'string'),
    column('Desired', 'integer'),
    column('Available', 'integer'),
    column('Age', 'string'),
  ],
  row: (scale, now) => [
    str(meta(scale).name),
    num(spec(scale).replicas),
    num(status(scale).replicas),
    ageOf(meta(scale).creationTimestamp, now),
  ],
};

/** `plain`: the selector is a map of labels (replication controllers), not a LabelSelector. */
export function scaleView(
  { group, resource }: { readonly group: string; readonly resource: string },
  selectorForm: 'selector' | 'plain',
): RestHandler {
  const selectorOf = (parent: JsonObject): string =>
    selectorForm === 'plain'
      ? formatLabels(obj(spec(parent).selector) as Record<string, string>)
      : formatLabelSelector(obj(spec(parent).selector));
  return {
    view: {
      get(parent) {
        const { name, namespace, uid, resourceVersion, creationTimestamp } = meta(parent);
        const replicas = num(spec(parent).replicas);
        const selector = selectorOf(parent);
        return {
          kind: 'Scale',
          apiVersion: 'autoscaling/v1',
          metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
          spec: replicas === 0 ? {} : { replicas },
          status: {
            replicas: num(status(parent).replicas),
            ...(selector === '' ? {} : { selector }),
          },
        };
      },
      apply(parent, view) {
        const replicas = num(spec(view).replicas);
        if (replicas < 0) {
          throw invalidObject({ group: 'autoscaling', kind: 'Scale' }, str(meta(view).name), [
            invalid('spec.replicas', replicas, 'must be greater than or equal to 0'),
          ]);
        }
        const [asked, uid] = [str(meta(view).uid), str(meta(parent).uid)];
        if (asked !== '' && asked !== uid)
          throw conflict(
            { group, resource: `${resource}/scale` },
            str(meta(parent).name),
            `Precondition failed: UID in precondition: ${asked}, UID in object meta: ${uid}`,
          );
        return { ...parent, spec: { ...spec(parent), replicas } };
      },
      replicasPath: (parent, apiVersion) =>
        apiVersion === parent['apiVersion'] ? ['spec', 'replicas'] : undefined,
      table,
    },
  };
}
