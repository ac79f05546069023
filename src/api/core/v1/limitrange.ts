// The kind LimitRange: container defaults are filled from max, and requests from defaults and min.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { ensure, obj, objs, spec } from '../../../apimachinery/json-access.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { createdCell, nameCell } from '../../meta/row-cells.ts';
import { validateLimitRange } from './validate-small.ts';

function fill(item: JsonObject, target: string, source: string): void {
  for (const [name, value] of Object.entries(obj(item[source]))) {
    const into = ensure(item, target);
    if (!Object.hasOwn(into, name)) into[name] = value;
  }
}

function applyDefaults(range: JsonObject): void {
  for (const item of objs(spec(range)['limits'])) {
    if (item['type'] !== 'Container') continue;
    fill(item, 'default', 'max');
    fill(item, 'defaultRequest', 'default');
    fill(item, 'defaultRequest', 'min');
  }
}

export const limitRange: KindBehaviour = {
  row: (o) => [nameCell(o), createdCell(o)],
  strategy: { applyDefaults, validate: validateLimitRange, allowCreateOnUpdate: true },
};
