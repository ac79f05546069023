// What the endpoints tell the audit log of a request while they serve it.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import type { Layer } from './latencies.ts';

export interface AuditedRequest {
  /** What was sent, as it was read: before admission changes it. */
  requestObject(object: JsonObject): void;
  /** It is told what was sent, not only who asked. */
  readonly isTold: boolean;
  /** The JSON of a patch. */
  requestPatch(json: string): void;
  /** Another server answers: what it says may be no object, forged or without end, and is not told, as upstream. */
  answeredElsewhere(): void;
  /** How long it was in a layer. */
  took(layer: Layer, ms: number): void;
}
