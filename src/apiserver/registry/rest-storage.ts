// Where kinds plug in what the generic registry can't know: subresources with side effects.
import type { JsonObject, ResourceDeclaration } from '../../apimachinery/declaration.ts';
import type { Clock } from '../../base/clock.ts';
import type { ApiResponse } from '../http.ts';
import type { RequestContext } from '../request-context.ts';
import type { ResourceStore } from './store.ts';
import type { SubresourceView } from './stored-resource.ts';
import type { WriteHooks } from './write-hooks.ts';

/** A request to one resource or subresource, after authorization. */
export interface RestRequest {
  readonly context: RequestContext;
  /** Of the parent resource. */
  readonly declaration: ResourceDeclaration;
  readonly namespace: string;
  /** '' for a create on the collection. */
  readonly name: string;
  readonly subresource: string;
  /** The decoded and defaulted body after admission; undefined for get, delete and connect. */
  readonly object: JsonObject | undefined;
  /** Of a connect: what it asks for, as admission left it. */
  readonly options: JsonObject;
  readonly dryRun: boolean;
  readonly clock: Clock;
  /** The registry of any resource: `store('', 'pods')`. Throws when it is not served. */
  store(group: string, resource: string): ResourceStore;
}

/** An object to be encoded as the client asked, or a whole response. */
export type RestAnswer = { readonly status: number; readonly object: JsonObject } | ApiResponse;

type Serve = (request: RestRequest) => Promise<RestAnswer> | RestAnswer;

/** A verb that is absent is served by the generic registry when the declaration has it, else refused with 405. */
export interface RestHandler {
  /** Upstream's GroupVersionAcceptor: what else a body may say to be of, besides the version that is declared. */
  readonly bodyVersions?: readonly string[];
  readonly create?: Serve;
  /**
   * What a create makes of the object between mutating and validating admission, so that policies see what it will be.
   * `object` is its own to change. Throws StatusError.
   */
  readonly complete?: (request: RestRequest & { readonly object: JsonObject }) => JsonObject;
  readonly get?: Serve;
  readonly list?: Serve;
  readonly update?: Serve;
  readonly delete?: Serve;
  /** exec, attach, portforward, proxy: any method, upgrades included. The body was not read. */
  readonly connect?: Serve;
  /** What a connect asks for, as the object that its subresource declares. Throws StatusError. */
  readonly connectOptions?: (context: RequestContext) => JsonObject;
  /**
   * For `update` and `patch` of a subresource whose object is not the parent (scale): reads it from the parent and
   * writes it back into a copy of it.
   */
  readonly view?: SubresourceView;
  readonly hooks?: WriteHooks;
}

/** `group/resource` or `group/resource/subresource`; the core group is empty: `/pods/binding`, `apps/deployments/scale`. */
export type RestStorage = ReadonlyMap<string, RestHandler>;

export const restKey = (group: string, resource: string, subresource = ''): string =>
  subresource === '' ? `${group}/${resource}` : `${group}/${resource}/${subresource}`;

export const isWholeResponse = (answer: RestAnswer): answer is ApiResponse => 'headers' in answer;
