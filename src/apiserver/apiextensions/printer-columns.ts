// Columns of a custom resource: its name, then what its definition asks to print.
import type { ColumnDefinition, Json, JsonObject } from '../../apimachinery/declaration.ts';
import { goNumber } from '../../apimachinery/field-error.ts';
import { ageOf } from '../../apimachinery/human-duration.ts';
import { nameOf, num, objs, str } from '../../apimachinery/json-access.ts';
import { isRawJson } from '../../apimachinery/serializer/json-numbers.ts';
import { htmlSafe } from '../../base/html-safe-json.ts';
import { type JsonPath, parseJsonPath } from '../../base/json-path.ts';
import { readRfc3339 } from '../../base/rfc3339.ts';

export interface PrinterColumns {
  readonly columns: readonly ColumnDefinition[];
  row(object: JsonObject, now: number): Json[];
}

const nameColumn: ColumnDefinition = {
  name: 'Name',
  type: 'string',
  format: 'name',
  priority: 0,
  description: 'Name must be unique within a namespace.',
};
export const ageDescription = 'Time since the object was created.';
const ageColumn: JsonObject = {
  name: 'Age',
  type: 'date',
  description: ageDescription,
  jsonPath: '.metadata.creationTimestamp',
};
/** What upstream says of a column whose definition says nothing. */
const undescribed = (path: string): string =>
  `Custom resource definition column (in JSONPath format): ${path}`;

function pathOf(text: string): JsonPath | undefined {
  try {
    return parseJsonPath(text);
  } catch {
    return undefined;
  }
}

interface OwnColumn {
  readonly definition: ColumnDefinition;
  readonly path: JsonPath;
}

/** As Go's encoder writes what it has as maps: by their keys. */
const sorted = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawJson(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;

/** As Go prints it. */
function textOf(value: unknown): string {
  if (value === null) return '<no value>';
  if (typeof value === 'number') return goNumber(value);
  return typeof value === 'object' ? htmlSafe(JSON.stringify(value, sorted)) : String(value);
}

function ageCell(value: string, now: number): string {
  if (value === '' || value === 'null') return '<unknown>';
  return typeof readRfc3339(value) === 'number' ? ageOf(value, now) : '<invalid>';
}

/** As Go makes an integer of a float on amd64: the least of all where it has no room. */
const asInt64 = (value: number): Json =>
  Math.abs(value) < 2 ** 63 ? Math.trunc(value) : (-(2n ** 63n) as unknown as Json);

/** The first value that the path finds; as upstream, the column's type decides how it is shown. */
function cell(type: string, value: unknown, now: number): Json {
  if (value === undefined) return null;
  if (type === 'string') return textOf(value);
  switch (type) {
    case 'date':
      return typeof value === 'string' ? ageCell(value, now) : null;
    case 'integer':
      return typeof value === 'bigint'
        ? (value as unknown as Json)
        : typeof value === 'number'
          ? asInt64(value)
          : null;
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    default:
      return null;
  }
}

/**
 * What the columns of a row may look at together, about ten milliseconds: thousands of columns may each want something of
 * each of thousands of members. What comes later is shown as absent.
 */
const looksOfRow = 100_000;
/** Characters of the columns of a row together; the last of them is whole, as long as it may be. Each of thousands may show the same text. */
const textOfRow = 256 << 10;

function cellsOf(columns: readonly OwnColumn[], object: JsonObject, now: number): Json[] {
  const looks = { left: looksOfRow };
  let shown = 0;
  return columns.map(({ definition, path }) => {
    const value = shown > textOfRow ? undefined : path.first(object, looks);
    const made = cell(definition.type, value, now);
    if (typeof made === 'string') shown += made.length;
    return made;
  });
}

export function printerColumns(version: JsonObject): PrinterColumns {
  const asked = objs(version['additionalPrinterColumns']);
  const own: OwnColumn[] = [];
  for (const column of asked.length === 0 ? [ageColumn] : asked) {
    const path = pathOf(str(column['jsonPath']));
    // As upstream: neither this one is shown nor those after it.
    if (path === undefined) break;
    const definition = {
      name: str(column['name']),
      type: str(column['type']),
      format: str(column['format']),
      priority: num(column['priority']),
      description: str(column['description']) || undescribed(str(column['jsonPath'])),
    };
    own.push({ definition, path });
  }
  return {
    columns: [nameColumn, ...own.map((c) => c.definition)],
    row: (object, now) => [nameOf(object), ...cellsOf(own, object, now)],
  };
}
