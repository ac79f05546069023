// One object as the bytes of an answer: JSON, indented for people, YAML or protobuf.
import type { JsonObject } from '../apimachinery/declaration.ts';
import { NoProtobufForm } from '../apimachinery/serializer/protobuf/encode.ts';
import { htmlSafeJson } from '../base/html-safe-json.ts';
import { writeYaml } from '../base/yaml-writer.ts';
import type { Negotiated } from './negotiation.ts';

/** The part of a request that says how its answer is to look. */
export interface AnsweredRequest {
  header(name: string): string;
  readonly query: URLSearchParams;
  readonly request: { readonly url: string };
}

const yes: readonly string[] = ['1', 't', 'T', 'true', 'TRUE', 'True'];

/** As upstream: browsers and curl get indented text unless they ask otherwise. */
export function wantsPretty(context: AnsweredRequest, { pretty }: Pick<Negotiated, 'pretty'>): boolean {
  if (pretty) return true;
  const asked = context.request.url.includes('pretty') ? context.query.get('pretty') : null;
  if (asked !== null && asked !== '') return yes.includes(asked);
  const agent = context.header('user-agent');
  return agent.startsWith('curl') || agent.startsWith('Wget') || agent.startsWith('Mozilla/5.0');
}

/** As Go's encoders: one line has its end, indented text has none. */
const jsonText = (object: unknown, indented: boolean): string =>
  indented ? htmlSafeJson(object, 2) : `${htmlSafeJson(object)}\n`;

export const indentedJson = (object: unknown): Buffer => Buffer.from(jsonText(object, true));

export interface ProtobufEncoder {
  encode(object: JsonObject): Buffer;
}

/** undefined: there is no protobuf form of it. */
export function encodeAnswer(
  context: AnsweredRequest,
  negotiated: Negotiated,
  object: JsonObject,
  protobuf: ProtobufEncoder | undefined,
): Buffer | undefined {
  switch (negotiated.mediaType) {
    case 'yaml':
      return Buffer.from(writeYaml(object));
    case 'protobuf':
      return encodeProtobufObject(protobuf, object);
    default:
      return Buffer.from(jsonText(object, wantsPretty(context, negotiated)));
  }
}

function encodeProtobufObject(codec: ProtobufEncoder | undefined, object: JsonObject): Buffer | undefined {
  try {
    return codec?.encode(object);
  } catch (error) {
    if (error instanceof NoProtobufForm) return undefined;
    throw error;
  }
}
