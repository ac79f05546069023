// The v2 document in gnostic's protobuf form (openapi.v2.Document), which kubectl before 1.27 asks for.
import { writeYaml } from '../../base/yaml-writer.ts';
import type { Json, JsonObject } from '../declaration.ts';
import { isObject, obj, objs, str, strs } from '../json-access.ts';
import { ProtoWriter } from '../serializer/protobuf/writer.ts';
import type { OpenApiV2Part } from './document.ts';

export const openApiV2MediaType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

/** A part's paths and definitions, each ready to be joined with those of other parts. */
export interface EncodedPart {
  readonly paths: Uint8Array;
  readonly definitions: Uint8Array;
}

export function encodeOpenApiV2Part({ paths, definitions }: OpenApiV2Part): EncodedPart {
  const inPaths = emitter();
  for (const [path, item] of Object.entries(paths))
    inPaths.message(2, () => {
      inPaths.text(1, path);
      inPaths.message(2, () => pathItem(inPaths, obj(item)));
    });
  const inDefinitions = emitter();
  namedSchemas(inDefinitions, definitions);
  return { paths: inPaths.w.finish(), definitions: inDefinitions.w.finish() };
}

/** The whole document, in pieces that follow each other. */
export function joinOpenApiV2(frame: JsonObject, parts: readonly EncodedPart[]): Uint8Array[] {
  const head = emitter();
  head.text(1, str(frame['swagger']));
  head.message(2, () => {
    head.text(1, str(obj(frame['info'])['title']));
    head.text(2, str(obj(frame['info'])['version']));
  });
  const joined = (number: number, pieces: readonly Uint8Array[]): Uint8Array[] => {
    const lead = new ProtoWriter();
    lead.tag(number, 2);
    lead.varint(pieces.reduce((sum, piece) => sum + piece.length, 0));
    return [lead.finish(), ...pieces];
  };
  return [
    head.w.finish(),
    ...joined(
      8,
      parts.map((part) => part.paths),
    ),
    ...joined(
      9,
      parts.map((part) => part.definitions),
    ),
  ];
}

function emitter(): Emit {
  const w = new ProtoWriter();
  const text = (number: number, value: string): void => {
    if (value === '') return;
    w.tag(number, 2);
    w.string(value);
  };
  return {
    w,
    text,
    texts(number, list) {
      for (const value of list) text(number, value);
    },
    flag(number, value) {
      if (value !== true) return;
      w.tag(number, 0);
      w.varint(1);
    },
    message(number, write) {
      w.tag(number, 2);
      w.message(write);
    },
  };
}

interface Emit {
  readonly w: ProtoWriter;
  text(number: number, value: string): void;
  texts(number: number, list: readonly string[]): void;
  flag(number: number, value: Json | undefined): void;
  message(number: number, write: () => void): void;
}

const methodNumbers = { get: 2, put: 3, post: 4, delete: 5, patch: 8 } as const;
function pathItem(out: Emit, item: JsonObject): void {
  for (const [method, number] of Object.entries(methodNumbers))
    if (isObject(item[method])) out.message(number, () => operation(out, obj(item[method])));
}

function operation(out: Emit, o: JsonObject): void {
  out.texts(1, strs(o['tags']));
  out.text(3, str(o['description']));
  out.text(5, str(o['operationId']));
  out.texts(6, strs(o['produces']));
  out.texts(7, strs(o['consumes']));
  for (const p of objs(o['parameters'])) out.message(8, () => out.message(1, () => parameter(out, p)));
  out.message(9, () => {
    for (const [code, answer] of Object.entries(obj(o['responses'])))
      out.message(1, () => {
        out.text(1, code);
        out.message(2, () =>
          out.message(1, () => {
            out.text(1, str(obj(answer)['description']));
            const s = obj(answer)['schema'];
            if (isObject(s)) out.message(2, () => out.message(1, () => schema(out, s)));
          }),
        );
      });
  });
  out.texts(10, strs(o['schemes']));
  vendor(out, 13, o);
}

function parameter(out: Emit, p: JsonObject): void {
  if (p['in'] === 'body') {
    out.message(1, () => {
      out.text(2, str(p['name']));
      out.text(3, 'body');
      out.flag(4, p['required']);
      out.message(5, () => schema(out, obj(p['schema'])));
    });
    return;
  }
  const inPath = p['in'] === 'path';
  out.message(2, () =>
    out.message(inPath ? 4 : 3, () => {
      out.flag(1, p['required']);
      out.text(2, str(p['in']));
      out.text(3, str(p['description']));
      out.text(4, str(p['name']));
      out.text(inPath ? 5 : 6, str(p['type']));
    }),
  );
}

function namedSchemas(out: Emit, schemas: JsonObject): void {
  for (const [name, s] of Object.entries(schemas))
    out.message(1, () => {
      out.text(1, name);
      out.message(2, () => schema(out, obj(s)));
    });
}

function schema(out: Emit, s: JsonObject): void {
  out.text(1, str(s['$ref']));
  out.text(2, str(s['format']));
  out.text(4, str(s['description']));
  out.texts(19, strs(s['required']));
  // Enums are left out: old clients take any text and the server checks.
  const values = s['additionalProperties'];
  if (isObject(values)) out.message(21, () => out.message(1, () => schema(out, values)));
  const type = s['type'];
  if (typeof type === 'string') out.message(22, () => out.text(1, type));
  const items = s['items'];
  if (isObject(items)) out.message(23, () => out.message(1, () => schema(out, items)));
  if (isObject(s['properties'])) out.message(25, () => namedSchemas(out, obj(s['properties'])));
  vendor(out, 31, s);
}

/** Extensions travel as YAML. */
function vendor(out: Emit, number: number, holder: JsonObject): void {
  for (const [name, value] of Object.entries(holder)) {
    if (!name.startsWith('x-')) continue;
    out.message(number, () => {
      out.text(1, name);
      out.message(2, () => out.text(2, writeYaml(value)));
    });
  }
}
