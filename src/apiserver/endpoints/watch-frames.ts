// Encodes watch events, once for each event, type and form, however many watchers there are.
import type { JsonObject, ResourceDeclaration } from '../../apimachinery/declaration.ts';
import { apiVersionOf } from '../../apimachinery/resource-ref.ts';
import { type IncludeObject, partialObjectMetadata, tableOf } from '../../apimachinery/table.ts';
import type { CacheEvent } from '../../storage/watch/resource-cache.ts';
import type { Negotiated } from '../negotiation.ts';
import type { ProtobufCodec } from '../registry/decode-body.ts';
import { decodeEntry } from '../registry/encode.ts';

export type WatchType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';

export type FrameKeys = Readonly<Record<WatchType, string>>;

export interface FrameFormat {
  /** Made once for each watcher: building a key for each delivery would cost more than finding the frame. */
  readonly frameKeys: FrameKeys;
  readonly negotiated: Negotiated;
  readonly declaration: ResourceDeclaration;
  readonly includeObject: IncludeObject;
  readonly protobuf: ProtobufCodec | undefined;
  readonly convert: (value: Buffer) => Buffer;
  now(): number;
}

const knownKeys = new WeakMap<ResourceDeclaration, Map<string, FrameKeys>>();

/** Watchers with equal keys share the frames of an event, and the keys. */
export function frameKeysOf(negotiated: Negotiated, declaration: ResourceDeclaration): FrameKeys {
  const { mediaType, form, formVersion } = negotiated;
  const { group, version, definedAs = '' } = declaration;
  const ofKind = knownKeys.get(declaration) ?? new Map<string, FrameKeys>();
  knownKeys.set(declaration, ofKind);
  const format = `${mediaType} ${form} ${formVersion}`;
  const known = ofKind.get(format);
  if (known !== undefined) return known;
  const key = (type: WatchType): string => `${type} ${format} ${group}/${version} ${definedAs}`;
  const keys: FrameKeys = {
    ADDED: key('ADDED'),
    MODIFIED: key('MODIFIED'),
    DELETED: key('DELETED'),
    BOOKMARK: '',
    ERROR: '',
  };
  ofKind.set(format, keys);
  return keys;
}

const frameEnd = Buffer.from('}\n');
const heads: Readonly<Record<WatchType, Buffer>> = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
  BOOKMARK: Buffer.from('{"type":"BOOKMARK","object":'),
  ERROR: Buffer.from('{"type":"ERROR","object":'),
};

const versionOf = (n: Negotiated): 'meta.k8s.io/v1' | 'meta.k8s.io/v1beta1' => `meta.k8s.io/${n.formVersion}`;

/** Bytes of one frame around an object's JSON. */
function jsonFrame(type: WatchType, object: Buffer): Buffer {
  return Buffer.concat([heads[type], object, frameEnd]);
}

function protobufFrame(format: FrameFormat, type: WatchType, object: JsonObject): Buffer {
  const codec = format.protobuf!;
  return codec.encodeWatchFrame(type, codec.encode(object));
}

/** An object that is not stored as such: a table, metadata only, a bookmark, an error. */
export function objectFrame(format: FrameFormat, type: WatchType, object: JsonObject): Buffer {
  if (format.negotiated.mediaType === 'protobuf') return protobufFrame(format, type, object);
  return jsonFrame(type, Buffer.from(JSON.stringify(object)));
}

/** Copying as much for each of many watchers that begin would cost more than a few writes more. */
const copiedBytes = 16 * 1024;

/** A large object that is sent as it is stored: nothing is copied. undefined: `storedFrame` has to make its bytes. */
export function storedPieces(format: FrameFormat, type: WatchType, value: Buffer): Buffer[] | undefined {
  const { mediaType, form } = format.negotiated;
  if (value.length <= copiedBytes || mediaType !== 'json' || form !== 'object') return undefined;
  return [heads[type], format.convert(value), frameEnd];
}

/** A stored object as the watcher wants it. */
export function storedFrame(format: FrameFormat, type: WatchType, value: Buffer, first: boolean): Buffer {
  const { negotiated, declaration } = format;
  const served = format.convert(value);
  if (negotiated.mediaType === 'json' && negotiated.form === 'object') return jsonFrame(type, served);
  const object = decodeEntry(served);
  if (negotiated.form === 'object') return objectFrame(format, type, object);
  if (negotiated.form === 'Table') {
    const metadata = object['metadata'] as JsonObject;
    return objectFrame(
      format,
      type,
      tableOf(declaration, [object], {
        now: format.now(),
        includeObject: format.includeObject,
        version: versionOf(negotiated),
        metadata: { resourceVersion: metadata['resourceVersion'] ?? '' },
        withoutColumns: !first,
      }),
    );
  }
  return objectFrame(format, type, partialObjectMetadata(object, versionOf(negotiated)));
}

/** The frame of a cached event; shared by all watchers of the same form. Ages in tables are not shared. */
export function eventFrame(
  format: FrameFormat,
  event: CacheEvent,
  type: WatchType,
  value: Buffer,
  first: boolean,
): Buffer {
  if (format.negotiated.form === 'Table') return storedFrame(format, type, value, first);
  const key = format.frameKeys[type];
  const known = event.frames.get(key);
  if (known) return known;
  const frame = storedFrame(format, type, value, first);
  if (event.frames.size === 0) remember(event);
  event.frames.set(key, frame);
  return frame;
}

/** Watchers read the same events at about the same time; older frames would only double the memory of the ring. */
const maxRemembered = 512;
const remembered: CacheEvent[] = [];
let oldest = 0;

function remember(event: CacheEvent): void {
  if (remembered.length < maxRemembered) {
    remembered.push(event);
    return;
  }
  remembered[oldest]!.forgetFrames();
  remembered[oldest] = event;
  oldest = (oldest + 1) % maxRemembered;
}

export function bookmarkFrame(format: FrameFormat, revision: number, initialEventsEnd: boolean): Buffer {
  const { declaration, negotiated } = format;
  const metadata: JsonObject = {
    resourceVersion: String(revision),
    ...(initialEventsEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}),
  };
  const object: JsonObject = { kind: declaration.kind, apiVersion: apiVersionOf(declaration), metadata };
  if (negotiated.form === 'object') return objectFrame(format, 'BOOKMARK', object);
  if (negotiated.form === 'Table')
    return objectFrame(format, 'BOOKMARK', {
      kind: 'Table',
      apiVersion: versionOf(negotiated),
      metadata: { resourceVersion: String(revision) },
      columnDefinitions: null,
      rows: [
        {
          cells: declaration.columns.map(() => null),
          object: partialObjectMetadata(object, versionOf(negotiated)),
        },
      ],
    });
  return objectFrame(format, 'BOOKMARK', partialObjectMetadata(object, versionOf(negotiated)));
}
