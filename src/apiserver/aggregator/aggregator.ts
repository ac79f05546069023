// What the API server asks about groups and versions that another server answers for: upstream's kube-aggregator, as a port.
import type { RemoteVersion } from '../../apimachinery/discovery/remote-version.ts';
import type { ApiResponse } from '../http.ts';
import type { RequestContext } from '../request-context.ts';
import type { RequestInfo } from '../request-info.ts';
import type { ConvertedV3 } from './remote-documents.ts';
import type { RemoteOpenApiV2 } from './remote-openapi.ts';

export interface Aggregator {
  /** Whether another server answers. Costs nothing while there is none. */
  isElsewhere(info: RequestInfo): boolean;
  /** Of a request that is for another server. */
  serve(context: RequestContext): Promise<ApiResponse>;
  /** What others serve, for discovery: another array when something changed. */
  versions(): readonly RemoteVersion[];
  /** Places below `/openapi/v3/` that others serve, and the name of what is there. */
  openApiV3(): ReadonlyMap<string, string>;
  /** Of such a place, when its server has OpenAPI v2 only: what it says there, converted. */
  convertedV3(path: string): (() => Promise<ConvertedV3>) | undefined;
  /** What others say of their kinds in OpenAPI v2. */
  openApiV2(): readonly RemoteOpenApiV2[];
}
