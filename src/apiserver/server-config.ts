// What an API server is made of: kinds, store, who may do what, and the paths that are no resources.
import type { Scheme } from '../apimachinery/declaration.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { YamlBody } from '../base/yaml.ts';
import type { Logger } from '../component-base/logger.ts';
import type { MetricsRegistry } from '../component-base/metrics.ts';
import type { CacheSource } from '../storage/watch/resource-cache.ts';
import type { AdmissionPlugin } from './admission/admission.ts';
import type { Aggregator } from './aggregator/aggregator.ts';
import type { MatchPolicy } from './audit/audit-rules.ts';
import type { AuditBackend } from './audit/backend.ts';
import type { Authenticator } from './authentication/authenticator.ts';
import type { Authorizer } from './authorization/authorizer.ts';
import type { FlowObjects } from './flowcontrol/flow-control.ts';
import type { UserLimits } from './flowcontrol/user-limits.ts';
import type { HealthCheck } from './healthz.ts';
import type { ApiResponse } from './http.ts';
import type { KeptConversions } from './registry/kept-conversions.ts';
import type { RestStorage } from './registry/rest-storage.ts';
import type { RequestContext } from './request-context.ts';

export type PathHandler = (context: RequestContext) => Promise<ApiResponse> | ApiResponse;

export interface FlowControlConfig {
  /** Seats of all priority levels: --max-requests-inflight and --max-mutating-requests-inflight together. */
  readonly total?: number | undefined;
  readonly userLimits?: UserLimits | undefined;
  /** Without: only upstream's mandatory schemas and levels. */
  readonly objects?: FlowObjects | undefined;
}

/** What is written of requests, and where. */
export interface AuditConfig {
  readonly match: MatchPolicy;
  readonly backend: AuditBackend;
  /** Of answers in YAML, as JSON: comes with what asks for it. */
  readonly readYaml: (text: string) => string;
}

export interface ApiServerConfig {
  readonly scheme: Scheme;
  readonly caches: CacheSource;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** In the order in which they run. */
  readonly admission: readonly AdmissionPlugin[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
  readonly restStorage?: RestStorage;
  readonly health?: readonly HealthCheck[];
  /** More paths: `/openid/v1/jwks`, … The longest prefix that ends in `/` or the exact path wins. */
  readonly paths?: ReadonlyMap<string, PathHandler>;
  readonly version?: Readonly<Record<string, string>>;
  /** The first document of a YAML text as JSON. Default: read at once. */
  readonly readYaml?: ((text: string) => Promise<YamlBody>) | undefined;
  /** `host:port` that discovery tells to clients. */
  readonly serverAddress?: () => string;
  /** Default true: requests without credentials are system:anonymous. */
  readonly allowAnonymous?: boolean;
  /** Groups and versions that other servers answer for. Default: none. */
  readonly aggregator?: Aggregator | undefined;
  /** Default: nothing is written of requests. */
  readonly audit?: AuditConfig | undefined;
  /** How requests share the server, and how many seats there are. */
  readonly flowControl?: FlowControlConfig;
  /** A sentence on a resource that is served no more; the answer is 404 with it instead of a bare page. */
  readonly removedResource?: (group: string, version: string, resource: string) => string | undefined;
  /** What conversion webhooks said, when others ask them, too. */
  readonly conversions?: KeptConversions;
  /** Sentences on groups and versions (`extensions/v1beta1`) that are served no more, for who asks for their schema. */
  readonly removedGroupVersions?: ReadonlyMap<string, string>;
}
