// Admission: plugins that may change or refuse a write, after authorization and before it is stored.
import type { JsonObject, ResourceDeclaration } from '../../apimachinery/declaration.ts';
import type { AuditedRequest } from '../audit/audited-request.ts';
import type { UserInfo } from '../authentication/authenticator.ts';

/** Whether the plugins are asked once more, since a webhook changed the object after them. */
export interface Reinvocation {
  wanted: boolean;
  /** This is the second time. */
  again: boolean;
}

export interface AdmissionRequest {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  readonly declaration: ResourceDeclaration;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** The object to be written; mutating plugins change it in place. Absent on DELETE. */
  object: JsonObject | undefined;
  readonly oldObject: JsonObject | undefined;
  /** Somebody changed the object in another version than that of the request: it may lack what its own has defaults for. */
  isConverted?: boolean;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** CreateOptions, UpdateOptions or DeleteOptions; none on CONNECT. */
  readonly options: JsonObject | undefined;
  /** Ends when the user waits no more. */
  readonly signal: AbortSignal;
  /** Around what waits for somebody else's answer: meanwhile it is in nobody's way. */
  readonly aside?: (<T>(wait: () => Promise<T>) => Promise<T>) | undefined;
  readonly reinvocation: Reinvocation;
  /** Calls back when the write has ended, stored or not; never when nobody knows whether it was. */
  atEnd(listener: () => void): void;
  /** Adds a `Warning:` header. */
  warn(text: string): void;
  /** For the audit log: a domain's key, `pod-security.kubernetes.io/enforce-policy`. What was said first stays. */
  annotate(key: string, value: string): void;
  /** Where the log is told what took how long. */
  readonly took?: AuditedRequest['took'] | undefined;
  /** The same, where the log is told what is in requests, too. */
  annotateContent(key: string, value: () => string): void;
}

/** A plugin refuses by throwing StatusError. `admit` runs for all plugins before any `validate`. */
export interface AdmissionPlugin {
  /** Upstream's registered name: NamespaceLifecycle. */
  readonly name: string;
  readonly operations: readonly AdmissionRequest['operation'][];
  admit?(request: AdmissionRequest): Promise<void> | void;
  validate?(request: AdmissionRequest): Promise<void> | void;
}
