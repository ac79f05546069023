// Values as messages show them.
import { CelType } from './cel-type.ts';
import { formatDouble } from './decimal.ts';
import { formatDuration } from './duration.ts';
import { formatTimestamp } from './timestamp.ts';
import {
  CelError,
  CelList,
  CelMap,
  Duration,
  Opaque,
  Optional,
  Timestamp,
  Uint,
  type Value,
} from './value.ts';

/** As Go's `%v` shows it. */
export function formatValue(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'number') return formatDouble(value);
  if (typeof value !== 'object') return String(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Uint8Array) return `[${[...value].join(' ')}]`;
  if (value instanceof CelList) return `[${[...value].map(formatValue).join(', ')}]`;
  if (value instanceof CelMap)
    return `{${[...value.keys()].map((key) => `${formatValue(key)}: ${formatValue(value.find(key)!)}`).join(', ')}}`;
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof Optional)
    return value.value === undefined ? 'optional.none()' : `optional(${formatValue(value.value)})`;
  if (value instanceof CelType) return value.name;
  if (value instanceof CelError) return value.message;
  return value instanceof Opaque ? value.type.name : '';
}
