// The kind LimitRange: container defaults are filled from max, and requests from defaults and min.
import { type Decoded, ensured } from '../../../apimachinery/decoded.ts';
import type { KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import type { LimitRange, LimitRangeItem } from '../../generated/types/core-v1.ts';
import { createdCell, nameCell } from '../../meta/row-cells.ts';
import { validateLimitRange } from './validate-small.ts';

type List = 'default' | 'defaultRequest' | 'max' | 'min';

function fill(item: Decoded<LimitRangeItem>, target: List, source: List): void {
  for (const [name, value] of Object.entries(item[source] ?? {})) {
    const into = ensured(item, target);
    if (!Object.hasOwn(into, name)) into[name] = value;
  }
}

function applyDefaults(range: Decoded<LimitRange>): void {
  for (const item of range.spec?.limits ?? []) {
    if (item.type !== 'Container') continue;
    fill(item, 'default', 'max');
    fill(item, 'defaultRequest', 'default');
    fill(item, 'defaultRequest', 'min');
  }
}

export const limitRange: KindBehaviour<LimitRange> = {
  row: (o) => [nameCell(o), createdCell(o)],
  strategy: { applyDefaults, validate: validateLimitRange, allowCreateOnUpdate: true },
};
