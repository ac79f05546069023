// Answers as tables (meta.k8s.io/v1 Table): what kubectl get prints.
import type { Json, JsonObject, ResourceDeclaration } from './declaration.ts';
import { badRequest } from './errors.ts';

/** What a table is made from. */
export type TableForm = Pick<ResourceDeclaration, 'columns' | 'row'>;

export type IncludeObject = 'None' | 'Metadata' | 'Object';
export type TableVersion = 'meta.k8s.io/v1' | 'meta.k8s.io/v1beta1';

/** `?includeObject=`: metadata unless asked otherwise. */
export function includeObjectFrom(text: string | null | undefined): IncludeObject {
  if (text === undefined || text === null || text === '') return 'Metadata';
  if (text === 'None' || text === 'Metadata' || text === 'Object') return text;
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(text)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
}

/** Only type and metadata of an object. */
export const partialObjectMetadata = (
  object: JsonObject,
  version: TableVersion = 'meta.k8s.io/v1',
): JsonObject => ({
  kind: 'PartialObjectMetadata',
  apiVersion: version,
  metadata: object['metadata'] ?? {},
});

const descriptions: Readonly<Record<string, string>> = {
  Name: 'Name must be unique within a namespace.',
  Age: 'Time since the object was created, in RFC 3339 form on the object itself.',
  'Created At': 'Time at which the object was created.',
};

/** Column headers as JSON; the same for every table of the kind. */
const columnDefinitions = (declaration: TableForm): JsonObject[] =>
  declaration.columns.map((c) => ({
    name: c.name,
    type: c.type,
    format: c.format ?? '',
    description: c.description ?? descriptions[c.name] ?? `The object's ${c.name.toLowerCase()}.`,
    priority: c.priority,
  }));

export interface TableOptions {
  readonly now: number;
  readonly includeObject: IncludeObject;
  readonly version?: TableVersion;
  /** ListMeta of the answer. */
  readonly metadata?: JsonObject;
  /** Left out in the second and later events of a watch, as upstream. */
  readonly withoutColumns?: boolean;
}

export function tableOf(
  declaration: TableForm,
  objects: readonly JsonObject[],
  options: TableOptions,
): JsonObject {
  const version = options.version ?? 'meta.k8s.io/v1';
  return {
    kind: 'Table',
    apiVersion: version,
    metadata: options.metadata ?? {},
    columnDefinitions: options.withoutColumns ? null : columnDefinitions(declaration),
    rows: objects.map((object) => tableRow(declaration, object, options, version)),
  };
}

function tableRow(
  declaration: TableForm,
  object: JsonObject,
  options: TableOptions,
  version: TableVersion,
): JsonObject {
  const cells: Json[] = declaration.row(object, options.now);
  const row: JsonObject = { cells };
  const conditions = rowConditions(object);
  if (conditions) row['conditions'] = conditions;
  row['object'] =
    options.includeObject === 'Object'
      ? object
      : options.includeObject === 'Metadata'
        ? partialObjectMetadata(object, version)
        : null;
  return row;
}

/** Rows of pods that have ended are marked, so that clients can grey them out. */
function rowConditions(object: JsonObject): Json[] | undefined {
  if (object['kind'] !== 'Pod') return undefined;
  const status = object['status'] as JsonObject | undefined;
  const phase = status?.['phase'];
  if (phase === 'Succeeded')
    return [
      {
        type: 'Completed',
        status: 'True',
        reason: 'Succeeded',
        message: 'The pod has completed successfully.',
      },
    ];
  if (phase === 'Failed')
    return [{ type: 'Completed', status: 'True', reason: 'Failed', message: 'The pod failed.' }];
  return undefined;
}
