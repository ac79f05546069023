// The OpenAPI documents: /openapi/v2 in one, /openapi/v3 by group and version. Made on demand; callers keep them.
import type { Json, JsonObject, ResourceDeclaration, Scheme } from '../declaration.ts';
import type { Describe } from './description-text.ts';
import type { Operation } from './operations.ts';
import { operationsOf, queryType, statusType } from './operations.ts';
import type { Dialect } from './schemas.ts';
import { definitionsOf, refTo } from './schemas.ts';

export interface OpenApiInfo {
  readonly title: string;
  /** `v1.36.0`. */
  readonly version: string;
}
export interface OpenApiOptions {
  readonly info: OpenApiInfo;
  /** Definitions that are given whole: custom resources. */
  readonly definition?: (type: string, dialect: Dialect) => JsonObject | undefined;
  readonly describe?: Describe | undefined;
}

const upperFirst = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const tagOf = (d: ResourceDeclaration): string => {
  const group = d.group === '' ? 'core' : d.group.replace(/\.k8s\.io$/, '');
  return `${group.replace(/\.(\w)/g, (_, c: string) => c.toUpperCase())}_${d.version}`;
};
const answerText: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  401: 'Unauthorized',
};

function collect(
  resources: readonly ResourceDeclaration[],
  scheme: Scheme,
): [ResourceDeclaration, Operation][] {
  return resources.flatMap((d) =>
    operationsOf(d, scheme.typeOf).map((o) => [d, o] as [ResourceDeclaration, Operation]),
  );
}

/** All types that operations name. Status, DeleteOptions and the like are named by them. */
const rootsOf = (operations: readonly (readonly [ResourceDeclaration, Operation])[]): Set<string> => {
  const roots = new Set<string>([statusType]);
  for (const [d, o] of operations) {
    roots.add(d.type);
    if (o.body) roots.add(o.body.type);
    if (o.answer) roots.add(o.answer);
  }
  return roots;
};

/** Paths with one operation a method; shared path items are merged. */
function pathsOf(
  operations: readonly (readonly [ResourceDeclaration, Operation])[],
  operation: (d: ResourceDeclaration, o: Operation) => JsonObject,
): JsonObject {
  const paths = new Map<string, JsonObject>();
  for (const [d, o] of operations) {
    const item = paths.get(o.path) ?? {};
    paths.set(o.path, item);
    item[o.method] = operation(d, o);
  }
  return Object.fromEntries([...paths].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const described = (d: ResourceDeclaration, o: Operation): JsonObject => ({
  description: `${o.action} ${d.kind}`,
  operationId: o.id,
  tags: [tagOf(d)],
  'x-kubernetes-action': o.action,
  'x-kubernetes-group-version-kind': { ...o.gvk },
});

// v2

const parameterV2 = (name: string): JsonObject => ({
  name,
  in: 'query',
  description: upperFirst(name),
  type: queryType(name),
  uniqueItems: true,
});
function operationV2(d: ResourceDeclaration, o: Operation): JsonObject {
  const parameters: Json[] = [
    ...(o.body
      ? [
          {
            name: 'body',
            in: 'body',
            ...(o.body.required ? { required: true } : {}),
            schema: refTo(o.body.type, 'v2'),
          },
        ]
      : []),
    ...o.inPath.map((name) => ({
      name,
      in: 'path',
      required: true,
      type: 'string',
      uniqueItems: true,
      description: name,
    })),
    ...o.query.map(parameterV2),
  ];
  const responses: JsonObject = {};
  for (const code of [...o.codes, 401])
    responses[String(code)] = {
      description: answerText[code] ?? 'OK',
      ...(code === 401 ? {} : { schema: o.answer ? refTo(o.answer, 'v2') : { type: 'string' } }),
    };
  return {
    ...described(d, o),
    consumes: [...o.consumes],
    produces: [...o.produces],
    schemes: ['https'],
    parameters,
    responses,
  };
}

/** What some resources add to the document of version 2. */
export interface OpenApiV2Part {
  readonly paths: JsonObject;
  readonly definitions: JsonObject;
}

export function openApiV2Part(
  scheme: Scheme,
  resources: readonly ResourceDeclaration[],
  form: Pick<OpenApiOptions, 'definition' | 'describe'> = {},
): OpenApiV2Part {
  const operations = collect(resources, scheme);
  return {
    paths: pathsOf(operations, operationV2),
    definitions: definitionsOf(scheme, rootsOf(operations), { ...form, dialect: 'v2' }),
  };
}

/** Of custom resources alone: what every object has is in the part of the built-in ones. */
export function customOpenApiV2Part(
  scheme: Scheme,
  resources: readonly ResourceDeclaration[],
): OpenApiV2Part {
  const own = new Set(resources.flatMap(({ type }) => [type, `${type}List`]));
  const ownOnly: Scheme = { ...scheme, type: (name) => (own.has(name) ? scheme.type(name) : undefined) };
  return openApiV2Part(ownOnly, resources, {
    definition: (type, dialect) => (own.has(type) ? scheme.definition?.(type, dialect) : undefined),
  });
}

/** What stands around the parts. */
export const openApiV2Frame = (info: OpenApiInfo): JsonObject => ({
  swagger: '2.0',
  info: { title: info.title, version: info.version },
  securityDefinitions: {
    BearerToken: {
      description: 'Bearer Token authentication',
      type: 'apiKey',
      name: 'authorization',
      in: 'header',
    },
  },
  security: [{ BearerToken: [] }],
});

// v3

const parameterV3 = (name: string): JsonObject => ({
  name,
  in: 'query',
  description: upperFirst(name),
  schema: { type: queryType(name), uniqueItems: true },
});
const contentV3 = (types: readonly string[], schema: JsonObject): JsonObject =>
  Object.fromEntries(types.map((t) => [t, { schema }]));
function operationV3(d: ResourceDeclaration, o: Operation): JsonObject {
  const responses: JsonObject = {};
  for (const code of o.codes)
    responses[String(code)] = {
      description: answerText[code] ?? 'OK',
      content: contentV3(o.produces, o.answer ? refTo(o.answer, 'v3') : { type: 'string' }),
    };
  responses['401'] = { description: 'Unauthorized' };
  return {
    ...described(d, o),
    parameters: [
      ...o.inPath.map((name) => ({
        name,
        in: 'path',
        required: true,
        description: name,
        schema: { type: 'string', uniqueItems: true },
      })),
      ...o.query.map(parameterV3),
    ],
    ...(o.body
      ? {
          requestBody: {
            ...(o.body.required ? { required: true } : {}),
            content: contentV3(o.consumes, refTo(o.body.type, 'v3')),
          },
        }
      : {}),
    responses,
  };
}

/** `/openapi/v3/api/v1` and `/openapi/v3/apis/<group>/<version>`: what is served there. */
export function openApiV3(
  scheme: Scheme,
  resources: readonly ResourceDeclaration[],
  options: OpenApiOptions,
): JsonObject {
  const operations = collect(resources, scheme);
  return {
    openapi: '3.0.0',
    info: { title: options.info.title, version: options.info.version },
    paths: pathsOf(operations, operationV3),
    components: {
      schemas: definitionsOf(scheme, rootsOf(operations), { ...options, dialect: 'v3' }),
      securitySchemes: {
        BearerToken: {
          type: 'apiKey',
          description: 'Bearer Token authentication',
          name: 'authorization',
          in: 'header',
        },
      },
    },
    security: [{ BearerToken: [] }],
  };
}
